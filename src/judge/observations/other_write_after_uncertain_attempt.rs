//! Another operation of the tool followed an uncertain or rejected attempt, and is no respelling.

use super::Check;
use crate::judge::view::View;

pub(super) const CHECK: Check = Check { kind: "OTHER_WRITE_AFTER_UNCERTAIN_ATTEMPT", holds, say };

fn holds(view: &View<'_>) -> bool {
    view.other_after_uncertain().is_some()
}

// Which operations they were stands in the report; naming one here would have to be said anew
// with every call that follows.
fn say(view: &View<'_>) -> String {
    format!(
        "after an attempt of unsure outcome {} was sent with other arguments; only the system \
         behind it can tell whether the same was meant",
        view.tool()
    )
}
