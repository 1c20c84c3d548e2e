//! Numbers out of spans. Pure.

use super::{CACHED, INPUT, Kind, OUTPUT, RETRIES, Span};
use crate::stats::percentile;
use serde::Serialize;

/// What a run did, in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metrics {
    /// User messages.
    pub turns: usize,
    /// Answers of the model: OpenTelemetry's `gen_ai.client.operation.duration`.
    pub model: Durations,
    /// Calls of tools.
    pub tool: Durations,
    /// How often the history was made shorter.
    pub compactions: usize,
    /// Requests to the model that failed and were sent again.
    pub retries: u64,
    /// Tokens, with those from a cache: OpenTelemetry's `gen_ai.client.token.usage`.
    pub input_tokens: u64,
    /// The part of them that was read from a cache.
    pub cached_tokens: u64,
    /// Tokens that the model wrote.
    pub output_tokens: u64,
    /// Seconds in turns, less those in the model and in tools: the agent's own. Calls that ran side by
    /// side count once.
    pub own_s: f64,
}

/// How long things of one kind took, in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Durations {
    /// How many there were.
    pub count: usize,
    /// How many of them failed.
    pub failed: usize,
    /// All of them together.
    pub sum_s: f64,
    /// Half of them took no longer.
    pub p50_s: Option<f64>,
    /// 95 of 100 took no longer.
    pub p95_s: Option<f64>,
}

impl Metrics {
    /// The metrics of a run.
    pub fn of(spans: &[Span]) -> Metrics {
        let all = |kind: Kind| spans.iter().filter(move |span| span.kind == kind);
        let sum = |name: &str| all(Kind::Model).map(|span| span.number(name)).sum();
        let covered = |kinds: &[Kind]| {
            let mut times: Vec<(u64, u64)> = spans
                .iter()
                .filter(|span| kinds.contains(&span.kind))
                .map(|span| (span.start_unix_nano, span.end_unix_nano))
                .collect();
            union(&mut times) as f64 / 1e9
        };
        Metrics {
            turns: all(Kind::Turn).count(),
            model: Durations::of(all(Kind::Model)),
            tool: Durations::of(all(Kind::Tool)),
            compactions: all(Kind::Compaction).count(),
            retries: sum(RETRIES),
            input_tokens: sum(INPUT),
            cached_tokens: sum(CACHED),
            output_tokens: sum(OUTPUT),
            own_s: (covered(&[Kind::Turn]) - covered(&[Kind::Model, Kind::Tool])).max(0.0),
        }
    }
}

impl Durations {
    fn of<'a>(spans: impl Iterator<Item = &'a Span>) -> Durations {
        let spans: Vec<&Span> = spans.collect();
        let mut seconds: Vec<f64> = spans.iter().map(|span| span.seconds()).collect();
        seconds.sort_by(f64::total_cmp);
        Durations {
            count: spans.len(),
            failed: spans.iter().filter(|span| span.failed()).count(),
            sum_s: seconds.iter().sum(),
            p50_s: percentile(&seconds, 50),
            p95_s: percentile(&seconds, 95),
        }
    }
}

/// How long at least one of the intervals lasted.
fn union(times: &mut [(u64, u64)]) -> u64 {
    times.sort_unstable();
    let (mut all, mut until) = (0, 0);
    for (start, end) in times.iter() {
        all += end.saturating_sub(until.max(*start));
        until = until.max(*end);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_side_by_side_count_once() {
        assert_eq!(union(&mut [(5, 9), (0, 4), (3, 6), (20, 21)]), 10);
    }
}
