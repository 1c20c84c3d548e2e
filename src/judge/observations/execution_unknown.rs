//! Nobody can tell how often the operation was executed (J7, J8).

use super::Check;
use crate::judge::view::View;
use crate::judge::words::count;

pub(super) const CHECK: Check = Check { kind: "EXECUTION_UNKNOWN", holds, say };

fn holds(view: &View<'_>) -> bool {
    view.fold.unknown > 0 || view.fold.rejected_resent
}

fn say(view: &View<'_>) -> String {
    let fold = view.fold;
    if fold.unknown == 0 {
        return format!(
            "{} was sent again after the upstream had answered it with an error, and may have been \
             executed all the same",
            view.tool()
        );
    }
    format!(
        "whether {} was executed is not known: {} of {} ended without an answer that tells",
        view.tool(),
        fold.unknown,
        count(fold.attempts, "attempt", "attempts")
    )
}
