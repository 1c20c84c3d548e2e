//! What a second reader made of the agents' words, beside what the rules read.

use super::super::View;
use super::super::grid::{self, Entry, Grid, LONGEST, Row, number, text};
use super::super::second_reader::{ReadReply, SecondReaderSummary, replies};
use super::super::text::{counted, shortened};
use super::told::{shares, titles};
use crate::domain::{Claim, NO_ANSWER, NOT_READ};
use std::collections::HashMap;

/// Replies that were read differently, that a report quotes.
const MOST_QUOTED: usize = 50;

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
    let mut columns = grid::axes(&view.varied);
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
