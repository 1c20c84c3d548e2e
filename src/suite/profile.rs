//! An agent program, as `agents/*.yaml` and a suite's `agents:` describe it.
//!
//! ```yaml
//! agent: some-agent                  # the name, as in `matrix.agent`
//! description: Some Agent, headless
//! install: npm install -g some-agent
//! tested: "1.2.3"                    # the version that this profile was tried with
//! probe: [some-agent, --version]     # its output is recorded with every result
//! provider: some-provider            # whose models it uses, where their names do not say it
//! mcp: http                          # http | stdio: how it reaches the proxy
//! files:                             # written into the run's folder first
//!   mcp.json: '{"mcpServers": {"{{ mcp.name }}": {"type": "http", "url": "{{ mcp.url }}"}}}'
//! first:
//!   mode: once                       # once: a process a turn | session: one for all turns
//!   command: [some-agent, -p, "{{ prompt.user }}", --system, "{{ prompt.system }}"]
//!   stdin: ""                        # what it gets to read; nothing where absent
//! next:                              # a later turn of the same session
//!   command: [some-agent, -p, "{{ say }}", --resume, "{{ session }}"]
//! output: {format: json, reply: /result, session: /session_id}
//! env:
//!   pass: [SOME_API_KEY]             # nothing else of the environment is passed
//!   set: {NO_COLOR: "1"}
//! isolate: {home: true}              # its HOME is a fresh folder: `home` in the run's folder
//! ok_exit: [0]                       # exit codes that are no failure
//! model_errors: ["429 Too Many"]     # regular expressions over its output: the endpoint's fault
//! ```
//!
//! In `session` mode the process reads `{"type":"user","text":…}` and writes
//! `{"type":"reply","text":…,"usage":{…}}`, one JSON object a line; `next` and `output` have no
//! place there. What templates may use is told in [`super::template`].

use super::decode::{At, Decoder, Fields, Shape};
use super::diagnostics::{Diagnostics, Source, shown};
use super::output::{self, Output};
use super::template::{self, Names, Place};
use super::tree::{self, Key, Kind, Node};
use super::{Pattern, ProfileText};
use crate::domain::digest_all;
use crate::domain::secrets::is_secret_name;
use std::collections::BTreeMap;
use std::ops::Range;

/// How to run one agent program.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentProfile {
    /// Its name on the agent axis.
    pub name: String,
    /// For people.
    pub description: Option<String>,
    /// How to install it, for people.
    pub install: Option<String>,
    /// The version that the profile was tried with.
    pub tested: Option<String>,
    /// Templates of a command whose output tells the version.
    pub probe: Option<Vec<String>>,
    /// Whose models it uses where their names do not say it, for `limits.per_provider`.
    pub provider: Option<String>,
    /// How it reaches the proxy.
    pub mcp: McpTransport,
    /// Path below the run's folder → template of the text.
    pub files: BTreeMap<String, String>,
    /// Whether one process serves the whole conversation.
    pub mode: Mode,
    /// The command for the first turn, or for the session.
    pub first: Step,
    /// The command for later turns; none where the agent cannot go on, and in a session.
    pub next: Option<Step>,
    /// How its output is read.
    pub output: Output,
    /// Names of environment variables that it gets from the runner's environment.
    pub env_pass: Vec<String>,
    /// Environment variables (templates of their values) that it gets.
    pub env_set: BTreeMap<String, String>,
    /// Whether its HOME is a fresh folder of the run.
    pub isolate_home: bool,
    /// Exit codes that are no failure.
    pub ok_exit: Vec<i32>,
    /// What in its output marks a failure of the model endpoint.
    pub model_errors: Vec<Pattern>,
    /// SHA-256 of the profile's text, hexadecimal.
    pub digest: String,
    /// The agent that it extends, where it is one of a suite's own.
    pub extends: Option<String>,
}

/// How an agent reaches the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpTransport {
    /// Streamable HTTP on loopback.
    Http,
    /// A command that the agent starts as its server.
    Stdio,
}

/// How many processes a conversation takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// One a turn.
    #[default]
    Once,
    /// One for all turns, spoken to line by line.
    Session,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Templates of the program and its arguments; never empty.
    pub command: Vec<String>,
    /// Template of what it reads.
    pub stdin: Option<String>,
}

impl AgentProfile {
    /// Reads a file of `agents/`.
    ///
    /// # Errors
    /// With every mistake of the file.
    pub fn parse(text: &str, file: &str) -> Result<AgentProfile, Diagnostics> {
        let source = Source::new(file, text);
        let (root, mistakes) = tree::parse(&source);
        let mut decoder = Decoder::new(&source, mistakes);
        let profile = root.and_then(|root| {
            let anchor = source.rest_of_line(root.span.start);
            decode(&mut decoder, &root, anchor, None)
        });
        match profile {
            Some(mut profile) if decoder.is_clean() => {
                profile.digest = digest_all([text]);
                Ok(profile)
            }
            _ => Err(decoder.finish()),
        }
    }

    /// Reads the profile of a named agent. Its mistakes are told with those of the suite; its text is kept in
    /// `files`, which the suite's digest covers.
    pub(super) fn named(
        decoder: &mut Decoder,
        name: At<String>,
        profile: &ProfileText,
        files: &mut Vec<String>,
    ) -> Option<AgentProfile> {
        match AgentProfile::parse(&profile.text, &profile.file) {
            Ok(parsed) if parsed.name == name.value => {
                files.push(profile.text.clone());
                return Some(parsed);
            }
            Ok(parsed) => {
                let (is, should) = (shown(&parsed.name), shown(&name.value));
                decoder
                    .error(name.span, format!("{} describes the agent {is}, not {should}", profile.file))
                    .help("the file is named after its agent");
            }
            Err(mistakes) => decoder.adopt(mistakes.iter().cloned()),
        }
        None
    }

    /// The agent whose profile it is at bottom.
    pub fn base(&self) -> &str {
        self.extends.as_deref().unwrap_or(&self.name)
    }

    /// It is `nochmal agent` with the model of the axis: whose models there are is known here.
    pub fn asks_the_model_that_the_axis_names(&self) -> bool {
        let command: Vec<&str> = self.first.command.iter().map(String::as_str).collect();
        command.starts_with(&["{{ nochmal }}", "agent"]) && command.contains(&"--model={{ model }}")
    }

    /// What its command says of the provider; the names of its models then need not.
    pub fn provider_flag(&self) -> Option<&str> {
        let command = &self.first.command;
        command.iter().enumerate().find_map(|(place, word)| match word.strip_prefix("--provider") {
            Some("") => command.get(place + 1).map(String::as_str),
            Some(value) => value.strip_prefix('='),
            None => None,
        })
    }

    /// Whether a conversation can go on after the first reply.
    pub fn can_go_on(&self) -> bool {
        self.mode == Mode::Session || self.next.is_some()
    }
}

const PROFILE: Shape = Shape::new(
    "an agent",
    &[
        "agent",
        "description",
        "install",
        "tested",
        "probe",
        "provider",
        "mcp",
        "files",
        "first",
        "next",
        "output",
        "env",
        "isolate",
        "ok_exit",
        "model_errors",
    ],
)
.hints(&[("args", "it goes with `extends`; an agent of its own has its arguments in its commands")]);
const FIRST: Shape = Shape::new("an agent's first command", &["mode", "command", "stdin"]);
const NEXT: Shape = Shape::new("an agent's next command", &["command", "stdin"]);
const ENV: Shape = Shape::new("an agent's environment", &["pass", "set"]);
const ISOLATE: Shape = Shape::new("an agent's isolation", &["home"]);

/// Reads an agent; `name` is given where the agent stands under `agents:` of a suite.
pub(super) fn decode(
    decoder: &mut Decoder,
    node: &Node,
    anchor: Range<usize>,
    name: Option<&str>,
) -> Option<AgentProfile> {
    let fields = decoder.fields(node, anchor, &PROFILE)?;
    let none = BTreeMap::new();
    let (env_pass, env_set) =
        fields.entry("env").and_then(|(key, node)| environment(decoder, key, node, &[])).unwrap_or_default();
    let passed = || env_pass.iter().map(String::as_str);
    let names = Names::new(Place::Agent, &none).with_env(passed());
    let names_next = Names::new(Place::AgentNext, &none).with_env(passed());

    let name = agent_name(decoder, &fields, name);
    let words = |decoder: &mut Decoder, key: &str| {
        fields.get(key).and_then(|node| decoder.text(node, "a text")).map(|text| text.value)
    };
    let description = words(decoder, "description");
    let install = words(decoder, "install");
    let tested = words(decoder, "tested");
    let provider = words(decoder, "provider");
    let probe = fields.get("probe").and_then(|node| command(decoder, node, &names));
    let mcp = decoder.required(&fields, "mcp", "mcp: http").and_then(|(_, node)| {
        decoder.choice(
            node,
            "way to reach an MCP server",
            &[("http", McpTransport::Http), ("stdio", McpTransport::Stdio)],
        )
    });
    let files = fields.get("files").map(|node| files(decoder, node, &names)).unwrap_or_default();
    let first = decoder
        .required(&fields, "first", "first: {command: [some-agent, -p, \"{{ prompt.user }}\"]}")
        .and_then(|(key, node)| first(decoder, key, node, &names));
    let next = fields.entry("next").and_then(|(key, node)| {
        let part = decoder.fields(node, key.span.clone(), &NEXT)?;
        step(decoder, &part, &names_next)
    });
    let output = match fields.entry("output") {
        Some((key, node)) => output::decode(decoder, key, node, &names),
        None => Some(Output::default()),
    };
    if let Some((_, Mode::Session)) = &first {
        for key in ["next", "output"] {
            if let Some((key, _)) = fields.entry(key) {
                decoder
                    .error(key.span.clone(), format!("{} has no place in an agent with `mode: session`", shown(&key.text)))
                    .help("such an agent is told each turn on its input and answers on its output, one JSON object a line");
            }
        }
    }
    let isolate_home = fields.entry("isolate").and_then(|(key, node)| {
        let part = decoder.fields(node, key.span.clone(), &ISOLATE)?;
        decoder.boolean(part.get("home")?)
    });
    let ok_exit = match fields.get("ok_exit") {
        Some(node) => {
            let items = decoder.list(node, "a list of exit codes").unwrap_or_default();
            items
                .iter()
                .filter_map(|item| decoder.whole(item, "an exit code", 0..=255))
                .filter_map(|code| i32::try_from(code).ok())
                .collect()
        }
        None => vec![0],
    };
    let model_errors = match fields.get("model_errors") {
        Some(node) => {
            let items = decoder.list(node, "a list of regular expressions").unwrap_or_default();
            items.iter().filter_map(|item| decoder.pattern(item)).map(Pattern).collect()
        }
        None => Vec::new(),
    };
    let digest = digest_all([decoder.source().text.get(node.span.clone()).unwrap_or_default()]);
    let (first, mode) = first?;
    Some(AgentProfile {
        name: name?,
        description,
        install,
        tested,
        probe,
        provider,
        mcp: mcp?,
        files,
        mode,
        first,
        next,
        output: output?,
        env_pass,
        env_set,
        isolate_home: isolate_home.unwrap_or(true),
        ok_exit,
        model_errors,
        digest,
        extends: None,
    })
}

fn agent_name(decoder: &mut Decoder, fields: &Fields<'_>, given: Option<&str>) -> Option<String> {
    let own = match (fields.get("agent"), given) {
        (None, Some(given)) => return Some(given.to_owned()),
        (None, None) => decoder.required(fields, "agent", "agent: some-agent").map(|(_, node)| node)?,
        (Some(node), _) => node,
    };
    let own = decoder.filled(own, "the agent's name")?;
    if let Some(given) = given
        && own.value != given
    {
        decoder
            .error(own.span, format!("this agent is called {} by its key", shown(given)))
            .help("leave `agent:` out here");
    }
    Some(own.value)
}

fn first(decoder: &mut Decoder, key: &Key, node: &Node, names: &Names) -> Option<(Step, Mode)> {
    let fields = decoder.fields(node, key.span.clone(), &FIRST)?;
    let mode = match fields.get("mode") {
        Some(node) => decoder.choice(node, "mode", &[("once", Mode::Once), ("session", Mode::Session)]),
        None => Some(Mode::Once),
    };
    if mode == Some(Mode::Session)
        && let Some((key, _)) = fields.entry("stdin")
    {
        decoder.error(key.span.clone(), "`stdin` has no place in an agent with `mode: session`");
    }
    let step = step(decoder, &fields, names);
    Some((step?, mode?))
}

fn step(decoder: &mut Decoder, fields: &Fields<'_>, names: &Names) -> Option<Step> {
    let command = decoder
        .required(fields, "command", "command: [some-agent, -p, \"{{ prompt.user }}\"]")
        .and_then(|(_, node)| command(decoder, node, names));
    let stdin = fields.get("stdin").and_then(|node| {
        let text = decoder.text(node, "a text")?;
        template::check(decoder, &text, names);
        Some(text.value)
    });
    Some(Step { command: command?, stdin })
}

/// A program and its arguments, each a template.
fn command(decoder: &mut Decoder, node: &Node, names: &Names) -> Option<Vec<String>> {
    if let Kind::Scalar { text, .. } = &node.kind {
        let words: Vec<String> = text.split_whitespace().map(|word| format!("{word:?}")).collect();
        decoder
            .error(
                node.span.clone(),
                format!("expected a program and its arguments as a list, found {}", shown(text)),
            )
            .help(format!("no shell takes it apart; write `[{}]`", words.join(", ")));
        return None;
    }
    let words = decoder.texts(node, "a program and its arguments as a list")?;
    for word in &words {
        template::check(decoder, word, names);
        no_secret(decoder, word);
    }
    match words.first() {
        Some(program) if program.value.trim().is_empty() => {
            decoder.error(program.span.clone(), "the program's name is empty");
            None
        }
        Some(_) => Some(words.into_iter().map(|word| word.value).collect()),
        None => {
            decoder.error(node.span.clone(), "a command needs a program");
            None
        }
    }
}

/// A word of a command line must not carry a key.
pub(super) fn no_secret(decoder: &mut Decoder, word: &At<String>) {
    let used = template::environment_names(&word.value);
    if let Some(name) = used.iter().find(|name| is_secret_name(name)) {
        decoder
            .error(
                word.span.clone(),
                format!("{} on a command line can be read by everybody on the machine", shown(name)),
            )
            .help("pass it on under `env: pass:`, or write it into a file under `files:`");
    }
}

fn files(decoder: &mut Decoder, node: &Node, names: &Names) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for (key, node) in decoder.named(node, "paths and texts of files").unwrap_or_default() {
        let outside =
            key.text.starts_with(['/', '\\']) || key.text.split(['/', '\\']).any(|part| part == "..");
        if outside {
            decoder
                .error(key.span.clone(), format!("{} is outside of the run's folder", shown(&key.text)))
                .help("a path is relative to the run's folder; `home/` in it is the agent's HOME");
        }
        if let Some(text) = decoder.text(node, "the text of the file") {
            template::check(decoder, &text, names);
            files.insert(key.text.clone(), text.value);
        }
    }
    files
}

/// `env:` of an agent: names of variables that are passed on, and variables with their values, which may use
/// what is passed on here or `beside`.
pub(super) fn environment(
    decoder: &mut Decoder,
    key: &Key,
    node: &Node,
    beside: &[String],
) -> Option<(Vec<String>, BTreeMap<String, String>)> {
    let part = decoder.fields(node, key.span.clone(), &ENV)?;
    let pass = passed(decoder, &part);
    let all = pass.iter().chain(beside).map(String::as_str);
    let names = Names::new(Place::Agent, &BTreeMap::new()).with_env(all);
    let set = part.get("set").map(|node| variables(decoder, node, &names)).unwrap_or_default();
    Some((pass, set))
}

/// Names of variables that are passed on.
fn passed(decoder: &mut Decoder, environment: &Fields<'_>) -> Vec<String> {
    let pass = environment
        .get("pass")
        .and_then(|node| decoder.texts(node, "a list of variable names"))
        .unwrap_or_default();
    for name in &pass {
        variable_name(decoder, name);
    }
    pass.into_iter().map(|name| name.value).collect()
}

/// Environment variables, their values templates.
pub(super) fn variables(decoder: &mut Decoder, node: &Node, names: &Names) -> BTreeMap<String, String> {
    let mut set = BTreeMap::new();
    for (key, node) in decoder.named(node, "names and values of variables").unwrap_or_default() {
        variable_name(decoder, &At { value: key.text.clone(), span: key.span.clone() });
        if let Some(value) = decoder.text(node, "a value") {
            template::check(decoder, &value, names);
            set.insert(key.text.clone(), value.value);
        }
    }
    set
}

pub(super) fn variable_name(decoder: &mut Decoder, name: &At<String>) {
    if name.value.is_empty() || name.value.contains(['=', '\0', ' ']) {
        decoder.error(
            name.span.clone(),
            format!("{} is no name of an environment variable", shown(&name.value)),
        );
    }
}
