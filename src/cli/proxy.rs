//! `nochmal proxy`: the proxy alone, in front of any upstream. The flags are those of the harness
//! that its users come from; R6 says what is an error.

mod secret;

use super::{Failure, exit};
use crate::domain::{Approval, Present};
use crate::log;
use crate::process::{CommandLine, Supervisor};
use crate::proxy::Rebuilds;
use crate::proxy::epoch::{OnReplace, Rules};
use crate::proxy::standalone::{self, AuditTools, Config, StandaloneError};
use crate::scenario::{self, Parameters};
use crate::suite::diagnostics::suggestion;
use crate::suite::units;
use crate::upstream::{Launch, Remote, Target};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use secret::pairs;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `nochmal proxy`.
#[derive(Debug, Args)]
pub struct ProxyArgs {
    /// Command that starts the upstream MCP server
    #[arg(long, value_name = "COMMAND", required_unless_present = "upstream_url", conflicts_with = "upstream_url", value_parser = NonEmptyStringValueParser::new(), allow_hyphen_values = true)]
    upstream_command: Option<String>,
    /// URL of an upstream MCP server that speaks Streamable HTTP
    #[arg(long, value_name = "URL", conflicts_with_all = ["upstream_arg", "upstream_args", "upstream_cwd", "upstream_env_var", "upstream_env"], value_parser = NonEmptyStringValueParser::new(), allow_hyphen_values = true)]
    upstream_url: Option<String>,
    /// With --upstream-url: a header for every request; may be repeated
    #[arg(long, value_name = "NAME: VALUE", requires = "upstream_url", allow_hyphen_values = true)]
    upstream_header: Vec<String>,
    /// Speak Streamable HTTP at this address, as http://ADDR/mcp, in place of stdin and stdout
    #[arg(long, value_name = "ADDR", value_parser = address, allow_hyphen_values = true)]
    listen: Option<SocketAddr>,
    /// With --listen: after how long a session ends that no client uses, and its upstream with it; as 30m, or never
    #[arg(long, value_name = "TIME|never", requires = "listen", default_value = "30m", value_parser = session_timeout, allow_hyphen_values = true)]
    session_timeout: SessionTimeout,
    /// One argument of the upstream command; may be repeated, and may hold commas
    #[arg(long, value_name = "ARG", value_parser = NonEmptyStringValueParser::new(), allow_hyphen_values = true)]
    upstream_arg: Vec<String>,
    /// Arguments separated by commas; they come before those of --upstream-arg
    #[arg(long, value_name = "ARGS", value_parser = NonEmptyStringValueParser::new(), allow_hyphen_values = true)]
    upstream_args: Option<String>,
    /// Working folder of the upstream
    #[arg(long, value_name = "DIR", value_parser = NonEmptyStringValueParser::new(), allow_hyphen_values = true)]
    upstream_cwd: Option<String>,
    /// One variable of the upstream's environment; may be repeated, and its value may hold commas
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    upstream_env_var: Vec<String>,
    /// Variables separated by commas
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = NonEmptyStringValueParser::new(), allow_hyphen_values = true)]
    upstream_env: Option<String>,
    /// A fault (`nochmal scenarios` lists them); without one nothing is injected
    #[arg(long, value_name = "ID", value_parser = scenario_id, allow_hyphen_values = true)]
    scenario: Option<String>,
    /// deterministic, or chaos: every call fails with the probability --error-rate
    #[arg(long, value_name = "MODE", value_enum, default_value = "deterministic")]
    mode: Mode,
    /// With --mode chaos: probability that a call fails, 0 … 1
    #[arg(long, value_name = "P", value_parser = probability, allow_hyphen_values = true)]
    error_rate: Option<f64>,
    /// With --scenario F2: seconds that the 429 announces
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400), allow_hyphen_values = true)]
    retry_after: Option<u64>,
    /// With --scenario T2: how long after the call the timeout is told, as 500ms or 20s
    #[arg(long, value_name = "TIME", value_parser = units::duration, allow_hyphen_values = true)]
    delay: Option<Duration>,
    /// With --scenario T4: how long the answer is held back from a client that does not give up
    #[arg(long, value_name = "TIME", value_parser = units::duration, allow_hyphen_values = true)]
    late: Option<Duration>,
    /// How failures are told that are not the upstream's own: plain, or structured
    #[arg(long, value_name = "FORM", value_parser = present, default_value = "plain")]
    present: Present,
    /// Seed of chaos
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Globs (`*`) of write tools, separated by commas; they replace the default patterns
    #[arg(long, value_name = "GLOBS", value_parser = list, allow_hyphen_values = true)]
    write_tools: Option<List>,
    /// Globs (`*`) of further read tools, separated by commas
    #[arg(long, value_name = "GLOBS", value_parser = list, allow_hyphen_values = true)]
    read_tools: Option<List>,
    /// Arguments that carry an idempotency key, separated by commas
    #[arg(long, value_name = "NAMES", value_parser = list, allow_hyphen_values = true)]
    key_fields: Option<List>,
    /// Whether the agent sees the two tools that read the report: on or off
    #[arg(long, value_name = "on|off", value_enum, default_value = "on", ignore_case = true)]
    audit_tools: Switch,
    /// Whether the tools are asked for before the agent comes, by a process of their own: on or off
    #[arg(long, value_name = "on|off", value_enum, default_value = "on", ignore_case = true)]
    probe: Switch,
    /// How long the upstream may take to answer a call
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    upstream_timeout: u64,
    /// Write report, score and patches into this file, always whole and up to date
    #[arg(long, value_name = "FILE", value_parser = NonEmptyStringValueParser::new(), allow_hyphen_values = true)]
    report_file: Option<String>,
    /// A file or folder whose change is a rebuild of the upstream, which is then restarted; may be repeated
    #[arg(long, value_name = "PATH", conflicts_with = "upstream_url", value_parser = NonEmptyStringValueParser::new(), allow_hyphen_values = true)]
    watch: Vec<String>,
    /// With --watch: what restarts the upstream, a change or only SIGHUP
    #[arg(long, value_name = "change|hangup", value_enum, default_value = "change", requires = "watch")]
    restart_on: RestartOn,
    /// What the agent meets when the upstream's process is replaced: its connection is closed, its calls are
    /// refused until it has got the list of tools and the new code is approved, or nothing. Default: pending.
    /// With this or --watch, SIGHUP restarts the upstream
    #[arg(long, value_name = "close|pending|pass", value_enum, conflicts_with = "upstream_url")]
    on_replace: Option<OnReplaceFlag>,
    /// Who approves the code of a new process: auto (as soon as the agent has got the list of tools), never (every
    /// call is refused after the first replacement, also of code that did not change), or command:CMD, which gets JSON on stdin and approves with exit code 0
    #[arg(long, value_name = "auto|never|command:CMD", value_parser = approval, conflicts_with = "upstream_url", allow_hyphen_values = true)]
    approval: Option<Approval>,
    /// An environment variable whose value nobody may see: it is hidden in report, trace and messages, and where the
    /// agent gets it the verdict is FAIL. May be repeated
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), allow_hyphen_values = true)]
    secret: Vec<String>,
    /// Write the trace into this file
    #[arg(long, value_name = "FILE", value_parser = NonEmptyStringValueParser::new(), allow_hyphen_values = true)]
    trace: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    Deterministic,
    Chaos,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RestartOn {
    Change,
    Hangup,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OnReplaceFlag {
    Close,
    Pending,
    Pass,
}

impl From<OnReplaceFlag> for OnReplace {
    fn from(flag: OnReplaceFlag) -> OnReplace {
        match flag {
            OnReplaceFlag::Close => OnReplace::Close,
            OnReplaceFlag::Pending => OnReplace::Pending,
            OnReplaceFlag::Pass => OnReplace::Pass,
        }
    }
}

fn approval(text: &str) -> Result<Approval, String> {
    Approval::from_text(text).ok_or_else(|| format!("{} is wanted", Approval::FORMS))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct List(Vec<String>);

fn list(text: &str) -> Result<List, String> {
    let parts: Vec<String> = text.split(',').map(|part| part.trim().to_owned()).collect();
    if parts.iter().any(String::is_empty) {
        return Err("an element of the list is empty".to_owned());
    }
    Ok(List(parts))
}

/// A program with its arguments, where a program alone is wanted.
fn is_a_line(command: &str) -> bool {
    command.trim().contains(char::is_whitespace) && !Path::new(command).exists()
}

/// An address, or a port alone, which is on loopback.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let text =
        text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    text.parse().map_err(|_| "an address such as 127.0.0.1:8080 is wanted".to_owned())
}

/// None is `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SessionTimeout(Option<Duration>);

fn session_timeout(text: &str) -> Result<SessionTimeout, String> {
    if text == "never" {
        return Ok(SessionTimeout(None));
    }
    let time = units::duration(text).map_err(|reason| format!("{reason}, or never"))?;
    if time.is_zero() {
        return Err("a session must last longer than that; write never for one that does not end".to_owned());
    }
    Ok(SessionTimeout(Some(time)))
}

fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.0..=1.0).contains(&rate) => Ok(rate),
        _ => Err("a number from 0 to 1 is wanted".to_owned()),
    }
}

fn scenario_id(text: &str) -> Result<String, String> {
    if scenario::find(text).is_some() && text != scenario::CHAOS {
        return Ok(text.to_owned());
    }
    if text.eq_ignore_ascii_case(scenario::CHAOS) {
        return Err("chaos is a mode: write --mode chaos in place of --scenario".to_owned());
    }
    let ids: Vec<String> = scenario::spellings().into_iter().filter(|id| *id != scenario::CHAOS).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    Err(format!("there is no such scenario; {}", suggestion(text, &ids)))
}

fn present(text: &str) -> Result<Present, String> {
    Present::from_name(text).ok_or_else(|| "plain or structured is wanted".to_owned())
}

impl ProxyArgs {
    fn command(&self) -> Result<Target, String> {
        if self.upstream_command.as_deref().is_some_and(is_a_line) {
            return Err(
                "--upstream-command is one program, and no shell takes it apart: its arguments go into \
                 --upstream-arg, one by one"
                    .to_owned(),
            );
        }
        let mut argv = Vec::from_iter(self.upstream_command.clone());
        argv.extend(self.upstream_args.iter().flat_map(|text| text.split(',')).map(str::to_owned));
        argv.extend(self.upstream_arg.iter().cloned());
        let mut env: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        env.extend(self.variables()?.into_iter().map(|(name, value)| (name.into(), value.into())));
        let folder = match &self.upstream_cwd {
            Some(folder) => PathBuf::from(folder),
            None => {
                std::env::current_dir().map_err(|error| format!("there is no working folder: {error}"))?
            }
        };
        let command = CommandLine { argv, env, folder };
        Ok(Launch { command, supervisor: Supervisor::default() }.into())
    }

    /// What the flags put into the upstream's environment.
    fn variables(&self) -> Result<Vec<(String, String)>, String> {
        let several = self.upstream_env.iter().flat_map(|text| text.split(','));
        let single = self.upstream_env_var.iter().map(String::as_str);
        let mut all = pairs("--upstream-env", several, '=', "KEY=VALUE")?;
        all.extend(pairs("--upstream-env-var", single, '=', "KEY=VALUE")?);
        Ok(all)
    }

    /// What the flags say about rebuilds; none where nobody expects one.
    fn rebuilds(&self, scenario: &str) -> Option<Rebuilds> {
        let struck = scenario::rebuilds(scenario);
        let asked_for = !self.watch.is_empty() || self.on_replace.is_some() || self.approval.is_some();
        if !asked_for && struck.is_none() {
            return None;
        }
        let chosen = struck.and_then(OnReplace::from_name);
        let credentials = self.variables().unwrap_or_default().into_iter().map(|(name, _)| name).collect();
        Some(Rebuilds {
            rules: Rules {
                watched: true,
                on_replace: self.on_replace.map(OnReplace::from).or(chosen).unwrap_or_default(),
                approval: self.approval.clone().unwrap_or_default(),
                credentials,
            },
            watch: self.watched(),
            restart_on_change: self.restart_on == RestartOn::Change,
        })
    }

    /// What is watched. A slip in a path would only show in a restart that never comes.
    fn watched(&self) -> Vec<PathBuf> {
        for path in self.watch.iter().filter(|path| !Path::new(path).exists()) {
            log::say(&format!("--watch: there is no `{path}` yet; a restart comes when it is made\n"));
        }
        self.watch.iter().map(PathBuf::from).collect()
    }

    /// What the server is called: its program's file.
    fn label(&self) -> String {
        let program = self.upstream_command.as_deref().or(self.upstream_url.as_deref()).unwrap_or_default();
        program.rsplit('/').next().unwrap_or(program).to_owned()
    }

    fn config(self) -> Result<Config, String> {
        let scenario = self.scenario.clone().filter(|id| id != scenario::NONE);
        if self.mode == Mode::Chaos && scenario.is_some() {
            return Err("--mode chaos and --scenario exclude each other".to_owned());
        }
        if self.error_rate.is_some() != (self.mode == Mode::Chaos) {
            return Err("--mode chaos and --error-rate go together".to_owned());
        }
        if self.retry_after.is_some() && scenario.as_deref() != Some("F2") {
            return Err("--retry-after goes with --scenario F2 only".to_owned());
        }
        for (flag, given, id) in [("--delay", self.delay, "T2"), ("--late", self.late, "T4")] {
            if given.is_some() && scenario.as_deref() != Some(id) {
                return Err(format!("{flag} goes with --scenario {id} only"));
            }
        }
        let mut upstream = match &self.upstream_url {
            Some(url) => {
                let given = self.upstream_header.iter().map(String::as_str);
                let headers = pairs("--upstream-header", given, ':', "NAME: VALUE")?;
                let headers: Vec<(String, String)> = headers
                    .into_iter()
                    .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
                    .collect();
                Remote::new(url, &headers).map_err(|error| error.to_string())?.into()
            }
            None => self.command()?,
        };
        let id = match self.mode {
            Mode::Chaos => scenario::CHAOS.to_owned(),
            Mode::Deterministic => scenario.unwrap_or_else(|| scenario::NONE.to_owned()),
        };
        let secrets = self.secrets(&mut upstream)?;
        let (rebuilds, label) = (self.rebuilds(&id), self.label());
        Ok(Config {
            rebuilds,
            secrets,
            label,
            upstream,
            listen: self.listen,
            session_timeout: self.session_timeout.0,
            scenario: id,
            parameters: Parameters {
                retry_after: Duration::from_secs(self.retry_after.unwrap_or(60)),
                error_rate: self.error_rate.unwrap_or(0.0),
                seed: self.seed,
                delay: self.delay.unwrap_or(Parameters::default().delay),
                late: self.late.unwrap_or(Parameters::default().late),
            },
            present: self.present,
            write_tools: self.write_tools.map(|list| list.0),
            read_tools: self.read_tools.map(|list| list.0).unwrap_or_default(),
            key_fields: self.key_fields.map_or_else(|| vec!["idempotency_key".to_owned()], |list| list.0),
            audit_tools: if self.audit_tools == Switch::On { AuditTools::On } else { AuditTools::Off },
            probe: self.probe == Switch::On,
            upstream_timeout: Duration::from_secs(self.upstream_timeout),
            report_file: self.report_file.map(PathBuf::from),
            trace: self.trace.map(PathBuf::from),
        })
    }
}

/// A value that begins with `--` was probably forgotten: `--flag=--value` says that it is meant (R6).
pub(super) fn forgotten_value(arguments: &[String]) -> Option<String> {
    let command = ProxyArgs::augment_args(clap::Command::new("proxy"));
    let takes_value = |flag: &str| {
        let mut known = command.get_arguments();
        known.any(|argument| argument.get_long() == Some(flag) && argument.get_action().takes_values())
    };
    arguments.windows(2).find_map(|pair| {
        let flag = pair[0].strip_prefix("--")?;
        (takes_value(flag) && pair[1].starts_with("--"))
            .then(|| format!("--{flag} has no value; write --{flag}={} where that is meant", pair[1]))
    })
}

/// The report file that bad arguments name, as far as they can be read: it must not go on saying
/// what it said yesterday (R6).
pub(super) fn report_file(arguments: &[String]) -> Option<PathBuf> {
    arguments.iter().enumerate().find_map(|(index, argument)| match argument.strip_prefix("--report-file") {
        Some("") => arguments
            .get(index + 1)
            .filter(|value| !value.is_empty() && !value.starts_with("--"))
            .map(PathBuf::from),
        Some(rest) => rest.strip_prefix('=').filter(|value| !value.is_empty()).map(PathBuf::from),
        None => None,
    })
}

/// Serves until the client goes or a signal comes.
pub fn run(args: ProxyArgs, arguments: &[String]) -> Result<u8, Failure> {
    let config = args.config().map_err(|reason| bad_arguments(arguments, &reason))?;
    // What is said when it has ended may quote what the upstream wrote.
    log::keep_out(&config.secrets).for_good();
    // A call passes through one after the other anyway; waking another thread for each step of its
    // way costs several times what the step does (R7).
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::said(exit::FAILED, format!("the runtime could not be started: {error}")))?;
    let result = runtime.block_on(async {
        let ending = tokio_util::sync::CancellationToken::new();
        match config.rebuilds {
            Some(_) => tokio::spawn(super::signals::cancel_unless_hung_up(ending.clone())),
            None => tokio::spawn(super::signals::cancel_on_signal(ending.clone())),
        };
        standalone::run(config, ending).await
    });
    // stdin may still be open, and is being waited for.
    runtime.shutdown_background();
    match result {
        Ok(()) => Ok(exit::OK),
        Err(error @ StandaloneError::Conflicts(_)) => Err(Failure::input(error)),
        Err(error) => Err(Failure::internal(error)),
    }
}

/// What is wrong with the arguments; the report file says it too (R6).
pub(super) fn bad_arguments(arguments: &[String], reason: &str) -> Failure {
    let mut message = reason.to_owned();
    if let Err(unwritten) = tell_report_file(arguments, reason) {
        message.push_str(&format!("; and {unwritten}"));
    }
    Failure::said(exit::BAD_INPUT, message)
}

/// Says in the report file, where one can be told from the arguments, that nothing was tested.
pub(super) fn tell_report_file(arguments: &[String], reason: &str) -> Result<(), String> {
    let Some(path) = report_file(arguments) else { return Ok(()) };
    standalone::write_failed(&path, reason)
        .map_err(|error| format!("the report file `{}` could not be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_scenario_that_is_none_gets_a_hint() {
        assert!(scenario_id("chaos").unwrap_err().contains("--mode chaos"));
        assert!(scenario_id("E1:503").unwrap_err().contains("did you mean"));
        assert!(scenario_id("E1:502").is_ok());
    }

    #[test]
    fn a_command_line_is_told_from_a_program() {
        assert!(is_a_line("node dist/server.js") && !is_a_line("node") && !is_a_line(" node "));
    }

    #[test]
    fn r6_a_value_that_begins_with_two_dashes_is_a_forgotten_one() {
        assert!(forgotten_value(&words("proxy --upstream-arg --scenario F1")).is_some());
        assert_eq!(forgotten_value(&words("proxy --upstream-arg=--x --scenario F1")), None);
        assert_eq!(forgotten_value(&words("proxy --upstream-arg -c")), None);
    }

    #[test]
    fn r6_the_report_file_is_found_in_bad_arguments() {
        assert_eq!(report_file(&words("proxy --report-file a.json --nonsense")), Some("a.json".into()));
        assert_eq!(report_file(&words("proxy --report-file=a.json")), Some("a.json".into()));
        assert_eq!(report_file(&words("proxy --report-file --scenario")), None);
        assert_eq!(report_file(&words("proxy --report-file=")), None);
        assert_eq!(report_file(&words("proxy --report-files=x")), None);
    }
}
