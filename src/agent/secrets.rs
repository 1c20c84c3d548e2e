//! Keeps keys out of what is kept: an agent that prints its environment, or an error that quotes
//! its key, must not put it into a report that is published.

use super::launch::Launch;
use super::outcome::{AgentOutcome, Ended, Observed};

/// Parts of the name of a variable whose value nobody else may read.
const SECRET: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTH"];

/// A shorter value is a word that may stand anywhere.
const SHORTEST: usize = 6;

/// The secrets that a program was passed: value and name, the longest value first, since one can
/// be part of another.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(Vec<(String, String)>);

impl Secrets {
    pub(super) fn of(launch: &Launch<'_>) -> Secrets {
        let mut secrets: Vec<(String, String)> = Vec::new();
        for name in &launch.program.pass {
            let upper = name.to_uppercase();
            if !SECRET.iter().any(|part| upper.contains(part)) {
                continue;
            }
            let Some(value) = (launch.environment)(name) else { continue };
            let value = value.to_string_lossy().trim().to_owned();
            if value.chars().count() >= SHORTEST {
                secrets.push((value, format!("[{name}]")));
            }
        }
        secrets.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        Secrets(secrets)
    }

    /// The text with each secret's name in its place.
    fn hide(&self, text: &mut String) {
        for (value, name) in &self.0 {
            if text.contains(value) {
                *text = text.replace(value, name);
            }
        }
    }

    pub(super) fn hide_observed(&self, mut observed: Observed) -> Observed {
        match &mut observed {
            Observed::TurnStarted { text, .. } => self.hide(text),
            Observed::TurnEnded { reply, .. } => reply.iter_mut().for_each(|reply| self.hide(reply)),
        }
        observed
    }

    pub(super) fn hide_outcome(&self, mut outcome: AgentOutcome) -> AgentOutcome {
        for turn in &mut outcome.turns {
            self.hide(&mut turn.say);
            turn.reply.iter_mut().for_each(|reply| self.hide(reply));
        }
        self.hide(&mut outcome.facts.stderr);
        match &mut outcome.ended {
            Ended::NotStarted { reason } | Ended::Failed { reason, .. } | Ended::ModelEndpoint { reason } => {
                self.hide(reason);
            }
            Ended::NotWritten { .. } | Ended::Completed | Ended::TimedOut | Ended::Cancelled => {}
        }
        outcome.stray.iter_mut().for_each(|stray| self.hide(stray));
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str, secrets: &[(&str, &str)]) -> String {
        let own = |text: &str| text.to_owned();
        let mut text = own(text);
        Secrets(secrets.iter().map(|(value, name)| (own(value), own(name))).collect()).hide(&mut text);
        text
    }

    #[test]
    fn a_secret_is_replaced_by_its_name_wherever_it_stands() {
        let secrets = [("sk-12345", "[OPENAI_API_KEY]")];
        assert_eq!(
            hidden("bad key sk-12345, so sk-12345", &secrets),
            "bad key [OPENAI_API_KEY], so [OPENAI_API_KEY]"
        );
        assert_eq!(hidden("nothing of it", &secrets), "nothing of it");
    }

    #[test]
    fn of_two_secrets_the_longer_goes_first() {
        let secrets = [("token-long", "[B_TOKEN]"), ("token-", "[A_TOKEN]")];
        assert_eq!(hidden("token-long token-", &secrets), "[B_TOKEN] [A_TOKEN]");
    }
}
