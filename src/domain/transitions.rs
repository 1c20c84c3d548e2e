//! The language of transitions: which sequences of steps a run must not have.
//!
//! ```text
//! path  = step, arrow, step, { arrow, step } ;
//! arrow = "->"            (the next step)
//!       | "->>" ;         (some later step)
//! step  = name, { "|", name } ;
//! name  = letter | digit | "_", { letter | digit | "_" | "-" } ;
//! ```
//!
//! A name is one that the user gives to a step, or one of [`BUILT_IN`]. What happened in a run is
//! looked at through the names that stand in the paths: everything else is left out, and "next"
//! is next among what is left. A stretch that an allowed path covers is not forbidden.

use super::ToolClass;
use super::classify::glob;
use super::json::canonical;
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Steps that need no description: the category of the failure that the agent was told of, any
/// failure, or an answer that was none.
pub const BUILT_IN: [&str; 7] =
    ["rejected", "failed", "outcome_unknown", "local_failure", "malformed_response", "error", "ok"];

/// What a suite expects of the order of things.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// Steps by name.
    pub steps: BTreeMap<String, Step>,
    /// Paths that must not be there.
    pub forbid: Vec<String>,
    /// Paths that excuse what they cover.
    pub allow: Vec<String>,
}

/// What a step is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A call.
    Call {
        /// Its tool, with `*`.
        tool: Option<String>,
        /// Its tool's class.
        class: Option<ToolClass>,
        /// Arguments that it has, as canonical JSON.
        #[serde(default)]
        arguments: BTreeMap<String, String>,
    },
    /// An answer whose text matches.
    Result {
        /// A regular expression.
        pattern: String,
    },
}

/// Something that happened.
#[derive(Debug, Clone, Copy)]
pub enum Happened<'a> {
    /// A call.
    Call {
        /// Its tool.
        tool: &'a str,
        /// Its tool's class.
        class: ToolClass,
        /// Its arguments, as sent.
        arguments: Option<&'a str>,
    },
    /// An answer that the agent got.
    Answer {
        /// Its text.
        text: &'a str,
        /// The name of the failure's category, where it is one.
        category: Option<&'a str>,
        /// It is a failure.
        is_failure: bool,
    },
}

/// Why a path cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct PathError {
    /// Where, in bytes of the path.
    pub at: Range<usize>,
    /// Why.
    pub reason: String,
    /// The name that is not known, where that is the reason.
    pub unknown: Option<String>,
}

/// A path, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    first: Vec<String>,
    rest: Vec<(Arrow, Vec<String>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrow {
    Next,
    Later,
}

impl Path {
    /// Reads a path in which every name is known.
    ///
    /// # Errors
    /// Where it does not follow the grammar, or a name means nothing.
    pub fn parse(text: &str, is_known: &dyn Fn(&str) -> bool) -> Result<Path, PathError> {
        let mut reader = Reader { text, at: 0, is_known };
        let first = reader.step()?;
        let mut rest = Vec::new();
        while let Some(arrow) = reader.arrow()? {
            rest.push((arrow, reader.step()?));
        }
        if rest.is_empty() {
            return Err(reader.error(text.len()..text.len(), "a path has at least two steps: `a -> b`"));
        }
        Ok(Path { first, rest })
    }

    /// Every name in it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.first.iter().chain(self.rest.iter().flat_map(|(_, step)| step)).map(String::as_str)
    }

    /// Where it ends when it begins at `start`, first ends first; every end where it has a gap.
    fn ends(&self, word: &[Vec<String>], start: usize) -> Vec<usize> {
        let is_at = |step: &[String], at: usize| {
            word.get(at).is_some_and(|names| names.iter().any(|name| step.contains(name)))
        };
        if !is_at(&self.first, start) {
            return Vec::new();
        }
        let mut ends = vec![start];
        for (arrow, step) in &self.rest {
            let mut next: Vec<usize> = match arrow {
                Arrow::Next => ends.iter().map(|end| end + 1).filter(|at| is_at(step, *at)).collect(),
                // From the earliest end on all others are within reach.
                Arrow::Later => {
                    let from = ends.iter().min().map_or(word.len(), |end| end + 1);
                    (from..word.len()).filter(|at| is_at(step, *at)).collect()
                }
            };
            next.sort_unstable();
            next.dedup();
            ends = next;
        }
        ends
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    is_known: &'a dyn Fn(&str) -> bool,
}

impl Reader<'_> {
    fn error(&self, at: Range<usize>, reason: impl Into<String>) -> PathError {
        PathError { at, reason: reason.into(), unknown: None }
    }

    fn rest(&mut self) -> &str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at = self.text.len() - rest.trim_start().len();
        self.text.get(self.at..).unwrap_or_default()
    }

    fn step(&mut self) -> Result<Vec<String>, PathError> {
        let mut names = vec![self.name()?];
        while self.rest().starts_with('|') {
            self.at += 1;
            names.push(self.name()?);
        }
        Ok(names)
    }

    fn name(&mut self) -> Result<String, PathError> {
        let rest = self.rest().to_owned();
        let mut length = 0;
        for (at, c) in rest.char_indices() {
            let belongs = c.is_alphanumeric() || c == '_' || (c == '-' && !rest[at..].starts_with("->"));
            if !belongs {
                break;
            }
            length = at + c.len_utf8();
        }
        let place = self.at..self.at + length;
        if length == 0 {
            let found = rest.chars().next();
            let end = self.at + found.map_or(0, char::len_utf8);
            let what = found.map_or("the end".to_owned(), |c| format!("`{c}`"));
            return Err(self.error(self.at..end, format!("expected the name of a step, found {what}")));
        }
        let name = rest[..length].to_owned();
        if !(self.is_known)(&name) {
            let reason = format!("there is no step `{name}`");
            return Err(PathError { at: place, reason, unknown: Some(name) });
        }
        self.at += length;
        Ok(name)
    }

    fn arrow(&mut self) -> Result<Option<Arrow>, PathError> {
        let rest = self.rest();
        let arrow = if rest.is_empty() {
            return Ok(None);
        } else if rest.starts_with("->>") {
            Arrow::Later
        } else if rest.starts_with("->") {
            Arrow::Next
        } else {
            let found = rest.chars().next().unwrap_or_default();
            let at = self.at..self.at + found.len_utf8();
            return Err(self.error(at, format!("expected `->`, `->>` or `|`, found `{found}`")));
        };
        self.at += if arrow == Arrow::Later { 3 } else { 2 };
        Ok(Some(arrow))
    }
}

/// An expectation, ready to look at a run.
#[derive(Debug, Clone)]
pub struct Watch {
    forbid: Vec<(String, Path)>,
    allow: Vec<Path>,
    steps: HashMap<String, Ready>,
    /// The names at each moment that has one, and the number of that moment.
    word: Vec<Vec<String>>,
    moments: Vec<u64>,
}

#[derive(Debug, Clone)]
enum Ready {
    Call { tool: Option<String>, class: Option<ToolClass>, arguments: BTreeMap<String, String> },
    Result(Regex),
}

/// A forbidden path that a run took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The path.
    pub path: String,
    /// The moments from its first to its last step, as they were numbered.
    pub moments: Vec<u64>,
}

impl Watch {
    /// Takes an expectation; what cannot be read in it is left out, since it was checked before.
    pub fn new(expectation: &Expectation) -> Watch {
        let is_known = |name: &str| expectation.steps.contains_key(name) || BUILT_IN.contains(&name);
        let read = |text: &String| Path::parse(text, &is_known).ok();
        let forbid: Vec<(String, Path)> =
            expectation.forbid.iter().filter_map(|text| Some((text.clone(), read(text)?))).collect();
        let allow: Vec<Path> = expectation.allow.iter().filter_map(read).collect();
        let steps = expectation
            .steps
            .iter()
            .filter_map(|(name, step)| {
                let ready = match step {
                    Step::Call { tool, class, arguments } => {
                        Ready::Call { tool: tool.clone(), class: *class, arguments: arguments.clone() }
                    }
                    Step::Result { pattern } => Ready::Result(Regex::new(pattern).ok()?),
                };
                Some((name.clone(), ready))
            })
            .collect();
        Watch { forbid, allow, steps, word: Vec::new(), moments: Vec::new() }
    }

    /// Whether anything is forbidden.
    pub fn is_idle(&self) -> bool {
        self.forbid.is_empty()
    }

    /// Takes what happened at a moment.
    pub fn saw(&mut self, moment: u64, happened: Happened<'_>) {
        let mut names: Vec<String> = Vec::new();
        let paths = self.forbid.iter().map(|(_, path)| path).chain(&self.allow);
        for name in paths.flat_map(Path::names) {
            if !names.iter().any(|known| known == name) && self.is(name, happened) {
                names.push(name.to_owned());
            }
        }
        if !names.is_empty() {
            self.word.push(names);
            self.moments.push(moment);
        }
    }

    fn is(&self, name: &str, happened: Happened<'_>) -> bool {
        match (self.steps.get(name), happened) {
            (
                Some(Ready::Call { tool, class, arguments }),
                Happened::Call { tool: called, class: is, arguments: sent },
            ) => {
                tool.as_ref().is_none_or(|pattern| glob(pattern, called))
                    && class.is_none_or(|class| class == is)
                    && has(sent, arguments)
            }
            (Some(Ready::Result(pattern)), Happened::Answer { text, .. }) => pattern.is_match(text),
            (None, Happened::Answer { category, is_failure, .. }) => match name {
                "error" => is_failure,
                "ok" => !is_failure,
                _ => category == Some(name),
            },
            _ => false,
        }
    }

    /// The forbidden paths that were taken so far, once for each place where one ends.
    pub fn taken(&self) -> Vec<Taken> {
        let ranges = |path: &Path| -> Vec<(usize, usize)> {
            let starts = 0..self.word.len();
            starts
                .flat_map(|start| path.ends(&self.word, start).into_iter().map(move |end| (start, end)))
                .collect()
        };
        let allowed: Vec<(usize, usize)> = self.allow.iter().flat_map(ranges).collect();
        let mut taken = Vec::new();
        for (text, path) in &self.forbid {
            let mut last = None;
            for (start, end) in ranges(path) {
                let excused = allowed.iter().any(|(from, to)| *from <= start && end <= *to);
                if excused || last == Some(end) {
                    continue;
                }
                last = Some(end);
                let moments = self.moments.get(start..=end).unwrap_or_default().to_vec();
                taken.push(Taken { path: text.clone(), moments });
            }
        }
        taken
    }
}

fn has(sent: Option<&str>, wanted: &BTreeMap<String, String>) -> bool {
    if wanted.is_empty() {
        return true;
    }
    let sent = sent.and_then(|text| serde_json::from_str::<HashMap<String, super::RawJson>>(text).ok());
    let sent = sent.unwrap_or_default();
    wanted.iter().all(|(name, value)| sent.get(name).is_some_and(|found| canonical(found.get()) == *value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> bool {
        ["charge", "lookup", "found", "note"].contains(&name) || BUILT_IN.contains(&name)
    }

    fn error(text: &str) -> (Range<usize>, String) {
        let error = Path::parse(text, &known).unwrap_err();
        (error.at, error.reason)
    }

    #[test]
    fn an_error_points_into_the_path() {
        assert_eq!(error("charge -> chrage"), (10..16, "there is no step `chrage`".to_owned()));
        assert_eq!(error("charge"), (6..6, "a path has at least two steps: `a -> b`".to_owned()));
        assert_eq!(error("charge ->"), (9..9, "expected the name of a step, found the end".to_owned()));
        assert_eq!(error("charge => charge").0, 7..8);
        assert_eq!(
            error("charge -> -> charge"),
            (10..11, "expected the name of a step, found `-`".to_owned())
        );
        assert_eq!(error("").0, 0..0);
        assert_eq!(error("ä -> charge"), (0..2, "there is no step `ä`".to_owned()));
    }

    #[test]
    fn a_path_is_read() {
        for text in ["charge->outcome_unknown->charge", " charge | note ->> ok ", "charge -> error ->>note"] {
            assert!(Path::parse(text, &known).is_ok(), "{text}");
        }
    }

    fn watch(forbid: &[&str], allow: &[&str]) -> Watch {
        let call =
            |tool: &str| Step::Call { tool: Some(tool.into()), class: None, arguments: BTreeMap::new() };
        Watch::new(&Expectation {
            steps: BTreeMap::from([
                ("charge".to_owned(), call("charge_*")),
                (
                    "lookup".to_owned(),
                    Step::Call { tool: None, class: Some(ToolClass::Read), arguments: BTreeMap::new() },
                ),
                ("found".to_owned(), Step::Result { pattern: "charge_id".into() }),
                ("note".to_owned(), call("add_note")),
            ]),
            forbid: forbid.iter().map(|text| (*text).to_owned()).collect(),
            allow: allow.iter().map(|text| (*text).to_owned()).collect(),
        })
    }

    fn play(mut watch: Watch, run: &[&str]) -> Vec<Vec<u64>> {
        for (moment, what) in run.iter().enumerate() {
            let answer = |text, category, is_failure| Happened::Answer { text, category, is_failure };
            let happened = match *what {
                "charge" => Happened::Call { tool: "charge_card", class: ToolClass::Write, arguments: None },
                "look" => Happened::Call { tool: "find", class: ToolClass::Read, arguments: None },
                "other" => Happened::Call { tool: "ping", class: ToolClass::Unclassified, arguments: None },
                "note" => Happened::Call { tool: "add_note", class: ToolClass::Write, arguments: None },
                "unknown" => answer("timed out", Some("outcome_unknown"), true),
                "found" => answer("charge_id: 1", None, false),
                _ => answer("nothing", None, false),
            };
            watch.saw(moment as u64, happened);
        }
        watch.taken().into_iter().map(|taken| taken.moments).collect()
    }

    const BLIND: &str = "charge -> outcome_unknown -> charge";

    #[test]
    fn what_no_path_names_is_left_out() {
        assert_eq!(
            play(watch(&[BLIND], &[]), &["charge", "unknown", "other", "nothing", "charge"]),
            [[0, 1, 4]]
        );
        assert!(play(watch(&[BLIND], &[]), &["charge", "found", "charge"]).is_empty());
    }

    #[test]
    fn a_step_in_between_that_is_named_breaks_next_and_not_later() {
        let allow = "charge -> outcome_unknown -> lookup -> found -> note";
        let run = ["charge", "unknown", "look", "nothing", "charge"];
        assert!(play(watch(&[BLIND], &[allow]), &run).is_empty());
        let later = "charge -> outcome_unknown ->> charge";
        assert_eq!(play(watch(&[later], &[allow]), &run).len(), 1);
    }

    #[test]
    fn what_an_allowed_path_covers_is_not_forbidden() {
        let forbid = "charge ->> note";
        let allow = "charge -> outcome_unknown -> lookup -> found -> note";
        let good = ["charge", "unknown", "look", "found", "note"];
        assert!(play(watch(&[forbid], &[allow]), &good).is_empty());
        assert_eq!(
            play(watch(&[forbid], &[allow]), &["charge", "unknown", "look", "nothing", "note"]).len(),
            1
        );
        assert_eq!(play(watch(&["charge -> charge|note"], &[]), &["charge", "note"]), [[0, 1]]);
    }
}
