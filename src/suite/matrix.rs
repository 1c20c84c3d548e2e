//! Axes, `exclude` and `include` → cells.
//!
//! The cells are the product of the axes, in their order, less what an entry of `exclude`
//! matches, and what `include` adds. An entry names values on some axes (one, or a list); on the
//! axes that it leaves out, an `exclude` matches every value and an `include` takes the values
//! of the matrix. An `include` may use values that are not in the matrix.

use super::decode::{At, Decoder, list};
use super::diagnostics::{closest, shown, suggestion};
use super::parts::ALONE;
use super::tree::{Key, Kind, Node};
use crate::domain::{Axis, CellId, CellKey, Present};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Most cells of a matrix.
pub const MAX_CELLS: usize = 20_000;

/// One cell of the matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Stable: the same values have the same id in every night's results.
    pub id: CellId,
    /// One value on every axis.
    pub key: CellKey,
}

impl Cell {
    fn new(key: CellKey) -> Arc<Cell> {
        Arc::new(Cell { id: CellId::of(&key), key })
    }
}

/// What there is to refer to on each axis.
pub(super) struct Known {
    pub agents: Vec<String>,
    pub prompts: Vec<String>,
    pub conversations: Vec<String>,
    pub upstreams: Vec<String>,
    pub scenarios: Vec<String>,
    pub patches: Vec<String>,
    pub presents: Vec<String>,
}

impl Known {
    /// The values to choose from; none where any text will do.
    fn on(&self, axis: Axis) -> Option<&[String]> {
        match axis {
            Axis::Agent => Some(&self.agents),
            Axis::Model => None,
            Axis::Prompt => Some(&self.prompts),
            Axis::Conversation => Some(&self.conversations),
            Axis::Upstream => Some(&self.upstreams),
            Axis::Scenario => Some(&self.scenarios),
            Axis::Patch => Some(&self.patches),
            Axis::Present => Some(&self.presents),
        }
    }

    /// Reports a value that refers to nothing.
    fn check(&self, decoder: &mut Decoder, axis: Axis, value: &At<String>) -> bool {
        if axis == Axis::Patch && value.value.starts_with("file:") {
            return true;
        }
        let Some(known) = self.on(axis) else { return true };
        if known.contains(&value.value) {
            return true;
        }
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        let mistake = decoder.error(value.span.clone(), format!("unknown {axis} {}", shown(&value.value)));
        mistake.help(suggestion(&value.value, &names));
        match axis {
            Axis::Agent => mistake.help("an agent is a file of `agents/`, or stands under `agents:`"),
            Axis::Scenario => {
                mistake.help("`nochmal scenarios` lists them; your own stand under `scenarios:`")
            }
            Axis::Present => mistake,
            Axis::Patch => mistake.help("a text of your own is `file:PATH`"),
            _ => mistake.help(format!("what there is stands under `{axis}s:`")),
        };
        false
    }
}

/// The values on each axis, and where each value was first named.
#[derive(Debug, Default)]
pub struct Axes {
    values: BTreeMap<Axis, Vec<String>>,
    places: HashMap<(Axis, String), Range<usize>>,
}

impl Axes {
    /// The values on an axis, in the order of the file.
    pub fn on(&self, axis: Axis) -> &[String] {
        self.values.get(&axis).map_or(&[], Vec::as_slice)
    }

    /// Where a value was first named in the matrix or an `include`.
    pub fn place(&self, axis: Axis, value: &str) -> Option<Range<usize>> {
        self.places.get(&(axis, value.to_owned())).cloned()
    }

    fn saw(&mut self, axis: Axis, value: &At<String>) {
        self.places.entry((axis, value.value.clone())).or_insert_with(|| value.span.clone());
    }

    /// Every value that is named anywhere, with its place.
    pub fn named(&self, axis: Axis) -> Vec<At<String>> {
        let mut named: Vec<At<String>> = self
            .places
            .iter()
            .filter(|((on, _), _)| *on == axis)
            .map(|((_, value), span)| At { value: value.clone(), span: span.clone() })
            .collect();
        named.sort_by_key(|value| value.span.start);
        named
    }
}

/// What an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To leave cells out. Where the matrix has mistakes, nobody can say what is in it.
    Exclude {
        /// Whether the matrix has none.
        from_sound: bool,
    },
    /// To add cells.
    Include,
}

impl Purpose {
    fn leaves_out(self) -> bool {
        matches!(self, Purpose::Exclude { .. })
    }
}

/// An entry of `exclude` or `include`.
pub(super) struct Entry {
    span: Range<usize>,
    values: BTreeMap<Axis, Vec<At<String>>>,
}

impl Entry {
    fn matches(&self, key: &CellKey) -> bool {
        self.values.iter().all(|(axis, values)| values.iter().any(|value| value.value == key.get(*axis)))
    }
}

/// Reads `matrix:`. The second value tells whether every axis could be read.
pub(super) fn axes(decoder: &mut Decoder, node: &Node, anchor: Range<usize>, known: &Known) -> (Axes, bool) {
    let mut axes = Axes::default();
    let mut sound = true;
    let names: Vec<&str> = Axis::ALL.iter().map(|axis| axis.name()).collect();
    let Some(entries) = decoder.named(node, "the axes and their values") else { return (axes, false) };
    for (key, node) in entries {
        let Some((axis, named)) = axis_named(decoder, key, &names) else {
            sound = false;
            continue;
        };
        if !named && entries.iter().any(|(key, _)| key.text == axis.name()) {
            sound = false;
            continue;
        }
        let (values, whole) = axis_values(decoder, axis, node, known);
        sound &= named && whole;
        for value in &values {
            axes.saw(axis, value);
        }
        axes.values.insert(axis, values.into_iter().map(|value| value.value).collect());
    }
    for axis in Axis::ALL {
        if !axes.values.contains_key(&axis) {
            let Some(value) = default_value(decoder, axis, anchor.clone(), known) else {
                sound = false;
                continue;
            };
            let value = At { value, span: anchor.clone() };
            axes.saw(axis, &value);
            axes.values.insert(axis, vec![value.value]);
        }
    }
    (axes, sound)
}

/// The axis of that name, and whether it is spelt right; a misspelt one is read as what was meant.
fn axis_named(decoder: &mut Decoder, key: &Key, names: &[&str]) -> Option<(Axis, bool)> {
    if let Some(axis) = Axis::from_name(&key.text) {
        return Some((axis, true));
    }
    let help = suggestion(&key.text, names);
    decoder.error(key.span.clone(), format!("unknown axis {}", shown(&key.text))).help(help);
    let meant = closest(&key.text, names.iter().copied())?;
    Some((Axis::from_name(meant)?, false))
}

/// The values on an axis, and whether all of them are good.
fn axis_values(decoder: &mut Decoder, axis: Axis, node: &Node, known: &Known) -> (Vec<At<String>>, bool) {
    let Some(items) = decoder.list(node, &format!("a list of values for the axis `{axis}`")) else {
        return (Vec::new(), false);
    };
    if items.is_empty() {
        let help = match axis {
            Axis::Agent => "name at least one agent",
            _ => "name at least one value, or leave the axis out to take its default",
        };
        decoder
            .error(node.span.clone(), format!("the axis `{axis}` is empty, so the matrix has no cell"))
            .help(help);
        return (Vec::new(), false);
    }
    let mut sound = true;
    let mut values: Vec<At<String>> = Vec::new();
    for item in items {
        let Some(value) = decoder.filled(item, "a value") else {
            sound = false;
            continue;
        };
        if let Some(first) = values.iter().find(|first| first.value == value.value) {
            decoder
                .error(value.span.clone(), format!("{} is on the axis `{axis}` twice", shown(&value.value)))
                .related(first.span.clone(), "first here")
                .help("for more runs of a cell, raise `repeats`");
            continue;
        }
        sound &= known.check(decoder, axis, &value);
        values.push(value);
    }
    (values, sound)
}

fn default_value(decoder: &mut Decoder, axis: Axis, anchor: Range<usize>, known: &Known) -> Option<String> {
    let only = |decoder: &mut Decoder, names: &[String]| match names {
        [one] => Some(one.clone()),
        // That there is none is said where the key is missing.
        [] => None,
        several => {
            let example = several.join(", ");
            decoder
                .error(
                    anchor.clone(),
                    format!("the matrix must say which {axis} to use: `{axis}s:` has several"),
                )
                .help(format!("for example `{axis}: [{example}]`"));
            None
        }
    };
    match axis {
        Axis::Agent => {
            decoder
                .error(anchor.clone(), "the matrix needs the axis `agent`")
                .help(format!("for example `agent: [builtin]`; known: {}", list(&known.agents)));
            None
        }
        Axis::Model => Some("default".to_owned()),
        Axis::Prompt => only(decoder, &known.prompts),
        Axis::Conversation => Some(ALONE.to_owned()),
        Axis::Upstream => only(decoder, &known.upstreams),
        Axis::Scenario => Some("none".to_owned()),
        Axis::Patch => Some("off".to_owned()),
        Axis::Present => Some(Present::Plain.name().to_owned()),
    }
}

/// Reads `exclude:` or `include:`. `within` are the values that an `exclude` may name.
pub(super) fn entries(
    decoder: &mut Decoder,
    node: &Node,
    known: &Known,
    axes: &mut Axes,
    purpose: Purpose,
) -> Option<Vec<Entry>> {
    let what = if purpose.leaves_out() { "a list of cells to leave out" } else { "a list of cells to add" };
    let items = decoder.list(node, what)?;
    let mut sound = true;
    let mut entries = Vec::new();
    for item in items {
        match entry(decoder, item, known, axes, purpose) {
            Some(entry) => entries.push(entry),
            None => sound = false,
        }
    }
    sound.then_some(entries)
}

fn entry(
    decoder: &mut Decoder,
    node: &Node,
    known: &Known,
    axes: &mut Axes,
    purpose: Purpose,
) -> Option<Entry> {
    let names: Vec<&str> = Axis::ALL.iter().map(|axis| axis.name()).collect();
    let parts = decoder.named(node, "axes and values, such as `{scenario: none, patch: off}`")?;
    if parts.is_empty() {
        let all = if purpose.leaves_out() {
            "an empty entry would leave out every cell"
        } else {
            "an empty entry adds nothing"
        };
        decoder.error(node.span.clone(), all);
        return None;
    }
    let mut sound = true;
    let mut values: BTreeMap<Axis, Vec<At<String>>> = BTreeMap::new();
    for (key, node) in parts {
        let Some((axis, named)) = axis_named(decoder, key, &names) else {
            sound = false;
            continue;
        };
        sound &= named;
        let items = match &node.kind {
            Kind::Seq(items) if items.is_empty() => {
                decoder.error(node.span.clone(), "an empty list matches nothing");
                sound = false;
                continue;
            }
            Kind::Seq(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        for item in items {
            let Some(value) = decoder.filled(item, "a value") else {
                sound = false;
                continue;
            };
            let fits = match purpose {
                Purpose::Exclude { from_sound: true } => in_matrix(decoder, axis, &value, axes),
                Purpose::Exclude { from_sound: false } => known.check(decoder, axis, &value),
                Purpose::Include => {
                    let fits = known.check(decoder, axis, &value);
                    if fits {
                        axes.saw(axis, &value);
                    }
                    fits
                }
            };
            sound &= fits;
            values.entry(axis).or_default().push(value);
        }
    }
    sound.then(|| Entry { span: node.span.clone(), values })
}

fn in_matrix(decoder: &mut Decoder, axis: Axis, value: &At<String>, axes: &Axes) -> bool {
    let there = axes.on(axis);
    if there.contains(&value.value) {
        return true;
    }
    let names: Vec<&str> = there.iter().map(String::as_str).collect();
    let help = suggestion(&value.value, &names);
    decoder
        .error(
            value.span.clone(),
            format!("no cell has the {axis} {}, so this leaves nothing out", shown(&value.value)),
        )
        .help(help);
    false
}

/// The cells. Reports an `exclude` that matches none, and a matrix without a cell.
pub(super) fn cells(
    decoder: &mut Decoder,
    axes: &Axes,
    exclude: &[Entry],
    include: &[Entry],
    anchor: Range<usize>,
) -> Option<Vec<Arc<Cell>>> {
    let all: BTreeMap<Axis, Vec<&str>> =
        Axis::ALL.iter().map(|axis| (*axis, axes.on(*axis).iter().map(String::as_str).collect())).collect();
    let product = product(decoder, &all, anchor.clone())?;
    let mut used = vec![false; exclude.len()];
    let mut cells = Vec::new();
    let mut seen = HashSet::new();
    for key in product {
        let mut left_out = false;
        for (index, entry) in exclude.iter().enumerate() {
            if entry.matches(&key) {
                used[index] = true;
                left_out = true;
            }
        }
        if !left_out && seen.insert(key.clone()) {
            cells.push(Cell::new(key));
        }
    }
    let mut sound = true;
    for (entry, used) in exclude.iter().zip(used) {
        if !used {
            decoder.error(
                entry.span.clone(),
                "this leaves nothing out: no cell of the matrix has all these values",
            );
            sound = false;
        }
    }
    for entry in include {
        let mut values = all.clone();
        for (axis, named) in &entry.values {
            values.insert(*axis, named.iter().map(|value| value.value.as_str()).collect());
        }
        for key in self::product(decoder, &values, entry.span.clone())? {
            if seen.insert(key.clone()) {
                cells.push(Cell::new(key));
            }
        }
        if cells.len() > MAX_CELLS {
            too_many(decoder, cells.len(), entry.span.clone());
            return None;
        }
    }
    if cells.is_empty() {
        decoder.error(anchor, "no cell is left: `exclude` matches all of them");
        return None;
    }
    sound.then_some(cells)
}

fn too_many(decoder: &mut Decoder, count: usize, span: Range<usize>) {
    decoder
        .error(span, format!("the matrix has {count} cells, and at most {MAX_CELLS} are run"))
        .help("split it into several suites");
}

fn product(
    decoder: &mut Decoder,
    values: &BTreeMap<Axis, Vec<&str>>,
    anchor: Range<usize>,
) -> Option<Vec<CellKey>> {
    let count = values.values().fold(1usize, |count, values| count.saturating_mul(values.len()));
    if count > MAX_CELLS {
        too_many(decoder, count, anchor);
        return None;
    }
    let empty = CellKey {
        agent: String::new(),
        model: String::new(),
        prompt: String::new(),
        conversation: String::new(),
        upstream: String::new(),
        scenario: String::new(),
        patch: String::new(),
        present: "plain".to_owned(),
    };
    let mut keys = vec![empty];
    for (axis, values) in values {
        keys = keys.iter().flat_map(|key| values.iter().map(|value| key.with(*axis, value))).collect();
    }
    Some(keys)
}
