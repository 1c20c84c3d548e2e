//! Checking a call's arguments against the tool's JSON Schema before the call leaves.

use crate::domain::words::clip;
use crate::harness::message::Object;
use jsonschema::Validator;
use serde_json::Value;

/// How many mistakes are told at once.
const MISTAKES: usize = 8;
/// How long what is told of one may be, in characters.
const LONGEST: usize = 300;

/// The schema of a tool's arguments; none where it cannot be used: then the server decides.
#[derive(Debug)]
pub(super) struct Schema(Option<Validator>);

impl Schema {
    /// Reads a schema. Nothing is fetched: a reference to another document makes it unusable.
    pub(super) fn new(tool: &str, schema: &Object) -> Schema {
        let read = jsonschema::options().offline().build(&Value::Object(schema.clone()));
        if let Err(error) = &read {
            tracing::warn!(tool, %error, "the schema of its arguments cannot be used");
        }
        Schema(read.ok())
    }

    /// What is wrong with arguments, in words from which a model can mend them; none where nothing is.
    pub(super) fn mistakes(&self, tool: &str, arguments: &Object) -> Option<String> {
        let value = Value::Object(arguments.clone());
        let mut lines: Vec<String> = self
            .0
            .as_ref()?
            .iter_errors(&value)
            .map(|error| {
                let place = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
                let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
                format!("- {place}{}", clip(&error.to_string(), LONGEST))
            })
            .collect();
        if lines.is_empty() {
            return None;
        }
        let more = lines.len().saturating_sub(MISTAKES);
        lines.truncate(MISTAKES);
        if more > 0 {
            lines.push(format!("- and {more} more"));
        }
        Some(format!("Invalid arguments for {tool}; the call was not sent:\n{}", lines.join("\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn mistakes(schema: Value, arguments: Value) -> Option<String> {
        Schema::new("book", schema.as_object().unwrap()).mistakes("book", arguments.as_object().unwrap())
    }

    #[test]
    fn every_mistake_is_told_with_its_place() {
        let schema = json!({"type": "object", "required": ["room", "guest"], "properties": {
            "room": {"type": "integer"}, "guest": {"type": "object", "properties": {"name": {"minLength": 1}}}}});
        assert_eq!(mistakes(schema.clone(), json!({"room": 1, "guest": {}})), None);
        let told = mistakes(schema, json!({"room": "twelve", "guest": {"name": ""}})).unwrap();
        assert_eq!(
            told,
            "Invalid arguments for book; the call was not sent:\n\
             - guest.name: \"\" is shorter than 1 character\n\
             - room: \"twelve\" is not of type \"integer\""
        );
    }

    #[test]
    fn a_schema_that_cannot_be_used_leaves_the_decision_to_the_server() {
        for schema in
            [json!({"$ref": "https://schemas.invalid/a.json"}), json!({"type": "no such type"}), json!({})]
        {
            assert_eq!(mistakes(schema, json!({"room": 1})), None);
        }
    }
}
