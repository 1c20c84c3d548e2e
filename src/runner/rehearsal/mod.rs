//! A rehearsal: the runs of a suite with the real agent programs, whose models are scripts that
//! this program serves on loopback for that time. It costs nothing, measures nothing, and finds
//! what is wrong with a profile before a night of real tokens is spent.
//!
//! | module | what it holds |
//! |---|---|
//! | `variables` | what agents get instead of the user's endpoints and keys (pure) |
//! | [`patience`] | a rehearsal about how long programs wait for a tool (pure) |
//! | [`findings`] | what one run shows of its profile (pure) |
//! | [`told`] | the same for all runs of an agent, for people and for programs (pure) |

pub mod findings;
pub mod patience;
pub mod told;
mod variables;

use crate::domain::{RunId, RunResult};
use crate::harness::endpoint::{Options, Seen, Watch, serve};
use crate::harness::script::Script;
use crate::trace::Record;
use findings::{Expected, Findings};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// The scripted endpoint of a rehearsal, and what it saw. Ends with [`Rehearsal::end`].
#[derive(Clone)]
pub struct Rehearsal(Arc<Inner>);

struct Inner {
    address: SocketAddr,
    script: String,
    ending: CancellationToken,
    /// Requests of runs that are going on, by what stands before the protocol's path.
    open: Arc<Mutex<BTreeMap<String, Vec<Seen>>>>,
    findings: Mutex<Vec<Findings>>,
}

impl fmt::Debug for Rehearsal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rehearsal({} at {})", self.0.script, self.0.address)
    }
}

impl Rehearsal {
    /// Serves the script `name` on a free port of loopback. Needs an async runtime.
    ///
    /// # Errors
    /// Where no port can be had.
    pub async fn start(name: &str, script: Script, seed: u64) -> io::Result<Rehearsal> {
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
        let open: Arc<Mutex<BTreeMap<String, Vec<Seen>>>> = Arc::default();
        let inner = Inner {
            address: listener.local_addr()?,
            script: name.to_owned(),
            ending: CancellationToken::new(),
            open: Arc::clone(&open),
            findings: Mutex::default(),
        };
        let watch = Watch(Arc::new(move |seen: Seen| {
            let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
            let prefix = prefix_of(&seen);
            // Requests that come after the end of their run are nobody's.
            if let Some(requests) = open.get_mut(&prefix) {
                requests.push(seen);
            }
        }));
        let ending = inner.ending.clone();
        let options = Options { seed, script: Some(script), watch: Some(watch), ..Options::default() };
        tokio::spawn(async move { serve(listener, options, ending.cancelled_owned()).await });
        Ok(Rehearsal(Arc::new(inner)))
    }

    /// The script's name.
    pub fn script(&self) -> &str {
        &self.0.script
    }

    /// What the variable is in a run instead of what it is for the user: endpoints lead here, keys
    /// are worthless, proxies are gone. `own` is the user's value.
    pub fn variable(&self, run: &RunId, name: &str, own: Option<OsString>) -> Option<OsString> {
        variables::of_run(name, &format!("http://{}{}", self.0.address, prefix(run)), own)
    }

    /// The variables that every agent gets, whether its profile passes them on or not: without
    /// them a program would ask a real endpoint.
    pub fn variables(&self) -> impl Iterator<Item = &'static str> {
        variables::always()
    }

    /// A run begins.
    pub(super) fn begin(&self, run: &RunId) {
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert(prefix(run), Vec::new());
    }

    /// A run is over: says what it showed.
    pub(super) fn conclude(&self, run: &RunResult, expected: &Expected, records: &[Record]) {
        let seen = {
            let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.remove(&prefix(&run.run_id)).unwrap_or_default()
        };
        let findings = findings::examine(expected, &seen, run, records);
        self.0.findings.lock().unwrap_or_else(PoisonError::into_inner).push(findings);
    }

    /// What all runs so far have shown.
    pub fn told(&self) -> told::Told {
        let findings = self.0.findings.lock().unwrap_or_else(PoisonError::into_inner);
        told::Told::of(&self.0.script, &findings)
    }

    /// Stops serving.
    pub fn end(&self) {
        self.0.ending.cancel();
    }
}

fn prefix(run: &RunId) -> String {
    format!("/run/{}", run.0)
}

/// Paths that belong to no protocol have no prefix of their own.
fn prefix_of(seen: &Seen) -> String {
    if seen.protocol.is_some() {
        return seen.prefix.clone();
    }
    let path = seen.path.split_once(' ').map_or(seen.path.as_str(), |(_, path)| path);
    path.split('/').take(3).collect::<Vec<_>>().join("/")
}
