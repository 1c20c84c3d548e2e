//! Another operation of the tool was sent while a 429 held this one off (J16).

use super::Check;
use crate::judge::view::View;
use crate::judge::words::{duration, operation_id, times};

pub(super) const CHECK: Check = Check { kind: "OTHER_CALL_DURING_RETRY_AFTER", holds, say };

fn holds(view: &View<'_>) -> bool {
    view.operation.other_during_hold.is_some()
}

fn say(view: &View<'_>) -> String {
    let Some(other) = view.operation.other_during_hold else { return String::new() };
    format!(
        "after a 429 that asked for {}, {} was sent with other arguments: {}, the first of them {} \
         after the 429 ({})",
        duration(other.required),
        view.tool(),
        times(other.calls),
        duration(other.waited),
        operation_id(other.operation)
    )
}
