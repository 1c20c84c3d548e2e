//! A timeline for a terminal: when, who, which call, what; below it what was sent, answered or said.

use super::text::{shortened, visible};
use super::{Timeline, TimelineEntry};

/// Lines of a detail that are shown.
const MOST_LINES: usize = 12;

/// Columns before the text.
const INDENT: usize = 36;

/// The text, which ends with a line break. Lines are cut to `width` columns where it is given.
pub fn timeline_text(timeline: &Timeline, width: Option<u16>) -> String {
    let mut text: String = timeline.entries.iter().map(|one| entry(one, width)).collect();
    if timeline.left_out > 0 {
        text.push_str(&format!("… and {} more, which stand in the trace\n", timeline.left_out));
    }
    text
}

fn entry(entry: &TimelineEntry, width: Option<u16>) -> String {
    let at = format!("{}.{:03} s", entry.at.0 / 1_000_000, entry.at.0 / 1_000 % 1_000);
    let call = entry.call.map(|call| format!("call {}", call.0)).unwrap_or_default();
    let head = format!("{at:>11}  {:<13}  {call:<8}", entry.kind.who());
    let details: Vec<&str> = entry.detail.as_deref().unwrap_or_default().lines().collect();
    let mut lines = Vec::new();
    if !entry.text.is_empty() {
        lines.push(entry.text.as_str());
    }
    lines.extend(details.iter().take(MOST_LINES));
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let head = if number == 0 { head.as_str() } else { "" };
        let line = format!("{head:<INDENT$}{}", visible(line));
        let line = width.map_or(line.clone(), |width| shortened(&line, usize::from(width)));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if lines.is_empty() {
        text.push_str(head.trim_end());
        text.push('\n');
    }
    if details.len() > MOST_LINES {
        text.push_str(&format!("{:INDENT$}… {} more lines\n", "", details.len() - MOST_LINES));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CallId, Micros};
    use crate::report::EntryKind;

    #[test]
    fn a_timeline_says_when_who_and_what() {
        let entry = |at, kind, call, text: &str, detail: Option<&str>| TimelineEntry {
            at: Micros(at),
            kind,
            call,
            text: text.to_owned(),
            detail: detail.map(str::to_owned),
        };
        let timeline = Timeline {
            entries: vec![
                entry(0, EntryKind::User, None, "", Some("book\nroom 12 \u{1b}[31m")),
                entry(
                    12_345_678,
                    EntryKind::Call,
                    Some(CallId(3)),
                    "create_booking (write)",
                    Some("{\"room\":12}"),
                ),
                entry(12_346_000, EntryKind::Note, None, "client disconnected", None),
            ],
            left_out: 2,
        };
        insta::assert_snapshot!(timeline_text(&timeline, Some(60)));
    }
}
