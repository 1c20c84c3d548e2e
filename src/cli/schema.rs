//! `nochmal schema`: the JSON Schema of a file format.

use super::out::print;
use super::{Failure, exit};
use crate::contract::schema::ContractFile;
use crate::report::{ChangesSummary, Summary};

/// Arguments of `nochmal schema`.
#[derive(Debug, clap::Args)]
pub struct SchemaArgs {
    /// The format
    #[arg(value_enum)]
    format: SchemaOf,
}

/// A format that has a schema.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum SchemaOf {
    /// `summary.json` of a results folder
    Summary,
    /// What `nochmal compare --format json` prints
    Comparison,
    /// A contract, as `nochmal contract` reads it
    Contract,
}

impl SchemaOf {
    /// The schema as JSON, made from the types that write the format.
    ///
    /// # Errors
    /// Where it cannot be written as JSON.
    pub fn text(self) -> Result<String, serde_json::Error> {
        let schema = match self {
            SchemaOf::Summary => schemars::schema_for!(Summary),
            SchemaOf::Comparison => schemars::schema_for!(ChangesSummary),
            SchemaOf::Contract => schemars::schema_for!(ContractFile),
        };
        serde_json::to_string_pretty(&schema).map(|text| text + "\n")
    }
}

/// Prints the schema.
pub fn run(args: &SchemaArgs) -> Result<u8, Failure> {
    print(&args.format.text().map_err(Failure::internal)?)?;
    Ok(exit::OK)
}
