//! The system's process table, read from `/proc`.
//!
//! Elsewhere than on Linux there is no such table: everything here finds nothing, and a tree
//! is its process group alone.

#[cfg(target_os = "linux")]
pub(crate) use linux::{children, entries, entry, has_any};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{children, entries, entry, has_any};

/// One process, as the table shows it at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    /// Ended, but not yet waited for: it runs no code any more.
    pub zombie: bool,
    /// Computes, or would if it were its turn, and does not wait for anything but a disk.
    pub busy: bool,
    /// Clock ticks since boot. With the pid it names a process for good: a pid is used again.
    pub start: u64,
}

impl Entry {
    pub(crate) fn key(&self) -> (i32, u64) {
        (self.pid, self.start)
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::Entry;
    use std::fs;

    pub(crate) fn entry(pid: i32) -> Option<Entry> {
        parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    pub(super) fn parse(stat: &[u8]) -> Option<Entry> {
        // The second field is the program's name in brackets and may itself hold brackets and blanks.
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let pid = std::str::from_utf8(stat.split(|byte| *byte == b' ').next()?).ok()?.parse().ok()?;
        let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let mut number = || fields.next()?.parse::<i32>().ok();
        let (parent, group, session) = (number()?, number()?, number()?);
        // Six fields are behind us; the start time is the twenty-second.
        let start = fields.nth(15)?.parse().ok()?;
        Some(Entry {
            pid,
            parent,
            group,
            session,
            zombie: matches!(state, "Z" | "X"),
            busy: matches!(state, "R" | "D"),
            start,
        })
    }

    pub(crate) fn entries() -> Vec<Entry> {
        let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
        folder
            .filter_map(Result::ok)
            .filter_map(|item| item.file_name().to_str()?.parse().ok())
            .filter_map(entry)
            .collect()
    }

    /// The children of all threads of a process.
    pub(crate) fn children(pid: i32) -> Vec<i32> {
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
        threads
            .filter_map(Result::ok)
            .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
            .flat_map(|list| {
                list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Whether the environment that a process was started with holds one of these `NAME=value`.
    pub(crate) fn has_any(pid: i32, marks: &[Vec<u8>]) -> bool {
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
        environment.split(|byte| *byte == 0).any(|variable| marks.iter().any(|mark| mark == variable))
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use super::Entry;

    pub(crate) fn entry(_pid: i32) -> Option<Entry> {
        None
    }

    pub(crate) fn entries() -> Vec<Entry> {
        Vec::new()
    }

    pub(crate) fn children(_pid: i32) -> Vec<i32> {
        Vec::new()
    }

    pub(crate) fn has_any(_pid: i32, _marks: &[Vec<u8>]) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_shift_the_fields() {
        let stat = b"42 (a) Z (b) S 7 40 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";
        let read = linux::parse(stat).unwrap();
        let wanted =
            Entry { pid: 42, parent: 7, group: 40, session: 41, zombie: false, busy: false, start: 98765 };
        assert_eq!(read, wanted);
    }

    #[test]
    fn half_a_line_is_no_process() {
        assert_eq!(linux::parse(b"42 (a) S 7"), None);
        assert_eq!(linux::parse(b""), None);
    }

    #[test]
    fn finds_itself() {
        let me = i32::try_from(std::process::id()).unwrap();
        let entry = entry(me).unwrap();
        assert!(!entry.zombie);
        assert!(entries().iter().any(|other| other.key() == entry.key()));
    }
}
