//! `runs.csv`: one row a run.

use super::conditions::after;
use super::csv_text::{cell, number, table};
use super::{Format, Options, ReportError, View};
use crate::domain::{ApprovalCounts, Axis, Completion, Effects, Honesty, Reading, RunResult, StruckCall};

pub(super) const FORMAT: Format = Format {
    name: "runs-csv",
    file_name: "runs.csv",
    about: "one row a run, for statistics programs and spreadsheets",
    render,
};

fn render(view: &View<'_>, options: &Options) -> Result<Vec<u8>, ReportError> {
    let mut header = vec!["run_id", "cell_id"];
    header.extend(Axis::ALL.map(Axis::name));
    header.extend(["repeat", "verdict", "reason", "duration_ms", "calls", "writes", "executions"]);
    header.extend(["input_tokens", "output_tokens", "cost_usd", "trace", "turns", "exit_code", "signal"]);
    header.extend(["timed_out", "leaked", "client", "gave_up_after_ms", "resent", "model_retries", "stderr"]);
    header.extend(["cached_tokens", "answers", "requests_retried", "claim", "honesty"]);
    header.extend(["lost", "right", "double", "unasked", "completed", "disagreement", "layer"]);
    header.extend(["approvals_asked", "approvals_again", "approvals_reworded"]);
    header.extend(["turns_not_said", "reader_claim", "reader_honesty", "reader_input_tokens"]);
    header.extend(["reader_output_tokens", "reader_cost_usd"]);
    header.extend(["struck_category", "struck_retry", "struck_next", "struck_work", "struck_correlation"]);
    let rows = view.cells.iter().flat_map(|cell| &cell.runs).map(|run| row(run));
    table(header.into_iter().map(str::to_owned).collect(), rows, options)
}

fn row(run: &RunResult) -> Vec<String> {
    let mut row = vec![cell(&run.run_id.0), cell(&run.cell_id.0)];
    row.extend(Axis::ALL.map(|axis| cell(run.key.get(axis))));
    row.extend([
        run.repeat.to_string(),
        run.verdict.name().to_owned(),
        run.reason_code.name().to_owned(),
        run.duration_ms.to_string(),
        run.calls.to_string(),
        run.writes.to_string(),
        run.executions.to_string(),
        number(run.usage.input_tokens),
        number(run.usage.output_tokens),
        number(run.usage.cost_usd.filter(|cost| cost.is_finite())),
        cell(run.trace.as_deref().unwrap_or_default()),
        run.turns.len().to_string(),
        number(run.agent.exit_code),
        number(run.agent.signal),
        run.agent.timed_out.to_string(),
        run.agent.leaked.to_string(),
        cell(run.agent.client.as_deref().unwrap_or_default()),
        number(run.agent.gave_up_after_ms),
        run.agent.resent.to_string(),
        run.agent.spoiled.len().to_string(),
        cell(last_line(&run.agent.stderr)),
        number(run.usage.cached_tokens),
        number(run.usage.answers),
        number(run.usage.retries),
    ]);
    let claim = run.turns.last().and_then(|turn| turn.claim.as_ref());
    row.push(claim.map_or("", |read| read.claim.name()).to_owned());
    row.push(run.honesty.map_or("", Honesty::name).to_owned());
    let counts = run.effects.as_ref().and_then(Effects::counts);
    let kinds: Vec<&str> = run.disagreements.iter().map(|one| one.kind.name()).collect();
    row.extend([
        number(counts.map(|counts| counts.lost)),
        number(counts.map(|counts| counts.right)),
        number(counts.map(|counts| counts.double)),
        number(counts.map(|counts| counts.unasked)),
        number(run.completion.as_ref().and_then(Completion::completed)),
        kinds.join(" "),
        run.attribution.as_ref().map_or("", |found| found.layer.name()).to_owned(),
    ]);
    // Where nothing was asked for there is no number, and not the number 0.
    let asked = (!run.approvals.is_empty()).then(|| ApprovalCounts::of(&run.approvals));
    row.extend([
        number(asked.map(|asked| asked.asked)),
        number(asked.map(|asked| asked.again)),
        number(asked.map(|asked| asked.reworded)),
    ]);
    // What the reply before each of them said.
    let not_said = run.conditions.iter().filter(|turn| !turn.said);
    row.push(not_said.map(|turn| after(turn.claim)).collect::<Vec<_>>().join(" "));
    let reading = run.turns.last().and_then(|turn| turn.reader.as_ref());
    let usage = run.reader.as_ref().map(|reader| reader.usage).unwrap_or_default();
    row.extend([
        reading.map_or("", Reading::name).to_owned(),
        reading.and_then(|reading| reading.honesty).map_or("", Honesty::name).to_owned(),
        number(usage.input_tokens),
        number(usage.output_tokens),
        number(usage.cost_usd.filter(|cost| cost.is_finite())),
    ]);
    // Of each call that a fault struck a word, in their order.
    let struck = |word: &dyn Fn(&StruckCall) -> Option<String>| {
        let words = run.struck.iter().map(|call| word(call).unwrap_or_else(|| "-".to_owned()));
        cell(&words.collect::<Vec<_>>().join(" "))
    };
    let advice = |call: &StruckCall| call.advice.clone();
    row.extend([
        struck(&|call| Some(advice(call)?.0)),
        struck(&|call| Some(advice(call)?.1)),
        struck(&|call| Some(call.next.name().to_owned())),
        struck(&|call| Some(call.work.name().to_owned())),
        struck(&|call| call.correlation.clone()),
    ]);
    row
}

/// The last words of a program on its standard error; all that was kept stands in `runs.jsonl`.
fn last_line(text: &str) -> &str {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}
