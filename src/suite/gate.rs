//! `gates:` and `--gate`: conditions on the results that a build can fail on. Here they are read;
//! the room `report` tells how they stand.
//!
//! The command line takes the words of the suite, in the same order:
//!
//! | in a suite | after `--gate` |
//! |---|---|
//! | `{where: {patch: GHOST_WRITE}, fail_rate: {upper: 0.30}}` | `where patch=GHOST_WRITE fail_rate upper 0.30` |
//! | `{compare: {patch: [off, GHOST_WRITE]}, fail_rate: decreases}` | `compare patch=off\|GHOST_WRITE fail_rate decreases` |
//! | `{max_not_tested: 0.1}` | `max_not_tested 0.1` |
//! | – | `fail_rate does_not_increase` (of `nochmal compare`: from the old to the new results) |
//!
//! What stands after `where` and `compare` is written as in `--filter`; a value with a space is quoted.

use super::decode::{Decoder, Shape, list};
use super::diagnostics::{shown, suggestion};
use super::matrix::Cell;
use super::tree::{Kind, Node};
use super::{Filter, FilterError};
use crate::domain::{Axis, CellKey};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// A condition on some cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// The cells that it is about.
    pub cells: Filter,
    /// What must hold.
    pub check: GateCheck,
}

/// What a gate asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum GateCheck {
    /// In each cell the upper end of the fail rate's interval is at most this share. A cell without a
    /// tested run does not meet it.
    FailRateUpper(f64),
    /// The fail rate changes between two values of an axis, all other axes equal.
    FailRateChange {
        /// The axis.
        axis: Axis,
        /// Its value before.
        before: String,
        /// Its value after.
        after: String,
        /// Which way.
        change: Change,
    },
    /// The fail rate changes from old results to new ones, cell by cell.
    FailRateSince(Change),
    /// At most this share of the planned runs ended as NOT_TESTED or ERROR, or is missing.
    MaxNotTested(f64),
}

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Fewer fails are shown.
    Decreases,
    /// More fails are not shown.
    DoesNotIncrease,
}

impl Change {
    const ALL: [(&'static str, Change); 2] =
        [("decreases", Change::Decreases), ("does_not_increase", Change::DoesNotIncrease)];

    /// The word in suites and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Change::Decreases => "decreases",
            Change::DoesNotIncrease => "does_not_increase",
        }
    }

    /// The change of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Change> {
        Change::ALL.iter().find(|(word, _)| *word == name).map(|(_, change)| *change)
    }
}

/// What a gate of the command line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The results of one matrix: a change needs `compare`.
    One,
    /// Old and new results: a change is one from the old to the new.
    OldAndNew,
}

/// Why a gate of the command line cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// Its words.
    #[error("the gate {gate} cannot be read: {reason}")]
    Words {
        /// The gate.
        gate: String,
        /// What is wrong, and what to write.
        reason: String,
    },
    /// The filter after `where` or `compare`.
    #[error("the gate {gate} cannot be used")]
    Filter {
        /// The gate.
        gate: String,
        /// What is wrong.
        #[source]
        source: FilterError,
    },
}

const FORMS: &str = "write `[where FILTER] fail_rate upper SHARE`, `[where FILTER] compare AXIS=BEFORE|AFTER fail_rate \
                     decreases` (or `does_not_increase`), or `[where FILTER] max_not_tested SHARE`";

impl Gate {
    /// Reads a gate of the command line. `values` are those that cells have on an axis.
    ///
    /// # Errors
    /// Where a word is unknown or missing, or no cell has a value.
    pub fn parse(text: &str, scope: Scope, values: &dyn Fn(Axis) -> Vec<String>) -> Result<Gate, GateError> {
        let gate = shown(text);
        let wrong = |reason: String| GateError::Words { gate: gate.clone(), reason };
        let filter = |text: &str| {
            let read = Filter::parse_among(text, values);
            read.map_err(|source| GateError::Filter { gate: gate.clone(), source })
        };
        let words = shell_words::split(text).map_err(|_| wrong("a quote is not closed".to_owned()))?;
        let mut words = words.iter().map(String::as_str);
        let mut next = || words.next();
        let mut word = next();
        let mut cells = Filter::all();
        if word == Some("where") {
            cells = filter(next().ok_or_else(|| wrong(format!("`where` needs a filter; {FORMS}")))?)?;
            word = next();
        }
        let mut arms = None;
        if word == Some("compare") {
            let pair = filter(next().ok_or_else(|| wrong(format!("`compare` needs two values; {FORMS}")))?)?;
            let two = pair.pair().ok_or_else(|| {
                wrong(
                    "`compare` needs one axis with two values, such as `compare patch=off|GHOST_WRITE`"
                        .to_owned(),
                )
            })?;
            arms = Some(two);
            word = next();
        }
        let share = |word: Option<&str>| {
            let number = word.and_then(|word| word.parse::<f64>().ok());
            number
                .filter(|share| (0.0..=1.0).contains(share))
                .ok_or_else(|| wrong(format!("expected a share from 0 to 1, found {}", found(word))))
        };
        let check = match word {
            Some("fail_rate") => match (next(), arms.take()) {
                (Some("upper"), None) => GateCheck::FailRateUpper(share(next())?),
                (Some("upper"), Some(_)) => {
                    return Err(wrong("`upper` is about every cell by itself; remove `compare`".to_owned()));
                }
                (Some(name), two) if Change::from_name(name).is_some() => {
                    let change = Change::from_name(name).unwrap_or(Change::Decreases);
                    match (two, scope) {
                        (Some((axis, before, after)), _) => {
                            GateCheck::FailRateChange { axis, before, after, change }
                        }
                        (None, Scope::OldAndNew) => GateCheck::FailRateSince(change),
                        (None, Scope::One) => {
                            return Err(wrong(format!("`{name}` needs `compare AXIS=BEFORE|AFTER`")));
                        }
                    }
                }
                (other, _) => {
                    let known = ["upper", "decreases", "does_not_increase"];
                    let help = suggestion(other.unwrap_or_default(), &known);
                    return Err(wrong(format!("`fail_rate` cannot have {}; {help}", found(other))));
                }
            },
            Some("max_not_tested") => GateCheck::MaxNotTested(share(next())?),
            other => {
                let meant =
                    other.map(|word| suggestion(word, &["where", "compare", "fail_rate", "max_not_tested"]));
                let meant = meant.map(|meant| format!(" ({meant})")).unwrap_or_default();
                return Err(wrong(format!("{} is no condition{meant}; {FORMS}", found(other))));
            }
        };
        if arms.is_some() {
            return Err(wrong("`compare` goes with `fail_rate decreases` or `does_not_increase`".to_owned()));
        }
        match next() {
            Some(more) => Err(wrong(format!("nothing is expected after it, found {}", shown(more)))),
            None => Ok(Gate { cells, check }),
        }
    }
}

/// A word that is read as one: a gate stands in the quotes of a shell already.
fn quoted(word: String) -> String {
    let plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "'\"\\#".contains(c));
    if plain { word } else { shell_words::quote(&word).into_owned() }
}

fn found(word: Option<&str>) -> String {
    word.map_or("nothing".to_owned(), shown)
}

impl fmt::Display for Gate {
    /// In the words of the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.cells != Filter::all() {
            write!(f, "where {} ", quoted(self.cells.to_string()))?;
        }
        match &self.check {
            GateCheck::FailRateUpper(most) => write!(f, "fail_rate upper {most}"),
            GateCheck::FailRateChange { axis, before, after, change } => {
                let arms = format!("{axis}={before}|{after}");
                write!(f, "compare {} fail_rate {}", quoted(arms), change.name())
            }
            GateCheck::FailRateSince(change) => write!(f, "fail_rate {}", change.name()),
            GateCheck::MaxNotTested(most) => write!(f, "max_not_tested {most}"),
        }
    }
}

const GATE: Shape = Shape::new("a gate", &["where", "compare", "fail_rate", "max_not_tested"]).hints(&[
    ("upper", "it stands under `fail_rate:`, as `fail_rate: {upper: 0.30}`"),
    ("decreases", "it is the value of `fail_rate:`, as `fail_rate: decreases`"),
]);
const FAIL_RATE: Shape = Shape::new("the bound of a fail rate", &["upper"]);

/// Reads `gates:`; `cells` are those of the matrix, where it has no mistake.
pub(super) fn read(decoder: &mut Decoder, node: &Node, cells: Option<&[Arc<Cell>]>) -> Vec<Gate> {
    let items = decoder.list(node, "a list of gates").unwrap_or_default();
    items.iter().filter_map(|item| gate(decoder, item, cells)).collect()
}

fn gate(decoder: &mut Decoder, node: &Node, cells: Option<&[Arc<Cell>]>) -> Option<Gate> {
    let fields = decoder.fields(node, node.span.clone(), &GATE)?;
    let chosen = match fields.get("where") {
        Some(node) => Some(Filter::of(conditions(decoder, node, cells)?)),
        None => Some(Filter::all()),
    };
    let arms = match fields.entry("compare") {
        Some((key, node)) => Some((key, arms(decoder, node, cells)?)),
        None => None,
    };
    let check = match (fields.get("fail_rate"), fields.entry("max_not_tested"), arms) {
        (None, None, _) => {
            decoder
                .error(node.span.clone(), "a gate needs a condition: `fail_rate` or `max_not_tested`")
                .help("for example `fail_rate: {upper: 0.30}`");
            return None;
        }
        (Some(_), Some((key, _)), _) => {
            decoder
                .error(key.span.clone(), "a gate has one condition")
                .help("write a second gate, so that the report can tell which one failed");
            return None;
        }
        (None, Some(_), Some((key, _))) => {
            decoder.error(key.span.clone(), "`compare` goes with `fail_rate`, not with `max_not_tested`");
            return None;
        }
        (None, Some((_, node)), None) => GateCheck::MaxNotTested(decoder.probability(node)?),
        (Some(node), None, arms) => fail_rate(decoder, node, arms.map(|(_, arms)| arms))?,
    };
    let gate = Gate { cells: chosen?, check };
    let keys: Option<HashSet<&CellKey>> =
        cells.map(|cells| cells.iter().map(|cell| &cell.key).filter(|key| gate.cells.keeps(key)).collect());
    if let Some(keys) = keys {
        let pairs = match &gate.check {
            GateCheck::FailRateChange { axis, before, after, .. } => {
                keys.iter().any(|key| key.get(*axis) == after && keys.contains(&key.with(*axis, before)))
            }
            _ => !keys.is_empty(),
        };
        if !pairs {
            let what = match &gate.check {
                GateCheck::FailRateChange { .. } => "no two cells of the matrix differ in this way alone",
                _ => "no cell of the matrix has all of these values",
            };
            decoder.error(node.span.clone(), what).help("a gate over no cell could never hold");
            return None;
        }
    }
    Some(gate)
}

fn fail_rate(decoder: &mut Decoder, node: &Node, arms: Option<(Axis, String, String)>) -> Option<GateCheck> {
    if let Kind::Map(_) = &node.kind {
        let fields = decoder.fields(node, node.span.clone(), &FAIL_RATE)?;
        let (_, upper) = decoder.required(&fields, "upper", "fail_rate: {upper: 0.30}")?;
        let most = decoder.probability(upper)?;
        if arms.is_some() {
            decoder
                .error(node.span.clone(), "`upper` is about every cell by itself, and `compare` about two")
                .help("remove `compare`, or write `fail_rate: decreases`");
            return None;
        }
        return Some(GateCheck::FailRateUpper(most));
    }
    let change = decoder.choice(node, "change of a fail rate", &Change::ALL)?;
    let Some((axis, before, after)) = arms else {
        decoder
            .error(node.span.clone(), format!("`{}` needs `compare`", change.name()))
            .help("for example `compare: {patch: [off, GHOST_WRITE]}`");
        return None;
    };
    Some(GateCheck::FailRateChange { axis, before, after, change })
}

/// Axes with one value or a list, each of which some cell has.
fn conditions(
    decoder: &mut Decoder,
    node: &Node,
    cells: Option<&[Arc<Cell>]>,
) -> Option<Vec<(Axis, Vec<String>)>> {
    let names: Vec<&str> = Axis::ALL.iter().map(|axis| axis.name()).collect();
    let entries = decoder.named(node, "axes and values, such as `{patch: GHOST_WRITE}`")?;
    let mut sound = true;
    let mut read = Vec::new();
    for (key, node) in entries {
        let Some(axis) = Axis::from_name(&key.text) else {
            let help = suggestion(&key.text, &names);
            decoder.error(key.span.clone(), format!("unknown axis {}", shown(&key.text))).help(help);
            sound = false;
            continue;
        };
        let values = match &node.kind {
            Kind::Seq(_) => decoder.texts(node, "values")?,
            _ => vec![decoder.filled(node, "a value")?],
        };
        for value in &values {
            let Some(cells) = cells else { continue };
            let mut there: Vec<&str> = cells.iter().map(|cell| cell.key.get(axis)).collect();
            there.sort_unstable();
            there.dedup();
            if !there.contains(&value.value.as_str()) {
                let message = format!("no cell has the {axis} {}", shown(&value.value));
                decoder.error(value.span.clone(), message).help(suggestion(&value.value, &there));
                sound = false;
            }
        }
        read.push((axis, values.into_iter().map(|value| value.value).collect()));
    }
    sound.then_some(read)
}

fn arms(decoder: &mut Decoder, node: &Node, cells: Option<&[Arc<Cell>]>) -> Option<(Axis, String, String)> {
    let read = conditions(decoder, node, cells)?;
    match Filter::of(read).pair() {
        Some(pair) => Some(pair),
        None => {
            decoder
                .error(node.span.clone(), "`compare` needs one axis with two values, before and after")
                .help(format!("for example {}", list(&["{patch: [off, GHOST_WRITE]}"])));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(axis: Axis) -> Vec<String> {
        let values: &[&str] = match axis {
            Axis::Patch => &["off", "GHOST_WRITE"],
            Axis::Present => &["plain", "structured"],
            Axis::Model => &["qwen3:14b", "my model"],
            _ => &["x"],
        };
        values.iter().map(|value| (*value).to_owned()).collect()
    }

    fn one(text: &str) -> Result<Gate, GateError> {
        Gate::parse(text, Scope::One, &values)
    }

    #[test]
    fn every_form_is_read_and_written_alike() {
        for text in [
            "fail_rate upper 0.3",
            "where patch=GHOST_WRITE fail_rate upper 0.3",
            "where 'model=my model' max_not_tested 0.1",
            "compare patch=off|GHOST_WRITE fail_rate decreases",
            "where model!=qwen3:14b compare patch=off|GHOST_WRITE fail_rate does_not_increase",
        ] {
            assert_eq!(one(text).unwrap().to_string(), text);
        }
        let since = Gate::parse("fail_rate does_not_increase", Scope::OldAndNew, &values).unwrap();
        assert_eq!(since.check, GateCheck::FailRateSince(Change::DoesNotIncrease));
    }

    #[test]
    fn what_is_wrong_with_a_gate_is_said() {
        let mut said = String::new();
        for text in [
            "",
            "fail_rat upper 0.3",
            "fail_rate upper 30",
            "fail_rate uper 0.3",
            "fail_rate decreases",
            "where",
            "where patch=GOST_WRITE fail_rate upper 0.3",
            "compare patch=off fail_rate decreases",
            "compare patch=off|GHOST_WRITE fail_rate upper 0.3",
            "compare patch=off|GHOST_WRITE max_not_tested 0.3",
            "max_not_tested",
            "max_not_tested 0.1 0.2",
            "where 'patch=off",
        ] {
            let error = one(text).unwrap_err();
            let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
            said.push_str(&format!("{error}{}\n", source.unwrap_or_default()));
        }
        insta::assert_snapshot!(said);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(where|compare|fail_rate|upper|patch=off|[|'\"= 0-9.]|.){0,8}") {
            if let Ok(gate) = one(&text) {
                prop_assert_eq!(one(&gate.to_string()), Ok(gate));
            }
        }
    }
}
