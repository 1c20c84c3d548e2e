//! The parts of a suite beside its matrix and its upstreams: prompts, conversations, limits.

use super::decode::{At, Decoder, Shape, list};
use super::diagnostics::{Source, shown};
use super::template::{self, Names};
use super::tree::{Key, Kind, Node};
use super::{Context, Pattern, units};
use std::collections::{BTreeMap, BTreeSet};
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
    /// `confirmed`: when the agent's last words claim success.
    Confirmed,
    /// `not_confirmed`: when they claim failure, or that it is not known.
    NotConfirmed,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Wall clock of a run.
    pub run_timeout: Duration,
    /// How long an upstream may take to answer a call (J7).
    pub upstream_timeout: Duration,
    /// Runs at a time.
    pub parallel: u32,
    /// Runs at a time with the same model; where it is set, runs are ordered by model.
    pub per_model: Option<u32>,
    /// Provider → runs at a time with its models.
    pub per_provider: BTreeMap<String, u32>,
    /// How often a run is made again that its model's endpoint spoiled.
    pub model_retries: u32,
    /// How long is waited before the first of these; before each further one twice as long.
    pub model_backoff: Duration,
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
            per_provider: BTreeMap::new(),
            model_retries: 0,
            model_backoff: Duration::from_secs(10),
            output: 10 << 20,
        }
    }
}

const PROMPT: Shape = Shape::new("a prompt", &["system", "user"]).later(&["checks"]);
const TURN: Shape = Shape::new("a turn", &["say", "when", "after"]);
const WHEN: Shape = Shape::new("a turn's condition", &["matches"]);
const LIMITS: Shape = Shape::new(
    "the limits",
    &[
        "run_timeout",
        "upstream_timeout",
        "parallel",
        "per_model",
        "per_provider",
        "model_retries",
        "model_backoff",
        "output",
    ],
);
const PARAMS: Shape = Shape::new("the scenario parameters", &["retry_after", "error_rate", "delay", "late"]);

/// Reads `vars:`.
pub(crate) fn vars(decoder: &mut Decoder, node: &Node) -> BTreeMap<String, String> {
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
            "confirmed" => Some(When::Confirmed),
            "not_confirmed" => Some(When::NotConfirmed),
            other => {
                let mistake =
                    decoder.error(node.span.clone(), format!("{} is no condition of a turn", shown(other)));
                let known = ["always", "confirmed", "not_confirmed", "matches"];
                match super::diagnostics::closest(other, known) {
                    Some(near) if near != "matches" => mistake.help(format!("did you mean `{near}`?")),
                    _ => mistake
                        .help(format!("write `always`, `confirmed` or `not_confirmed`; {matches_form}")),
                };
                None
            }
        };
    }
    let fields = decoder.fields(node, key.span.clone(), &WHEN)?;
    let (_, node) = decoder.required(&fields, "matches", "when: {matches: \"(?i)time.?out\"}")?;
    decoder.pattern(node).map(|regex| When::Matches(Pattern(regex)))
}

/// Reads `limits:`; `providers` are those of the matrix, if they are known.
pub(super) fn limits(
    decoder: &mut Decoder,
    key: &Key,
    node: &Node,
    providers: Option<&BTreeSet<String>>,
) -> Limits {
    let mut limits = Limits::default();
    let Some(fields) = decoder.fields(node, key.span.clone(), &LIMITS) else { return limits };
    let day = Duration::from_secs(24 * 3600);
    let times = Duration::from_millis(1)..=day;
    if let Some(time) = fields.get("run_timeout").and_then(|node| decoder.duration(node, times.clone())) {
        limits.run_timeout = time;
    }
    if let Some(time) = fields.get("upstream_timeout").and_then(|node| decoder.duration(node, times.clone()))
    {
        limits.upstream_timeout = time;
    }
    if let Some(time) = fields.get("model_backoff").and_then(|node| decoder.duration(node, times)) {
        limits.model_backoff = time;
    }
    let mut count = |name: &str, what: &str, from: u64| {
        let number = fields.get(name).and_then(|node| decoder.whole(node, what, from..=1024))?;
        u32::try_from(number).ok()
    };
    limits.parallel = count("parallel", "the number of runs at a time", 1).unwrap_or(limits.parallel);
    limits.per_model = count("per_model", "the number of runs at a time with one model", 1);
    limits.model_retries = count("model_retries", "how often a run is made again", 0).unwrap_or(0);
    if let Some(node) = fields.get("per_provider") {
        limits.per_provider = per_provider(decoder, node, providers);
    }
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

fn per_provider(
    decoder: &mut Decoder,
    node: &Node,
    providers: Option<&BTreeSet<String>>,
) -> BTreeMap<String, u32> {
    let mut most = BTreeMap::new();
    for (key, node) in decoder.named(node, "providers and their numbers").unwrap_or_default() {
        if let Some(providers) = providers.filter(|providers| !providers.contains(&key.text)) {
            let known: Vec<String> = providers.iter().cloned().collect();
            let mistake =
                decoder.error(key.span.clone(), format!("no run has the provider {}", shown(&key.text)));
            match super::diagnostics::closest(&key.text, known.iter().map(String::as_str)) {
                Some(meant) => mistake.help(format!("did you mean {}?", shown(meant))),
                None if known.is_empty() => mistake.help(
                    "a provider is what stands before `:` or `/` in a model's name, or the `provider` of an agent's profile",
                ),
                None => mistake.help(format!("the providers here are {}", list(&known))),
            };
        }
        if let Some(number) = decoder.whole(node, "the number of runs at a time with this provider", 1..=1024)
        {
            most.insert(key.text.clone(), u32::try_from(number).unwrap_or(u32::MAX));
        }
    }
    most
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
