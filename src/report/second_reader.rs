//! What a second reader, a model, made of the agents' words, beside what the rules read. It has counts
//! of its own: `honesty`, conditional turns, gates and verdicts go by the rules alone.

use super::cell::CellView;
use super::grid::{self, Entry, Grid, LONGEST, Row, number, text};
use super::text::{counted, shortened};
use super::told::{CellTold, HonestySummary, shares, titles};
use super::view::View;
use crate::domain::{Claim, NO_ANSWER, NOT_READ, ReadClaim, Reading, ReadingOutcome, RunResult, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Replies that were read differently, that a report quotes.
const MOST_QUOTED: usize = 50;

/// The runs and replies of a cell as its second reader read them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CellReader {
    /// Runs by what their last reply was worth.
    pub told: CellTold,
    /// Runs of whose last reply the reader said something else than a claim.
    pub no_answer: u32,
    /// Runs whose last reply it could not be asked about.
    pub not_read: u32,
    /// Replies in which it named a claim; those of turns before the last one are among them.
    pub replies: u32,
    /// Those in which the rules read another one.
    pub differing: u32,
    /// What it consumed.
    pub usage: Usage,
}

impl CellReader {
    pub(super) fn of(runs: &[&RunResult]) -> CellReader {
        let last = || runs.iter().filter_map(|run| run.turns.last()?.reader.as_ref());
        let named = |name: &str| last().map(|reading| u32::from(reading.name() == name)).sum();
        let mut reader = CellReader {
            told: last().filter_map(|reading| reading.honesty).collect(),
            no_answer: named(NO_ANSWER),
            not_read: named(NOT_READ),
            ..CellReader::default()
        };
        for reply in runs.iter().flat_map(|run| replies(run)) {
            let claim = reply.reading.claim();
            reader.replies += u32::from(claim.is_some());
            reader.differing += u32::from(claim.is_some_and(|claim| claim != reply.rules.claim));
        }
        for facts in runs.iter().filter_map(|run| run.reader.as_ref()) {
            reader.usage += facts.usage;
        }
        reader
    }

    /// Runs whose last reply was given to it.
    pub fn runs(&self) -> u32 {
        self.told.runs() + self.no_answer + self.not_read
    }
}

/// A reply that was given to a second reader.
#[derive(Debug, Clone, Copy)]
struct ReadReply<'a> {
    run: &'a RunResult,
    /// From 1.
    turn: usize,
    words: &'a str,
    rules: &'a ReadClaim,
    reading: &'a Reading,
}

fn replies<'a>(run: &'a RunResult) -> impl Iterator<Item = ReadReply<'a>> {
    run.turns.iter().zip(1..).filter_map(move |(turn, place)| {
        let (words, rules, reading) = (turn.reply.as_deref()?, turn.claim.as_ref()?, turn.reader.as_ref()?);
        Some(ReadReply { run, turn: place, words, rules, reading })
    })
}

/// One second reader, over all cells.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecondReaderSummary {
    /// The model.
    pub model: String,
    /// Runs with a reply that was given to it.
    pub runs: u32,
    /// Replies that were given to it.
    pub replies: u32,
    /// Replies in which it named a claim.
    pub claims: u32,
    /// Those of them in which the rules read another one.
    pub differing: u32,
    /// Replies to which it said something else than a claim.
    pub no_answer: u32,
    /// Replies that it could not be asked about.
    pub not_read: u32,
    /// Why, for one of them.
    pub not_read_example: Option<String>,
    /// Tokens sent to it; null is "not told".
    pub input_tokens: Option<u64>,
    /// Tokens that it wrote.
    pub output_tokens: Option<u64>,
    /// US dollars.
    pub cost_usd: Option<f64>,
    /// Requests that failed and were sent again.
    pub retries: Option<u64>,
    /// What the rules read → what it named, or `no_answer` or `not_read` → replies.
    pub claims_by_rules: BTreeMap<String, BTreeMap<String, u32>>,
}

impl SecondReaderSummary {
    /// Every second reader of the results, by its model.
    pub(super) fn of(cells: &[CellView<'_>]) -> Vec<SecondReaderSummary> {
        let mut readers: BTreeMap<&str, (SecondReaderSummary, Usage)> = BTreeMap::new();
        for &run in cells.iter().flat_map(|cell| &cell.runs) {
            let Some(facts) = &run.reader else { continue };
            let (reader, usage) = readers.entry(&facts.model).or_default();
            reader.runs += 1;
            *usage += facts.usage;
            for reply in replies(run) {
                reader.count(&reply);
            }
        }
        let readers = readers.into_iter().map(|(model, (reader, usage))| SecondReaderSummary {
            model: model.to_owned(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost_usd: usage.cost_usd,
            retries: usage.retries,
            ..reader
        });
        readers.collect()
    }

    fn count(&mut self, reply: &ReadReply<'_>) {
        self.replies += 1;
        match &reply.reading.outcome {
            ReadingOutcome::Claim(claim) => {
                self.claims += 1;
                self.differing += u32::from(*claim != reply.rules.claim);
            }
            ReadingOutcome::NoAnswer(_) => self.no_answer += 1,
            ReadingOutcome::NotRead(reason) => {
                self.not_read += 1;
                self.not_read_example.get_or_insert_with(|| reason.clone());
            }
        }
        let row = self.claims_by_rules.entry(reply.rules.claim.name().to_owned()).or_default();
        *row.entry(reply.reading.name().to_owned()).or_default() += 1;
    }

    fn replies_with(&self, rules: Claim, reader: &str) -> u32 {
        self.claims_by_rules.get(rules.name()).and_then(|row| row.get(reader)).copied().unwrap_or(0)
    }
}

/// What the second reader of a cell made of its runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellReaderSummary {
    /// Runs whose last reply was given to it.
    pub runs: u32,
    /// What users were told, by class, as it read them; null where it named no claim.
    pub honesty: Option<HonestySummary>,
    /// It said something else than a claim.
    pub no_answer: u32,
    /// It could not be asked.
    pub not_read: u32,
    /// Replies in which it named a claim, of all turns.
    pub replies: u32,
    /// Those in which the rules read another one.
    pub differing: u32,
    /// Tokens sent to it; null is "not told".
    pub input_tokens: Option<u64>,
    /// Tokens that it wrote.
    pub output_tokens: Option<u64>,
    /// US dollars.
    pub cost_usd: Option<f64>,
}

impl CellReaderSummary {
    pub(super) fn of(reader: &CellReader) -> Option<CellReaderSummary> {
        let CellReader { told, no_answer, not_read, replies, differing, usage } = *reader;
        (reader.runs() > 0).then(|| CellReaderSummary {
            runs: reader.runs(),
            honesty: HonestySummary::of(told),
            no_answer,
            not_read,
            replies,
            differing,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost_usd: usage.cost_usd,
        })
    }
}

/// The tables of a second reader; none where there was none.
pub(super) fn grids<'a>(view: &View<'a>) -> Vec<Grid<'a>> {
    if view.readers.is_empty() {
        return Vec::new();
    }
    let mut grids = vec![by_model(view)];
    for reader in &view.readers {
        grids.push(matrix(reader));
    }
    grids.extend(quoted(view));
    grids
}

fn by_model<'a>(view: &View<'a>) -> Grid<'a> {
    let mut columns = grid::axes(view);
    columns.push(number("runs"));
    columns.extend(titles());
    let no_answer = view.cells.iter().any(|cell| cell.reader.no_answer > 0);
    let not_read = view.cells.iter().any(|cell| cell.reader.not_read > 0);
    columns.extend(no_answer.then(|| number("no answer")));
    columns.extend(not_read.then(|| number("not read")));
    let rows = view.cells.iter().map(|cell| {
        let reader = &cell.reader;
        let mut entries = grid::values(&view.varied, cell.key);
        entries.push(Entry::count(reader.runs()));
        entries.extend(shares(view, reader.told, reader.told.runs()));
        entries.extend(no_answer.then(|| Entry::count(reader.no_answer)));
        entries.extend(not_read.then(|| Entry::count(reader.not_read)));
        Row { cell: Some(cell.key), entries }
    });
    let models: Vec<&str> = view.readers.iter().map(|reader| reader.model.as_str()).collect();
    let mut caption = format!(
        "the same last words, read by {} and held against the same truth, with the {} {}. These counts stand by \
         themselves: everything else here goes by the rules",
        models.join(" or "),
        view.level.percent(),
        view.method.title()
    );
    if no_answer {
        caption.push_str("; no answer: it said something else than a claim");
    }
    if not_read {
        caption.push_str("; not read: it could not be asked");
    }
    Grid { title: "What the user was told, as a model reads it", columns, rows: rows.collect(), caption }
}

/// What the rules read against what the model named, over all replies.
fn matrix(reader: &SecondReaderSummary) -> Grid<'static> {
    let beside = [(NO_ANSWER, reader.no_answer), (NOT_READ, reader.not_read)];
    let beside = beside.into_iter().filter(|(_, replies)| *replies > 0).map(|(name, _)| name);
    let named: Vec<&str> = Claim::ALL.map(Claim::name).into_iter().chain(beside).collect();
    let mut columns = vec![text("rules ↓ model →")];
    columns.extend(named.iter().map(|name| number(&name.replace('_', " "))));
    let rows = Claim::ALL.iter().map(|rules| {
        let mut entries = vec![Entry::Own(rules.name().to_owned())];
        entries.extend(named.iter().map(|name| Entry::count(reader.replies_with(*rules, name))));
        Row::of(entries)
    });
    let mut caption = format!(
        "{} of all turns: what the rules read, and what {} named. The two agree in {} of the {} in which it named a \
         claim",
        counted(reader.replies, "reply", "replies"),
        reader.model,
        reader.claims - reader.differing,
        reader.claims
    );
    if let Some(example) = &reader.not_read_example {
        caption.push_str(&format!(
            "; {} not read, for example because {}",
            reader.not_read,
            shortened(example, LONGEST)
        ));
    }
    let tokens = [(reader.input_tokens, "input"), (reader.output_tokens, "output")];
    let tokens: Vec<String> =
        tokens.iter().filter_map(|(number, name)| number.map(|number| format!("{number} {name}"))).collect();
    if !tokens.is_empty() {
        caption.push_str(&format!("; {} tokens, which are in none of the agents'", tokens.join(" and ")));
    }
    if let Some(cost) = reader.cost_usd {
        caption.push_str(&format!("; {cost:.4} USD"));
    }
    Grid { title: "Two readers", columns, rows: rows.collect(), caption }
}

/// The replies that were read differently, the same words once; first those of which both readers
/// decided something.
fn quoted(view: &View<'_>) -> Option<Grid<'static>> {
    let mut differing: Vec<(Claim, ReadReply<'_>, u32)> = Vec::new();
    let mut places: HashMap<(Claim, Claim, &str), usize> = HashMap::new();
    for reply in view.cells.iter().flat_map(|cell| &cell.runs).flat_map(|run| replies(run)) {
        let Some(claim) = reply.reading.claim().filter(|claim| *claim != reply.rules.claim) else { continue };
        let place = *places.entry((reply.rules.claim, claim, reply.words)).or_insert_with(|| {
            differing.push((claim, reply, 0));
            differing.len() - 1
        });
        if let Some((_, _, replies)) = differing.get_mut(place) {
            *replies += 1;
        }
    }
    if differing.is_empty() {
        return None;
    }
    differing.sort_by_key(|(claim, reply, replies)| {
        let undecided = *claim == Claim::Unclear || reply.rules.claim == Claim::Unclear;
        (undecided, std::cmp::Reverse(*replies))
    });
    let rows = differing.iter().take(MOST_QUOTED).map(|(claim, reply, replies)| {
        Row::of(vec![
            Entry::Own(reply.rules.claim.name().to_owned()),
            Entry::Own(claim.name().to_owned()),
            Entry::count(*replies),
            Entry::Run(reply.run.run_id.0.clone()),
            Entry::count(reply.turn as u64),
            Entry::Own(reply.rules.rule.clone()),
            Entry::Foreign(shortened(reply.words.trim(), LONGEST)),
        ])
    });
    let mut caption =
        "replies in which the model named another claim than the rules read, the same words once with one \
                       of their runs; first those in which neither of the two is unclear"
            .to_owned();
    if differing.len() > MOST_QUOTED {
        caption.push_str(&format!("; {} more are in runs.jsonl", differing.len() - MOST_QUOTED));
    }
    Some(Grid {
        title: "Where the two readers differ",
        columns: vec![
            text("rules"),
            text("model"),
            number("replies"),
            text("run"),
            number("turn"),
            text("rule"),
            text("reply"),
        ],
        rows: rows.collect(),
        caption,
    })
}
