//! `upstreams:` of a suite: the MCP servers under the proxy.
//!
//! ```yaml
//! upstreams:
//!   desk: {builtin: booking, search: true, idempotent: false}
//!   real:                                    # any server that speaks MCP over stdio
//!     command: npx
//!     args: ["-y", "@modelcontextprotocol/server-memory"]
//!     env: {MEMORY_FILE_PATH: "{{ run.dir }}/memory.jsonl"}
//!     cwd: "{{ run.dir }}"
//!     tools: {write: ["create_*"], read: ["read_*"]}
//!     key_fields: [idempotency_key]
//!     oracle: {command: [python3, count.py, "{{ run.dir }}/memory.jsonl"]}
//!     rebuilt: {command: node, args: [next/server.js]}   # what R1 to R5 put in its place
//!     approval: auto                       # who approves that: auto, never or command:CMD
//!   shared:                                  # any server that speaks Streamable HTTP; it runs already
//!     url: "https://desk.example/mcp"
//!     headers: {Authorization: "Bearer {{ env.DESK_TOKEN }}"}
//! ```

use super::decode::{At, Decoder, Fields, Shape, list};
use super::diagnostics::{shown, suggestion};
use super::glob;
use super::oracle::{self, Oracle};
use super::profile;
use super::template::{self, Names};
use super::tree::{Key, Kind, Node};
use crate::domain::Approval;
use std::collections::{BTreeMap, BTreeSet};

/// An MCP server under the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// What is started.
    pub server: Server,
    /// Explicit classes of tools (C2).
    pub tools: ToolGlobs,
    /// Key fields (J2), in place of the default.
    pub key_fields: Option<Vec<String>>,
    /// How the runner learns what it really holds; a built-in server has its ledger.
    pub oracle: Option<Oracle>,
    /// What is started in its place once it was rebuilt (R1 to R5).
    pub rebuilt: Option<Server>,
    /// Who approves what takes its place; the command is a template.
    pub approval: Approval,
}

/// What is started as an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// A server that comes with this program.
    Builtin(Builtin),
    /// Any server that speaks MCP over stdio; all parts are templates.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables that it gets besides PATH and the like.
        env: BTreeMap<String, String>,
        /// Its folder; the run's folder where absent.
        cwd: Option<String>,
    },
    /// A server that speaks Streamable HTTP and runs already; all parts are templates.
    Url {
        /// Its address.
        url: String,
        /// Headers of every request: name and value.
        headers: Vec<(String, String)>,
    },
}

impl Server {
    /// Names of variables of this program's environment that the server's address or headers use:
    /// keys stand in the environment, not in a suite.
    pub fn variables(&self) -> BTreeSet<String> {
        match self {
            Server::Url { url, headers } => {
                let values = headers.iter().map(|(_, value)| value);
                std::iter::once(url)
                    .chain(values)
                    .flat_map(|text| template::environment_names(text))
                    .collect()
            }
            Server::Builtin(_) | Server::Command { .. } => BTreeSet::new(),
        }
    }
}

/// A server that comes with this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Builtin {
    /// Its name, e.g. `booking`.
    pub name: String,
    /// The settings that the suite gives; the server's own defaults hold for the rest.
    pub settings: BTreeMap<String, bool>,
}

/// What there is to choose of one built-in server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltinNames<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its settings, each `true` or `false`.
    pub settings: Vec<&'a str>,
}

/// Globs (`*` only) over tool names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolGlobs {
    /// Replaces the default write patterns.
    pub write: Option<Vec<String>>,
    /// Added to the read patterns.
    pub read: Vec<String>,
}

const UPSTREAM: Shape = Shape::new(
    "an upstream",
    &[
        "builtin",
        "search",
        "idempotent",
        "command",
        "args",
        "env",
        "cwd",
        "url",
        "headers",
        "tools",
        "key_fields",
        "guests",
        "rebuilt",
        "approval",
        "oracle",
    ],
);
const REBUILT: Shape = Shape::new(
    "a rebuilt upstream",
    &["builtin", "search", "idempotent", "guests", "command", "args", "env", "cwd"],
);
/// The settings of built-in servers, among the keys of an upstream.
const SETTINGS: &[&str] = &["search", "idempotent", "guests"];
const TOOLS: Shape = Shape::new("an upstream's tools", &["write", "read"]);
/// Reads one of `upstreams:`.
pub(super) fn read(
    decoder: &mut Decoder,
    key: &Key,
    node: &Node,
    names: &Names,
    builtins: &[BuiltinNames<'_>],
) -> Option<Upstream> {
    let fields = decoder.fields(node, key.span.clone(), &UPSTREAM)?;
    let server = one_server(decoder, key, &fields, names, builtins);
    let rebuilt = match fields.entry("rebuilt") {
        Some((rebuilt, node)) => {
            if let Some((url, _)) = fields.entry("url") {
                decoder
                    .error(
                        rebuilt.span.clone(),
                        "a server at a URL is not started here, so it is not replaced here",
                    )
                    .related(url.span.clone(), "its URL");
            }
            let fields = decoder.fields(node, rebuilt.span.clone(), &REBUILT)?;
            Some(one_server(decoder, rebuilt, &fields, names, builtins)?)
        }
        None => None,
    };
    let tools = match fields.entry("tools") {
        Some((key, node)) => tools(decoder, key, node),
        None => Some(ToolGlobs::default()),
    };
    let key_fields = match fields.get("key_fields") {
        Some(node) => {
            Some(decoder.texts(node, "a list of field names")?.into_iter().map(|name| name.value).collect())
        }
        None => None,
    };
    let oracle = match fields.entry("oracle") {
        Some((key, node)) => Some(oracle::read(decoder, key, node, names)?),
        None => None,
    };
    let approval = match fields.entry("approval") {
        Some((key, node)) => approval(decoder, key, node, rebuilt.is_some(), names)?,
        None => Approval::default(),
    };
    Some(Upstream { server: server?, tools: tools?, key_fields, rebuilt, approval, oracle })
}

/// Who approves what takes a server's place.
fn approval(decoder: &mut Decoder, key: &Key, node: &Node, rebuilt: bool, names: &Names) -> Option<Approval> {
    if !rebuilt {
        decoder
            .error(key.span.clone(), "`approval` goes only with `rebuilt`")
            .help("it is asked for when another server takes the place of this one");
    }
    let text = decoder.text(node, Approval::FORMS)?;
    let Some(approval) = Approval::from_text(&text.value) else {
        let help = suggestion(&text.value, &["auto", "never", "command:CMD"]);
        decoder.error(text.span, format!("{} is not {}", shown(&text.value), Approval::FORMS)).help(help);
        return None;
    };
    if matches!(approval, Approval::Command(_)) {
        template::check(decoder, &text, names);
    }
    Some(approval)
}

/// The one server that these fields describe.
fn one_server(
    decoder: &mut Decoder,
    key: &Key,
    fields: &Fields<'_>,
    names: &Names,
    builtins: &[BuiltinNames<'_>],
) -> Option<Server> {
    let kinds: Vec<&Key> = KINDS.iter().filter_map(|kind| fields.entry(kind.0)).map(|(key, _)| key).collect();
    match kinds.as_slice() {
        [] => {
            decoder
                .error(
                    key.span.clone(),
                    format!("the upstream {} needs `builtin`, `command` or `url`", shown(&key.text)),
                )
                .help("for example `{builtin: booking}` or `{command: node, args: [server.js]}`");
            None
        }
        [one] => server(decoder, fields, &one.text, names, builtins),
        [first, second, ..] => {
            decoder
                .error(second.span.clone(), "an upstream is one of `builtin`, `command` and `url`, not two")
                .related(first.span.clone(), "the other one");
            None
        }
    }
}

/// What an upstream can be, and the keys that go only with it.
const KINDS: &[(&str, &[&str])] =
    &[("builtin", SETTINGS), ("command", &["args", "env", "cwd"]), ("url", &["headers"])];

/// Reads a server; `kind` is the key that tells what it is.
pub(crate) fn server(
    decoder: &mut Decoder,
    fields: &Fields<'_>,
    kind: &str,
    names: &Names,
    builtins: &[BuiltinNames<'_>],
) -> Option<Server> {
    // A misspelt key is read as what was meant.
    let (kind, _) =
        *KINDS.iter().find(|(name, _)| fields.entry(name).is_some_and(|(key, _)| key.text == kind))?;
    for (partner, keys) in KINDS.iter().filter(|(name, _)| *name != kind) {
        for name in *keys {
            if let Some((key, _)) = fields.entry(name) {
                decoder.error(key.span.clone(), format!("{} goes only with `{partner}`", shown(name)));
            }
        }
    }
    let node = fields.get(kind)?;
    match kind {
        "builtin" => builtin(decoder, fields, node, builtins),
        "command" => command(decoder, fields, node, names),
        _ => url(decoder, fields, node, names),
    }
}

fn builtin(
    decoder: &mut Decoder,
    fields: &Fields<'_>,
    node: &Node,
    builtins: &[BuiltinNames<'_>],
) -> Option<Server> {
    let name = decoder.text(node, "the name of a built-in upstream")?;
    let Some(builtin) = builtins.iter().find(|builtin| builtin.name == name.value) else {
        let known: Vec<&str> = builtins.iter().map(|builtin| builtin.name).collect();
        let help = suggestion(&name.value, &known);
        decoder.error(name.span, format!("{} is no built-in upstream", shown(&name.value))).help(help);
        return None;
    };
    let mut settings = BTreeMap::new();
    for setting in SETTINGS {
        let Some((key, node)) = fields.entry(setting) else { continue };
        if !builtin.settings.contains(setting) {
            let message = format!("{} has no setting {}", shown(builtin.name), shown(setting));
            decoder.error(key.span.clone(), message).help(format!("it has {}", list(&builtin.settings)));
            continue;
        }
        settings.insert((*setting).to_owned(), decoder.boolean(node)?);
    }
    Some(Server::Builtin(Builtin { name: name.value, settings }))
}

fn command(decoder: &mut Decoder, fields: &Fields<'_>, node: &Node, names: &Names) -> Option<Server> {
    let command = match &node.kind {
        Kind::Seq(_) => {
            decoder
                .error(node.span.clone(), "expected a program, found a list")
                .help("the program stands under `command`, its arguments under `args`");
            None
        }
        _ => decoder.filled(node, "a program"),
    };
    if let Some(command) = &command {
        template::check(decoder, command, names);
        if command.value.contains(char::is_whitespace) && !command.value.contains(['/', '\\', '{']) {
            decoder
                .error(command.span.clone(), "a command is one program; no shell takes it apart")
                .help("put its arguments into `args: […]`");
        }
    }
    let args = fields.get("args").map_or(Some(Vec::new()), |node| decoder.texts(node, "a list of arguments"));
    for arg in args.iter().flatten() {
        template::check(decoder, arg, names);
    }
    let env = fields.get("env").map(|node| profile::variables(decoder, node, names)).unwrap_or_default();
    let cwd = fields.get("cwd").and_then(|node| decoder.filled(node, "a folder"));
    if let Some(cwd) = &cwd {
        template::check(decoder, cwd, names);
    }
    let args = args?.into_iter().map(|arg| arg.value).collect();
    Some(Server::Command { command: command?.value, args, env, cwd: cwd.map(|cwd| cwd.value) })
}

fn url(decoder: &mut Decoder, fields: &Fields<'_>, node: &Node, names: &Names) -> Option<Server> {
    let url = decoder.filled(node, "the address of a server")?;
    let names =
        |text: &str| names.clone().with_env(template::environment_names(text).iter().map(String::as_str));
    template::check(decoder, &url, &names(&url.value));
    // A template at its begin can be anything.
    if !["http://", "https://", "{{"].iter().any(|start| url.value.starts_with(start)) {
        decoder
            .error(url.span.clone(), format!("{} is not the address of a server", shown(&url.value)))
            .help("it begins with `http://` or `https://`; what is started stands under `command`");
    }
    let mut headers = Vec::new();
    let entries = fields.get("headers").and_then(|node| decoder.named(node, "names and values of headers"));
    for (key, node) in entries.unwrap_or_default() {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if key.text.is_empty() || !key.text.chars().all(is_name) {
            decoder.error(key.span.clone(), format!("{} is no name of a header", shown(&key.text)));
        }
        if let Some(value) = decoder.text(node, "a header's value") {
            template::check(decoder, &value, &names(&value.value));
            if value.value.contains(['\r', '\n']) {
                decoder.error(value.span.clone(), "a header's value is one line");
            }
            headers.push((key.text.clone(), value.value));
        }
    }
    Some(Server::Url { url: url.value, headers })
}

fn tools(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<ToolGlobs> {
    let fields = decoder.fields(node, key.span.clone(), &TOOLS)?;
    let mut globs = |name: &str| {
        let Some(node) = fields.get(name) else { return Some(None) };
        let globs = decoder.texts(node, "a list of tool names")?;
        for name in &globs {
            glob::can_match(decoder, name);
        }
        Some(Some(globs))
    };
    let (write, read) = (globs("write"), globs("read"));
    let (write, read) = (write?, read?.unwrap_or_default());
    if let (Some(globs), Some(node)) = (&write, fields.get("write"))
        && globs.is_empty()
    {
        decoder
            .error(node.span.clone(), "without a write tool no run can be tested")
            .help("leave `write` out to use the default patterns");
    }
    for glob in write.iter().flatten() {
        if let Some(other) = read.iter().find(|other| other.value == glob.value) {
            decoder
                .error(
                    other.span.clone(),
                    format!("{} is named as a write and as a read", shown(&other.value)),
                )
                .related(glob.span.clone(), "the write");
        }
    }
    let plain = |globs: Vec<At<String>>| globs.into_iter().map(|glob| glob.value).collect();
    Some(ToolGlobs { write: write.map(plain), read: plain(read) })
}
