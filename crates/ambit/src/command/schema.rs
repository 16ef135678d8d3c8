//! `ambit schema`

use super::{CommandOutcome, new};
use crate::command_error::{CommandError, Result};
use crate::output::{Output, one_line};
use ambit::app_files::{SCHEMAS, schemas};
use clap::Args;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub struct SchemaArguments {
    /// The folder to write them to: not the app's own, but one for schemas alone, where an editor looks for them
    #[arg(default_value = SCHEMAS)]
    folder: PathBuf,
}

/// Writes the schemas of this version, one for each kind of file.
pub fn run(arguments: &SchemaArguments, out: &mut Output) -> Result<CommandOutcome> {
    let folder = &arguments.folder;
    if folder.join("app.yao").is_file() {
        let (app, schemas) = (folder.display(), folder.join(SCHEMAS));
        return Err(CommandError::Refused(format!(
            "{app} is the folder of an app; name one for schemas alone, as in `ambit schema {}`",
            schemas.display()
        )));
    }
    for file in write(folder)? {
        writeln!(out, "wrote {}", one_line(&file.display().to_string()))?;
    }
    Ok(CommandOutcome::Done)
}

/// Writes the schemas into a folder; the answer is their paths. Nothing is written where that would replace another file.
pub(super) fn write(folder: &Path) -> Result<Vec<PathBuf>> {
    let files = schemas().into_iter();
    let files: Vec<_> = files
        .map(|file| (folder.join(file.name), file.schema))
        .collect();
    for (path, schema) in &files {
        check_replaceable(path, schema)?;
    }
    let written = files.into_iter().map(|(path, schema)| {
        new::write(&path, &format!("{schema:#}\n"))?;
        Ok(path)
    });
    written.collect()
}

/// A file may be replaced by a newer schema of the same kind.
fn check_replaceable(path: &Path, schema: &Value) -> Result<()> {
    let Ok(text) = std::fs::read(path) else {
        return Ok(());
    };
    let found: Option<Value> = serde_json::from_slice(&text).ok();
    if found.is_some_and(|found| found["$schema"] == schema["$schema"]) {
        return Ok(());
    }
    Err(CommandError::Refused(format!(
        "{} is there and no schema, and nothing was written; name a folder for schemas alone, as in `ambit schema {SCHEMAS}`",
        path.display()
    )))
}
