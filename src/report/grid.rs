//! A table before any format has drawn it. Every format shows the same tables, so they are made once
//! and drawn by each format in its own way.

use crate::domain::{Axis, CellKey};
use crate::stats::{Interval, Proportion};

/// A sentence or a reply of a run can be long.
pub(super) const LONGEST: usize = 240;

/// A table.
pub(super) struct Grid<'a> {
    pub title: &'static str,
    /// Title, and whether it holds numbers.
    pub columns: Vec<(String, bool)>,
    pub rows: Vec<Row<'a>>,
    /// What it is, without a full stop.
    pub caption: String,
}

/// One row of it.
pub(super) struct Row<'a> {
    /// The cell that it is about, where it is about one.
    pub cell: Option<&'a CellKey>,
    pub entries: Vec<Entry>,
}

/// What stands in one place of it.
pub(super) enum Entry {
    /// Words of our own.
    Own(String),
    /// A number with the words that it is shown in; none where there is no data.
    Number(Option<f64>, String),
    /// So many of so many, with the interval of their share.
    Share(Proportion, Interval),
    /// A text of somebody else.
    Foreign(String),
    /// The value of an axis.
    Value(String),
    /// A run.
    Run(String),
}

impl Entry {
    /// A number as it is.
    pub fn count(number: impl Into<u64>) -> Entry {
        let number = number.into();
        Entry::Number(Some(number as f64), number.to_string())
    }

    /// There is no number.
    pub fn no_data() -> Entry {
        Entry::Number(None, "no data".to_owned())
    }
}

impl Row<'_> {
    /// A row that is about no single cell.
    pub fn of(entries: Vec<Entry>) -> Row<'static> {
        Row { cell: None, entries }
    }
}

/// A column of words.
pub(super) fn text(title: &str) -> (String, bool) {
    (title.to_owned(), false)
}

/// A column of numbers.
pub(super) fn number(title: &str) -> (String, bool) {
    (title.to_owned(), true)
}

/// The columns of the axes on which cells differ.
pub(super) fn axes(varied: &[Axis]) -> Vec<(String, bool)> {
    varied.iter().map(|axis| text(axis.name())).collect()
}

/// What stands in these columns.
pub(super) fn values(varied: &[Axis], key: &CellKey) -> Vec<Entry> {
    varied.iter().map(|axis| Entry::Value(key.get(*axis).to_owned())).collect()
}
