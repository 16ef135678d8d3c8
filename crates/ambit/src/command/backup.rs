//! `ambit backup`

use super::Outcome;
use crate::failure::Result;
use crate::output::Output;
use ambit_storage::backup::backup;
use ambit_storage::driver::Options;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct Arguments {
    /// The file that the copy is written to; it must not exist yet
    file: PathBuf,
}

/// Copies the store behind this URL.
pub async fn run(url: &str, arguments: &Arguments, out: &mut Output) -> Result<Outcome> {
    backup(url, Options::default(), &arguments.file).await?;
    let bytes = std::fs::metadata(&arguments.file)?.len();
    writeln!(
        out,
        "copied to {} ({bytes} bytes)",
        arguments.file.display()
    )?;
    Ok(Outcome::Done)
}
