//! `nochmal upstream NAME`: a built-in upstream alone, on stdin and stdout.

use crate::upstream::builtin::serve::{ServeError, serve};
use crate::upstream::builtin::{BUILTINS, Builtin, Settings, UnknownName, find};
use clap::{Arg, ArgMatches, Command, FromArgMatches, Subcommand, value_parser};
use std::path::PathBuf;

/// Which built-in upstream, and how. Its subcommands are the lines of
/// [`BUILTINS`], so that a new one needs nothing here.
#[derive(Debug, Clone)]
pub struct UpstreamArgs {
    builtin: &'static Builtin,
    settings: Settings,
    ledger: Option<PathBuf>,
}

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The async runtime could not be started.
    #[error("cannot start: {0}")]
    Runtime(#[from] std::io::Error),
    /// The server ended early.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

impl Subcommand for UpstreamArgs {
    fn augment_subcommands(command: Command) -> Command {
        let subcommands = BUILTINS.iter().map(|builtin| {
            let settings = builtin.settings.iter().map(|setting| {
                Arg::new(setting.name)
                    .long(setting.name)
                    .help(setting.help)
                    .value_name("true|false")
                    .value_parser(value_parser!(bool))
                    .default_value(if setting.default { "true" } else { "false" })
            });
            let ledger = Arg::new("ledger")
                .long("ledger")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Keep every effect in this JSON Lines file, and start from what is in it");
            Command::new(builtin.name).about(builtin.about).args(settings).arg(ledger)
        });
        command.subcommands(subcommands)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        find(name).is_ok()
    }
}

impl FromArgMatches for UpstreamArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<UpstreamArgs, clap::Error> {
        let unknown = |error: UnknownName| clap::Error::raw(clap::error::ErrorKind::InvalidSubcommand, error);
        let Some((name, matches)) = matches.subcommand() else {
            return Err(clap::Error::raw(
                clap::error::ErrorKind::MissingSubcommand,
                "which built-in upstream?\n",
            ));
        };
        let builtin = find(name).map_err(unknown)?;
        let given = builtin
            .settings
            .iter()
            .filter_map(|setting| Some((setting.name, *matches.get_one::<bool>(setting.name)?)));
        let settings = builtin.settings(given).map_err(unknown)?;
        Ok(UpstreamArgs { builtin, settings, ledger: matches.get_one::<PathBuf>("ledger").cloned() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Serves until stdin ends.
///
/// # Errors
/// Where the ledger cannot be used, or no MCP session comes about.
pub fn run(args: &UpstreamArgs) -> Result<u8, UpstreamError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        serve(args.builtin, &args.settings, args.ledger.as_deref(), rmcp::transport::io::stdio_pipes()).await
    });
    // A read of stdin that is still pending must not hold the process.
    runtime.shutdown_background();
    served?;
    Ok(0)
}
