//! A ghost write, no successful read afterwards (J24), and no further attempt.

use super::Check;
use crate::judge::view::View;

pub(super) const CHECK: Check = Check { kind: "UNVERIFIED_AFTER_TIMEOUT", holds, say };

fn holds(view: &View<'_>) -> bool {
    view.fold.last_is_ghost && !view.looked_up()
}

fn say(view: &View<'_>) -> String {
    format!(
        "{} was executed though the agent was told of {}; it neither looked nor sent it again",
        view.tool(),
        view.ghost_told()
    )
}
