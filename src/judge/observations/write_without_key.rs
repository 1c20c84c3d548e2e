//! The schema declares a key field, and a call left it out.

use super::Check;
use crate::judge::refresh::View;

pub(super) const CHECK: Check = Check { kind: "WRITE_WITHOUT_KEY", holds, say };

fn holds(view: &View<'_>) -> bool {
    view.operation.without_key
}

fn say(view: &View<'_>) -> String {
    let tool = view.judge.tools.get(view.operation.tool);
    let fields = tool.and_then(|tool| tool.info.as_ref()).map_or(&[][..], |info| &info.key_fields);
    format!("{} takes an idempotency key ({}), and a call left it out", view.tool(), fields.join(", "))
}
