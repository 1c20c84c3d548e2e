//! The schema declares a key field, and a call left it out.

use super::Check;
use crate::judge::view::View;

pub(super) const CHECK: Check = Check { kind: "WRITE_WITHOUT_KEY", holds, say };

fn holds(view: &View<'_>) -> bool {
    view.operation.without_key
}

fn say(view: &View<'_>) -> String {
    format!("{} takes an idempotency key, and a call left it out", view.tool())
}
