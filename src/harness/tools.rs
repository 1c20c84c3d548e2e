//! What the loop needs of tools, wherever they come from.

use super::message::{ToolCall, ToolSpec};
use super::model::BoxFuture;
use crate::domain::ToolClass;

/// Offers tools and carries out calls.
pub trait Tools: Send + Sync {
    /// What is offered, names unique and such as every vendor takes.
    fn specs(&self) -> &[ToolSpec];

    /// What a tool does; reads may be carried out at the same time, all others one by one.
    fn class(&self, name: &str) -> ToolClass {
        let read_only = self.specs().iter().any(|spec| spec.name == name && spec.read_only == Some(true));
        if read_only { ToolClass::Read } else { ToolClass::Unclassified }
    }

    /// Why a call cannot be sent, in words from which a model can mend it: there is no such tool, or
    /// its schema refuses the arguments.
    fn refusal(&self, call: &ToolCall) -> Option<String> {
        unknown(call, self.specs())
    }

    /// Carries out a call, once. Every failure is an outcome: the model has to hear of it.
    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome>;
}

/// What a model is told that asks for a tool that is not there.
pub fn unknown(call: &ToolCall, specs: &[ToolSpec]) -> Option<String> {
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    if names.contains(&call.name.as_str()) {
        return None;
    }
    let known = if names.is_empty() {
        "There are no tools.".to_owned()
    } else {
        format!("The tools are: {}.", names.join(", "))
    };
    Some(format!("There is no tool \"{}\". The call was not sent. {known}", call.name))
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutcome {
    /// What the model is told.
    pub text: String,
    /// True where the call failed, or nobody knows.
    pub is_error: bool,
}

impl ToolOutcome {
    /// A failure, in words for the model.
    pub fn error(text: impl Into<String>) -> ToolOutcome {
        ToolOutcome { text: text.into(), is_error: true }
    }
}
