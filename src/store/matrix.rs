//! `matrix.json`: what a results folder is the result of.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What must be the same for a matrix to be resumed. Version 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatrixRecord {
    /// Version of this file's format.
    pub version: u32,
    /// Version of the program that started the matrix.
    pub harness_version: String,
    /// The suite's name.
    pub suite: String,
    /// The suite's file, as an absolute path.
    pub suite_file: PathBuf,
    /// SHA-256 over the suite, its agents' profiles and the files that it names.
    pub digest: String,
    /// `--repeats`, where given.
    pub repeats: Option<u32>,
    /// `--filter`, as given.
    pub filters: Vec<String>,
    /// `--gate`, as given.
    #[serde(default)]
    pub gates: Vec<String>,
    /// `--level`; older folders do not have it.
    #[serde(default)]
    pub level: Option<f64>,
    /// When the matrix was started, RFC 3339.
    pub started_at: String,
    /// The script that stood in for every model, where this is a rehearsal: such runs measure
    /// nothing, and are never compared with measured ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsal: Option<String>,
    /// The folder in which every model's answers are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<PathBuf>,
    /// The folder from which every model's answers come: such runs tell of today's program, not of
    /// the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<PathBuf>,
}
