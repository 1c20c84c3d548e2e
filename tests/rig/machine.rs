//! What tests ask of the machine that they run on, so that nothing depends on whose it is, what else runs
//! there and how busy it is.
#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "each target uses a part, and fails loudly")]

use std::ffi::OsStr;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The program under test.
pub const NOCHMAL: &str = env!("CARGO_BIN_EXE_nochmal");

/// Longer than anything takes that happens at all, however busy the machine: who waited for so long, hangs.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// Where programs, their parts and temporary files are. All else that somebody has set (keys, addresses of
/// proxies and endpoints, colours, languages, options of interpreters) would make a test theirs.
const KEPT: [&str; 9] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "LLVM_PROFILE_FILE",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "VOLTA_HOME",
    "ASDF_DATA_DIR",
];

/// The command of a program, which gets nothing of the environment of whoever runs the tests.
#[expect(clippy::disallowed_methods, reason = "a test starts programs as a user does")]
pub fn program(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LANG", "C.UTF-8");
    command.envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command
}

/// The command of the program under test.
pub fn nochmal() -> Command {
    program(NOCHMAL)
}

/// Writes a program that can be started. Not by this process: what another test starts at this very moment
/// would for a while hold what it is written through, and a program that somebody writes does not start.
pub fn script(path: &Path, text: &str) {
    let mut sh = program("sh");
    sh.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut child = sh.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Waits for what happens in a process that is not ours, and cannot be awaited.
#[expect(clippy::disallowed_methods, reason = "who waits needs an end of it")]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A port of loopback at which nobody answers and that nobody else is given, as long as this lives.
pub struct Port(tokio::net::TcpSocket);

impl Port {
    /// One at which nobody listens, neither now nor later.
    pub fn closed() -> Port {
        Port::bound(false)
    }

    /// One at which a program that is told of it can listen. Elsewhere than on Linux a port cannot be kept
    /// for another; see [`Port::address`].
    pub fn kept() -> Port {
        Port::bound(cfg!(target_os = "linux"))
    }

    fn bound(shared: bool) -> Port {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        // Whoever asks for any port is not given one that is bound; whoever asks for this one gets it where
        // both say so and none listens yet.
        socket.set_reuseaddr(shared).unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        Port(socket)
    }

    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    pub fn number(&self) -> u16 {
        self.address().port()
    }
}

/// Processes of this machine, other than this one, whose command line or environment holds a text, which
/// must be one that only a test's own processes have: the path of its folder.
#[cfg(target_os = "linux")]
pub fn processes_with(text: &str) -> Vec<String> {
    assert!(Path::new(text).is_absolute(), "{text} is in other programs' command lines, too");
    let own = std::process::id();
    let read = |pid: u32, file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let holds = |pid: u32, file: &str| String::from_utf8_lossy(&read(pid, file)).contains(text);
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != own && (holds(*pid, "cmdline") || holds(*pid, "environ")))
        .map(|pid| format!("{pid}: {}", String::from_utf8_lossy(&read(pid, "cmdline")).replace('\0', " ")))
        .collect()
}

/// Waits until no process holds the text any more, and fails where one stays.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "who waits needs an end of it")]
pub fn gone(text: &str) {
    let begun = Instant::now();
    loop {
        let left = processes_with(text);
        if left.is_empty() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "still alive: {left:#?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether a process runs; one that waits to be collected does not.
pub fn runs(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}
