//! The watchdog: a small process that outlives this program by a moment.
//!
//! When this program is killed with SIGKILL nothing in it can run any more. The watchdog reads
//! from a pipe whose other end only this program holds. When the pipe ends, every tree that was
//! announced and not withdrawn is killed.

use super::Members;
use super::members::{Signal, signal_group};
use super::table::Entry;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Mutex, PoisonError};

/// The hidden subcommand that must call [`watch`] with its standard input.
pub const SUBCOMMAND: &str = "reap";

/// Rounds of killing after the pipe has ended; each takes some milliseconds.
const KILL_ROUNDS: u32 = 500;
/// The name under which orphans that belong to no tree are announced; no tree is called so.
const STRAYS: &str = "";

#[derive(Debug, Serialize, Deserialize)]
enum Line {
    Watch { tree: String, roots: Vec<(i32, u64)>, marks: Vec<String>, seen: Vec<(i32, u64)> },
    Forget { tree: String },
}

/// The running watchdog, seen from this program. Dropping it ends it, and with it every tree that
/// is still announced.
#[derive(Debug)]
pub struct Watchdog {
    pipe: Mutex<Option<ChildStdin>>,
    child: Mutex<Child>,
    strays: Mutex<HashSet<(i32, u64)>>,
}

impl Watchdog {
    /// Starts `program reap`, outside of this program's process group: a ctrl-C at the terminal
    /// or a kill of the group must not reach it.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(program: &Path) -> std::io::Result<Watchdog> {
        #[expect(clippy::disallowed_methods, reason = "this room starts the processes")]
        let mut command = std::process::Command::new(program);
        command.arg(SUBCOMMAND).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // It must not hold a folder that someone wants to remove.
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            command.process_group(0).current_dir("/");
        }
        let mut child = command.spawn()?;
        Ok(Watchdog {
            pipe: Mutex::new(child.stdin.take()),
            child: Mutex::new(child),
            strays: Mutex::default(),
        })
    }

    pub(crate) fn watch_tree(&self, tree: &str, members: &Members) {
        let marks = members.marks.iter().map(|mark| String::from_utf8_lossy(mark).into_owned()).collect();
        let seen = members.seen.iter().copied().collect();
        self.send(&Line::Watch { tree: tree.to_owned(), roots: members.roots.clone(), marks, seen });
    }

    pub(crate) fn forget_tree(&self, tree: &str) {
        self.send(&Line::Forget { tree: tree.to_owned() });
    }

    /// Announces orphans of unknown origin, which stay announced: who they are is known by their start.
    pub(crate) fn watch_strays(&self, strays: Vec<Entry>) {
        let mut known = self.strays.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.len();
        known.extend(strays.iter().map(Entry::key));
        if known.len() > before {
            self.watch_tree(STRAYS, &Members { seen: known.clone(), ..Members::default() });
        }
    }

    fn send(&self, line: &Line) {
        let Ok(mut text) = serde_json::to_string(line) else { return };
        text.push('\n');
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = pipe.as_mut()
            && let Err(error) = open.write_all(text.as_bytes())
        {
            tracing::warn!(%error, "the watchdog is gone: if this program is killed, agents may outlive it");
            *pipe = None;
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.pipe.lock().unwrap_or_else(PoisonError::into_inner).take());
        let _ = self.child.lock().unwrap_or_else(PoisonError::into_inner).wait();
    }
}

/// The body of the watchdog: reads until the pipe ends, then kills what is still announced.
/// Gives the number of processes that could not be killed.
pub fn watch(input: impl BufRead) -> usize {
    let mut trees: HashMap<String, Members> = HashMap::new();
    for line in input.lines() {
        let Ok(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(Line::Watch { tree, roots, marks, seen }) => {
                let marks = marks.into_iter().map(String::into_bytes).collect();
                trees.insert(tree, Members { marks, roots, seen: seen.into_iter().collect() });
            }
            Ok(Line::Forget { tree }) => {
                trees.remove(&tree);
            }
            // The last line of a killed writer can be cut.
            Err(_) => {}
        }
    }
    if cfg!(not(target_os = "linux")) {
        // Without a process table the groups are all that is known.
        let roots = trees.values().flat_map(|members| &members.roots);
        roots.for_each(|(pid, _)| signal_group(*pid, Signal::Kill));
    }
    trees.values_mut().map(|members| members.kill_and_wait(KILL_ROUNDS)).sum()
}
