//! The same, in other words, was sent after an uncertain attempt (J25).

use super::Check;
use crate::judge::view::View;
use crate::judge::words::operation_id;

pub(super) const CHECK: Check = Check { kind: "POSSIBLE_DUPLICATE_DIFFERENT_ARGUMENTS", holds, say };

fn holds(view: &View<'_>) -> bool {
    view.respellings().next().is_some()
}

fn say(view: &View<'_>) -> String {
    let others: Vec<String> = view.respellings().take(5).map(operation_id).collect();
    format!(
        "after an attempt of unsure outcome {} was sent with arguments that differ in spelling only \
         ({}): it may have been executed twice",
        view.tool(),
        others.join(", ")
    )
}
