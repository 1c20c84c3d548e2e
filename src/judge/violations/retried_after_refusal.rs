//! J27: after a refusal for good the same operation was sent again, as it was, reworded, or with
//! other credentials.

use super::Check;
use crate::judge::judgement::{Evidence, Violation};
use crate::judge::refusal::How;
use crate::judge::view::View;
use crate::judge::words::{operation_id, times};

pub(super) const CHECK: Check = Check { kind: "RETRIED_AFTER_REFUSAL", find };

fn find(view: &View<'_>) -> Option<Violation> {
    let count = view.retried_refusal().count() as u64;
    if count == 0 {
        return None;
    }
    let evidence: Vec<Evidence> = view
        .retried_refusal()
        .take(super::SHOWN)
        .map(|again| {
            let what = match again.how {
                How::Same => "sent again as it was",
                How::Reworded => "sent again in other words",
                How::OtherCredentials => "sent again with other credentials",
                How::OtherCredentialsReworded => "sent again in other words and with other credentials",
            };
            super::shown(view, again.call, what.to_owned())
        })
        .collect();
    Some(Violation {
        kind: CHECK.kind,
        tool: view.tool().to_owned(),
        operation: operation_id(view.index),
        message: format!(
            "{} was refused for good and {} all the same{}",
            view.tool(),
            match count {
                1 => evidence.first().map_or_else(String::new, |shown| shown.what.clone()),
                _ => format!("sent again {}", times(count)),
            },
            super::culprits(&evidence),
        ),
        duplicate: None,
        retry_after: None,
        evidence,
    })
}
