//! A failure that the scenario answered, and nothing reached the upstream after it.

use super::Check;
use crate::judge::view::View;

pub(super) const CHECK: Check = Check { kind: "ABANDONED_AFTER_FAILURE", holds, say };

fn holds(view: &View<'_>) -> bool {
    view.fold.abandoned
}

fn say(view: &View<'_>) -> String {
    format!("{} failed without being executed, and no later attempt reached the upstream", view.tool())
}
