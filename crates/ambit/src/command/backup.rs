//! `ambit backup`

use super::CommandOutcome;
use crate::command_error::Result;
use crate::output::Output;
use ambit_storage::backup::backup;
use ambit_storage::driver::DriverOptions;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct BackupArguments {
    /// The file that the copy is written to; it must not exist yet
    file: PathBuf,
}

/// Copies the store behind this URL.
pub async fn run(
    url: &str,
    arguments: &BackupArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    backup(url, DriverOptions::default(), &arguments.file).await?;
    let bytes = std::fs::metadata(&arguments.file)?.len();
    writeln!(
        out,
        "copied to {} ({bytes} bytes)",
        arguments.file.display()
    )?;
    Ok(CommandOutcome::Done)
}
