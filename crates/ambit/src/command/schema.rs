//! `ambit schema`

use super::{CommandOutcome, new};
use crate::command_error::Result;
use crate::output::{Output, one_line};
use ambit::app_files::{SCHEMAS, schemas};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub struct SchemaArguments {
    /// The folder to write them to
    #[arg(default_value = SCHEMAS)]
    folder: PathBuf,
}

/// Writes the schemas of this version, one for each kind of file.
pub fn run(arguments: &SchemaArguments, out: &mut Output) -> Result<CommandOutcome> {
    for file in write(&arguments.folder)? {
        writeln!(out, "wrote {}", one_line(&file.display().to_string()))?;
    }
    Ok(CommandOutcome::Done)
}

/// Writes the schemas into a folder; the answer is their paths.
pub(super) fn write(folder: &Path) -> Result<Vec<PathBuf>> {
    let written = schemas().into_iter().map(|file| {
        let path = folder.join(file.name);
        new::write(&path, &format!("{:#}\n", file.schema))?;
        Ok(path)
    });
    written.collect()
}
