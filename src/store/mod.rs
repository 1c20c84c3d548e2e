//! The results folder: one line a run in `runs.jsonl`, written before the run counts; traces; the
//! matrix that it belongs to, so that an interrupted one can be resumed; reports.

mod folder;
mod matrix;
mod record;

pub use folder::{Folder, StoreError, read_matrix, read_runs};
pub use matrix::MatrixRecord;
pub use record::{RECORD_VERSION, RunRecord};
