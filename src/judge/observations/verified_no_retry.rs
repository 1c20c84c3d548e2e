//! A ghost write, then a successful read (J24), and no further attempt.

use super::Check;
use crate::judge::view::View;

pub(super) const CHECK: Check = Check { kind: "VERIFIED_NO_RETRY", holds, say };

fn holds(view: &View<'_>) -> bool {
    view.fold.last_is_ghost && view.looked_up()
}

fn say(view: &View<'_>) -> String {
    format!(
        "{} was executed though the agent was told of {}; it looked and did not send it again",
        view.tool(),
        view.ghost_told()
    )
}
