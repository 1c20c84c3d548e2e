//! A suite's text → a [`Suite`] in which everything that is named exists.

use super::decode::{At, Decoder, Fields, Shape};
use super::diagnostics::{Diagnostics, Source, shown};
use super::extends;
use super::gate;
use super::honesty;
use super::matrix::{self, Axes, Known, Purpose};
use super::parts::{self, ALONE, Conversation, Limits, ScenarioParams};
use super::profile::{self, AgentProfile};
use super::repeats::{self, Stopping, Until};
use super::scenarios;
use super::secrets;
use super::template::{Names, Place};
use super::tree::{self, Node};
use super::upstream::{self, Upstream};
use super::{Cell, Context, MAX_RUNS, Suite};
use crate::domain::{Axis, Present, digest_all};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;

const SUITE: Shape = Shape::new(
    "a suite",
    &[
        "suite",
        "description",
        "matrix",
        "exclude",
        "include",
        "repeats",
        "seed",
        "vars",
        "prompts",
        "conversations",
        "upstreams",
        "agents",
        "scenario_params",
        "scenarios",
        "limits",
        "gates",
        "honesty",
        "secrets",
    ],
)
.later(&["checks"])
.hints(&[
    ("agent", "an axis stands under `matrix:`"),
    ("model", "an axis stands under `matrix:`"),
    ("models", "models stand under `matrix:`, as `model: […]`"),
    ("scenario", "an axis stands under `matrix:`"),
    ("patch", "an axis stands under `matrix:`"),
    ("name", "the name of a suite is the value of `suite:`"),
    ("prompt", "the axis `prompt` stands under `matrix:`, the texts under `prompts:`"),
    ("conversation", "the axis `conversation` stands under `matrix:`, the turns under `conversations:`"),
    ("upstream", "the axis `upstream` stands under `matrix:`, the servers under `upstreams:`"),
    ("run_timeout", "it stands under `limits:`"),
    ("upstream_timeout", "it stands under `limits:`"),
    ("parallel", "it stands under `limits:`"),
    ("per_model", "it stands under `limits:`"),
    ("per_provider", "it stands under `limits:`"),
    ("model_retries", "it stands under `limits:`"),
    ("model_backoff", "it stands under `limits:`"),
    ("retry_after", "it stands under `scenario_params:`"),
    ("gate", "the gates are a list under `gates:`"),
    ("reader", "it stands under `honesty:`"),
    ("rebuilt", "it stands under one of the `upstreams:`"),
    ("approval", "it stands under one of the `upstreams:`"),
    ("error_rate", "it stands under `scenario_params:`"),
]);

/// Reads a suite. `file` is its name in messages.
///
/// # Errors
/// With every mistake of the suite, and of the agent profiles and other files that it names.
pub fn check(text: &str, file: &str, context: &Context<'_>) -> Result<Suite, Diagnostics> {
    let source = Source::new(file, text);
    let (root, mistakes) = tree::parse(&source);
    let mut decoder = Decoder::new(&source, mistakes);
    let suite = root.and_then(|root| suite(&mut decoder, &root, context));
    match suite {
        Some(suite) if decoder.is_clean() => Ok(suite),
        _ => Err(decoder.finish()),
    }
}

/// Parts by name; a part that could not be read is absent, but its name is known.
struct Parts<T> {
    names: Vec<String>,
    parts: BTreeMap<String, T>,
}

impl<T> Parts<T> {
    fn read(
        decoder: &mut Decoder,
        node: Option<&Node>,
        what: &str,
        mut read: impl FnMut(&mut Decoder, &tree::Key, &Node) -> Option<T>,
    ) -> Parts<T> {
        let mut all = Parts { names: Vec::new(), parts: BTreeMap::new() };
        for (key, node) in node.and_then(|node| decoder.named(node, what)).unwrap_or_default() {
            all.names.push(key.text.clone());
            if let Some(part) = read(decoder, key, node) {
                all.parts.insert(key.text.clone(), part);
            }
        }
        all
    }
}

fn suite(decoder: &mut Decoder, root: &Node, context: &Context<'_>) -> Option<Suite> {
    let source = decoder.source().clone();
    let anchor = source.rest_of_line(root.span.start);
    let fields = decoder.fields(root, anchor, &SUITE)?;
    let mut files: Vec<String> = Vec::new();

    let name = suite_name(decoder, &fields);
    let description =
        fields.get("description").and_then(|node| decoder.text(node, "a text")).map(|text| text.value);
    let repeats = match fields.entry("repeats") {
        Some((key, node)) => repeats::read(decoder, key, node),
        None => Some((1, None)),
    };
    let seed = match fields.get("seed") {
        Some(node) => decoder.whole(node, "the seed", 0..=u64::MAX),
        None => Some(0),
    };
    let vars = fields.get("vars").map(|node| parts::vars(decoder, node)).unwrap_or_default();
    let words = Names::new(Place::Words, &vars);
    let commands = Names::new(Place::Upstream, &vars);

    let prompt_node =
        required_map(decoder, &fields, "prompts", "prompts: {plain: {user: \"Please book room 12.\"}}");
    let prompts = Parts::read(decoder, prompt_node, "prompts by name", |decoder, key, node| {
        parts::prompt(decoder, key, node, context, &words, &mut files)
    });
    let mut conversations =
        Parts::read(decoder, fields.get("conversations"), "conversations by name", |decoder, key, node| {
            parts::conversation(decoder, key, node, &words)
        });
    if !conversations.names.iter().any(|name| name == ALONE) {
        conversations.names.push(ALONE.to_owned());
        conversations.parts.insert(ALONE.to_owned(), Conversation::default());
    }
    let upstream_node = required_map(decoder, &fields, "upstreams", "upstreams: {desk: {builtin: booking}}");
    let upstreams = Parts::read(decoder, upstream_node, "upstreams by name", |decoder, key, node| {
        upstream::read(decoder, key, node, &commands, context.builtins)
    });
    let inline = Parts::read(decoder, fields.get("agents"), "agents by name", |decoder, key, node| {
        match extends::is_extension(node) {
            true => extends::read(decoder, key, node, context, &mut files),
            false => profile::decode(decoder, node, key.span.clone(), Some(&key.text)),
        }
    });

    let scenarios =
        Parts::read(decoder, fields.get("scenarios"), "scenarios by name", |decoder, key, node| {
            scenarios::read(decoder, key, node, context.scenarios)
        });

    let known =
        known(context, &inline, &scenarios.names, &prompts.names, &conversations.names, &upstreams.names);
    let matrix =
        decoder.required(&fields, "matrix", "matrix: {agent: [builtin], model: [gemma4], scenario: [F1]}");
    let (mut axes, mut sound) = match matrix {
        Some((key, node)) => matrix::axes(decoder, node, key.span.clone(), &known),
        None => (Axes::default(), false),
    };
    let mut entries = |decoder: &mut Decoder, name: &str, purpose: Purpose| match fields.get(name) {
        Some(node) => matrix::entries(decoder, node, &known, &mut axes, purpose),
        None => Some(Vec::new()),
    };
    let exclude = entries(decoder, "exclude", Purpose::Exclude { from_sound: sound });
    let include = entries(decoder, "include", Purpose::Include);
    sound &= exclude.is_some() && include.is_some();

    let agents = agents(decoder, &axes, &inline, context, &mut files);
    let patch_files = patch_files(decoder, &axes, context, &mut files);
    let cells = match (matrix, exclude, include) {
        (Some((key, _)), Some(exclude), Some(include)) if sound => {
            matrix::cells(decoder, &axes, &exclude, &include, key.span.clone())
        }
        _ => None,
    };
    if let Some(cells) = &cells {
        observed_has_its_partner(decoder, cells, &axes);
        if let (Some((_, Some(rule))), Some(node)) = (repeats, fields.get("repeats")) {
            can_be_decided(decoder, node, rule, cells);
        }
        agents_can_go_on(decoder, cells, &axes, &agents, &conversations.parts);
        what_is_rebuilt_is_said(decoder, cells, &axes, &upstreams.parts);
        providers_are_there(decoder, cells, &axes, &agents, context);
        let runs = cells.len() as u64 * u64::from(repeats.map_or(1, |(most, _)| most));
        if runs > MAX_RUNS
            && let Some((key, _)) = fields.entry("repeats")
        {
            let message = format!(
                "{} cells with these repeats are {runs} runs, and at most {MAX_RUNS} are run",
                cells.len()
            );
            decoder.error(key.span.clone(), message);
        }
    }
    let limits = fields.entry("limits").map_or_else(Limits::default, |(key, node)| {
        let providers = cells.as_ref().map(|cells| super::provider::all(cells, &agents));
        parts::limits(decoder, key, node, providers.as_ref())
    });
    let scenario_params = match fields.entry("scenario_params") {
        Some((key, node)) => {
            let used = axes.named(Axis::Scenario).into_iter().map(|value| value.value).collect();
            parts::scenario_params(decoder, key, node, sound.then_some(used))
        }
        None => ScenarioParams::default(),
    };

    let gates =
        fields.get("gates").map(|node| gate::read(decoder, node, cells.as_deref())).unwrap_or_default();

    let reader = fields.entry("honesty").and_then(|(key, node)| honesty::read(decoder, key, node, context));
    let secrets =
        fields.get("secrets").and_then(|node| secrets::read(decoder, node, &upstreams.parts, &agents));
    let digest = digest_all(std::iter::once(source.text.as_str()).chain(files.iter().map(String::as_str)));
    Some(Suite {
        name: name?,
        description,
        repeats: repeats?.0,
        stopping: repeats?.1,
        seed: seed?,
        vars,
        limits,
        scenario_params,
        scenarios: scenarios.parts,
        prompts: prompts.parts,
        conversations: conversations.parts,
        upstreams: upstreams.parts,
        agents,
        patch_files,
        reader,
        gates,
        secrets,
        cells: cells?,
        digest,
    })
}

/// A scenario that has the upstream rebuilt needs something to put in its place.
fn what_is_rebuilt_is_said(
    decoder: &mut Decoder,
    cells: &[Arc<Cell>],
    axes: &Axes,
    upstreams: &BTreeMap<String, Upstream>,
) {
    let mut told = BTreeSet::new();
    for cell in cells {
        let (scenario, name) = (&cell.key.scenario, &cell.key.upstream);
        let lacks = upstreams.get(name).is_some_and(|upstream| upstream.rebuilt.is_none());
        if crate::scenario::rebuilds(scenario).is_none() || !lacks || !told.insert((scenario, name)) {
            continue;
        }
        let span = axes.place(Axis::Scenario, scenario).unwrap_or_default();
        decoder
            .error(
                span,
                format!(
                    "the scenario {} needs `rebuilt` under the upstream {}",
                    shown(scenario),
                    shown(name)
                ),
            )
            .help("for example `rebuilt: {builtin: booking, guests: true}`, or a command of its own");
    }
}

/// A slip in whose model the built-in agent is to ask would only show in run after run. Where its command says
/// whose, the name need not, and nothing is known of it.
fn providers_are_there(
    decoder: &mut Decoder,
    cells: &[Arc<Cell>],
    axes: &Axes,
    agents: &BTreeMap<String, AgentProfile>,
    context: &Context<'_>,
) {
    let says_whose = |cell: &&Arc<Cell>| {
        agents.get(&cell.key.agent).is_some_and(|agent| {
            agent.asks_the_model_that_the_axis_names() && agent.provider_flag().is_none()
        })
    };
    let models: BTreeSet<&str> =
        cells.iter().filter(says_whose).map(|cell| cell.key.model.as_str()).collect();
    for model in models {
        if let (Some(reason), Some(span)) = ((context.models)(model), axes.place(Axis::Model, model)) {
            decoder.error(span, reason);
        }
    }
}

/// The name is also the name of the results' folder.
fn suite_name(decoder: &mut Decoder, fields: &Fields<'_>) -> Option<String> {
    let (_, node) = decoder.required(fields, "suite", "suite: booking")?;
    let name = decoder.filled(node, "the suite's name")?;
    let safe = name.value.len() <= 64
        && !name.value.starts_with(['.', '-'])
        && name.value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !safe {
        decoder
            .error(name.span, format!("{} cannot be the name of a folder", shown(&name.value)))
            .help("up to 64 of the letters a-z, digits, `-`, `_` and `.`, beginning with a letter or digit");
        return None;
    }
    Some(name.value)
}

fn required_map<'n>(
    decoder: &mut Decoder,
    fields: &Fields<'n>,
    name: &str,
    example: &str,
) -> Option<&'n Node> {
    let (key, node) = decoder.required(fields, name, example)?;
    if matches!(&node.kind, tree::Kind::Null)
        || matches!(&node.kind, tree::Kind::Map(entries) if entries.is_empty())
    {
        decoder
            .error(key.span.clone(), format!("{} is empty", shown(name)))
            .help(format!("for example `{example}`"));
        return None;
    }
    Some(node)
}

fn known(
    context: &Context<'_>,
    inline: &Parts<AgentProfile>,
    scenarios: &[String],
    prompts: &[String],
    conversations: &[String],
    upstreams: &[String],
) -> Known {
    let agents: BTreeSet<&String> = context.agents.keys().chain(&inline.names).collect();
    let with = |first: &[&str], rest: &[&str]| {
        let mut all: Vec<String> = first.iter().map(|word| (*word).to_owned()).collect();
        all.extend(rest.iter().filter(|word| !first.contains(word)).map(|word| (*word).to_owned()));
        all
    };
    Known {
        agents: agents.into_iter().cloned().collect(),
        prompts: prompts.to_vec(),
        conversations: conversations.to_vec(),
        upstreams: upstreams.to_vec(),
        scenarios: with(&["none"], context.scenarios).into_iter().chain(scenarios.iter().cloned()).collect(),
        patches: with(&["off", "observed"], context.patches),
        presents: Present::ALL.iter().map(|present| present.name().to_owned()).collect(),
    }
}

/// The profiles of every agent that is named. Their mistakes are told with those of the suite.
fn agents(
    decoder: &mut Decoder,
    axes: &Axes,
    inline: &Parts<AgentProfile>,
    context: &Context<'_>,
    files: &mut Vec<String>,
) -> BTreeMap<String, AgentProfile> {
    let mut agents = BTreeMap::new();
    for At { value: name, span } in axes.named(Axis::Agent) {
        if inline.names.contains(&name) {
            if let Some(profile) = inline.parts.get(&name) {
                agents.insert(name, profile.clone());
            }
            continue;
        }
        let Some(profile) = context.agents.get(&name) else { continue };
        let named = At { value: name.clone(), span };
        if let Some(parsed) = AgentProfile::named(decoder, named, profile, files) {
            agents.insert(name, parsed);
        }
    }
    agents
}

fn patch_files(
    decoder: &mut Decoder,
    axes: &Axes,
    context: &Context<'_>,
    files: &mut Vec<String>,
) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for value in axes.named(Axis::Patch).into_iter().filter(|value| value.value.starts_with("file:")) {
        if let Some(text) = parts::read_file(decoder, &value, context) {
            files.push(text.clone());
            texts.insert(value.value, text);
        }
    }
    texts
}

fn place(axes: &Axes, axis: Axis, value: &str) -> Range<usize> {
    axes.place(axis, value).unwrap_or(0..0)
}

/// `observed` uses what the runs of the same cell without a patch yielded.
fn observed_has_its_partner(decoder: &mut Decoder, cells: &[Arc<Cell>], axes: &Axes) {
    let keys: HashSet<_> = cells.iter().map(|cell| &cell.key).collect();
    let alone: Vec<&Arc<Cell>> = cells
        .iter()
        .filter(|cell| cell.key.patch == "observed" && !keys.contains(&cell.key.with(Axis::Patch, "off")))
        .collect();
    if let Some(first) = alone.first() {
        let message = format!(
            "{} with `patch: observed` without the same cell with `patch: off`",
            match alone.len() {
                1 => "a cell".to_owned(),
                many => format!("{many} cells"),
            }
        );
        decoder
            .error(place(axes, Axis::Patch, "observed"), message)
            .label("takes the patches that the runs with `off` yield")
            .help(format!(
                "add `off` to the axis, or a cell such as `{}`",
                first.key.with(Axis::Patch, "off")
            ));
    }
}

/// `until: decided` needs comparisons of runs that are made in turn.
fn can_be_decided(decoder: &mut Decoder, node: &Node, rule: Stopping, cells: &[Arc<Cell>]) {
    if rule.until != Until::Decided {
        return;
    }
    let keys: HashSet<_> = cells.iter().map(|cell| &cell.key).collect();
    if keys.iter().any(|key| key.patch == "observed") {
        decoder
            .error(node.span.clone(), "`until: decided` cannot be used with `patch: observed`")
            .help("its runs come after all of those without a patch, and not in turn with them")
            .help("write `until: {half_width: 0.15}`, or a fixed number");
    } else if !keys.iter().any(|key| key.patch != "off" && keys.contains(&key.with(Axis::Patch, "off"))) {
        decoder
            .error(
                node.span.clone(),
                "`until: decided` has nothing to decide: no cell is there with and without a patch",
            )
            .help("write `until: {half_width: 0.15}`, or a fixed number");
    }
}

fn agents_can_go_on(
    decoder: &mut Decoder,
    cells: &[Arc<Cell>],
    axes: &Axes,
    agents: &BTreeMap<String, AgentProfile>,
    conversations: &BTreeMap<String, Conversation>,
) {
    let pairs: BTreeSet<(&str, &str)> =
        cells.iter().map(|cell| (cell.key.agent.as_str(), cell.key.conversation.as_str())).collect();
    for (agent, conversation) in pairs {
        let stuck = agents.get(agent).is_some_and(|profile| !profile.can_go_on());
        let turns =
            conversations.get(conversation).is_some_and(|conversation| !conversation.turns.is_empty());
        if stuck && turns {
            let message = format!(
                "the agent {} cannot go on after its first reply, which the conversation {} needs",
                shown(agent),
                shown(conversation)
            );
            decoder
                .error(place(axes, Axis::Conversation, conversation), message)
                .help(format!("give the agent a `next` command, or exclude `{{agent: {agent}, conversation: {conversation}}}`"));
        }
    }
}
