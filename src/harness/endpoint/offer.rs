//! Which of the tools in a request are those of the MCP server, and under which name a script can
//! read them. Agent programs add their own tools, put the server's name before the tool's, and keep
//! tools back until a search has named them.

use crate::domain::ToolClass;
use crate::harness::message::{Message, Object, ToolCall, ToolSpec};
use crate::harness::script::choose::class;
use crate::harness::script::words::{local, split};
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The tools that a script may use.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offer {
    /// Under names that a script can take apart.
    pub tools: Vec<ToolSpec>,
    /// The tool that finds the deferred ones.
    pub search: Option<ToolSpec>,
    /// A name here → the name in the request.
    names: BTreeMap<String, String>,
}

/// Tools that agent programs bring along and that do something to files or to other programs, by
/// their letters. A script must never choose one of them for a write.
const OWN: &[&str] = &[
    "agent",
    "applypatch",
    "askuserquestion",
    "bash",
    "bashoutput",
    "checkbackgroundjob",
    "createfile",
    "createnewfile",
    "createruleblock",
    "edit",
    "editexistingfile",
    "editfile",
    "enterplanmode",
    "enterworktree",
    "execcommand",
    "exit",
    "exitplanmode",
    "fetch",
    "glob",
    "googlewebsearch",
    "grep",
    "grepsearch",
    "killshell",
    "list",
    "listdirectory",
    "ls",
    "memory",
    "multiedit",
    "notebookedit",
    "patch",
    "planexit",
    "question",
    "read",
    "readcurrentlyopenfile",
    "readfile",
    "readmanyfiles",
    "replace",
    "reportfailure",
    "requestuserinput",
    "runshellcommand",
    "runterminalcommand",
    "savememory",
    "search",
    "searchcode",
    "searchfilecontent",
    "searchreplace",
    "sendinput",
    "sendmessage",
    "sendusermessage",
    "shell",
    "skill",
    "spawnagent",
    "status",
    "task",
    "todo",
    "todoread",
    "todowrite",
    "updateplan",
    "uploadartifact",
    "viewdiff",
    "viewimage",
    "webfetch",
    "websearch",
    "write",
    "writechecklist",
    "writefile",
    "writestdin",
    "writetodos",
];

/// What such tools begin with where there are several.
const OWN_STARTS: &[&str] = &["cron", "task", "schedule", "team", "browser"];

const SEARCHES: &[&str] = &["toolsearch", "searchtools", "searchtool"];

fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}

fn is_search(name: &str) -> bool {
    SEARCHES.contains(&letters(name).as_str())
}

fn is_own(name: &str) -> bool {
    let letters = letters(name);
    OWN.contains(&letters.as_str()) || OWN_STARTS.iter().any(|start| letters.starts_with(start))
}

/// Whether a name says that the tool comes from an MCP server.
fn is_marked(name: &str) -> bool {
    name.starts_with("mcp_") || name.contains('/')
}

impl Offer {
    /// Sorts the tools of a request.
    pub fn of(tools: &[ToolSpec]) -> Offer {
        let mut offer = Offer::default();
        let marked = tools.iter().any(|tool| is_marked(&tool.name));
        for tool in tools {
            if is_search(&tool.name) {
                offer.search = Some(tool.clone());
            } else if if marked { is_marked(&tool.name) } else { !is_own(&tool.name) } {
                offer.add(tool.clone());
            }
        }
        offer
    }

    fn add(&mut self, tool: ToolSpec) {
        let name = readable(&tool.name);
        self.names.insert(name.clone(), tool.name.clone());
        self.tools.push(ToolSpec { name, ..tool });
    }

    /// Whether one of them writes.
    pub fn has_write(&self) -> bool {
        self.tools.iter().any(|tool| class(tool) == ToolClass::Write)
    }

    /// The messages with the names that a script can take apart.
    pub fn readable(&self, messages: Vec<Message>) -> Vec<Message> {
        let rename = |call: ToolCall| ToolCall { name: readable(&call.name), ..call };
        let message = |message| match message {
            Message::Assistant { text, tool_calls } => {
                Message::Assistant { text, tool_calls: tool_calls.into_iter().map(rename).collect() }
            }
            message => message,
        };
        messages.into_iter().map(message).collect()
    }

    /// The call with the name that stands in the request.
    pub fn as_offered(&self, call: ToolCall) -> ToolCall {
        let name = self.names.get(&call.name).cloned().unwrap_or(call.name);
        ToolCall { name, ..call }
    }

    /// The call that finds the deferred tools; none where there is no search, or it was made.
    pub fn search_call(&self, messages: &[Message], prompt: &str) -> Option<ToolCall> {
        let search = self.search.as_ref()?;
        let calls = || {
            messages.iter().flat_map(|message| match message {
                Message::Assistant { tool_calls, .. } => tool_calls.as_slice(),
                _ => &[],
            })
        };
        if calls().any(|call| is_search(&call.name)) {
            return None;
        }
        let named = deferred(messages, search);
        let query = if named.is_empty() {
            prompt.split_whitespace().take(12).collect::<Vec<_>>().join(" ")
        } else {
            format!("select:{}", named.join(","))
        };
        let mut arguments = Object::new();
        arguments.insert("query".to_owned(), query.into());
        if search.input_schema.get("properties").is_some_and(|fields| fields.get("max_results").is_some()) {
            arguments.insert("max_results".to_owned(), named.len().max(5).into());
        }
        let id = format!("call_{}", calls().count() + 1);
        Some(ToolCall::new(id, search.name.clone(), arguments))
    }

    /// Adds the tools that a search has told of, where the request itself does not have them.
    pub fn add_found(&mut self, messages: &[Message]) {
        let mut found: BTreeMap<String, ToolSpec> = BTreeMap::new();
        for message in messages {
            let Message::ToolResult { text, .. } = message else { continue };
            for name in MARKED.find_iter(text).map(|found| found.as_str()) {
                let tool = found
                    .entry(name.to_owned())
                    .or_insert_with(|| ToolSpec { name: name.to_owned(), ..ToolSpec::default() });
                if let Some(schema) = schema_beside(text, name) {
                    tool.input_schema = schema;
                }
            }
        }
        found.into_values().for_each(|tool| self.add(tool));
    }
}

/// A pattern of this file.
fn pattern(text: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles them")]
    Regex::new(text).expect("a constant pattern")
}

static MARKED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\bmcp__[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*__[A-Za-z0-9_-]+"));

/// The names of deferred tools, as system prompt, reminders and the search's description tell them.
fn deferred(messages: &[Message], search: &ToolSpec) -> Vec<String> {
    let texts = messages.iter().filter_map(|message| match message {
        Message::System { text } | Message::User { text } => Some(text.as_str()),
        _ => None,
    });
    let mut names: Vec<String> = Vec::new();
    for text in texts.chain([search.description.as_str()]) {
        for found in MARKED.find_iter(text) {
            if !names.iter().any(|name| name == found.as_str()) {
                names.push(found.as_str().to_owned());
            }
        }
    }
    names
}

/// The schema of a tool in a text that holds it as a JSON object.
fn schema_beside(text: &str, name: &str) -> Option<Object> {
    let at = text.find(&format!("\"{name}\""))?;
    let starts = text[..at].rmatch_indices('{').map(|(start, _)| start).take(8);
    starts.into_iter().find_map(|start| {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let value = values.next()?.ok()?;
        let value = value.get("function").unwrap_or(&value);
        if value.get("name").and_then(Value::as_str) != Some(name) {
            return None;
        }
        let names = ["parameters", "input_schema", "inputSchema", "parametersJsonSchema"];
        names.iter().find_map(|field| value.get(*field)?.as_object().cloned())
    })
}

/// A name whose server and tool a script can tell apart: `booking_create_booking` becomes
/// `booking__create_booking`. Names that begin with a verb, or are marked already, stay.
fn readable(name: &str) -> String {
    let known = |name: &str| class(&named(name)) != ToolClass::Unclassified;
    if local(name) != name || known(name) {
        return name.to_owned();
    }
    let first = if name.starts_with("mcp_") { 2 } else { 1 };
    let marks = name.match_indices(['_', '-']).map(|(at, _)| at).skip(first - 1);
    for at in marks {
        let rest = &name[at + 1..];
        // A verb alone says nothing of what is done: `todo_write`.
        if split(rest).len() > 1 && known(rest) {
            return format!("{}__{rest}", &name[..at]);
        }
    }
    name.to_owned()
}

fn named(name: &str) -> ToolSpec {
    ToolSpec { name: name.to_owned(), ..ToolSpec::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn offer(names: &[&str]) -> Offer {
        Offer::of(&names.iter().map(|name| named(name)).collect::<Vec<_>>())
    }

    fn names(offer: &Offer) -> Vec<&str> {
        offer.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn the_programs_own_tools_are_no_tools_for_a_script() {
        let own =
            ["Bash", "Write", "write_file", "todo_write", "TaskCreate", "SendMessage", "run_shell_command"];
        assert!(offer(&own).tools.is_empty());
        let mut all = own.to_vec();
        all.extend(["mcp__booking__create_booking", "create_issue"]);
        assert_eq!(names(&offer(&all)), ["mcp__booking__create_booking"]);
        assert_eq!(names(&offer(&["bash", "create_issue"])), ["create_issue"]);
    }

    #[test]
    fn a_servers_name_before_the_tools_is_told_apart_and_put_back() {
        for (wire, name) in [
            ("booking_create_booking", "booking__create_booking"),
            ("booking-find_bookings", "booking__find_bookings"),
            ("mcp_booking_create_booking", "mcp_booking__create_booking"),
            ("mcp_my_hotel_create_booking", "mcp_my_hotel__create_booking"),
            ("mcp__booking__create_booking", "mcp__booking__create_booking"),
            ("mcp__booking/create_booking", "mcp__booking/create_booking"),
            ("create_booking", "create_booking"),
            ("read_graph", "read_graph"),
        ] {
            let offer = offer(&[wire]);
            assert_eq!(names(&offer), [name]);
            let call = ToolCall::new("a".into(), name.into(), Object::new());
            assert_eq!(offer.as_offered(call).name, wire);
        }
    }

    #[test]
    fn deferred_tools_are_asked_for_by_name_and_once() {
        let search = ToolSpec {
            input_schema: json!({"properties": {"query": {}, "max_results": {}}})
                .as_object()
                .cloned()
                .unwrap(),
            ..named("ToolSearch")
        };
        let mut offer = Offer::of(&[named("Bash"), search]);
        let mut messages = vec![Message::User {
            text: "deferred: WebFetch, mcp__booking__create_booking, mcp__booking__find_bookings\nbook"
                .into(),
        }];
        let call = offer.search_call(&messages, "book").unwrap();
        assert_eq!(
            Value::Object(call.arguments.clone()),
            json!({"query": "select:mcp__booking__create_booking,mcp__booking__find_bookings", "max_results": 5})
        );
        messages.push(Message::Assistant { text: String::new(), tool_calls: vec![call] });
        assert_eq!(offer.search_call(&messages, "book"), None);
        let told = r#"<function>{"description": "x", "name": "mcp__booking__create_booking", "parameters": {"type": "object"}}</function>"#;
        messages.push(Message::ToolResult { call_id: "call_1".into(), text: told.into(), is_error: false });
        offer.add_found(&messages);
        assert_eq!(names(&offer), ["mcp__booking__create_booking"]);
        assert_eq!(offer.tools[0].input_schema["type"], "object");
    }

    #[test]
    fn without_names_a_search_is_asked_in_the_users_words() {
        let offer = offer(&["tool_search"]);
        let call = offer.search_call(&[], "Please book room 12").unwrap();
        assert_eq!(call.arguments["query"], "Please book room 12");
        assert!(!call.arguments.contains_key("max_results"));
    }
}
