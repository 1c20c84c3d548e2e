//! The command line: clap types, one file per subcommand. Only this room and `progress` write to
//! stdout and stderr.

pub mod agent;
mod benchmark;
mod claims;
mod compare;
mod contract;
mod demo;
mod doctor;
pub mod exit;
pub mod model;
mod model_flags;
mod out;
mod plan;
mod proxy;
mod rehearse;
mod report;
mod run;
mod scenarios;
mod schema;
mod signals;
mod suites;
mod trace;
pub mod upstream;

use crate::domain::chain;
use clap::{Parser, Subcommand};
use std::io::Write;
use std::process::ExitCode;

/// Measures what an agent does when a write times out and the user says "bitte nochmal".
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the built-in agent alone
    Agent(agent::AgentArgs),
    /// Tell which agents, keys, endpoints and programs are there, and what mends what is missing
    Doctor(doctor::DoctorArgs),
    /// Offer the scripted models over HTTP, in the protocols of OpenAI, Anthropic and Gemini
    Model(model::ModelArgs),
    /// Run suites with the real agents and scripted models: costs nothing, measures nothing, finds broken profiles
    Rehearse(rehearse::RehearseArgs),
    /// Run suites: every cell, as often as the suite says
    Run(run::RunArgs),
    /// Make the reports again from stored results, of one folder or several together
    Report(report::ReportArgs),
    /// Tell what changed between two results, or between two values of an axis, cell by cell
    Compare(compare::CompareArgs),
    /// Test tools without an agent: their server against a backend that answers, breaks off or refuses as told
    Contract(contract::ContractArgs),
    /// Tell what a suite would run, what its repeats can tell apart, and what that would take
    Plan(plan::PlanArgs),
    /// Tell what replies claim, success, failure or not known: JSON Lines in, JSON Lines out
    Claims(claims::ClaimsArgs),
    /// Check that traces are as they were written, or read one as a timeline
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Print the JSON Schema of a file format
    Schema(schema::SchemaArgs),
    /// List the built-in faults, or explain one: `nochmal scenarios show T4`
    Scenarios(scenarios::ScenariosArgs),
    /// Put the proxy before one MCP server, for one agent on stdin and stdout
    Proxy(proxy::ProxyArgs),
    /// Check this program itself: two reference agents, one careful, one naive, must be told apart
    Benchmark(benchmark::BenchmarkArgs),
    /// Try the faults by hand: a demo MCP server on stdin and stdout, with nothing behind it
    Demo,
    /// Run a built-in upstream alone, on stdin and stdout
    #[command(subcommand)]
    Upstream(upstream::UpstreamArgs),
    /// Carry stdin and stdout to the proxy of a run; agents start this as their MCP server
    #[command(hide = true)]
    Connect {
        /// HOST:PORT/TOKEN
        address: String,
    },
    /// The watchdog that ends process trees when the runner was killed
    #[command(hide = true, name = crate::process::watchdog::SUBCOMMAND)]
    Reap,
}

/// Why a command failed, and its exit code.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// What was given cannot be used.
    fn input(error: impl std::error::Error) -> Failure {
        Failure { code: exit::BAD_INPUT, message: chain(&error) }
    }

    /// Everything else.
    fn internal(error: impl std::error::Error) -> Failure {
        Failure::coded(exit::FAILED, error)
    }

    fn coded(code: u8, error: impl std::error::Error) -> Failure {
        Failure { code, message: chain(&error) }
    }

    fn said(code: u8, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }
}

/// Reads the arguments, does what they say, and gives the exit code.
pub fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_env("NOCHMAL_LOG")
        // That worker tells of every error that it also gives back, and that is told with its reason.
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn,rmcp::transport::worker=off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| crate::log::Stderr).init();
    let arguments: Vec<String> = std::env::args().collect();
    let command = match parse(&arguments) {
        Ok(command) => command,
        Err(code) => return code,
    };
    let result = match command {
        Command::Agent(args) => agent::run(&args).map_err(|error| Failure::coded(error.exit_code(), error)),
        Command::Model(args) => model::run(&args).map_err(|error| Failure::coded(error.exit_code(), error)),
        Command::Doctor(args) => doctor::run(&args),
        Command::Run(args) => run::run(args),
        Command::Rehearse(args) => rehearse::run(args),
        Command::Report(args) => report::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Contract(args) => contract::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Claims(args) => claims::run(&args),
        Command::Trace(command) => trace::run(&command),
        Command::Scenarios(args) => scenarios::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Proxy(args) => proxy::run(args, &arguments),
        Command::Benchmark(args) => benchmark::run(args),
        Command::Demo => demo::run(),
        Command::Upstream(args) => upstream::run(&args).map_err(Failure::internal),
        Command::Connect { address } => match crate::proxy::connect::run(&address) {
            Ok(()) => Ok(exit::OK),
            Err(error) => Err(Failure::internal(error)),
        },
        Command::Reap => {
            let left = crate::process::watchdog::watch(std::io::stdin().lock());
            Ok(if left == 0 { exit::OK } else { exit::FAILED })
        }
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => told(&failure),
    }
}

fn told(failure: &Failure) -> ExitCode {
    let Failure { code, message } = failure;
    let prefix = if message.starts_with("error") { "" } else { "error: " };
    crate::log::say(&format!("{prefix}{}\n", message.trim_end()));
    ExitCode::from(*code)
}

/// Reads the arguments. What is wrong with those of `proxy` is told in its report file too (R6).
fn parse(arguments: &[String]) -> Result<Command, ExitCode> {
    let is_proxy = arguments.get(1).is_some_and(|word| word == "proxy");
    if is_proxy && let Some(reason) = proxy::forgotten_value(arguments) {
        return Err(told(&proxy::bad_arguments(arguments, &reason)));
    }
    Cli::try_parse_from(arguments).map(|cli| cli.command).map_err(|error| {
        let shown = error.print().and_then(|()| std::io::stdout().flush());
        if !error.use_stderr() {
            return out::written(shown).map_or_else(|failure| told(&failure), |()| ExitCode::from(exit::OK));
        }
        if is_proxy && let Err(unwritten) = proxy::tell_report_file(arguments, &first_paragraph(&error)) {
            return told(&Failure::said(exit::BAD_INPUT, unwritten));
        }
        ExitCode::from(exit::BAD_INPUT)
    })
}

/// What is wrong, without usage and tips.
fn first_paragraph(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.trim_start_matches("error: ").lines().take_while(|line| !line.trim().is_empty());
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}
