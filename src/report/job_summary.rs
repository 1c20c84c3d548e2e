//! `summary.md`: for `$GITHUB_STEP_SUMMARY`. The answer is open, all tables are folded, and it stays
//! below the size at which GitHub throws a summary away.

use super::markdown::{head, prose, sections};
use super::words::{capital, outcome};
use super::{Format, Options, ReportError, View};

pub(super) const FORMAT: Format = Format {
    name: "job-summary",
    file_name: "summary.md",
    about: "for a CI job's page ($GITHUB_STEP_SUMMARY): the answer, the tables folded, always below 1,024 KiB",
    render,
};

/// GitHub's limit is 1,024 KiB a step; other tools may have written to the same step.
const MOST_BYTES: usize = 900 * 1024;

fn render(view: &View<'_>, _options: &Options) -> Result<Vec<u8>, ReportError> {
    // Fewer rows where all would be too many; without any table where even those are.
    let sizes = [usize::MAX, 1_000, 100, 10];
    let whole = sizes.into_iter().map(|rows| summary(view, rows)).find(|text| text.len() <= MOST_BYTES);
    Ok(whole.unwrap_or_else(|| short(view)).into_bytes())
}

fn summary(view: &View<'_>, rows: usize) -> String {
    let mut parts = vec![format!("### {}", prose(&view.results.suite.name))];
    parts.extend(head(view));
    for (title, body) in sections(view, rows) {
        // Without the empty lines, what is inside is not read as Markdown.
        parts.push(format!("<details><summary>{title}</summary>\n\n{body}\n\n</details>"));
    }
    parts.join("\n\n") + "\n"
}

fn short(view: &View<'_>) -> String {
    let marks: String = view.results.marks.iter().map(|mark| format!("> **{}**\n\n", prose(mark))).collect();
    format!(
        "### nochmal\n\n{marks}**{}.**\n\nThe tables are too large for this page.\n",
        capital(&outcome(view))
    )
}
