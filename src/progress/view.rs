//! On stderr: bars on a terminal, plain lines elsewhere.

use super::{RunEvent, State};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Shows the events of one matrix.
pub struct View {
    state: State,
    terminal: Option<Terminal>,
}

struct Terminal {
    bars: MultiProgress,
    total: ProgressBar,
    running: ProgressBar,
}

impl View {
    /// For stderr as it is.
    pub fn new() -> View {
        let terminal = std::io::stderr().is_terminal().then(Terminal::new);
        View { state: State::default(), terminal }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &RunEvent) {
        let line = self.state.take(event).map(|line| crate::log::hidden(&line).into_owned());
        match &self.terminal {
            Some(terminal) => terminal.show(event, &self.state, line),
            None => {
                if let Some(line) = line {
                    // A log that nobody reads any more must not end the matrix.
                    let _ = writeln!(std::io::stderr(), "{line}");
                }
            }
        }
    }
}

impl Default for View {
    fn default() -> View {
        View::new()
    }
}

impl Terminal {
    fn new() -> Terminal {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(8));
        let total = bars.add(ProgressBar::new(0));
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}  {elapsed}") {
            total.set_style(style);
        }
        let running = bars.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            running.set_style(style);
        }
        total.enable_steady_tick(Duration::from_millis(500));
        Terminal { bars, total, running }
    }

    fn show(&self, event: &RunEvent, state: &State, line: Option<String>) {
        let worth_a_line = match event {
            RunEvent::RunFinished { result, .. } => result.verdict != crate::domain::Verdict::Pass,
            _ => true,
        };
        if let Some(line) = line.filter(|_| worth_a_line) {
            let _ = self.bars.println(line);
        }
        self.total.set_length(state.total() as u64);
        self.total.set_position(state.position() as u64);
        self.total.set_message(state.summary());
        self.running.set_message(state.running().collect::<Vec<_>>().join("  |  "));
        if matches!(event, RunEvent::Finished) {
            self.running.finish_and_clear();
            self.total.finish();
        }
    }
}
