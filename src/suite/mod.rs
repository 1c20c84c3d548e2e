//! The files that users write, checked: text → [`Suite`] → cells → [`Trial`]s.
//!
//! Pure. What stands in other files comes in through [`Context`]; what is wrong comes out as
//! [`Diagnostics`], all of it at once, before anything is launched.
//!
//! | module | what it holds |
//! |---|---|
//! | [`diagnostics`] | mistakes with file, line, column, offending line, suggestion |
//! | [`tree`], [`decode`], [`units`] | YAML text → tree with spans → values, going on after a mistake |
//! | [`template`] | minijinja: names and places, checking, rendering |
//! | [`profile`], [`output`], `extends` | an agent program, how its output is read; one with more said beside |
//! | [`parts`], [`upstream`] | prompts, conversations, limits; the servers |
//! | [`effects`], [`oracle`] | what a prompt should bring about; how it is learned what it did |
//! | [`matrix`] | axes, `exclude`, `include` → cells |
//! | [`honesty`] | a model as second reader of what agents say |
//! | [`gate`] | conditions on the results, of the suite or the command line |
//! | [`scenarios`] | faults of the suite's own |
//! | [`repeats`] | how often a cell is run |
//! | [`value`] | a value of the user's own, as JSON |
//! | [`filter`], [`trial`], [`plan`] | which runs, in which order, and their text for `--dry-run` |
//!
//! Every scalar is the text that was written until a field reads it otherwise: `off`, `on` and
//! `no` are texts (YAML 1.2), and a model may be called `12` or `1.0` without quotes.

pub mod decode;
pub mod diagnostics;
pub mod effects;
pub mod filter;
pub mod gate;
pub mod honesty;
pub mod matrix;
pub mod oracle;
pub mod output;
pub mod parts;
pub mod plan;
pub mod profile;
pub mod provider;
pub mod repeats;
pub mod scenarios;
pub mod template;
pub mod tree;
pub mod trial;
pub mod units;
pub mod upstream;
pub mod value;

mod check;
mod extends;
mod glob;
mod secrets;
mod syntax;

pub use check::check;
pub use diagnostics::{Diagnostic, Diagnostics};
pub use effects::{Check, Effect, Wanted, Which};
pub use filter::{Filter, FilterError};
pub use gate::{Change, Gate, GateCheck, GateError, Scope};
pub use honesty::SecondReader;
pub use matrix::Cell;
pub use oracle::Oracle;
pub use parts::{Conversation, Limits, Prompt, ScenarioParams, Turn, When};
pub use profile::AgentProfile;
pub use repeats::{Stopping, Until};
pub use scenarios::UserScenario;
pub use trial::Trial;
pub use upstream::{Builtin, BuiltinNames, Server, ToolGlobs, Upstream};

use regex::Regex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most repeats of a cell.
pub const MAX_REPEATS: u32 = 100_000;
/// Most runs of a suite.
pub const MAX_RUNS: u64 = 1_000_000;

/// What a suite may refer to. Reading files stays with the caller.
pub struct Context<'a> {
    /// The agent profiles that there are, by name.
    pub agents: &'a BTreeMap<String, ProfileText>,
    /// Ids of the scenarios that there are; `none` need not be among them.
    pub scenarios: &'a [&'a str],
    /// The built-in upstreams that there are.
    pub builtins: &'a [BuiltinNames<'a>],
    /// Ids of the patches that there are.
    pub patches: &'a [&'a str],
    /// Why a model cannot be the second reader; none where it can.
    pub no_model: &'a dyn Fn(&str) -> Option<String>,
    /// What is wrong with a model of the built-in agent, if anything is.
    pub models: &'a dyn Fn(&str) -> Option<String>,
    /// Reads a file that the suite names as `file:PATH`; the path as it was written.
    pub read: &'a dyn Fn(&str) -> std::io::Result<String>,
}

/// An agent profile that was not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileText {
    /// As shown in messages.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// A suite in which everything that is named exists.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Safe as the name of a folder.
    pub name: String,
    /// For people.
    pub description: Option<String>,
    /// Runs of every cell, from 1; the most where a rule may end them earlier.
    pub repeats: u32,
    /// The rule that may end the runs of a cell earlier.
    pub stopping: Option<Stopping>,
    /// For chaos and for the order of runs.
    pub seed: u64,
    /// The user's own names in templates.
    pub vars: BTreeMap<String, String>,
    /// Time, output, and how much at once.
    pub limits: Limits,
    /// What scenarios can be told.
    pub scenario_params: ScenarioParams,
    /// The faults that the suite describes itself, by their names on the scenario axis.
    pub scenarios: BTreeMap<String, UserScenario>,
    /// By their names on the prompt axis.
    pub prompts: BTreeMap<String, Prompt>,
    /// By their names on the conversation axis; `alone` is always there.
    pub conversations: BTreeMap<String, Conversation>,
    /// By their names on the upstream axis.
    pub upstreams: BTreeMap<String, Upstream>,
    /// The agents that cells name.
    pub agents: BTreeMap<String, AgentProfile>,
    /// Texts of the `file:PATH` patches, by the value on the patch axis.
    pub patch_files: BTreeMap<String, String>,
    /// Environment variables whose values nobody may see; absent where the suite does not watch for them.
    pub secrets: Option<Vec<String>>,
    /// The second reader of what agents say; rules alone where absent.
    pub reader: Option<SecondReader>,
    /// Conditions that the results must meet.
    pub gates: Vec<Gate>,
    /// Every cell, none twice: the product in axis order, then what `include` adds.
    pub cells: Vec<Arc<Cell>>,
    /// SHA-256, hexadecimal, over the suite's text and every file that it names.
    pub digest: String,
}

/// A regular expression; equal when written alike.
#[derive(Debug, Clone)]
pub struct Pattern(pub Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}
