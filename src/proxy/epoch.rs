//! Which code may answer a client: the states of a connection while its upstream is rebuilt. Pure.
//!
//! ```text
//! ready(epoch A, catalogue 12, approval A)
//!   process replaced            → identity pending(epoch B, catalogue ?, approval A, which is invalid)
//!   client got the whole list   → catalogue ready(epoch B, catalogue 13, approval A, invalid)
//!   approval given              → ready(epoch B, catalogue 13, approval B)
//! ```
//!
//! A file that changed while its process runs on changes nothing here. A list that changed without a
//! new process keeps the epoch and the approval.

use crate::domain::{Approval, ConnectionId};
use crate::trace::{Binding, Decision, Execution};
use std::collections::HashMap;

/// What happens to a client whose upstream process is replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnReplace {
    /// Its connection ends, so that it must introduce itself anew.
    Close,
    /// Its calls are refused until it has got the list of tools and the new code is approved.
    #[default]
    Pending,
    /// Nothing is stopped: this measures what the client does by itself.
    Pass,
}

impl OnReplace {
    /// The one of that name.
    pub fn from_name(name: &str) -> Option<OnReplace> {
        match name {
            "close" => Some(OnReplace::Close),
            "pending" => Some(OnReplace::Pending),
            "pass" => Some(OnReplace::Pass),
            _ => None,
        }
    }
}

/// How rebuilds are treated in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Rebuilds are to be expected. Where they are not, epochs are recorded and nothing is refused.
    pub watched: bool,
    /// What happens to clients.
    pub on_replace: OnReplace,
    /// Who approves.
    pub approval: Approval,
    /// Names of the credentials that the upstream was given.
    pub credentials: Vec<String>,
}

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Calls pass.
    Ready,
    /// Other code than the approved one runs, and the client has not got its list of tools.
    IdentityPending,
    /// The client has got the list; the code is not approved.
    CatalogueReady,
}

/// What a call meets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// It passes.
    Pass,
    /// It is refused with this text.
    Refuse(String),
}

/// What follows from a list of tools that a client got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// Nothing.
    Nothing,
    /// A decision was made.
    Decided(Decision),
    /// A command is to be asked.
    Ask(Decision),
}

#[derive(Debug)]
struct Standing {
    epoch: String,
    identity: String,
    /// The last list that the client got whole, of whatever epoch.
    catalogue: Option<String>,
    /// That list is one of this epoch.
    fetched: bool,
    tools: Vec<String>,
    /// The epoch that is approved for this connection.
    approved: Option<String>,
    /// A command is being asked about this epoch.
    asked: bool,
    /// The process is being replaced: nothing that is decided about it counts any more.
    over: bool,
}

/// The states of all connections of a run.
#[derive(Debug, Default)]
pub struct Epochs {
    rules: Rules,
    connections: HashMap<ConnectionId, Standing>,
    /// The identity that was approved last, since the last replacement: a client that starts the same code
    /// anew, as some do for every call, needs no new approval; other code does, and so does code that
    /// came in a replacement, be it the very same bytes.
    approved: Option<String>,
    begun: bool,
}

impl Epochs {
    /// For one run.
    pub fn new(rules: Rules) -> Epochs {
        Epochs { rules, ..Epochs::default() }
    }

    /// What happens to clients.
    pub fn on_replace(&self) -> OnReplace {
        self.rules.on_replace
    }

    /// Whether rebuilds are to be expected.
    pub fn is_watched(&self) -> bool {
        self.rules.watched
    }

    /// Every process that runs is being replaced: no approval reaches what comes in its place, whether its
    /// client stays or comes anew.
    pub fn replaced(&mut self) {
        self.approved = None;
        for standing in self.connections.values_mut() {
            standing.over = true;
        }
    }

    /// A process was started for a connection, its first or one that replaces another. The decision
    /// that goes along with it.
    pub fn started(&mut self, connection: ConnectionId, execution: &Execution) -> Option<Decision> {
        let before = self.connections.remove(&connection);
        let mut standing = Standing {
            epoch: execution.epoch.clone(),
            identity: execution.identity.clone(),
            catalogue: before.as_ref().and_then(|before| before.catalogue.clone()),
            fetched: false,
            tools: before.as_ref().map(|before| before.tools.clone()).unwrap_or_default(),
            approved: before.as_ref().and_then(|before| before.approved.clone()),
            asked: false,
            over: false,
        };
        let first = !std::mem::replace(&mut self.begun, true);
        let same = before.is_none() && self.approved.as_ref() == Some(&execution.identity);
        let granted = same || first && !matches!(self.rules.approval, Approval::Command(_));
        let decision = granted.then(|| {
            standing.approved = Some(standing.epoch.clone());
            self.approved = Some(standing.identity.clone());
            self.decision(&standing, true, "start")
        });
        self.connections.insert(connection, standing);
        decision
    }

    /// A client got the whole list of tools.
    pub fn listed(&mut self, connection: ConnectionId, revision: String, tools: Vec<String>) -> Listed {
        let Some(standing) = self.connections.get_mut(&connection) else { return Listed::Nothing };
        standing.catalogue = Some(revision);
        standing.fetched = true;
        standing.tools = tools;
        if standing.approved.as_ref() == Some(&standing.epoch) || standing.asked {
            return Listed::Nothing;
        }
        standing.asked = true;
        let by = match self.rules.approval {
            Approval::Auto => {
                standing.approved = Some(standing.epoch.clone());
                self.approved = Some(standing.identity.clone());
                "auto"
            }
            Approval::Never => "never",
            Approval::Command(_) => "command",
        };
        let Some(standing) = self.connections.get(&connection) else { return Listed::Nothing };
        match self.rules.approval {
            Approval::Auto => Listed::Decided(self.decision(standing, true, by)),
            Approval::Never => Listed::Decided(self.decision(standing, false, by)),
            Approval::Command(_) => Listed::Ask(self.decision(standing, false, by)),
        }
    }

    /// The command has decided. An answer about an epoch that is over decides nothing.
    pub fn decided(&mut self, connection: ConnectionId, decision: &Decision) {
        let Some(standing) = self.connections.get_mut(&connection) else { return };
        if standing.over || standing.epoch != decision.epoch {
            return;
        }
        standing.asked = false;
        if decision.granted {
            standing.approved = Some(standing.epoch.clone());
            self.approved = Some(standing.identity.clone());
        }
    }

    /// A connection ended.
    pub fn ended(&mut self, connection: ConnectionId) {
        self.connections.remove(&connection);
    }

    /// Where a connection stands; ready where nothing is known of its process.
    pub fn state(&self, connection: ConnectionId) -> State {
        let Some(standing) = self.connections.get(&connection) else { return State::Ready };
        match (standing.approved.as_ref() == Some(&standing.epoch), standing.fetched) {
            (true, _) => State::Ready,
            (false, false) => State::IdentityPending,
            (false, true) => State::CatalogueReady,
        }
    }

    /// What a call meets.
    pub fn gate(&self, connection: ConnectionId) -> Gate {
        let gated = self.rules.watched && self.rules.on_replace != OnReplace::Pass;
        match self.connections.get(&connection) {
            Some(standing) if gated && self.state(connection) != State::Ready => {
                Gate::Refuse(stale(standing.approved.as_deref(), &standing.epoch))
            }
            _ => Gate::Pass,
        }
    }

    /// What a call is made under.
    pub fn binding(&self, connection: ConnectionId) -> Option<Binding> {
        let standing = self.connections.get(&connection)?;
        Some(Binding { epoch: standing.epoch.clone(), catalogue: standing.catalogue.clone() })
    }

    fn decision(&self, standing: &Standing, granted: bool, by: &str) -> Decision {
        Decision {
            epoch: standing.epoch.clone(),
            granted,
            by: by.to_owned(),
            tools: standing.tools.clone(),
            credentials: self.rules.credentials.clone(),
        }
    }
}

/// What a client is told whose call would meet code that is not approved.
fn stale(approved: Option<&str>, current: &str) -> String {
    serde_json::json!({
        "error": "authorization_stale",
        "reason": "server execution epoch changed",
        "approvedEpoch": approved,
        "currentEpoch": current,
        "retry": "refresh tool metadata and request authorization",
    })
    .to_string()
}

/// What a client is told whose call was under way when its process was replaced. `current` is absent
/// where no new process came about.
pub fn interrupted(old: Option<&str>, current: Option<&str>) -> String {
    serde_json::json!({
        "error": "outcome_unknown",
        "reason": "server execution epoch changed while the call was in progress",
        "callEpoch": old,
        "currentEpoch": current,
        "retry": "find out whether the call took effect before sending it again",
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ConnectionId = ConnectionId(1);
    const TWO: ConnectionId = ConnectionId(2);

    fn execution(epoch: &str, identity: &str) -> Execution {
        Execution {
            epoch: epoch.to_owned(),
            replaces: None,
            server_label: "desk".to_owned(),
            entry_digest: None,
            lockfile_digest: None,
            runtime: None,
            working_directory: "/".to_owned(),
            started_at: String::new(),
            files: Vec::new(),
            identity: identity.to_owned(),
        }
    }

    fn watched(on_replace: OnReplace, approval: Approval) -> Epochs {
        Epochs::new(Rules { watched: true, on_replace, approval, credentials: vec!["DESK_KEY".to_owned()] })
    }

    fn list(epochs: &mut Epochs, revision: &str) -> Listed {
        epochs.listed(ONE, revision.to_owned(), vec!["book".to_owned()])
    }

    #[test]
    fn a_connection_goes_through_the_states() {
        let mut epochs = watched(OnReplace::Pending, Approval::Command("ask".to_owned()));
        assert_eq!(epochs.started(ONE, &execution("A", "a")), None);
        assert_eq!(epochs.state(ONE), State::IdentityPending);
        let Listed::Ask(mut decision) = list(&mut epochs, "12") else { panic!() };
        assert_eq!(epochs.state(ONE), State::CatalogueReady);
        assert_eq!(decision.credentials, ["DESK_KEY"]);
        decision.granted = true;
        epochs.decided(ONE, &decision);
        assert_eq!((epochs.state(ONE), epochs.gate(ONE)), (State::Ready, Gate::Pass));
        assert_eq!(
            epochs.binding(ONE),
            Some(Binding { epoch: "A".to_owned(), catalogue: Some("12".to_owned()) })
        );

        assert_eq!(epochs.started(ONE, &execution("B", "b")), None);
        assert_eq!(epochs.state(ONE), State::IdentityPending);
        // The old approval does not reach the new epoch, even where its decision comes late.
        epochs.decided(ONE, &decision);
        let Gate::Refuse(text) = epochs.gate(ONE) else { panic!() };
        let told: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&told["error"], &told["approvedEpoch"], &told["currentEpoch"]),
            (&"authorization_stale".into(), &"A".into(), &"B".into())
        );
        assert_eq!(epochs.binding(ONE).unwrap().catalogue.as_deref(), Some("12"));
        let Listed::Ask(mut decision) = list(&mut epochs, "13") else { panic!() };
        // Asked once, however often the client fetches the list.
        assert_eq!(list(&mut epochs, "13"), Listed::Nothing);
        assert!(matches!(epochs.gate(ONE), Gate::Refuse(_)));
        decision.granted = true;
        epochs.decided(ONE, &decision);
        assert_eq!(epochs.gate(ONE), Gate::Pass);
    }

    #[test]
    fn the_same_bytes_started_twice_are_two_epochs() {
        let mut epochs = watched(OnReplace::Pending, Approval::Auto);
        assert_eq!(epochs.started(ONE, &execution("A", "a")).unwrap().by, "start");
        assert_eq!(epochs.started(ONE, &execution("B", "a")), None);
        assert!(matches!(epochs.gate(ONE), Gate::Refuse(_)));
        assert!(matches!(list(&mut epochs, "1"), Listed::Decided(Decision { granted: true, .. })));
        assert_eq!(epochs.gate(ONE), Gate::Pass);
    }

    #[test]
    fn a_client_that_starts_the_same_code_anew_needs_no_new_approval_but_other_code_does() {
        let mut epochs = watched(OnReplace::Close, Approval::Auto);
        epochs.started(ONE, &execution("A", "a"));
        epochs.ended(ONE);
        assert!(epochs.started(TWO, &execution("B", "a")).is_some());
        epochs.ended(TWO);
        assert_eq!(epochs.started(TWO, &execution("C", "c")), None);
        assert!(matches!(epochs.gate(TWO), Gate::Refuse(_)));
    }

    #[test]
    fn what_was_replaced_is_approved_anew_also_where_its_client_comes_anew_to_the_same_bytes() {
        for (approval, passes) in [(Approval::Auto, true), (Approval::Never, false)] {
            let mut epochs = watched(OnReplace::Close, approval);
            epochs.started(ONE, &execution("A", "a"));
            epochs.replaced();
            epochs.started(ONE, &execution("B", "a"));
            epochs.ended(ONE);
            assert_eq!(epochs.started(TWO, &execution("C", "a")), None);
            assert!(matches!(epochs.gate(TWO), Gate::Refuse(_)));
            epochs.listed(TWO, "1".to_owned(), Vec::new());
            assert_eq!(epochs.gate(TWO) == Gate::Pass, passes);
        }
    }

    #[test]
    fn a_yes_that_comes_while_its_process_is_replaced_reaches_nothing() {
        let mut epochs = watched(OnReplace::Close, Approval::Command("ask".to_owned()));
        epochs.started(ONE, &execution("A", "a"));
        let Listed::Ask(mut decision) = list(&mut epochs, "1") else { panic!() };
        decision.granted = true;
        epochs.replaced();
        epochs.decided(ONE, &decision);
        assert_eq!(epochs.started(TWO, &execution("B", "a")), None);
        assert!(matches!(epochs.gate(TWO), Gate::Refuse(_)));
    }

    #[test]
    fn without_an_approval_nothing_passes_but_the_list() {
        let mut epochs = watched(OnReplace::Pending, Approval::Never);
        epochs.started(ONE, &execution("A", "a"));
        assert_eq!(epochs.gate(ONE), Gate::Pass);
        epochs.started(ONE, &execution("B", "b"));
        assert!(matches!(list(&mut epochs, "2"), Listed::Decided(Decision { granted: false, .. })));
        assert!(matches!(epochs.gate(ONE), Gate::Refuse(_)));
    }

    #[test]
    fn a_list_that_changed_without_a_new_process_keeps_epoch_and_approval() {
        let mut epochs = watched(OnReplace::Pending, Approval::Never);
        epochs.started(ONE, &execution("A", "a"));
        list(&mut epochs, "12");
        assert_eq!(list(&mut epochs, "13"), Listed::Nothing);
        assert_eq!((epochs.state(ONE), epochs.gate(ONE)), (State::Ready, Gate::Pass));
        assert_eq!(epochs.binding(ONE).unwrap().catalogue.as_deref(), Some("13"));
    }

    #[test]
    fn pass_stops_nothing_and_neither_does_a_run_without_rebuilds() {
        let unwatched = Epochs::new(Rules::default());
        for mut epochs in [watched(OnReplace::Pass, Approval::Never), unwatched] {
            epochs.started(ONE, &execution("A", "a"));
            epochs.started(ONE, &execution("B", "b"));
            assert_eq!(epochs.gate(ONE), Gate::Pass);
            assert_eq!(epochs.binding(ONE).unwrap().epoch, "B");
        }
        assert_eq!(Epochs::new(Rules::default()).state(TWO), State::Ready);
    }

    #[test]
    fn no_text_betrays_a_test() {
        for text in [stale(None, "B"), interrupted(Some("A"), None)] {
            for word in ["inject", "nochmal", "test", "scenario", "simulat", "proxy", "fault", "rebuilt"] {
                assert!(!text.to_lowercase().contains(word), "{text} says {word}");
            }
        }
    }
}
