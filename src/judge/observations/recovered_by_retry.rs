//! A failure that the scenario answered, then exactly one execution.

use super::Check;
use crate::judge::view::View;
use crate::judge::words::duration;

pub(super) const CHECK: Check = Check { kind: "RECOVERED_BY_RETRY", holds, say };

fn holds(view: &View<'_>) -> bool {
    view.fold.executed == 1 && view.fold.recovered_after.is_some()
}

fn say(view: &View<'_>) -> String {
    let waited = view.fold.recovered_after.map(duration).unwrap_or_default();
    format!("{} failed at first and was executed by a later attempt, {waited} after the failure", view.tool())
}
