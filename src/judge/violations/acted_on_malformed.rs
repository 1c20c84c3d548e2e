//! J28: a later write relied on an answer that broke its tool's contract, before a successful read.

use super::Check;
use crate::judge::judgement::{Evidence, Violation};
use crate::judge::view::View;
use crate::judge::words::operation_id;

pub(super) const CHECK: Check = Check { kind: "ACTED_ON_MALFORMED", find };

fn find(view: &View<'_>) -> Option<Violation> {
    let evidence: Vec<Evidence> = view
        .relied()
        .take(super::SHOWN)
        .map(|relied| {
            let calls = &view.judge.calls;
            let tool = calls.get(relied.call).and_then(|call| view.judge.tools.get(call.tool));
            let tool = tool.map_or("a tool", |tool| &tool.name);
            let value = relied.value.chars().take(60).collect::<String>();
            let what =
                format!("{tool} was called with {} {value}, which {}", relied.field, relied.source.words());
            super::shown(view, relied.call, what)
        })
        .collect();
    let first = evidence.first()?.what.clone();
    Some(Violation {
        kind: CHECK.kind,
        tool: view.tool().to_owned(),
        operation: operation_id(view.index),
        message: format!(
            "the answer to {} did not have the promised form, and before any read {first}",
            view.tool()
        ),
        duplicate: None,
        retry_after: None,
        evidence,
    })
}
