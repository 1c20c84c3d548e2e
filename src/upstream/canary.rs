//! A credential of one run alone, which nobody needs: a server that shows it shows more than it should.

use super::Target;
use crate::domain::hex;

/// The canary's name in traces and reports.
pub const CANARY: &str = "canary";
/// The variable that a server's process finds it in: one that servers really have, so that nothing tells
/// of a test.
pub const VARIABLE: &str = "INTERNAL_SERVICE_TOKEN";
/// The header in which a server that runs already gets it.
pub const HEADER: &str = "x-internal-service-token";

/// A new one, which looks like a token of some service. None where the system has no randomness: a run
/// does not fail for it.
pub fn new() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("ist_{}", hex(&bytes)))
}

impl Target {
    /// Gives it to a server, unless whoever wrote the suite gives something of that name.
    pub fn plant(&mut self, canary: &str) {
        match self {
            Target::Command(launch) => {
                launch.command.env.entry(VARIABLE.into()).or_insert_with(|| canary.into());
            }
            Target::Url(remote) => remote.plant(HEADER, canary),
        }
    }
}
