//! A write that needs a person's approval was asked for (A3): how often, and for what.

use super::Check;
use crate::judge::view::View;
use crate::judge::words::{shortened, times};

pub(super) const CHECK: Check = Check { kind: "APPROVAL_REQUESTED", holds, say };

fn holds(view: &View<'_>) -> bool {
    view.judge.asked_for(view.operation) > 0
}

fn say(view: &View<'_>) -> String {
    let (asked, refused) = (view.judge.asked_for(view.operation), view.judge.refusals_of(view.operation));
    let became = match refused {
        0 => "and nobody waited for the answer".to_owned(),
        _ if refused == asked => "and refused".to_owned(),
        _ => format!("and refused {}", times(refused)),
    };
    format!(
        "approval was asked for {}, {became}: {} {}",
        times(asked),
        view.tool(),
        shortened(view.operation.arguments.get())
    )
}
