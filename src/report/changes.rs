//! What changed from old results to new ones, or from one value of an axis to another: aligned cells,
//! and those that stand alone.

use super::compare::{self, Arms};
use super::text::short_digest;
use super::{CellView, Comparison, GateResult, GateState, Options, PatchSummary, View, gate};
use crate::domain::Axis;
use crate::suite::{Gate, GateCheck};

/// Two sides, cell by cell.
#[derive(Debug, Clone)]
pub struct Changes<'v, 'a> {
    /// The results before.
    pub before: Side<'v, 'a>,
    /// The results after; the same ones where two values of an axis are compared.
    pub after: Side<'v, 'a>,
    /// The axis whose values are compared, with both, where this is one result.
    pub axis: Option<(Axis, String, String)>,
    /// Cells that are on both sides, in the order of those after.
    pub pairs: Vec<Comparison>,
    /// All pairs together.
    pub together: PatchSummary,
    /// Cells that are only there before.
    pub only_before: Vec<&'v CellView<'a>>,
    /// Cells that are only there after.
    pub only_after: Vec<&'v CellView<'a>>,
    /// Axes on which the cells of either side differ.
    pub varied: Vec<Axis>,
    /// How the gates stand.
    pub gates: Vec<GateResult>,
}

/// One side.
#[derive(Debug, Clone)]
pub struct Side<'v, 'a> {
    /// A folder, or a value of an axis.
    pub name: String,
    /// Its results.
    pub view: &'v View<'a>,
}

impl<'v, 'a> Changes<'v, 'a> {
    /// From old results to new ones. Both views must be made with the same options, and with early
    /// stopping in both where it was in either.
    pub fn since(before: Side<'v, 'a>, after: Side<'v, 'a>, gates: &[Gate]) -> Changes<'v, 'a> {
        let (old, new) = (before.view, after.view);
        let mut pairs = Vec::new();
        let mut only_after = Vec::new();
        for cell in &new.cells {
            match old.cell(cell.id) {
                Some(partner) => pairs.push((partner, cell)),
                None => only_after.push(cell),
            }
        }
        let only_before: Vec<_> = old.cells.iter().filter(|cell| new.cell(cell.id).is_none()).collect();
        let found = compare::decide(&pairs, Arms::Apart, new.method, new.level);
        let sides = Sides {
            pairs: &pairs,
            alone: [&only_before[..], &only_after[..]].concat(),
            from_to: "from old to new".to_owned(),
            arms: Arms::Apart,
            after: new,
        };
        let mut gates: Vec<_> = gates.iter().map(|gate| stands(gate, &sides)).collect();
        gates.extend(
            [&before, &after].into_iter().filter_map(|side| gate::traces(&side.view.results.broken_traces)),
        );
        let varied = varied(old.cells.iter().chain(&new.cells).collect());
        let together = compare::together("", &found.iter().collect::<Vec<_>>(), new.level);
        Changes { before, after, axis: None, together, pairs: found, only_before, only_after, varied, gates }
    }

    /// From one value of an axis to another, all other axes equal.
    pub fn between(view: &'v View<'a>, axis: Axis, old: &str, new: &str, gates: &[Gate]) -> Changes<'v, 'a> {
        let partner = |cell: &CellView<'_>, value: &str| {
            let key = cell.key.with(axis, value);
            view.cells.iter().find(|other| *other.key == key)
        };
        let on: [Vec<&CellView<'_>>; 2] =
            [old, new].map(|value| view.cells.iter().filter(|cell| cell.key.get(axis) == value).collect());
        let pairs: Vec<_> =
            on[1].iter().filter_map(|cell| partner(cell, old).map(|before| (before, *cell))).collect();
        let arms = Arms::along(axis);
        let found = compare::decide(&pairs, arms, view.method, view.level);
        let alone = |cells: &[&'v CellView<'a>], other: &str| -> Vec<&'v CellView<'a>> {
            cells.iter().copied().filter(|cell| partner(cell, other).is_none()).collect()
        };
        let (only_before, only_after) = (alone(&on[0], new), alone(&on[1], old));
        let sides = Sides {
            pairs: &pairs,
            alone: [&only_before[..], &only_after[..]].concat(),
            from_to: format!("from {axis} {old} to {axis} {new}"),
            arms,
            after: view,
        };
        let mut gates: Vec<_> = gates.iter().map(|gate| stands(gate, &sides)).collect();
        gates.extend(gate::traces(&view.results.broken_traces));
        let together = compare::together("", &found.iter().collect::<Vec<_>>(), view.level);
        let mut varied = varied([&on[0][..], &on[1][..]].concat());
        varied.retain(|other| *other != axis);
        Changes {
            before: Side { name: old.to_owned(), view },
            after: Side { name: new.to_owned(), view },
            axis: Some((axis, old.to_owned(), new.to_owned())),
            only_before,
            only_after,
            together,
            pairs: found,
            varied,
            gates,
        }
    }

    /// Whether a cell was tested on both sides.
    pub fn anything_tested(&self) -> bool {
        self.pairs.iter().any(|pair| pair.difference.is_some())
    }

    /// What is compared, in a few words.
    pub fn title(&self) -> String {
        match &self.axis {
            Some((axis, old, new)) => format!("{axis} {old} → {new}"),
            None => format!("{} → {}", self.before.name, self.after.name),
        }
    }

    /// What a reader should know before the numbers, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let (old, new) = (&self.before.view.results.suite, &self.after.view.results.suite);
        let mut notes = Vec::new();
        // Two values of an axis are of one result.
        let sides = [&self.before, &self.after];
        let sides = if self.axis.is_some() { &sides[..1] } else { &sides[..] };
        for side in sides {
            notes.extend(side.view.results.marks.iter().map(|mark| match self.axis {
                None => format!("{}: {mark}", side.name),
                Some(_) => mark.clone(),
            }));
        }
        if old.digest != new.digest {
            notes.push(format!(
                "The two results come from different states of the suite (digests {} and {}), so that a change may \
                 come from the suite.",
                short_digest(&old.digest),
                short_digest(&new.digest)
            ));
        }
        if old.version != new.version {
            notes.push(format!("They were made by nochmal {} and {}.", old.version, new.version));
        }
        for side in sides.iter().filter(|side| side.view.missing > 0) {
            notes.push(format!(
                "{}: {} of {} planned runs are missing.",
                side.name, side.view.missing, side.view.planned
            ));
        }
        notes
    }
}

/// A gate of `compare`: a change is one between the two sides; every other gate is about the side after.
fn stands(gate: &Gate, sides: &Sides<'_, '_, '_>) -> GateResult {
    let Sides { pairs, alone, from_to, arms, after } = sides;
    let GateCheck::FailRateSince(change) = gate.check else {
        return gate::evaluate(gate, &after.cells, after.method, after.level);
    };
    let kept = |cell: &CellView<'_>| gate.cells.keeps(cell.key);
    let pairs: Vec<_> = pairs.iter().copied().filter(|(old, new)| kept(new) || kept(old)).collect();
    let alone = alone.iter().filter(|cell| kept(cell)).count();
    let (state, sentence) = if pairs.is_empty() {
        (GateState::NothingTested, "No cell that the gate is about is on both sides.".to_owned())
    } else {
        let found = compare::decide(&pairs, *arms, after.method, after.level);
        gate::changed(&found, from_to, change, alone, after.level)
    };
    GateResult { gate: gate.to_string(), state, sentence }
}

/// What a gate of `compare` looks at.
struct Sides<'s, 'v, 'a> {
    pairs: &'s [(&'v CellView<'a>, &'v CellView<'a>)],
    alone: Vec<&'v CellView<'a>>,
    from_to: String,
    arms: Arms,
    after: &'v View<'a>,
}

fn varied(cells: Vec<&CellView<'_>>) -> Vec<Axis> {
    let Some(first) = cells.first() else { return Vec::new() };
    let differs = |axis: &Axis| cells.iter().any(|cell| cell.key.get(*axis) != first.key.get(*axis));
    Axis::ALL.into_iter().filter(differs).collect()
}

/// One format of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct ChangesFormat {
    /// The name on the command line.
    pub name: &'static str,
    /// The file, where it is one.
    pub file_name: Option<&'static str>,
    /// What it is for.
    pub about: &'static str,
    /// Makes the bytes.
    pub render: fn(&Changes<'_, '_>, &Options) -> Result<Vec<u8>, super::ReportError>,
}
