//! A contract's text → a [`Contract`]: the server under test, and its cases.

use super::expect::{self, Expect};
use super::fixture::{self, Fixture};
use crate::suite::decode::{At, Decoder, Shape};
use crate::suite::diagnostics::{Diagnostics, Source, shown};
use crate::suite::template::{Names, Place};
use crate::suite::tree::{self, Key, Kind, Node};
use crate::suite::{Server, parts, upstream, value};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

/// A server and the cases that it must meet.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    /// Its name.
    pub name: String,
    /// For people.
    pub description: Option<String>,
    /// The server under test; never a built-in one, which calls no HTTP API. A relative `cwd` begins at
    /// the contract's folder.
    pub server: Server,
    /// Where the backend listens; a free port of loopback where absent.
    pub listen: Option<SocketAddr>,
    /// Names of the server's environment variables whose values no result may hold.
    pub secrets: Vec<String>,
    /// The user's own names in templates.
    pub vars: BTreeMap<String, String>,
    /// Time.
    pub limits: Limits,
    /// In the order of the file, no id twice.
    pub cases: Vec<Case>,
}

/// Time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For the server's start, up to its list of tools.
    pub start: Duration,
    /// For the answer to a call.
    pub call: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { start: Duration::from_secs(30), call: Duration::from_secs(30) }
    }
}

/// One call, what the backend does, and what must come of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Unique in its contract.
    pub id: String,
    /// For people.
    pub description: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// What the backend answers, in the order in which it does.
    pub fixtures: Vec<Fixture>,
    /// What must come of it.
    pub expect: Expect,
}

pub(super) const CONTRACT: Shape = Shape::new(
    "a contract",
    &["contract", "description", "upstream", "fixture", "secrets", "vars", "limits", "cases"],
)
.hints(&[
    ("suite", "this is read as a contract; `nochmal run` runs suites"),
    ("name", "the name of a contract is the value of `contract:`"),
    ("upstreams", "a contract has one `upstream:`"),
    ("server", "the server under test stands under `upstream:`"),
    ("expect", "it stands in a case, under `cases:`"),
    ("call", "it stands in a case, under `cases:`"),
]);
pub(super) const UPSTREAM: Shape =
    Shape::new("the upstream of a contract", &["command", "args", "env", "cwd", "url", "headers"])
        .hints(&[("builtin", "the built-in upstreams call no HTTP API: there is nothing to answer them")]);
pub(super) const BACKEND: Shape = Shape::new("the backend of a contract", &["listen"])
    .hints(&[("status", "an answer stands in a case, as its `fixture:`")]);
pub(super) const LIMITS: Shape = Shape::new("the limits of a contract", &["start", "call"]);
pub(super) const CASE: Shape = Shape::new("a case", &["id", "description", "call", "fixture", "expect"])
    .hints(&[
        ("tool", "it stands under `call:`"),
        ("args", "it stands under `call:`"),
        ("request", "which requests are answered stands in `fixture: {match: …}`"),
        ("fixture_response", "it is called `fixture`"),
        ("status", "it stands under `fixture:`"),
        ("fixtures", "one or a list, both under `fixture:`"),
    ]);
pub(super) const CALL: Shape =
    Shape::new("a call", &["tool", "args"]).hints(&[("arguments", "they are called `args`")]);

/// The shortest and longest limit.
const TIME: std::ops::RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(3600);

impl Contract {
    /// Reads a contract. `file` is its name in messages.
    ///
    /// # Errors
    /// With every mistake.
    pub fn parse(text: &str, file: &str) -> Result<Contract, Diagnostics> {
        let source = Source::new(file, text);
        let (root, mistakes) = tree::parse(&source);
        let mut decoder = Decoder::new(&source, mistakes);
        match root.and_then(|root| contract(&mut decoder, &root)) {
            Some(contract) if decoder.is_clean() => Ok(contract),
            _ => Err(decoder.finish()),
        }
    }
}

fn contract(decoder: &mut Decoder, root: &Node) -> Option<Contract> {
    let anchor = decoder.source().rest_of_line(root.span.start);
    let fields = decoder.fields(root, anchor, &CONTRACT)?;
    let name = decoder
        .required(&fields, "contract", "contract: releases")
        .and_then(|(_, node)| decoder.filled(node, "the contract's name"));
    let description =
        fields.get("description").and_then(|node| decoder.text(node, "a text")).map(|text| text.value);
    let vars = fields.get("vars").map(|node| parts::vars(decoder, node)).unwrap_or_default();
    taken_names(decoder, fields.get("vars"));
    let names = Names::new(Place::Contract, &vars);
    let server = decoder
        .required(&fields, "upstream", "upstream: {command: node, args: [server.js]}")
        .and_then(|(key, node)| server(decoder, key, node, &names));
    let listen = match fields.entry("fixture") {
        Some((key, node)) => listen(decoder, key, node),
        None => Some(None),
    };
    if let (Some(Server::Url { .. }), Some(None), Some((key, _))) =
        (&server, &listen, fields.entry("upstream"))
    {
        decoder
            .error(key.span.clone(), "a server that runs already must know where its backend listens")
            .help("write `fixture: {listen: \"127.0.0.1:4010\"}`, and start the server with that address");
    }
    let secrets = fields.get("secrets").and_then(|node| secrets(decoder, node, server.as_ref()));
    let limits = match fields.entry("limits") {
        Some((key, node)) => limits(decoder, key, node),
        None => Some(Limits::default()),
    };
    let cases = decoder.required(&fields, "cases", "cases: [{id: denied, call: {tool: create_release}, fixture: {status: 403}, expect: {is_error: true}}]");
    let cases = cases.and_then(|(key, node)| cases_of(decoder, key, node));
    Some(Contract {
        name: name?.value,
        description,
        server: server?,
        listen: listen?,
        secrets: secrets.unwrap_or_default(),
        vars,
        limits: limits?,
        cases: cases?,
    })
}

/// `fixture` and `contract` mean something else in the templates of a contract alone.
fn taken_names(decoder: &mut Decoder, vars: Option<&Node>) {
    let Some(Node { kind: Kind::Map(entries), .. }) = vars else { return };
    for (key, _) in entries.iter().filter(|(key, _)| ["fixture", "contract"].contains(&key.text.as_str())) {
        decoder
            .error(key.span.clone(), format!("{} means something else in templates", shown(&key.text)))
            .help("choose another name");
    }
}

fn server(decoder: &mut Decoder, key: &Key, node: &Node, names: &Names) -> Option<Server> {
    let fields = decoder.fields(node, key.span.clone(), &UPSTREAM)?;
    match (fields.entry("command"), fields.entry("url")) {
        (Some((first, _)), Some((second, _))) => {
            decoder
                .error(second.span.clone(), "an upstream is either a `command` or a `url`, not both")
                .related(first.span.clone(), "the other one");
            None
        }
        (None, None) => {
            decoder
                .error(key.span.clone(), "the upstream needs `command` or `url`")
                .help("for example `{command: node, args: [server.js]}`");
            None
        }
        (Some((kind, _)), None) | (None, Some((kind, _))) => {
            upstream::server(decoder, &fields, &kind.text, names, &[])
        }
    }
}

fn listen(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<Option<SocketAddr>> {
    let fields = decoder.fields(node, key.span.clone(), &BACKEND)?;
    let Some(node) = fields.get("listen") else { return Some(None) };
    let text = decoder.filled(node, "an address")?;
    match text.value.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Some(Some(address)),
        Ok(_) => {
            decoder
                .error(text.span, "the backend listens on loopback only")
                .help("for example `127.0.0.1:4010`");
            None
        }
        Err(_) => {
            decoder
                .error(text.span, format!("{} is no address with a port", shown(&text.value)))
                .help("for example `127.0.0.1:4010`");
            None
        }
    }
}

fn secrets(decoder: &mut Decoder, node: &Node, server: Option<&Server>) -> Option<Vec<String>> {
    let names = decoder.texts(node, "a list of environment variables")?;
    if let Some(Server::Command { env, .. }) = server {
        let known: Vec<&str> = env.keys().map(String::as_str).collect();
        for name in &names {
            if !env.contains_key(&name.value) {
                let message = format!("{} is no variable of the upstream's `env:`", shown(&name.value));
                let help = crate::suite::diagnostics::suggestion(&name.value, &known);
                decoder.error(name.span.clone(), message).help(help);
            }
        }
    }
    Some(names.into_iter().map(|name| name.value).collect())
}

fn limits(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<Limits> {
    let fields = decoder.fields(node, key.span.clone(), &LIMITS)?;
    let default = Limits::default();
    let mut limit = |name: &str, default: Duration| match fields.get(name) {
        Some(node) => decoder.duration(node, TIME),
        None => Some(default),
    };
    let (start, call) = (limit("start", default.start), limit("call", default.call));
    Some(Limits { start: start?, call: call? })
}

fn cases_of(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<Vec<Case>> {
    let items = decoder.list(node, "a list of cases")?;
    if items.is_empty() {
        decoder.error(key.span.clone(), "a contract without a case shows nothing");
        return None;
    }
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut cases = Vec::new();
    for item in items {
        let Some((id, case)) = case(decoder, item) else { continue };
        if !seen.insert(id.value.clone()) {
            decoder.error(id.span, format!("two cases are called {}", shown(&id.value)));
        }
        cases.extend(case);
    }
    Some(cases)
}

fn case(decoder: &mut Decoder, node: &Node) -> Option<(At<String>, Option<Case>)> {
    let anchor = decoder.source().rest_of_line(node.span.start);
    let fields = decoder.fields(node, anchor, &CASE)?;
    let id = decoder
        .required(&fields, "id", "id: expired-token")
        .and_then(|(_, node)| decoder.filled(node, "the case's id"));
    let description =
        fields.get("description").and_then(|node| decoder.text(node, "a text")).map(|text| text.value);
    let call = decoder
        .required(&fields, "call", "call: {tool: create_release, args: {name: v1}}")
        .and_then(|(key, node)| call(decoder, key, node));
    let fixtures = decoder
        .required(&fields, "fixture", "fixture: {match: {method: POST, path: /v1/releases}, status: 401}")
        .and_then(|(key, node)| fixture::read(decoder, key, node));
    let expect = decoder
        .required(
            &fields,
            "expect",
            "expect: {is_error: true, category: authentication_failed, retry: never}",
        )
        .and_then(|(key, node)| expect::read(decoder, key, node));
    let id = id?;
    let case = match (call, fixtures, expect) {
        (Some((tool, arguments)), Some(fixtures), Some(expect)) => {
            Some(Case { id: id.value.clone(), description, tool, arguments, fixtures, expect })
        }
        _ => None,
    };
    Some((id, case))
}

fn call(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<(String, Map<String, Value>)> {
    let fields = decoder.fields(node, key.span.clone(), &CALL)?;
    let tool = decoder
        .required(&fields, "tool", "tool: create_release")
        .and_then(|(_, node)| decoder.filled(node, "a tool's name"));
    let arguments = match fields.get("args") {
        None => Some(Map::new()),
        Some(node) => match value::json(node) {
            Value::Object(arguments) => Some(arguments),
            _ => {
                decoder
                    .error(node.span.clone(), "the arguments of a tool are a map")
                    .help("for example `args: {name: v1}`");
                None
            }
        },
    };
    Some((tool?.value, arguments?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RELEASES: &str = include_str!("../../suites/contracts/releases.yaml");

    #[test]
    fn the_contract_that_comes_along_is_read() {
        let contract =
            Contract::parse(RELEASES, "releases.yaml").unwrap_or_else(|mistakes| panic!("{mistakes}"));
        assert_eq!((contract.cases.len(), contract.secrets.as_slice()), (22, &["API_TOKEN".to_owned()][..]));
        assert_eq!(contract.cases[3].fixtures.len(), 2);
    }

    #[test]
    fn every_mistake_is_shown_with_its_place() {
        let text = r#"
contract: broken
upstreem: {command: node, args: [a, "{{ fixture.uri }}"], env: {API_URL: "{{ fixture.url }}", API_TOKEN: x}}
secrets: [API_TOKN]
vars: {fixture: x}
limits: {call: 5}
cases:
  - id: a
    call: {tool: t, arguments: {x: 1}}
    fixture: {match: {methd: POST, path: v1}, status: 99, phase: after_comit}
    expect: {isError: true}
  - id: a
    call: {tool: t, args: [1]}
    fixture: {phase: refuse, committed: true}
    expect: {category: [], result: {id: {type: text}}}
  - id: b
    call: {tool: t}
    fixture: [{phase: refuse}, {status: 200}]
    expect: {}
  - id: c
    call: {tool: t}
    fixture: {phase: mid_body, headers: {"a b": c}}
    expect: {is_error: yes, requests: {POST: -1}}
  - id: d
    call: {}
    expect: {text: {not_contains: x}}
"#;
        insta::assert_snapshot!(Contract::parse(text, "broken.yaml").unwrap_err());
    }

    #[test]
    fn a_header_that_frames_the_answer_is_refused() {
        for name in ["content-length", "Transfer-Encoding", "connection"] {
            let text = format!(
                "contract: c\nupstream: {{command: x}}\ncases:\n- id: a\n  call: {{tool: t}}\n  fixture: {{headers: {{{name}: '3'}}}}\n  expect: {{is_error: true}}\n"
            );
            let said = Contract::parse(&text, "c.yaml").unwrap_err().to_string();
            assert!(said.contains(&format!("`{name}` cannot be set")), "{said}");
            assert!(said.contains("c.yaml:6:23"), "{said}");
        }
    }

    #[test]
    fn what_runs_already_must_know_its_backend() {
        let text = "contract: c\nupstream: {url: 'http://127.0.0.1:1/mcp'}\ncases:\n- {id: a, call: {tool: t}, fixture: {status: 200}, expect: {is_error: true}}\n";
        insta::assert_snapshot!(Contract::parse(text, "c.yaml").unwrap_err());
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(at in 0_usize..4000, cut in 0_usize..30, with in "[ -~\n]{0,6}") {
            let mut text: Vec<char> = RELEASES.chars().collect();
            let at = at.min(text.len());
            let end = (at + cut).min(text.len());
            text.splice(at..end, with.chars());
            let _ = Contract::parse(&text.into_iter().collect::<String>(), "c.yaml");
        }
    }
}
