//! Process trees: what a run starts is ended with all that it started.
//!
//! A tree is asked first (SIGTERM to its groups), then given a grace, then killed, and then
//! searched for: what left its group or became a daemon is found by a mark in its environment,
//! by its parent, or because it was seen earlier. The program makes itself the nearest reaper of
//! everything below ([`Supervisor::start`]), so that orphans stay within reach, and waits for
//! them one by one: waiting for "any child" would steal those of the async runtime.
//!
//! A process that within a quarter of a second drops its environment, its process group and its
//! parent is no tree's. It stays a child of this program, the last tree to be ended takes it with
//! it ([`TreeEnd::strays`]), and until then the watchdog is told of it at the end of every tree and
//! every quarter of a second: only a SIGKILL of this program within that time lets it slip away.

mod capture;
mod command;
mod members;
mod table;
pub mod watchdog;

pub use capture::{Capture, Captured, Keep};
pub use command::{CommandLine, Exit, Process, StartError, Stdin};
pub(crate) use members::{KILL_PAUSE, Members, Signal, signal_group};

use members::signal;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use watchdog::Watchdog;

/// The environment variable that marks the processes of a tree. A name that any desktop session
/// sets and that no agent looks at: a model that prints its environment must not learn from it
/// that it is being tested.
pub const MARK_VARIABLE: &str = "XDG_SESSION_ID";

/// How often a tree's descendants are noted.
const NOTE_EVERY: Duration = Duration::from_millis(250);
/// How long processes may live after the tree's roots ended before they count as leaked:
/// helpers need a moment to see that their input was closed. On a busy machine a moment is longer: only
/// time counts in which all of them wait for something, and none for its turn to compute.
const SETTLE: Duration = Duration::from_millis(300);
/// After this time they count as leaked whatever they do.
const SETTLE_AT_MOST: Duration = Duration::from_secs(5);
/// Time between the first two looks at the process table.
const LOOK_EVERY: Duration = Duration::from_millis(15);
/// Time between two looks later on.
const LOOK_SELDOM: Duration = Duration::from_millis(120);
/// Rounds of killing after which what is left counts as surviving.
const KILL_ROUNDS: u32 = 200;

static TREES: AtomicUsize = AtomicUsize::new(0);

/// Starts process trees. One for the whole program; clones share the watchdog.
#[derive(Debug, Clone, Default)]
pub struct Supervisor {
    watchdog: Option<Arc<Watchdog>>,
}

impl Supervisor {
    /// Makes this program the reaper of all that is started below it and starts the watchdog,
    /// which ends every tree when this program dies without doing so.
    ///
    /// `program` is the path of this program, whose subcommand [`watchdog::SUBCOMMAND`]
    /// must call [`watchdog::watch`]; without it there is no watchdog.
    ///
    /// # Errors
    /// Where the watchdog could not be started.
    pub fn start(program: Option<&Path>) -> std::io::Result<Supervisor> {
        become_reaper();
        let watchdog = program.map(Watchdog::start).transpose()?;
        Ok(Supervisor { watchdog: watchdog.map(Arc::new) })
    }

    /// A new tree, without processes. `marks` are further `NAME=value` that only processes of
    /// this tree have in their environment, such as a folder for temporary files of its own: some
    /// programs pass on nothing but a short list of variables.
    pub fn tree(&self, marks: &[(String, String)]) -> Tree {
        let mark = session_id();
        let mut members = Members::default();
        members.marks.push(format!("{MARK_VARIABLE}={mark}").into_bytes());
        members.marks.extend(marks.iter().map(|(name, value)| format!("{name}={value}").into_bytes()));
        TREES.fetch_add(1, Ordering::SeqCst);
        Tree {
            mark,
            members: Arc::new(Mutex::new(members)),
            watchdog: self.watchdog.clone(),
            notes: None,
            ended: false,
        }
    }
}

#[cfg(target_os = "linux")]
fn become_reaper() {
    // Without it orphans go to init: they are still found by their mark.
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        tracing::warn!(%error, "cannot become the reaper of orphaned processes");
    }
}

#[cfg(not(target_os = "linux"))]
fn become_reaper() {}

/// Looks like what a login manager hands out, and is never the same twice.
fn session_id() -> String {
    let mut bytes = [0; 8];
    if getrandom::fill(&mut bytes).is_err() {
        // Unique within this program, which is all that is needed where there is one runner.
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let next = NEXT.fetch_add(1, Ordering::SeqCst);
        return format!("c{}{next:06}", std::process::id());
    }
    format!("c{}", u64::from_le_bytes(bytes))
}

/// How a tree ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeEnd {
    /// Processes that were still alive after all that we had started had ended by itself.
    pub leaked: u32,
    /// Processes that could not be killed, such as those of another user.
    pub survived: u32,
    /// Orphans of unknown origin that were killed because no other tree was left.
    pub strays: u32,
}

/// The processes of one run. Dropping it kills them, blocking for a moment; [`Tree::end`] is the
/// polite way.
#[derive(Debug)]
pub struct Tree {
    mark: String,
    members: Arc<Mutex<Members>>,
    watchdog: Option<Arc<Watchdog>>,
    notes: Option<JoinHandle<()>>,
    ended: bool,
}

impl Tree {
    /// Starts a command as a further root of this tree, in a process group of its own.
    ///
    /// # Errors
    /// Where it cannot be started, with the reason.
    pub fn start(&mut self, command: &CommandLine, stdin: Stdin) -> Result<Process, StartError> {
        let process = command.start(stdin, &[(MARK_VARIABLE, &self.mark)])?;
        {
            let mut members = lock(&self.members);
            members.roots.push(process.key());
            if let Some(watchdog) = &self.watchdog {
                watchdog.watch_tree(&self.mark, &members);
            }
        }
        if self.notes.is_none() && cfg!(target_os = "linux") {
            let (members, watchdog) = (Arc::clone(&self.members), self.watchdog.clone());
            let mark = self.mark.clone();
            self.notes = Some(tokio::spawn(async move {
                loop {
                    {
                        let mut known = lock(&members);
                        let before = known.seen.len();
                        known.note();
                        // What has dropped its mark and its parent is known to nobody else.
                        if known.seen.len() > before
                            && let Some(watchdog) = &watchdog
                        {
                            watchdog.watch_tree(&mark, &known);
                        }
                    }
                    if let Some(watchdog) = &watchdog {
                        watchdog.watch_strays(members::strays_at_a_glance());
                    }
                    tokio::time::sleep(NOTE_EVERY).await;
                }
            }));
        }
        Ok(process)
    }

    /// The value of [`MARK_VARIABLE`] in this tree.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Ends the tree: asks, waits up to `grace`, kills, and looks for what escaped. Processes
    /// that are gone by themselves cost nothing.
    pub async fn end(&mut self, processes: &mut [&mut Process], grace: Duration) -> TreeEnd {
        let mut end = TreeEnd::default();
        let mut roots_alive = false;
        for process in processes.iter_mut() {
            roots_alive |= process.poll().is_none();
        }
        if !roots_alive {
            self.settle().await;
            end.leaked = count(lock(&self.members).alive().len());
        }
        if self.ask(processes) {
            self.until_gone(processes, grace).await;
        }
        for process in processes.iter_mut() {
            // Where there is no process table the group is all that is known of the rest.
            if process.poll().is_none() || cfg!(not(target_os = "linux")) {
                signal_group(process.pid(), Signal::Kill);
            }
        }
        for _ in 0..KILL_ROUNDS {
            let left = {
                let mut members = lock(&self.members);
                members.reap();
                let left = members.alive().len();
                if left > 0 {
                    members.kill();
                }
                left
            };
            end.survived = count(left);
            if left == 0 {
                break;
            }
            tokio::time::sleep(KILL_PAUSE).await;
        }
        for process in processes.iter_mut() {
            // Killed, so this is short; a process in the middle of a system call can take longer.
            let _ = tokio::time::timeout(Duration::from_secs(2), process.wait()).await;
        }
        lock(&self.members).reap();
        end.strays = self.finish();
        end
    }

    /// Asks all to end; false where there is nobody.
    fn ask(&self, processes: &mut [&mut Process]) -> bool {
        let mut asked = false;
        let mut groups = Vec::new();
        for process in processes.iter_mut() {
            if process.poll().is_none() {
                signal_group(process.pid(), Signal::Terminate);
                groups.push(process.pid());
                asked = true;
            }
        }
        for entry in lock(&self.members).alive() {
            if !groups.contains(&entry.group) {
                signal(&entry, Signal::Terminate);
            }
            asked = true;
        }
        asked
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this room ends processes, and bounds the time that it takes"
    )]
    async fn until_gone(&self, processes: &mut [&mut Process], bound: Duration) {
        let begun = tokio::time::Instant::now();
        let mut pause = LOOK_EVERY;
        loop {
            let mut gone = true;
            for process in processes.iter_mut() {
                gone &= process.poll().is_some();
            }
            {
                let mut members = lock(&self.members);
                members.reap();
                gone &= members.alive().is_empty();
            }
            // A look at the whole table takes its time on a busy machine: time is counted, not looks.
            if gone || begun.elapsed() >= bound {
                return;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LOOK_SELDOM);
        }
    }

    /// Waits until all that the roots left behind has ended, or shows that it will not by itself.
    #[expect(
        clippy::disallowed_methods,
        reason = "this room ends processes, and bounds the time that it takes"
    )]
    async fn settle(&self) {
        let begun = tokio::time::Instant::now();
        let (mut waited, mut pause) = (Duration::ZERO, LOOK_EVERY);
        loop {
            let left = {
                let mut members = lock(&self.members);
                members.reap();
                members.alive()
            };
            if left.is_empty() || waited >= SETTLE || begun.elapsed() >= SETTLE_AT_MOST {
                return;
            }
            // Neither do they need a moment less where this program itself comes late.
            if left.iter().all(|entry| !entry.busy) {
                waited += pause;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LOOK_SELDOM);
        }
    }

    fn finish(&mut self) -> u32 {
        if self.ended {
            return 0;
        }
        self.ended = true;
        if let Some(notes) = self.notes.take() {
            notes.abort();
        }
        if let Some(watchdog) = &self.watchdog {
            // First: whoever reads that the run is over relies on it.
            watchdog.watch_strays(members::strays());
            watchdog.forget_tree(&self.mark);
        }
        if TREES.fetch_sub(1, Ordering::SeqCst) != 1 {
            return 0;
        }
        let strays = members::strays();
        for stray in &strays {
            tracing::warn!(pid = stray.pid, "killing an orphaned process of an earlier run");
            let mut members = Members { seen: [stray.key()].into(), ..Members::default() };
            members.kill_and_wait(KILL_ROUNDS);
        }
        count(strays.len())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.ended {
            let mut members = lock(&self.members);
            if cfg!(not(target_os = "linux")) {
                for (pid, _) in &members.roots {
                    signal_group(*pid, Signal::Kill);
                }
            }
            members.kill_and_wait(KILL_ROUNDS);
            drop(members);
            self.finish();
        }
    }
}

fn lock(members: &Mutex<Members>) -> MutexGuard<'_, Members> {
    members.lock().unwrap_or_else(PoisonError::into_inner)
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
