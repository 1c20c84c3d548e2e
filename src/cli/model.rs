//! `nochmal model`: the scripted models behind the protocols that agent programs speak.

use super::signals::{Comings, Kind};
use crate::harness::endpoint::{Failure, Failures, Options, serve};
use crate::harness::script::Script;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::net::TcpListener;

/// The flags.
#[derive(Debug, clap::Args)]
pub struct ModelArgs {
    /// Where to listen, on loopback; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// For scripts that choose at random, where a request has no seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The script for models that no script is named after, e.g. obedient; without it they are refused
    #[arg(long, value_name = "NAME", value_parser = script)]
    script: Option<Script>,
    /// Fail: with a status from 400 to 599, `hang`, or `cut` in the middle of the answer
    #[arg(long, value_name = "FAILURE")]
    fail: Option<Failure>,
    /// How many requests fail before they are answered again; without it, all do
    #[arg(long, value_name = "N", requires = "fail")]
    fail_first: Option<u64>,
    /// Keep every request in this file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// Reads the name of a script.
pub(super) fn script(text: &str) -> Result<Script, String> {
    Script::open(text).map_err(|error| error.to_string())
}

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The address can be reached from outside, and the endpoint asks for no key.
    #[error("--listen {0}: only loopback addresses")]
    NotLoopback(SocketAddr),
    /// The log cannot be opened.
    #[error("{file}: {source}")]
    Log {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// The address is taken, or the async runtime could not be started.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ModelError {
    /// 2 for arguments that cannot be used, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            ModelError::NotLoopback(_) | ModelError::Log { .. } => 2,
            ModelError::Io(_) => 1,
        }
    }
}

/// Serves until SIGINT or SIGTERM. The first line of stdout is the base URL for OpenAI's clients;
/// those of Anthropic and Gemini want it without `/v1`.
///
/// # Errors
/// Where it cannot listen or log.
pub fn run(args: &ModelArgs) -> Result<u8, ModelError> {
    if !args.listen.ip().is_loopback() {
        return Err(ModelError::NotLoopback(args.listen));
    }
    let log = args.log.as_ref().map(|path| {
        let opened = OpenOptions::new().create(true).append(true).open(path);
        opened.map_err(|source| ModelError::Log { file: path.display().to_string(), source })
    });
    let options = Options {
        seed: args.seed,
        log: log.transpose()?,
        script: args.script.clone(),
        failures: args.fail.map(|failure| Failures::new(failure, args.fail_first)),
        watch: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut interrupt, mut terminate) = (Comings::of(Kind::Interrupt)?, Comings::of(Kind::Terminate)?);
        let listener = TcpListener::bind(args.listen).await?;
        let mut out = io::stdout();
        writeln!(out, "http://{}/v1", listener.local_addr()?)?;
        out.flush()?;
        let ended = async move {
            tokio::select! {
                _ = interrupt.next() => {}
                _ = terminate.next() => {}
            }
        };
        serve(listener, options, ended).await?;
        Ok(0)
    })
}
