//! `ambit backup`

use super::CommandOutcome;
use super::native_backup::NativeBackup;
use crate::command_error::{CommandError, Result};
use crate::output::Output;
use crate::settings::data_parts::ServerPart;
use crate::settings::{AppOption, StoreOptions};
use ambit_runtime::examine_models;
use ambit_storage::backup::{BackupFile, BackupManifest, DataFile, write_backup};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub struct BackupArguments {
    /// The folder that the copies are written to; it is new or empty
    folder: PathBuf,
    #[command(flatten)]
    app: AppOption,
}

/// Copies the SQLite files of an installation, and says what copies the rest.
pub async fn run(
    stores: &StoreOptions,
    arguments: &BackupArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let (app, folder) = (arguments.app.folder(), &arguments.folder);
    stores.check_are_there(&app)?;
    let parts = stores.parts(&app)?;
    if parts.files.is_empty() && parts.elsewhere.is_empty() {
        let reason = "a memory store ends with its process and has nothing to back up";
        return Err(CommandError::Refused(reason.to_owned()));
    }
    let elsewhere: Vec<&ServerPart> = parts.elsewhere.iter().collect();
    let native = NativeBackup::of_all(&elsewhere, folder)?;
    let is_there = |file: &DataFile| file.path.exists();
    let (there, missing): (Vec<DataFile>, Vec<DataFile>) =
        parts.files.iter().cloned().partition(is_there);
    let written = write_backup(folder, &there, parts.elsewhere_names())?;
    for file in &written.files {
        let copy = folder.join(&file.file);
        let (part, copy, bytes) = (&file.part, copy.display(), file.bytes);
        writeln!(out, "{part}: copied to {copy} ({bytes} bytes)")?;
    }
    for backup in &native {
        backup.print_backup(out)?;
    }
    // Stores must be there, so that what is missing are the models; an app may have none.
    if !missing.is_empty() && lacks_models(stores, &app, &written).await? {
        for file in &missing {
            let (part, path) = (&file.part, file.path.display());
            writeln!(out, "{part}: no file at {path}, not copied")?;
        }
        return Ok(CommandOutcome::SomeFailed);
    }
    Ok(match native.is_empty() {
        true => CommandOutcome::Done,
        false => CommandOutcome::LeftToOthers,
    })
}

/// Whether the store has noted a database of models, which is not there. One of an older form is not asked: opening it would change it.
async fn lacks_models(stores: &StoreOptions, app: &Path, written: &BackupManifest) -> Result<bool> {
    let first = written.files.first();
    if !first.is_some_and(BackupFile::is_current) {
        return Ok(false);
    }
    let place = stores.models(app)?.store;
    let ambit = stores.open_in(app).await?;
    let found = examine_models(ambit.stores(), &place).await;
    ambit.close().await?;
    Ok(found?.is_some())
}
