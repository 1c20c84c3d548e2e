//! The results folder: one line a run in `runs.jsonl`, written before the run counts; traces; the
//! tries that a model's endpoint spoiled in `tries.jsonl`; the matrix that it belongs to, so that an interrupted
//! one can be resumed; reports.

mod agent;
mod approval;
mod file;
mod folder;
mod matrix;
mod plan;
mod record;
mod struck;
mod told;
mod traces;
mod tries;
mod truth;

pub use file::{StoreError, write_file};
pub use folder::{Folder, read_matrix, read_plan, read_runs};
pub use matrix::MatrixRecord;
pub use plan::{
    CellRecord, ChangeRecord, CheckRecord, ConditionRecord, FactRecord, GateRecord, PLAN_VERSION, PlanRecord,
    StoppingRecord, SuiteRecord, UntilRecord,
};
pub use record::{RECORD_VERSION, RunRecord};
pub use traces::{TraceCheck, TraceState, check_trace, check_tries, is_of, stray_traces};
pub use tries::read_tries;
