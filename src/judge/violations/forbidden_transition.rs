//! J29: the run took a path that its suite forbids. It is told of the operation of the last call on
//! the path.

use super::Check;
use crate::domain::transitions::Taken;
use crate::judge::history::Role;
use crate::judge::judgement::{Evidence, Violation};
use crate::judge::view::View;
use crate::judge::words::{count, operation_id};

pub(super) const CHECK: Check = Check { kind: "FORBIDDEN_TRANSITION", find };

fn find(view: &View<'_>) -> Option<Violation> {
    let watch = view.judge.watch.as_ref()?;
    let taken: Vec<Taken> =
        watch.taken().into_iter().filter(|taken| told_of(view, taken) == Some(view.index)).collect();
    let first = taken.first()?;
    let mut calls: Vec<u64> = first.moments.clone();
    calls.dedup();
    let evidence: Vec<Evidence> = calls
        .into_iter()
        .filter_map(|call| {
            let index = usize::try_from(call).ok()?.checked_sub(1)?;
            let tool = view.judge.tools.get(view.judge.calls.get(index)?.tool)?;
            Some(super::shown(view, index, tool.name.clone()))
        })
        .take(super::SHOWN)
        .collect();
    let more = match taken.len() as u64 - 1 {
        0 => String::new(),
        more => format!(", and {}", count(more, "more such stretch", "more such stretches")),
    };
    Some(Violation {
        kind: CHECK.kind,
        tool: view.tool().to_owned(),
        operation: operation_id(view.index),
        message: format!("the run took the forbidden path `{}`{more}", first.path),
        duplicate: None,
        retry_after: None,
        evidence,
    })
}

/// The operation of the last write on a path; the first operation of the run where none is on it.
fn told_of(view: &View<'_>, taken: &Taken) -> Option<usize> {
    let operation = taken.moments.iter().rev().find_map(|call| {
        let call = view.judge.calls.get(usize::try_from(*call).ok()?.checked_sub(1)?)?;
        match call.role {
            Role::Write { operation, .. } => Some(operation),
            Role::Read | Role::Unclassified => None,
        }
    });
    operation.or(Some(0))
}
