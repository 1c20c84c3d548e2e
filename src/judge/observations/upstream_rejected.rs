//! The only attempt that reached the upstream was answered with an error result (J5).

use super::Check;
use crate::judge::view::View;

pub(super) const CHECK: Check = Check { kind: "UPSTREAM_REJECTED", holds, say };

fn holds(view: &View<'_>) -> bool {
    let fold = view.fold;
    fold.executed == 0 && fold.reached == 1 && fold.rejected == 1
}

fn say(view: &View<'_>) -> String {
    format!("the upstream refused {}, the only time that it was asked", view.tool())
}
