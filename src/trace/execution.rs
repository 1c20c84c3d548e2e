//! Which code answers: what is known of an upstream process before it is started.

use serde::{Deserialize, Serialize};

/// The record of one start of an upstream process, made by the proxy and never by the server.
/// Command line and process id stand beside it, in [`super::Event::UpstreamStarted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Names this start and no other, a ULID: the same bytes started twice are two epochs.
    pub epoch: String,
    /// The epoch whose process this one took the place of, on the same connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// What the server is called by whoever configured it.
    pub server_label: String,
    /// SHA-256 of the script that is run, or of the program where there is none.
    pub entry_digest: Option<String>,
    /// SHA-256 of the lock file beside the entry; over all of them where there are several.
    pub lockfile_digest: Option<String>,
    /// The interpreter with its version, where the program is a known one.
    pub runtime: Option<String>,
    /// The folder that the process was started in.
    pub working_directory: String,
    /// When the process was started, RFC 3339.
    pub started_at: String,
    /// Every file that was looked at before the start: program, script, what a wrapper starts, lock
    /// files.
    pub files: Vec<FileDigest>,
    /// SHA-256 over command line, folder, runtime and all digests: what an approval was given to.
    pub identity: String,
}

/// A file and what was in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    /// Its path.
    pub path: String,
    /// SHA-256, hexadecimal.
    pub digest: String,
}

/// Which code and which catalogue a call was made under.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The epoch of the process that the client was connected to.
    pub epoch: String,
    /// The list of tools that the client had last got: SHA-256 of its canonical form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogue: Option<String>,
}

/// A decision on whether an agent may use the code of an epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The epoch that it is about; it reaches no other.
    pub epoch: String,
    /// Whether it is allowed.
    pub granted: bool,
    /// Who decided: `start` with the first process of a run, `auto`, `never`, `command`.
    pub by: String,
    /// The tools that were listed when it was made.
    pub tools: Vec<String>,
    /// Names of the credentials that the server was given; never their values.
    pub credentials: Vec<String>,
}
