//! What the judge knows by now → what is said of the run.

use super::judgement::{Calls, Coverage, Judgement, Observation, Operation, OperationParts, Violation};
use super::score::Score;
use super::sender::SentBy;
use super::state::Judge;
use super::tools::Repeat;
use super::view::View;
use super::words::{count, operation_id, shortened, times};
use super::{keys, observations, patches, violations};
use crate::domain::{OfferedPatch, ToolInfo};

impl Judge {
    /// Everything that is to be said, at the cost of looking at everything.
    pub fn judgement(&self) -> Judgement {
        let (verdict, reason_code) = self.verdict();
        let mut judgement = Judgement {
            verdict,
            reason_code,
            reason: self.reason(),
            operations: Vec::with_capacity(self.operations.len()),
            violations: Vec::new(),
            observations: Vec::new(),
            coverage: self.coverage(),
            key_summary: Vec::new(),
            score: self.score(),
            tally: self.totals.tally,
            patches: self.patches(),
            executions: self.totals.executions,
            writes: self.writes,
            calls: self.calls.len() as u64,
            resent: self.resent(),
            tools: self.listed_tools().cloned().collect(),
            kind: self.kind().to_owned(),
            scenario: self.scenario().map(str::to_owned),
            approvals: self.approvals(),
        };
        for index in 0..self.operations.len() {
            let Some(parts) = self.operation(index) else { continue };
            judgement.operations.push(parts.operation);
            judgement.violations.extend(parts.violations);
            judgement.observations.extend(parts.observations);
            judgement.key_summary.extend(parts.key_summary);
        }
        judgement.violations.extend(violations::OF_RUN.iter().filter_map(|check| (check.find)(self)));
        judgement.observations.extend(self.repeat_observations());
        judgement
    }

    fn resent(&self) -> u64 {
        let attempts = self.operations.iter().flat_map(|operation| &operation.attempts);
        let senders = attempts.filter_map(|attempt| attempt.sender.as_ref());
        senders.filter(|sender| sender.by != SentBy::Agent).count() as u64
    }

    /// The tools that were listed, with their classes.
    pub fn listed_tools(&self) -> impl Iterator<Item = &ToolInfo> {
        self.tools.iter().filter_map(|tool| tool.info.as_ref())
    }

    /// `proxy`, `demo` or `benchmark`; empty where the trace does not say.
    pub fn kind(&self) -> &str {
        self.started.as_ref().map_or("", |started| &started.kind)
    }

    /// The scenario's id, where one was set.
    pub fn scenario(&self) -> Option<&str> {
        self.started.as_ref().and_then(|started| started.scenario.as_deref())
    }

    /// Number of operations so far.
    pub fn operation_count(&self) -> usize {
        self.operations.len()
    }

    /// What is to be said of one operation, counted from 0.
    pub fn operation(&self, index: usize) -> Option<OperationParts> {
        let operation = self.operations.get(index)?;
        let fold = operation.peek(&self.calls);
        let view = View { judge: self, index, operation, fold: &fold };
        let violations: Vec<Violation> =
            violations::TABLE.iter().filter_map(|check| (check.find)(&view)).collect();
        let observations: Vec<Observation> = observations::TABLE
            .iter()
            .filter(|check| (check.holds)(&view))
            .map(|check| Observation {
                kind: check.kind,
                tool: view.tool().to_owned(),
                operation: Some(operation_id(index)),
                message: (check.say)(&view),
            })
            .collect();
        let outcome = violations.first().map(|violation| violation.kind).unwrap_or_else(|| {
            let held = |kind: &&&str| observations.iter().any(|observation| observation.kind == **kind);
            observations::OUTCOMES.iter().find(held).copied().unwrap_or("EXECUTED_ONCE")
        });
        Some(OperationParts {
            operation: Operation {
                id: operation_id(index),
                tool: view.tool().to_owned(),
                arguments: operation.arguments.clone(),
                attempts: fold.attempts,
                reached: fold.reached,
                executions: fold.executed,
                failed_attempts: fold.failed,
                keys: operation.keys.iter().map(|key| key.text.clone()).collect(),
                outcome,
            },
            violations,
            observations,
            key_summary: keys::summary(&view),
        })
    }

    /// The score (J20 to J23); none where nothing was tested.
    pub fn score(&self) -> Option<Score> {
        self.totals.tally.score(self.verdict().0)
    }

    /// The patches that were earned (J26).
    pub fn patches(&self) -> Vec<OfferedPatch> {
        if self.problem.is_some() {
            return Vec::new();
        }
        patches::offer(self.totals.patches)
    }

    /// What was called at all.
    pub fn coverage(&self) -> Coverage {
        let mut unclassified_tools: Vec<String> =
            self.tools.iter().filter(|tool| tool.called_unclassified).map(|tool| tool.name.clone()).collect();
        unclassified_tools.sort();
        let scenario = self.started.as_ref().and_then(|started| started.scenario.as_ref());
        Coverage {
            calls: Calls { write: self.writes, read: self.reads, unclassified: self.unclassified },
            unclassified_tools,
            scenario_triggered: scenario.map(|_| self.fired),
        }
    }

    /// The observations that belong to no operation.
    pub fn repeat_observations(&self) -> Vec<Observation> {
        let name = |tool: usize| self.tools.get(tool).map_or("", |tool| &tool.name);
        let observation = |repeat: &Repeat| Observation {
            kind: "UNCLASSIFIED_REPEAT",
            tool: name(repeat.tool).to_owned(),
            operation: None,
            message: format!(
                "{}, of which it is not known whether it writes, was called {} with the same arguments: {}",
                name(repeat.tool),
                times(repeat.calls),
                shortened(repeat.arguments.get()),
            ),
        };
        let mut all: Vec<Observation> = self.repeats.values().map(observation).collect();
        all.extend(self.epochs.observations(|tool| self.tools.get(tool).map_or("", |tool| &tool.name)));
        all
    }

    pub(super) fn counted_operations(&self) -> String {
        count(self.operations.len() as u64, "operation", "operations")
    }
}
