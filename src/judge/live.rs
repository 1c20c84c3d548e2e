//! The report file while the run goes on. What is said of an operation is kept as text, and only
//! that of operations that were touched is made anew (R7): a call costs the same whether ten or
//! ten thousand came before it.

use super::Judge;
use super::report_file::{
    CERTIFICATION, Classification, Coverage, HONESTY, Key, Observation, Operation, Patch, ReportFile, Score,
    Status, Violation,
};
use crate::trace::{Event, Record};
use serde::Serialize;

/// Judges a run while it happens, and has its report file at hand at any time.
#[derive(Debug)]
pub struct LiveReport {
    judge: Judge,
    version: String,
    status: Status,
    tools_changed: bool,
    tools: Vec<u8>,
    operations: List,
    violations: List,
    observations: List,
    keys: List,
    repeats: u64,
    repeat_observations: Vec<u8>,
    head: Vec<u8>,
    middle: Vec<u8>,
    tail: Vec<u8>,
}

impl LiveReport {
    /// Of a run that has not begun, judged by that version of the program.
    pub fn new(harness_version: &str) -> LiveReport {
        LiveReport {
            judge: Judge::new(),
            version: harness_version.to_owned(),
            status: Status::Running,
            tools_changed: false,
            tools: Vec::new(),
            operations: List::default(),
            violations: List::default(),
            observations: List::default(),
            keys: List::default(),
            repeats: 0,
            repeat_observations: Vec::new(),
            head: Vec::new(),
            middle: Vec::new(),
            tail: Vec::new(),
        }
    }

    /// Takes the next record.
    pub fn observe(&mut self, record: &Record) {
        self.judge.observe(record);
        match record.event {
            Event::ToolsListed { .. } => self.tools_changed = true,
            Event::Closed { .. } => self.status = Status::Finished,
            _ => {}
        }
    }

    /// The judge behind it.
    pub fn judge(&self) -> &Judge {
        &self.judge
    }

    /// Everything that is to be said, as values.
    pub fn file(&self) -> ReportFile {
        ReportFile::of(&self.judge.judgement(), self.status, &self.version)
    }

    /// The bytes of the file, in pieces that belong one after the other.
    ///
    /// # Errors
    /// Where a value has no JSON form, which none of ours lacks.
    pub fn pieces(&mut self) -> Result<[&[u8]; 12], serde_json::Error> {
        self.refresh()?;
        self.frame()?;
        Ok([
            &self.head,
            self.operations.joined(),
            b"],\"violations\":[",
            self.violations.joined(),
            b"],\"observations\":[",
            self.observations.joined(),
            // The entries of these begin with a comma, which the first of all must not.
            match self.observations.text.is_empty() {
                true => self.repeat_observations.get(2..).unwrap_or_default(),
                false => &self.repeat_observations,
            },
            b"],",
            &self.middle,
            self.keys.joined(),
            b"],",
            &self.tail,
        ])
    }

    fn refresh(&mut self) -> Result<(), serde_json::Error> {
        let touched = self.judge.take_touched();
        let Some(first) = touched.first().copied() else { return self.refresh_repeats() };
        let lists = [&mut self.operations, &mut self.violations, &mut self.observations, &mut self.keys];
        let [operations, violations, observations, keys] = lists.map(|list| list.rewrite_from(first));
        let (mut operations, mut violations) = (operations, violations);
        let (mut observations, mut keys) = (observations, keys);
        let mut touched = touched.into_iter().peekable();
        for index in first..self.judge.operation_count() {
            if touched.next_if_eq(&index).is_none() {
                for list in [&mut operations, &mut violations, &mut observations, &mut keys] {
                    list.keep();
                }
                continue;
            }
            let Some(parts) = self.judge.operation(index) else { break };
            operations.replace(std::iter::once(Operation::from(&parts.operation)))?;
            violations.replace(parts.violations.iter().map(Violation::from))?;
            observations.replace(parts.observations.iter().map(Observation::from))?;
            keys.replace(parts.key_summary.iter().map(Key::from))?;
        }
        self.refresh_repeats()
    }

    fn refresh_repeats(&mut self) -> Result<(), serde_json::Error> {
        let repeats = self.judge.repeated_calls();
        if repeats != self.repeats {
            self.repeats = repeats;
            self.repeat_observations.clear();
            for observation in self.judge.repeat_observations() {
                entry(&mut self.repeat_observations, &Observation::from(&observation))?;
            }
        }
        if std::mem::take(&mut self.tools_changed) {
            let tools: Vec<Classification> = self.judge.listed_tools().map(Classification::from).collect();
            self.tools = serde_json::to_vec(&tools)?;
        }
        Ok(())
    }

    /// What stands around the lists.
    fn frame(&mut self) -> Result<(), serde_json::Error> {
        let judge = &self.judge;
        let verdict = judge.verdict().0;
        let mut head = Frame { text: std::mem::take(&mut self.head) };
        head.start()?;
        head.member("verdict", &verdict)?;
        head.member("status", &self.status)?;
        head.member("certification", &CERTIFICATION)?;
        head.member("harnessVersion", &self.version)?;
        head.member("startupError", &())?;
        head.name("toolClassification")?;
        head.text.extend_from_slice(if self.tools.is_empty() { b"[]" } else { &self.tools });
        head.text.extend_from_slice(b",\"report\":{");
        head.member("verdict", &verdict)?;
        head.member("verdictReason", &judge.reason())?;
        head.member("certification", &CERTIFICATION)?;
        head.member("kind", &judge.kind())?;
        head.member("scenario", &judge.scenario())?;
        head.text.extend_from_slice(b",\"operations\":[");
        self.head = head.text;

        let mut middle = Frame { text: std::mem::take(&mut self.middle) };
        middle.text.clear();
        middle.member("coverage", &Coverage::from(&judge.coverage()))?;
        middle.text.extend_from_slice(b",\"keySummary\":[");
        self.middle = middle.text;

        let mut tail = Frame { text: std::mem::take(&mut self.tail) };
        tail.text.clear();
        tail.member("honesty", &HONESTY)?;
        tail.text.push(b'}');
        tail.member("score", &judge.score().map(Score::from))?;
        let patches: Vec<Patch> = judge.patches().iter().map(Patch::from).collect();
        tail.member("patches", &patches)?;
        tail.text.extend_from_slice(b"}\n");
        self.tail = tail.text;
        Ok(())
    }
}

/// The members of an object.
struct Frame {
    text: Vec<u8>,
}

impl Frame {
    fn start(&mut self) -> Result<(), serde_json::Error> {
        self.text.clear();
        self.text.push(b'{');
        Ok(())
    }

    fn name(&mut self, name: &str) -> Result<(), serde_json::Error> {
        if !matches!(self.text.last(), None | Some(b'{')) {
            self.text.push(b',');
        }
        serde_json::to_writer(&mut self.text, name)?;
        self.text.push(b':');
        Ok(())
    }

    fn member(&mut self, name: &str, value: &impl Serialize) -> Result<(), serde_json::Error> {
        self.name(name)?;
        serde_json::to_writer(&mut self.text, value)
    }
}

/// An entry of a list, with what separates it from the one before.
fn entry(text: &mut Vec<u8>, value: &impl Serialize) -> Result<(), serde_json::Error> {
    text.extend_from_slice(b",\n");
    serde_json::to_writer(text, value)
}

/// The entries of a JSON array, in the order of the operations that they belong to.
#[derive(Debug, Default)]
struct List {
    text: Vec<u8>,
    /// Where the entries of each operation end.
    ends: Vec<usize>,
}

impl List {
    /// The entries as they stand in an array.
    fn joined(&self) -> &[u8] {
        self.text.get(2..).unwrap_or_default()
    }

    /// Opens the entries of that operation, and of all that follow, for being replaced or kept.
    fn rewrite_from(&mut self, first: usize) -> Rewrite<'_> {
        let start = match first.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or(self.text.len()),
            None => 0,
        };
        let text = self.text.split_off(start);
        let ends = self.ends.split_off(first.min(self.ends.len()));
        Rewrite { list: self, text, ends: ends.into_iter(), start, taken: 0 }
    }
}

struct Rewrite<'a> {
    list: &'a mut List,
    /// What stood there before, and where it began.
    text: Vec<u8>,
    ends: std::vec::IntoIter<usize>,
    start: usize,
    taken: usize,
}

impl Rewrite<'_> {
    fn next_old(&mut self) -> std::ops::Range<usize> {
        let from = self.taken;
        if let Some(end) = self.ends.next() {
            self.taken = end.saturating_sub(self.start);
        }
        from..self.taken
    }

    fn keep(&mut self) {
        let old = self.next_old();
        self.list.text.extend_from_slice(self.text.get(old).unwrap_or_default());
        self.list.ends.push(self.list.text.len());
    }

    fn replace<T: Serialize>(&mut self, entries: impl Iterator<Item = T>) -> Result<(), serde_json::Error> {
        self.next_old();
        for value in entries {
            entry(&mut self.list.text, &value)?;
        }
        self.list.ends.push(self.list.text.len());
        Ok(())
    }
}
