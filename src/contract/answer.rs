//! What a tool answered, as its caller can read it.

use serde_json::Value;
use std::time::Duration;

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A result.
    Result(Told),
    /// A JSON-RPC error.
    Refused(Told),
    /// Nothing, within this time.
    Silent(Duration),
    /// Nothing: the server ended, or its connection broke. How, for people.
    Gone(String),
}

/// What a result or an error says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// `isError`, or that it is a JSON-RPC error.
    pub is_error: bool,
    /// `structuredContent`; without it, the JSON of the only text. An error's `data`.
    pub value: Option<Value>,
    /// All texts, a line break between two.
    pub text: String,
    /// Each text by itself.
    pub texts: Vec<String>,
    /// As it came.
    pub json: String,
}

impl Answer {
    /// Reads the `result` of `tools/call`.
    pub fn of_result(json: &str) -> Answer {
        let result: Value = serde_json::from_str(json).unwrap_or_default();
        let texts: Vec<&str> = result
            .get("content")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|block| block.get("text").or_else(|| block.pointer("/resource/text"))?.as_str())
            .collect();
        let in_text = || match &texts[..] {
            [only] => serde_json::from_str::<Value>(only).ok().filter(|value| !value.is_string()),
            _ => None,
        };
        Answer::Result(Told {
            is_error: result.get("isError") == Some(&Value::Bool(true)),
            value: result.get("structuredContent").cloned().or_else(in_text),
            text: texts.join("\n"),
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
            json: json.to_owned(),
        })
    }

    /// Reads the `error` of a JSON-RPC answer.
    pub fn of_error(json: &str) -> Answer {
        let error: Value = serde_json::from_str(json).unwrap_or_default();
        let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
        Answer::Refused(Told {
            is_error: true,
            value: error.get("data").cloned(),
            text: message.to_owned(),
            texts: vec![message.to_owned()],
            json: json.to_owned(),
        })
    }

    /// What it says, where there is something.
    pub fn told(&self) -> Option<&Told> {
        match self {
            Answer::Result(told) | Answer::Refused(told) => Some(told),
            Answer::Silent(_) | Answer::Gone(_) => None,
        }
    }
}

impl Told {
    /// The category of the result: `category`, at the top or in `error`.
    pub fn category(&self) -> Option<&str> {
        self.word("category")
    }

    /// The advice about trying again: `retry`, at the top or in `error`.
    pub fn retry(&self) -> Option<&str> {
        self.word("retry")
    }

    /// Whether the result says of itself that it is none: `isError`, or `ok: false`.
    pub fn admits_failure(&self) -> bool {
        self.is_error || self.value.as_ref().and_then(|value| value.get("ok")) == Some(&Value::Bool(false))
    }

    fn word(&self, name: &str) -> Option<&str> {
        let value = self.value.as_ref()?;
        value.get(name).or_else(|| value.get("error")?.get(name))?.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(result: &Value) -> Told {
        Answer::of_result(&result.to_string()).told().unwrap().clone()
    }

    #[test]
    fn a_result_is_read_where_it_says_most() {
        let structured = told(&json!({"content": [{"type": "text", "text": "no"}], "isError": true,
            "structuredContent": {"category": "failed", "retry": "safe"}}));
        assert_eq!((structured.category(), structured.retry()), (Some("failed"), Some("safe")));
        let in_text = told(
            &json!({"content": [{"type": "text", "text": "{\"ok\": false, \"error\": {\"category\": \"rejected\"}}"}]}),
        );
        assert_eq!(in_text.category(), Some("rejected"));
        assert!(in_text.admits_failure() && !in_text.is_error);
        let plain = told(&json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}));
        assert_eq!((plain.text.as_str(), plain.value), ("a\nb", None));
    }
}
