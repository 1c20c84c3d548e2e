//! The form of a contract for editors that know JSON Schema. Contracts are read by [`super::file`],
//! which says more of what is wrong; a test compares the keys of the two.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Cases for the tools of one MCP server, which runs against a backend on loopback.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ContractFile {
    /// Its name.
    pub contract: String,
    /// For people.
    pub description: Option<String>,
    /// The server under test.
    pub upstream: UpstreamPart,
    /// The backend's address, where the server under test runs already.
    pub fixture: Option<BackendPart>,
    /// Names of variables of the upstream's `env` whose values no result may hold.
    pub secrets: Option<Vec<String>>,
    /// Your own names in templates.
    pub vars: Option<BTreeMap<String, Scalar>>,
    /// Limits of time.
    pub limits: Option<LimitsPart>,
    /// The cases, no id twice.
    #[schemars(length(min = 1))]
    pub cases: Vec<CasePart>,
}

/// A text; a number or a boolean is taken as it was written.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
    /// A boolean.
    Boolean(bool),
}

/// The server under test: `command`, started for every case, or `url`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct UpstreamPart {
    /// The program. A template.
    pub command: Option<String>,
    /// Its arguments. Templates, which know `fixture.url`, `contract.dir` and the `vars`.
    pub args: Option<Vec<Scalar>>,
    /// Its environment besides PATH and the like. Templates.
    pub env: Option<BTreeMap<String, Scalar>>,
    /// Its folder; the contract's where absent.
    pub cwd: Option<String>,
    /// The address of a server that runs already.
    pub url: Option<String>,
    /// Headers of every request to it.
    pub headers: Option<BTreeMap<String, Scalar>>,
}

/// Where the backend listens.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BackendPart {
    /// An address of loopback with a port, such as `127.0.0.1:4010`.
    pub listen: Option<String>,
}

/// Limits of time, such as `30s`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LimitsPart {
    /// For the server's start, up to its list of tools.
    pub start: Option<String>,
    /// For the answer to a call.
    pub call: Option<String>,
}

/// One call, what the backend does, and what must come of it.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CasePart {
    /// Unique in its contract.
    pub id: String,
    /// For people.
    pub description: Option<String>,
    /// The call.
    pub call: CallPart,
    /// What the backend answers.
    pub fixture: Fixtures,
    /// What must come of it.
    pub expect: ExpectPart,
}

/// The call.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CallPart {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    pub args: Option<BTreeMap<String, Value>>,
}

/// One answer, or several in the order in which they are given.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Fixtures {
    /// One.
    One(FixturePart),
    /// Several.
    Several(Vec<FixturePart>),
}

/// One answer of the backend.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FixturePart {
    /// Which requests it is for; absent, all.
    #[serde(rename = "match")]
    pub matches: Option<MatchPart>,
    /// The status, by default 200.
    #[schemars(range(min = 200, max = 599))]
    pub status: Option<u16>,
    /// Headers of the answer.
    pub headers: Option<BTreeMap<String, Scalar>>,
    /// The body: JSON, or a text that is sent as it is.
    pub body: Option<Value>,
    /// How far the request gets, by default `whole`.
    pub phase: Option<PhasePart>,
    /// How long the backend waits there, such as `60s`.
    pub delay: Option<String>,
    /// That the work was done, or was not, whatever the status says.
    pub committed: Option<bool>,
}

/// How far a request gets.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhasePart {
    /// Nobody listens.
    Refuse,
    /// The connection ends behind the request's headers.
    AfterHeaders,
    /// It ends when the work is done, without an answer.
    AfterCommit,
    /// It ends in the middle of the answer's body.
    MidBody,
    /// The whole answer is given.
    Whole,
}

/// Which requests are meant; what is absent may be anything.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct MatchPart {
    /// The method.
    pub method: Option<String>,
    /// Glob over the path, or over path and query where it holds a `?`.
    pub path: Option<String>,
    /// Globs over values of headers.
    pub headers: Option<BTreeMap<String, Scalar>>,
    /// What the JSON of the body must hold, at least.
    pub body: Option<Value>,
}

/// What must come of a case.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ExpectPart {
    /// `isError` of the result.
    pub is_error: Option<bool>,
    /// One of these as the result's category.
    pub category: Option<Words>,
    /// One of these as the result's advice about trying again.
    pub retry: Option<Words>,
    /// How many requests reached the backend.
    pub requests: Option<RequestsPart>,
    /// Whether the backend carried something out.
    pub committed: Option<bool>,
    /// That the result holds a secret; by default it must not.
    pub secret_in_result: Option<bool>,
    /// JSON pointers, and what stands there.
    pub result: Option<BTreeMap<String, Value>>,
    /// Conditions on the texts of the result.
    pub text: Option<TextPart>,
}

/// A word, or a list of allowed ones.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Words {
    /// One.
    One(String),
    /// Any of these.
    Any(Vec<String>),
}

/// A number in all, or by method.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RequestsPart {
    /// In all.
    All(u64),
    /// By method; of others, none.
    ByMethod(BTreeMap<String, u64>),
}

/// Conditions on the texts of a result, case ignored.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TextPart {
    /// Each of these is in it.
    pub contains: Option<Words>,
    /// None of these is in it.
    pub lacks: Option<Words>,
    /// A regular expression that matches it.
    pub matches: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::super::{expect, file, fixture};
    use super::*;
    use crate::suite::decode::Shape;
    use crate::suite::diagnostics::Source;
    use crate::suite::{tree, value};
    use std::collections::BTreeSet;

    #[test]
    fn the_schema_has_the_keys_that_are_read() {
        let schema = serde_json::to_value(schemars::schema_for!(ContractFile)).unwrap();
        let keys = |part: &Value| -> BTreeSet<String> {
            part["properties"].as_object().unwrap().keys().cloned().collect()
        };
        let same = |part: &Value, shape: &Shape| {
            let read: BTreeSet<String> = shape.keys().iter().map(|key| (*key).to_owned()).collect();
            assert_eq!(keys(part), read);
        };
        same(&schema, &file::CONTRACT);
        for (name, shape) in [
            ("UpstreamPart", &file::UPSTREAM),
            ("BackendPart", &file::BACKEND),
            ("LimitsPart", &file::LIMITS),
            ("CasePart", &file::CASE),
            ("CallPart", &file::CALL),
            ("FixturePart", &fixture::FIXTURE),
            ("MatchPart", &fixture::MATCH),
            ("ExpectPart", &expect::EXPECT),
            ("TextPart", &expect::TEXT),
        ] {
            same(&schema["$defs"][name], shape);
        }
    }

    #[test]
    fn the_contract_that_comes_along_has_that_form() {
        let text = include_str!("../../suites/contracts/releases.yaml");
        let root = tree::parse(&Source::new("releases.yaml", text)).0.unwrap();
        let schema = serde_json::to_value(schemars::schema_for!(ContractFile)).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let mut contract = value::json(&root);
        let mistakes: Vec<String> = validator.iter_errors(&contract).map(|error| error.to_string()).collect();
        assert!(mistakes.is_empty(), "{mistakes:#?}");
        contract["cases"][0]["fixture"]["phase"] = "after_comit".into();
        assert!(!validator.is_valid(&contract));
    }
}
