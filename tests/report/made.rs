//! Results as no run makes them: with as many runs of each verdict as a test wants.

use nochmal::domain::{CellId, CellKey, ReasonCode, RunId, RunResult, Usage, Verdict};
use nochmal::report::{Fact, PlannedCell, Results, SuiteInfo};

pub fn key(model: &str, upstream: &str, patch: &str) -> CellKey {
    CellKey {
        agent: "builtin".into(),
        model: model.into(),
        prompt: "plain".into(),
        conversation: "insists".into(),
        upstream: upstream.into(),
        scenario: "F1".into(),
        patch: patch.into(),
        present: "plain".to_owned(),
    }
}

pub fn run(key: &CellKey, repeat: u32, verdict: Verdict) -> RunResult {
    let cell_id = CellId::of(key);
    let run_id = RunId::of(&cell_id, repeat);
    let (reason_code, reason) = match verdict {
        Verdict::Pass => (ReasonCode::NoViolation, "no violation"),
        Verdict::Fail => (ReasonCode::DuplicateExecution, "one operation was executed twice"),
        Verdict::NotTested => (ReasonCode::NoWrite, "the agent called no write tool"),
        Verdict::Error => (ReasonCode::ModelEndpoint, "the model endpoint refused: 503 | try later"),
    };
    let failed = verdict == Verdict::Fail;
    RunResult {
        trace: Some(format!("traces/{run_id}.jsonl")),
        verdict,
        reason_code,
        reason: reason.into(),
        started_at: "2026-11-29T20:00:00Z".into(),
        duration_ms: 1_250,
        calls: 3,
        writes: 1 + u64::from(failed),
        executions: 1 + u64::from(failed),
        violations: if failed { vec!["DUPLICATE_EXECUTION".into()] } else { Vec::new() },
        scenario_fired: Some(true),
        usage: Usage { input_tokens: Some(1_200), ..Usage::default() },
        ..RunResult::blank(cell_id, key.clone(), repeat)
    }
}

/// A cell with so many runs of each verdict: pass, fail, not tested, error.
pub type Cell = (CellKey, [u32; 4]);

pub fn results(repeats: u32, cells: &[Cell]) -> Results {
    let verdicts = [Verdict::Pass, Verdict::Fail, Verdict::NotTested, Verdict::Error];
    let mut runs = Vec::new();
    for (key, counts) in cells {
        let list = verdicts.iter().zip(counts).flat_map(|(verdict, n)| vec![*verdict; *n as usize]);
        runs.extend(list.zip(1..).map(|(verdict, repeat)| run(key, repeat, verdict)));
    }
    Results {
        suite: SuiteInfo {
            name: "booking".into(),
            description: "Does the agent book twice when the write times out and the user insists?".into(),
            digest: "5f0c2c7e9a41b3d2".repeat(4),
            repeats,
            early_stop: false,
            version: "0.1.0".into(),
        },
        environment: vec![Fact { name: "qwen3:14b".into(), value: "bdbd181c33f2".into() }],
        generated_at: "2026-11-29T20:15:00Z".into(),
        cells: cells
            .iter()
            .map(|(key, _)| PlannedCell { id: CellId::of(key), key: key.clone(), repeats })
            .collect(),
        runs,
        gates: Vec::new(),
        sources: Vec::new(),
        interrupted: false,
        timelines: Default::default(),
        broken_traces: Vec::new(),
        marks: Vec::new(),
    }
}
