//! What is launched: an agent program as its profile describes it, and one conversation with it.

use super::output;
use crate::domain::{Claim, ConditionalTurn};
use crate::honesty;
use crate::process::CommandLine;
use regex::Regex;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// An agent program: a profile without its file format. Texts are templates unless said otherwise.
#[derive(Debug, Clone)]
pub struct Program {
    /// The profile's name; not a template.
    pub name: String,
    /// The command line that installs it, for people; not a template.
    pub install: Option<String>,
    /// Path below the run's folder → content, written before the first turn.
    pub files: BTreeMap<String, String>,
    /// How the first turn is driven.
    pub first: First,
    /// The command of a later turn; none where only one turn is possible, or with [`First::Session`].
    pub next: Option<Step>,
    /// How its output is read.
    pub output: output::Spec,
    /// The file inside the run's folder that a command writes its output to, where that is not its
    /// standard output.
    pub output_file: Option<String>,
    /// Names of variables that are passed on from this program's environment; not templates.
    pub pass: Vec<String>,
    /// Further variables.
    pub set: BTreeMap<String, String>,
    /// Whether it gets a home folder of its own inside the run's folder.
    pub own_home: bool,
    /// Exit codes that mean success; not templates.
    pub ok_exit: Vec<i32>,
    /// What its output or error output holds when the model endpoint refused or was not reached.
    pub model_errors: Vec<Regex>,
}

/// How the first turn is driven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum First {
    /// A command that ends after its turn.
    Command(Step),
    /// One process for the whole conversation that talks JSON lines over stdin and stdout.
    Session(Vec<String>),
}

/// The command of one turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Program and arguments.
    pub command: Vec<String>,
    /// What it reads; nothing where absent.
    pub stdin: Option<String>,
}

/// What only the conversation knows while it goes on; everything else is known to whoever makes
/// [`Launch::render`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vars {
    /// What the simulated user says in this turn.
    pub say: String,
    /// The session: first [`Launch::session`], then what the agent's output says.
    pub session: String,
}

/// Renders one template.
pub type Render<'a> = &'a (dyn Fn(&str, &Vars) -> Result<String, String> + Send + Sync);

/// One conversation with an agent.
#[derive(Clone)]
pub struct Launch<'a> {
    /// The program.
    pub program: &'a Program,
    /// The run's folder. `home`, `tmp` and `work` (the working folder) are made in it.
    pub folder: &'a Path,
    /// What the simulated user says first.
    pub prompt: &'a str,
    /// What it says next.
    pub turns: &'a [Turn],
    /// A fresh session id (a UUID, as some programs insist) for programs that are told which one
    /// to open.
    pub session: &'a str,
    /// Renders the program's templates.
    pub render: Render<'a>,
    /// Looks up this program's own environment.
    pub environment: &'a (dyn Fn(&str) -> Option<OsString> + Send + Sync),
    /// Its limits.
    pub limits: Limits,
}

/// One further turn of the simulated user.
#[derive(Debug, Clone)]
pub struct Turn {
    /// What it says, rendered.
    pub say: String,
    /// Whether it says it.
    pub when: When,
    /// How long it waits first.
    pub after: Duration,
}

/// When a turn is taken. A turn that is not taken is skipped; the next one is looked at.
#[derive(Debug, Clone)]
pub enum When {
    /// Always.
    Always,
    /// Where the last reply claims success.
    Confirmed,
    /// Where the last reply claims failure, or that the outcome is not known.
    NotConfirmed,
    /// Where the last reply matches; no reply is an empty one.
    Matches(Regex),
    /// Where it does not.
    DoesNotMatch(Regex),
}

impl When {
    /// Whether the turn is taken after that reply, which claims that; no reply claims nothing.
    fn holds(&self, reply: &str, claim: Option<Claim>) -> bool {
        match self {
            When::Always => true,
            When::Confirmed => claim.is_some_and(Claim::confirms),
            When::NotConfirmed => claim.is_some_and(Claim::denies),
            When::Matches(pattern) => pattern.is_match(reply),
            When::DoesNotMatch(pattern) => !pattern.is_match(reply),
        }
    }

    /// What is decided after that reply on the turn with that place in the conversation, from 1; none
    /// where there is no condition.
    pub fn decide(&self, turn: u32, reply: Option<&str>) -> Option<ConditionalTurn> {
        if matches!(self, When::Always) {
            return None;
        }
        let reply = reply.unwrap_or_default();
        let claim = (!reply.trim().is_empty()).then(|| honesty::read(reply).claim);
        let said = self.holds(reply, claim);
        Some(ConditionalTurn { turn, when: self.to_string(), said, claim })
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            When::Always => f.write_str("always"),
            When::Confirmed => f.write_str("confirmed"),
            When::NotConfirmed => f.write_str("not_confirmed"),
            When::Matches(pattern) => write!(f, "matches: {pattern}"),
            When::DoesNotMatch(pattern) => write!(f, "does not match: {pattern}"),
        }
    }
}

/// The limits of one conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For the whole conversation, wall clock.
    pub time: Duration,
    /// Bytes of output of one command that are kept; also the longest line of a session.
    pub output: usize,
    /// Between asking a process to end and killing it.
    pub grace: Duration,
    /// How long to wait, after a command has ended, for others that hold its output open.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            time: Duration::from_secs(300),
            output: 10 * 1024 * 1024,
            grace: Duration::from_secs(2),
            drain: Duration::from_millis(500),
        }
    }
}

/// Why a launch could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A template of the profile.
    #[error("the profile's {what} cannot be rendered: {reason}")]
    Template {
        /// Which text.
        what: String,
        /// What the renderer said.
        reason: String,
    },
    /// A file of the profile would be written elsewhere.
    #[error("the profile's file `{path}` leaves the run's folder; give a path below it, without `..`")]
    Outside {
        /// The path, rendered.
        path: String,
    },
    /// A file or folder could not be made.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// The environment and the folders of a run, ready for its commands.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    env: BTreeMap<OsString, OsString>,
    folder: PathBuf,
    work: PathBuf,
    pub marks: Vec<(String, String)>,
}

impl Prepared {
    /// Makes the folders, writes the profile's files, and puts the environment together.
    pub(super) fn new(launch: &Launch<'_>) -> Result<Prepared, LaunchError> {
        // An agent changes its folder; a path that is not absolute would then mean another one.
        let folder = std::path::absolute(launch.folder)
            .map_err(|source| LaunchError::Write { path: launch.folder.to_owned(), source })?;
        let (home, tmp, work) = (folder.join("home"), folder.join("tmp"), folder.join("work"));
        for path in [&home, &tmp, &work] {
            std::fs::create_dir_all(path)
                .map_err(|source| LaunchError::Write { path: path.clone(), source })?;
        }
        let vars = Vars { say: launch.prompt.to_owned(), session: launch.session.to_owned() };
        write_files(launch, &folder, &vars)?;
        let env = environment(launch, &home, &tmp, &vars)?;
        let marks = match tmp.to_str() {
            Some(tmp) => vec![("TMPDIR".to_owned(), tmp.to_owned())],
            None => Vec::new(),
        };
        Ok(Prepared { env, folder, work, marks })
    }

    pub(super) fn command(&self, argv: Vec<String>) -> CommandLine {
        CommandLine { argv, env: self.env.clone(), folder: self.work.clone() }
    }

    /// The file that a command will write its output to, with what an earlier turn left there
    /// removed: old output must not be taken for new.
    pub(super) fn output_file(
        &self,
        launch: &Launch<'_>,
        vars: &Vars,
    ) -> Result<Option<PathBuf>, LaunchError> {
        let Some(template) = &launch.program.output_file else { return Ok(None) };
        let path = render(launch, "output file", template, vars)?;
        let file = self.work.join(&path);
        if !file.starts_with(&self.folder) || file.components().any(|part| part == Component::ParentDir) {
            return Err(LaunchError::Outside { path });
        }
        match std::fs::remove_file(&file) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(LaunchError::Write { path: file, source })
            }
            _ => Ok(Some(file)),
        }
    }
}

pub(super) fn render(
    launch: &Launch<'_>,
    what: &str,
    template: &str,
    vars: &Vars,
) -> Result<String, LaunchError> {
    (launch.render)(template, vars).map_err(|reason| LaunchError::Template { what: what.to_owned(), reason })
}

pub(super) fn render_all(
    launch: &Launch<'_>,
    what: &str,
    templates: &[String],
    vars: &Vars,
) -> Result<Vec<String>, LaunchError> {
    templates.iter().map(|template| render(launch, what, template, vars)).collect()
}

fn write_files(launch: &Launch<'_>, folder: &Path, vars: &Vars) -> Result<(), LaunchError> {
    for (path, content) in &launch.program.files {
        let path = render(launch, "file name", path, vars)?;
        let below = Path::new(&path);
        let inside = below.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
            && below.file_name().is_some();
        if !inside {
            return Err(LaunchError::Outside { path });
        }
        let target = folder.join(below);
        let content = render(launch, &format!("file `{path}`"), content, vars)?;
        write_private(&target, content.as_bytes())
            .map_err(|source| LaunchError::Write { path: target, source })?;
    }
    Ok(())
}

/// Writes a file that only the user can read: profiles put keys into their files.
fn write_private(path: &Path, content: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(content)
}

/// Nothing of the user's environment reaches an agent but what is named here: a stray variable
/// would make a measurement that nobody can repeat.
fn environment(
    launch: &Launch<'_>,
    home: &Path,
    tmp: &Path,
    vars: &Vars,
) -> Result<BTreeMap<OsString, OsString>, LaunchError> {
    let own = |name: &str| (launch.environment)(name);
    let mut env: BTreeMap<OsString, OsString> = BTreeMap::new();
    env.insert("PATH".into(), own("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()));
    env.insert("LANG".into(), own("LANG").unwrap_or_else(|| "C.UTF-8".into()));
    env.insert("TERM".into(), "dumb".into());
    env.insert("NO_COLOR".into(), "1".into());
    env.insert("TMPDIR".into(), tmp.into());
    // Agents tell their model of the repository that they stand in. The run's folder may well lie
    // inside of the user's; that is not for the model.
    if let Some(folder) = home.parent() {
        env.insert("GIT_CEILING_DIRECTORIES".into(), folder.into());
    }
    if launch.program.own_home {
        env.insert("HOME".into(), home.into());
    } else if let Some(home) = own("HOME") {
        env.insert("HOME".into(), home);
    }
    for name in &launch.program.pass {
        if let Some(value) = own(name) {
            env.insert(name.into(), value);
        }
    }
    for (name, value) in &launch.program.set {
        let value = render(launch, &format!("variable `{name}`"), value, vars)?;
        env.insert(name.into(), value.into());
    }
    Ok(env)
}
