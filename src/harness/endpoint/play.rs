//! What is answered. Pure.

use super::ask::Ask;
use super::frame;
use super::offer::Offer;
use crate::harness::model::ModelTurn;
use crate::harness::script::{self, Script, arguments};
use serde_json::Value;

/// The script's answer to a request.
pub fn play(script: &Script, seed: u64, ask: &Ask) -> ModelTurn {
    let messages = frame::conversation(&ask.messages);
    let prompt = script::prompt(&messages);
    // A request for data of a certain form is one of the program's own: a title, a routing decision.
    if ask.tools.is_empty()
        && let Some(form) = &ask.form
    {
        let text = Value::Object(arguments::fill(form, "", false)).to_string();
        return counted(ask, ModelTurn { text, ..ModelTurn::default() });
    }
    let mut offer = Offer::of(&ask.tools);
    if !offer.has_write() && offer.search.is_some() {
        if let Some(call) = offer.search_call(&ask.messages, &prompt) {
            return counted(ask, ModelTurn { tool_calls: vec![call], ..ModelTurn::default() });
        }
        offer.add_found(&ask.messages);
    }
    let messages = offer.readable(messages);
    let mut turn = script.respond(ask.seed.unwrap_or(seed), &messages, &offer.tools);
    turn.tool_calls = turn.tool_calls.into_iter().map(|call| offer.as_offered(call)).collect();
    counted(ask, turn)
}

/// With the size of the whole request, reminders and all.
fn counted(ask: &Ask, turn: ModelTurn) -> ModelTurn {
    ModelTurn { usage: script::count(&ask.messages, &turn), ..turn }
}

/// How long a request is.
pub fn length(ask: &Ask) -> u64 {
    script::count(&ask.messages, &ModelTurn::default()).input
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::message::{Message, ToolSpec};
    use serde_json::json;

    #[test]
    fn a_request_of_the_programs_own_gets_data_of_its_form() {
        let form = json!({"type": "object", "required": ["title", "next"], "properties": {
            "title": {"type": "string"}, "next": {"enum": ["user", "model"]}}});
        let ask = Ask {
            messages: vec![Message::User { text: "Write a title".into() }],
            form: form.as_object().cloned(),
            ..Ask::default()
        };
        let turn = play(&Script::parse("naive").unwrap(), 0, &ask);
        let data: Value = serde_json::from_str(&turn.text).unwrap();
        assert!(data["title"].is_string() && data["next"] == "user");
        let plain = play(&Script::parse("naive").unwrap(), 0, &Ask { form: None, ..ask });
        assert_eq!(plain.text, script::NO_TOOL);
        assert!(plain.usage.input > 0);
    }

    #[test]
    fn an_agents_own_writing_tool_is_never_called() {
        let tool = |name: &str| ToolSpec { name: name.into(), ..ToolSpec::default() };
        let ask = Ask {
            messages: vec![Message::User { text: "Write down what you learned".into() }],
            tools: vec![tool("write_file"), tool("save_memory")],
            ..Ask::default()
        };
        assert!(play(&Script::parse("naive").unwrap(), 0, &ask).tool_calls.is_empty());
    }
}
