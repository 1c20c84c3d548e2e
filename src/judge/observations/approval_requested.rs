//! A write that needs a person's approval was asked for (A3): how often, and for what.

use super::Check;
use crate::judge::judgement::shortened;
use crate::judge::refresh::View;
use crate::judge::words::times;
use crate::trace::Fault;

pub(super) const CHECK: Check = Check { kind: "APPROVAL_REQUESTED", holds, say };

fn count(view: &View<'_>) -> u64 {
    let calls = &view.judge.calls;
    let asked = view.operation.attempts.iter().filter(|attempt| {
        let call = calls.get(attempt.current);
        call.is_some_and(|call| call.fault == Some(Fault::ApprovalRefused))
    });
    asked.count() as u64
}

fn holds(view: &View<'_>) -> bool {
    count(view) > 0
}

fn say(view: &View<'_>) -> String {
    format!(
        "approval was asked for {}, and refused: {} {}",
        times(count(view)),
        view.tool(),
        shortened(view.operation.arguments.get())
    )
}
