//! A desk under test, and what it did.

use super::{Answer, Builtin, Desk, Object};
use serde_json::Value;

pub(super) struct Case {
    pub desk: Box<dyn Desk>,
    pub effects: Vec<Object>,
}

impl Case {
    pub fn open(builtin: &Builtin, settings: &[(&str, bool)]) -> Case {
        let settings = builtin.settings(settings.iter().copied()).unwrap();
        Case { desk: (builtin.open)(&settings), effects: Vec::new() }
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, String> {
        let arguments = arguments.as_object().unwrap();
        let outcome = self.desk.decide(tool, arguments);
        if let Some(effect) = outcome.effect {
            self.desk.commit(effect.effect, &effect.record, arguments);
            self.effects.push(effect.record);
        }
        match outcome.answer {
            Answer::Done(text) => Ok(serde_json::from_str(&text).unwrap()),
            Answer::Refused(reason) => Err(reason),
            Answer::NoSuchTool => Err("no such tool".into()),
        }
    }
}

#[test]
fn nothing_that_a_client_sees_hints_at_a_test() {
    for builtin in super::BUILTINS {
        let mut seen = format!("{:?}", builtin.identity);
        for idempotent in [false, true] {
            let settings = [("search", true), ("idempotent", idempotent)];
            for tool in Case::open(builtin, &settings).desk.tools() {
                seen.push_str(&format!("{tool:?}"));
            }
        }
        let seen = seen.to_lowercase();
        for word in ["test", "fake", "mock", "nochmal", "chaos", "dummy", "built-in"] {
            assert!(!seen.contains(word), "{}: {word}", builtin.name);
        }
    }
}
