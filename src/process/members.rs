//! Which processes belong to a tree, and how they are ended.

use super::table::{self, Entry};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// What the processes of one tree are known by. A process belongs to it when one of these holds:
/// it was started by us as a root of the tree; it is in a root's process group; its environment
/// carries a mark; it was once seen below one of the others; its parent belongs to it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members {
    /// `NAME=value` in the environment.
    pub marks: Vec<Vec<u8>>,
    /// The processes started by us, with their start time.
    pub roots: Vec<(i32, u64)>,
    /// Descendants noticed earlier. A process that drops its environment and its parent is
    /// still known when it was seen before.
    pub seen: HashSet<(i32, u64)>,
}

impl Members {
    /// Notes the present descendants. Cheap: looks at nothing but the tree.
    pub(crate) fn note(&mut self) {
        let mut open: Vec<i32> = self
            .roots
            .iter()
            .chain(&self.seen)
            .filter(|(pid, start)| table::entry(*pid).is_some_and(|entry| entry.start == *start))
            .map(|(pid, _)| *pid)
            .collect();
        let mut visited: HashSet<i32> = open.iter().copied().collect();
        while let Some(pid) = open.pop() {
            for child in table::children(pid) {
                if visited.insert(child)
                    && let Some(entry) = table::entry(child)
                {
                    self.seen.insert(entry.key());
                    open.push(child);
                }
            }
        }
    }

    /// All processes of the tree that the table shows, zombies too; searches the whole table.
    pub(crate) fn find(&mut self) -> Vec<Entry> {
        let own = own_pid();
        let session = table::entry(own).map(|entry| entry.session);
        let all: Vec<Entry> =
            table::entries().into_iter().filter(|entry| entry.pid > 1 && entry.pid != own).collect();
        let mut found: HashMap<i32, Entry> = HashMap::new();
        for entry in &all {
            let known = self.roots.contains(&entry.key()) || self.seen.contains(&entry.key());
            // A group is named after a pid, which could be in use again: ours is in our session.
            let grouped = || {
                session == Some(entry.session)
                    && self.roots.iter().any(|(pid, start)| *pid == entry.group && *start <= entry.start)
            };
            if known || grouped() || table::has_any(entry.pid, &self.marks) {
                found.insert(entry.pid, *entry);
            }
        }
        let mut below: HashMap<i32, Vec<Entry>> = HashMap::new();
        for entry in &all {
            below.entry(entry.parent).or_default().push(*entry);
        }
        let mut open: Vec<i32> = found.keys().copied().collect();
        while let Some(pid) = open.pop() {
            for child in below.get(&pid).into_iter().flatten() {
                if found.insert(child.pid, *child).is_none() {
                    open.push(child.pid);
                }
            }
        }
        self.seen.extend(found.values().map(Entry::key));
        found.into_values().collect()
    }

    /// Those that still run.
    pub(crate) fn alive(&mut self) -> Vec<Entry> {
        let mut found = self.find();
        found.retain(|entry| !entry.zombie);
        found
    }

    /// Stops all, so that none can start another behind our back, then kills all.
    pub(crate) fn kill(&mut self) {
        let mut stopped = HashSet::new();
        for _ in 0..16 {
            let mut new = false;
            for entry in self.alive() {
                if stopped.insert(entry.key()) {
                    new = true;
                    signal(&entry, Signal::Stop);
                }
            }
            if !new {
                break;
            }
        }
        for entry in self.alive() {
            signal(&entry, Signal::Kill);
        }
    }

    /// Kills until none is left or the time is up, blocking the thread; gives the survivors.
    pub(crate) fn kill_and_wait(&mut self, rounds: u32) -> usize {
        let mut left = 0;
        for _ in 0..rounds {
            left = self.alive().len();
            if left == 0 {
                break;
            }
            self.kill();
            self.reap();
            std::thread::sleep(KILL_PAUSE);
        }
        self.reap();
        left
    }

    /// Waits, by pid, for ended processes that were handed to us as the nearest reaper. Never
    /// for our own children: whoever started them waits for them.
    pub(crate) fn reap(&self) {
        let own = own_pid();
        let Some(me) = table::entry(own) else { return };
        // A process's own list of children skips some while others end: the whole table is read.
        for entry in table::entries() {
            if !entry.zombie || entry.parent != own {
                continue;
            }
            // Nothing of ours opens a session of its own, so who has one came from below.
            let from_below = entry.session != me.session
                || self.roots.iter().any(|(root, _)| *root == entry.group && *root != entry.pid);
            if from_below {
                reap(entry.pid);
            }
        }
    }
}

/// Time between two rounds of killing.
pub(crate) const KILL_PAUSE: Duration = Duration::from_millis(5);

/// Processes handed to us as the nearest reaper that no tree knows.
pub(crate) fn strays() -> Vec<Entry> {
    let own = own_pid();
    let Some(me) = table::entry(own) else { return Vec::new() };
    let mut strays = table::entries();
    strays.retain(|entry| entry.parent == own && entry.session != me.session && !entry.zombie);
    strays
}

/// As [`strays`], from this program's own list of children: cheap, and may miss some while others end.
pub(crate) fn strays_at_a_glance() -> Vec<Entry> {
    let own = own_pid();
    let Some(me) = table::entry(own) else { return Vec::new() };
    let mut strays: Vec<Entry> = table::children(own).into_iter().filter_map(table::entry).collect();
    strays.retain(|entry| entry.session != me.session && !entry.zombie);
    strays
}

pub(crate) fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Signal {
    Terminate,
    Stop,
    Kill,
}

#[cfg(unix)]
impl Signal {
    fn number(self) -> rustix::process::Signal {
        match self {
            Signal::Terminate => rustix::process::Signal::TERM,
            Signal::Stop => rustix::process::Signal::STOP,
            Signal::Kill => rustix::process::Signal::KILL,
        }
    }
}

/// Signals one process, where it is still the one that was found.
#[cfg(unix)]
pub(crate) fn signal(target: &Entry, signal: Signal) {
    if table::entry(target.pid).is_some_and(|now| now.start == target.start)
        && let Some(pid) = rustix::process::Pid::from_raw(target.pid)
    {
        // It may have ended meanwhile, or belong to another user: the next look tells.
        let _ = rustix::process::kill_process(pid, signal.number());
    }
}

/// Signals a process group, whose leader must not have been waited for yet.
#[cfg(unix)]
pub(crate) fn signal_group(leader: i32, signal: Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(leader) {
        let _ = rustix::process::kill_process_group(pid, signal.number());
    }
}

#[cfg(unix)]
fn reap(pid: i32) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
    }
}

#[cfg(not(unix))]
pub(crate) fn signal(_target: &Entry, _signal: Signal) {}

#[cfg(not(unix))]
pub(crate) fn signal_group(_leader: i32, _signal: Signal) {}

#[cfg(not(unix))]
fn reap(_pid: i32) {}
