//! `nochmal contract`: tools tested without an agent.

use super::out::print;
use super::run::width;
use super::suites::{runtime, this_program};
use super::{Failure, exit};
use crate::contract::report::Results;
use crate::contract::{Contract, State, drive};
use crate::domain::classify::glob;
use crate::process::Supervisor;
use crate::suite::diagnostics::suggestion;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Arguments of `nochmal contract`.
#[derive(Debug, clap::Args)]
pub struct ContractArgs {
    /// Contract files
    #[arg(required = true)]
    contracts: Vec<PathBuf>,
    /// Only cases whose id matches, e.g. 'timeout-*'; of several, one must match
    #[arg(long, value_name = "GLOB")]
    filter: Vec<String>,
    /// Another value for one of the contract's `vars`
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Also write the results as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Also write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print the results as JSON, in place of the table
    #[arg(long)]
    json: bool,
}

/// A contract with its folder.
struct Loaded {
    contract: Contract,
    folder: PathBuf,
}

/// Carries out every case; 1 where one failed or could not be carried out.
pub fn run(args: &ContractArgs) -> Result<u8, Failure> {
    let mut loaded = Vec::new();
    let mut mistakes = Vec::new();
    for path in &args.contracts {
        match load(path) {
            Ok(contract) => loaded.push(contract),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if !mistakes.is_empty() {
        return Err(Failure::said(exit::BAD_INPUT, mistakes.join("\n")));
    }
    set(&mut loaded, &args.set)?;
    keep(&mut loaded, &args.filter)?;
    let (program, runtime) = (this_program()?, runtime()?);
    let cancel = CancellationToken::new();
    let results = runtime.block_on(async {
        let supervisor = Supervisor::start(Some(&program)).map_err(Failure::internal)?;
        tokio::spawn(super::signals::cancel_on_signal(cancel.clone()));
        Ok(carry_out(&loaded, &supervisor, &cancel).await)
    });
    runtime.shutdown_background();
    let results: Results = results?;
    for (path, text) in [(&args.markdown, results.markdown()), (&args.junit, results.junit())] {
        if let Some(path) = path {
            write(path, &text)?;
        }
    }
    if args.json {
        print(&results.json().map_err(Failure::internal)?)?;
    } else {
        print(&results.terminal(width()))?;
    }
    if cancel.is_cancelled() {
        return Ok(exit::INTERRUPTED);
    }
    let good = results.count(State::Passed) == results.cases.len() as u64;
    Ok(if good { exit::OK } else { exit::FAILED })
}

fn load(path: &Path) -> Result<Loaded, String> {
    let unread = |error| format!("cannot read the contract `{}`: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(unread)?;
    let file = path.canonicalize().map_err(unread)?;
    let contract =
        Contract::parse(&text, &path.to_string_lossy()).map_err(|mistakes| mistakes.to_string())?;
    Ok(Loaded { contract, folder: file.parent().unwrap_or(Path::new("/")).to_owned() })
}

/// Gives variables other values. One that no contract has is a mistake.
fn set(loaded: &mut [Loaded], values: &[String]) -> Result<(), Failure> {
    for text in values {
        let Some((name, value)) = text.split_once('=') else {
            return Err(Failure::said(exit::BAD_INPUT, format!("--set takes NAME=VALUE, not `{text}`")));
        };
        let mut found = false;
        for Loaded { contract, .. } in loaded.iter_mut() {
            if let Some(var) = contract.vars.get_mut(name) {
                *var = value.to_owned();
                found = true;
            }
        }
        if !found {
            let known: Vec<&str> =
                loaded.iter().flat_map(|one| one.contract.vars.keys().map(String::as_str)).collect();
            let help = suggestion(name, &known);
            return Err(Failure::said(
                exit::BAD_INPUT,
                format!("no contract has the variable `{name}`: {help}"),
            ));
        }
    }
    Ok(())
}

/// Keeps the cases that a filter names. A filter that names none is a mistake.
fn keep(loaded: &mut [Loaded], filters: &[String]) -> Result<(), Failure> {
    for filter in filters {
        let mut ids = loaded.iter().flat_map(|one| &one.contract.cases).map(|case| case.id.as_str());
        if !ids.clone().any(|id| glob(filter, id)) {
            let help = suggestion(filter, &ids.by_ref().collect::<Vec<_>>());
            return Err(Failure::said(exit::BAD_INPUT, format!("no case is called `{filter}`: {help}")));
        }
    }
    if !filters.is_empty() {
        for Loaded { contract, .. } in loaded {
            contract.cases.retain(|case| filters.iter().any(|filter| glob(filter, &case.id)));
        }
    }
    Ok(())
}

/// One case after the other: a case has the machine for itself, since time is part of what is tested.
async fn carry_out(loaded: &[Loaded], supervisor: &Supervisor, cancel: &CancellationToken) -> Results {
    let mut results = Results::default();
    for Loaded { contract, folder } in loaded {
        for case in &contract.cases {
            match drive::run(contract, case, folder, supervisor, cancel).await {
                Some(result) => results.cases.push(result),
                None => results.not_run += 1,
            }
        }
    }
    results
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::said(exit::FAILED, format!("cannot make {}: {error}", folder.display()))
        })?;
    }
    std::fs::write(path, text)
        .map_err(|error| Failure::said(exit::FAILED, format!("cannot write {}: {error}", path.display())))
}
