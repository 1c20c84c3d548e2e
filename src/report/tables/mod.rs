//! The tables that every report has, one file a subject. Each format draws them in its own way.

mod approvals;
mod conditions;
mod second_reader;
mod told;
mod truth;

use super::View;
use super::grid::Grid;

/// What users were told: as the rules read it, the same as a second reader does, the turns that were said only
/// on a condition, and the approvals that were asked for. Those that have something to show.
pub(super) fn of_words<'a>(view: &View<'a>) -> Vec<Grid<'a>> {
    let mut grids: Vec<Grid<'a>> = told::grid(view).into_iter().collect();
    grids.extend(second_reader::grids(view));
    grids.extend(conditions::grid(view));
    grids.extend(approvals::grid(view));
    grids
}

/// What really happened. Those that have something to show.
pub(super) fn of_truth<'a>(view: &View<'a>) -> Vec<Grid<'a>> {
    truth::grids(view)
}
