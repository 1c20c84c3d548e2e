//! A write that needs a person's approval was asked for (A3): how often, and for what.

use super::Check;
use crate::judge::view::View;
use crate::judge::words::shortened;
use crate::judge::words::times;

pub(super) const CHECK: Check = Check { kind: "APPROVAL_REQUESTED", holds, say };

fn holds(view: &View<'_>) -> bool {
    view.judge.asked_for(view.operation) > 0
}

fn say(view: &View<'_>) -> String {
    format!(
        "approval was asked for {}, and refused: {} {}",
        times(view.judge.asked_for(view.operation)),
        view.tool(),
        shortened(view.operation.arguments.get())
    )
}
