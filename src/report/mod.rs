//! Results → bytes. Pure: one place elsewhere writes the files.
//!
//! [`Results`] are what a results folder holds; [`View`] is everything that any format says of them,
//! computed once; a [`Format`] turns the view into bytes. One file a format, one table: [`formats`].
//!
//! A rate is failed of tested (PASS + FAIL). NOT_TESTED, ERROR and runs that are missing never enter
//! it and always stand beside it; without a tested run a rate is "no data".

mod agents;
mod approvals;
mod cell;
mod cells_csv;
mod changes;
mod changes_json;
mod changes_text;
mod compare;
mod conditions;
mod csv_text;
mod gate;
mod grid;
mod html;
mod interval;
mod job_summary;
mod junit;
mod markdown;
pub mod planning;
mod rebuilds;
mod results;
mod runs_csv;
mod second_reader;
mod summary;
mod svg;
mod tables;
mod template;
mod terminal;
mod text;
mod timeline;
mod timeline_text;
mod told;
mod truth;
mod view;
mod words;

pub use crate::suite::{Change, Gate, GateCheck};
pub use agents::AgentView;
pub use approvals::{ApprovalsSummary, approvals_text};
pub use cell::CellView;
pub use changes::{Changes, ChangesFormat, Side};
pub use changes_json::{ChangeSummary, ChangesSummary, SideSummary};
pub use compare::{Comparison, Decision, Difference, PatchSummary};
pub use conditions::ConditionalTurns;
pub use gate::{GateResult, GateState, evaluate, gate_state};
pub use interval::{IntervalMethod, Rate};
pub(crate) use junit::attribute;
pub(crate) use markdown::{Table as MarkdownTable, code, prose};
pub use rebuilds::Rebuilt;
pub(crate) use results::Options as TerminalOptions;
pub use results::{BrokenTrace, Fact, Options, PlannedCell, Results, Source, SuiteInfo};
pub use second_reader::{CellReader, CellReaderSummary, SecondReaderSummary};
pub use summary::Summary;
pub use template::{TemplateError, render_template, written};
pub use terminal::text as terminal_text;
pub(crate) use terminal::{finish, table, wrapped};
pub(crate) use text::{counted, shortened, visible};
pub use timeline::{EntryKind, Timeline, TimelineEntry, TimelineLimits, timeline, timeline_of, timelines};
pub use timeline_text::timeline_text;
pub use told::{CellTold, HonestySummary};
pub use truth::{CellTruth, Completed, DisagreementView, LayerView};
pub use view::{Reason, View, ViolationKind};

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The CSV writer refused.
    #[error("the table cannot be written as CSV: {0}")]
    Csv(#[from] csv::Error),
    /// The JSON writer refused.
    #[error("the summary cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// One format of the report.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// The file in the results folder.
    pub file_name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Makes the bytes.
    pub render: fn(&View<'_>, &Options) -> Result<Vec<u8>, ReportError>,
}

/// Every format that is a file of the results folder, in alphabetical order.
pub fn formats() -> &'static [Format] {
    const FORMATS: &[Format] = &[
        cells_csv::FORMAT,
        svg::forest::FORMAT,
        html::FORMAT,
        job_summary::FORMAT,
        junit::FORMAT,
        markdown::FORMAT,
        svg::patches::FORMAT,
        runs_csv::FORMAT,
        summary::FORMAT,
    ];
    FORMATS
}

/// Every format of a comparison.
pub fn changes_formats() -> &'static [ChangesFormat] {
    const FORMATS: &[ChangesFormat] = &[changes_json::JSON, changes_text::MARKDOWN, changes_text::TERMINAL];
    FORMATS
}
