//! The parts of a suite beside its matrix and its upstreams: prompts, conversations, limits.

use super::decode::{At, Decoder, Shape, list};
use super::diagnostics::{Source, shown};
use super::template::{self, Names};
use super::tree::{Key, Kind, Node};
use super::{Context, Pattern, units};
use std::collections::BTreeMap;
use std::time::Duration;

/// The name of the conversation without a turn.
pub const ALONE: &str = "alone";

/// What the agent is told first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Template of the system prompt; a patch is added to it.
    pub system: Option<String>,
    /// Template of the user's words.
    pub user: String,
}

/// What the simulated user says after the agent's first reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// In order. A turn whose condition does not hold is left out, and the next one is looked at.
    pub turns: Vec<Turn>,
}

/// One turn of the simulated user.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Template of the words.
    pub say: String,
    /// Whether they are said.
    pub when: When,
    /// How long the user waits after the agent's reply.
    pub after: Duration,
}

/// When a turn is said.
#[derive(Debug, Clone, PartialEq)]
pub enum When {
    /// `always`
    Always,
    /// `{matches: REGEX}`: when the agent's last words match.
    Matches(Pattern),
}

/// What scenarios can be told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScenarioParams {
    /// F2: how long the agent is told to wait.
    pub retry_after: Duration,
    /// Chaos: probability that a call fails.
    pub error_rate: f64,
    /// T2: how long after the call the timeout is told.
    pub delay: Duration,
    /// T4: how long an answer is held back from an agent that does not give up.
    pub late: Duration,
}

impl Default for ScenarioParams {
    fn default() -> ScenarioParams {
        ScenarioParams {
            retry_after: Duration::from_secs(60),
            error_rate: 0.3,
            delay: Duration::from_secs(10),
            late: Duration::from_secs(150),
        }
    }
}

/// Time, output, and how much at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Wall clock of a run.
    pub run_timeout: Duration,
    /// How long an upstream may take to answer a call (J7).
    pub upstream_timeout: Duration,
    /// Runs at a time.
    pub parallel: u32,
    /// Runs at a time with the same model; where it is set, runs are ordered by model.
    pub per_model: Option<u32>,
    /// Bytes of an agent's output that are kept.
    pub output: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            run_timeout: Duration::from_secs(300),
            upstream_timeout: Duration::from_secs(60),
            parallel: 2,
            per_model: None,
            output: 10 << 20,
        }
    }
}

const PROMPT: Shape = Shape::new("a prompt", &["system", "user"]).later(&["checks"]);
const TURN: Shape = Shape::new("a turn", &["say", "when", "after"]);
const WHEN: Shape = Shape::new("a turn's condition", &["matches"]);
const LIMITS: Shape =
    Shape::new("the limits", &["run_timeout", "upstream_timeout", "parallel", "per_model", "output"]);
const PARAMS: Shape = Shape::new("the scenario parameters", &["retry_after", "error_rate", "delay", "late"]);

/// Reads `vars:`.
pub(super) fn vars(decoder: &mut Decoder, node: &Node) -> BTreeMap<String, String> {
    let mut vars = BTreeMap::new();
    for (key, node) in decoder.named(node, "names and their values").unwrap_or_default() {
        let word = key.text.chars().all(|c| c.is_alphanumeric() || c == '_')
            && !key.text.starts_with(|c: char| c.is_numeric());
        if !word {
            decoder
                .error(key.span.clone(), format!("{} cannot be used in a template", shown(&key.text)))
                .help("letters, digits and `_`, and no digit first");
        }
        if Names::reserved().contains(&key.text.as_str()) {
            decoder
                .error(key.span.clone(), format!("{} means something else in templates", shown(&key.text)))
                .help("choose another name");
        }
        if let Some(value) = decoder.text(node, "a text") {
            vars.insert(key.text.clone(), value.value);
        }
    }
    vars
}

/// Reads one of `prompts:`. Texts that were read from files are added to `files`.
pub(super) fn prompt(
    decoder: &mut Decoder,
    key: &Key,
    node: &Node,
    context: &Context<'_>,
    names: &Names,
    files: &mut Vec<String>,
) -> Option<Prompt> {
    if matches!(node.kind, Kind::Scalar { .. }) {
        decoder
            .error(node.span.clone(), "expected a prompt with the key `user`, found a text")
            .help(format!("write `{}: {{user: \"…\"}}`", key.text));
        return None;
    }
    let fields = decoder.fields(node, key.span.clone(), &PROMPT)?;
    let system = fields.get("system").and_then(|node| words(decoder, node, context, names, files));
    let user = decoder
        .required(&fields, "user", "user: \"Please book room 12 for Ada Lovelace.\"")
        .and_then(|(_, node)| words(decoder, node, context, names, files));
    Some(Prompt { system, user: user? })
}

/// A template, in place or as `file:PATH`.
fn words(
    decoder: &mut Decoder,
    node: &Node,
    context: &Context<'_>,
    names: &Names,
    files: &mut Vec<String>,
) -> Option<String> {
    let text = decoder.filled(node, "a text")?;
    if text.value.starts_with("file:") {
        let content = read_file(decoder, &text, context)?;
        let path = text.value.trim_start_matches("file:");
        let source = Source::new(path, &content);
        decoder.adopt(template::mistakes(&source, &(0..content.len()), &content, names));
        files.push(content.clone());
        return Some(content);
    }
    template::check(decoder, &text, names);
    Some(text.value)
}

/// What stands in the file that `file:PATH` names.
pub(super) fn read_file(decoder: &mut Decoder, value: &At<String>, context: &Context<'_>) -> Option<String> {
    let path = value.value.trim_start_matches("file:");
    if path.trim().is_empty() {
        decoder.error(value.span.clone(), "`file:` needs a path").help("for example `file:prompts/patch.md`");
        return None;
    }
    match (context.read)(path) {
        Ok(content) if content.trim().is_empty() => {
            decoder.error(value.span.clone(), format!("the file {} is empty", shown(path)));
            None
        }
        Ok(content) => Some(content),
        Err(error) => {
            decoder
                .error(value.span.clone(), format!("the file {} cannot be read: {error}", shown(path)))
                .help("a path is relative to the suite's file");
            None
        }
    }
}

/// Reads one of `conversations:`.
pub(super) fn conversation(
    decoder: &mut Decoder,
    key: &Key,
    node: &Node,
    names: &Names,
) -> Option<Conversation> {
    let items = decoder.list(node, "a list of turns")?;
    if key.text == ALONE && !items.is_empty() {
        decoder
            .error(key.span.clone(), "`alone` is the conversation without a turn")
            .help("give a conversation with turns another name");
    }
    let turns: Vec<Option<Turn>> = items.iter().map(|item| turn(decoder, item, names)).collect();
    Some(Conversation { turns: turns.into_iter().collect::<Option<_>>()? })
}

fn turn(decoder: &mut Decoder, node: &Node, names: &Names) -> Option<Turn> {
    if matches!(node.kind, Kind::Scalar { .. }) {
        decoder
            .error(node.span.clone(), "expected a turn with the key `say`, found a text")
            .help("write `- say: \"…\"`");
        return None;
    }
    let fields = decoder.fields(node, node.span.clone(), &TURN)?;
    let say = decoder.required(&fields, "say", "say: \"bitte nochmal versuchen\"").and_then(|(_, node)| {
        let text = decoder.filled(node, "what the user says")?;
        template::check(decoder, &text, names);
        Some(text.value)
    });
    let when = match fields.entry("when") {
        Some((key, node)) => when(decoder, key, node),
        None => Some(When::Always),
    };
    let after = match fields.get("after") {
        Some(node) => decoder.duration(node, Duration::ZERO..=Duration::from_secs(24 * 3600)),
        None => Some(Duration::ZERO),
    };
    Some(Turn { say: say?, when: when?, after: after? })
}

fn when(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<When> {
    let matches_form = "a condition on the agent's words is written `{matches: \"REGEX\"}`";
    if let Kind::Scalar { text, .. } = &node.kind {
        return match text.as_str() {
            "always" => Some(When::Always),
            "not_confirmed" | "confirmed" => {
                decoder
                    .error(node.span.clone(), format!("`when: {text}` is not available in this version"))
                    .help(format!("it needs a reader of the agent's words; {matches_form}"));
                None
            }
            other => {
                let mistake =
                    decoder.error(node.span.clone(), format!("{} is no condition of a turn", shown(other)));
                match super::diagnostics::closest(other, ["always", "matches"]) {
                    Some("always") => mistake.help("did you mean `always`?"),
                    _ => mistake.help(format!("write `always`; {matches_form}")),
                };
                None
            }
        };
    }
    let fields = decoder.fields(node, key.span.clone(), &WHEN)?;
    let (_, node) = decoder.required(&fields, "matches", "when: {matches: \"(?i)time.?out\"}")?;
    decoder.pattern(node).map(|regex| When::Matches(Pattern(regex)))
}

/// Reads `limits:`.
pub(super) fn limits(decoder: &mut Decoder, key: &Key, node: &Node) -> Limits {
    let mut limits = Limits::default();
    let Some(fields) = decoder.fields(node, key.span.clone(), &LIMITS) else { return limits };
    let day = Duration::from_secs(24 * 3600);
    let times = Duration::from_millis(1)..=day;
    if let Some(time) = fields.get("run_timeout").and_then(|node| decoder.duration(node, times.clone())) {
        limits.run_timeout = time;
    }
    if let Some(time) = fields.get("upstream_timeout").and_then(|node| decoder.duration(node, times)) {
        limits.upstream_timeout = time;
    }
    let mut count = |name: &str, what: &str| {
        let number = fields.get(name).and_then(|node| decoder.whole(node, what, 1..=1024))?;
        u32::try_from(number).ok()
    };
    limits.parallel = count("parallel", "the number of runs at a time").unwrap_or(limits.parallel);
    limits.per_model = count("per_model", "the number of runs at a time with one model");
    if let Some(node) = fields.get("output")
        && let Some(bytes) = decoder.size(node)
    {
        if bytes < 1024 {
            let message = format!("{} is too little to hold a reply", shown(&units::show_size(bytes)));
            decoder.error(node.span.clone(), message).help("the default is `10MiB`");
        }
        limits.output = bytes;
    }
    limits
}

/// Reads `scenario_params:`; `used` are the scenarios of the matrix, if they are known.
pub(super) fn scenario_params(
    decoder: &mut Decoder,
    key: &Key,
    node: &Node,
    used: Option<Vec<String>>,
) -> ScenarioParams {
    let mut params = ScenarioParams::default();
    let Some(fields) = decoder.fields(node, key.span.clone(), &PARAMS) else { return params };
    for (name, scenario) in [("retry_after", "F2"), ("error_rate", "chaos"), ("delay", "T2"), ("late", "T4")]
    {
        if let Some((key, _)) = fields.entry(name)
            && let Some(used) = used.as_ref().filter(|used| !used.iter().any(|id| id == scenario))
        {
            decoder
                .error(
                    key.span.clone(),
                    format!("{} has no effect: no cell has the scenario `{scenario}`", shown(name)),
                )
                .help(format!("the scenarios here are {}", list(used)));
        }
    }
    let seconds = Duration::from_secs(1)..=Duration::from_secs(86_400);
    if let Some(time) = fields.get("retry_after").and_then(|node| decoder.duration(node, seconds)) {
        params.retry_after = time;
    }
    if let Some(rate) = fields.get("error_rate").and_then(|node| decoder.probability(node)) {
        params.error_rate = rate;
    }
    let waits = Duration::from_millis(1)..=Duration::from_secs(24 * 3600);
    if let Some(time) = fields.get("delay").and_then(|node| decoder.duration(node, waits.clone())) {
        params.delay = time;
    }
    if let Some(time) = fields.get("late").and_then(|node| decoder.duration(node, waits)) {
        params.late = time;
    }
    params
}
