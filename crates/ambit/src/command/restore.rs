//! `ambit restore`

use super::CommandOutcome;
use super::native_backup::NativeBackup;
use crate::command_error::{CommandError, Result};
use crate::output::{Output, one_line};
use crate::settings::data_parts::ServerPart;
use crate::settings::{AppOption, StoreOptions};
use ambit_storage::backup::{BackupManifest, restore_backup};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct RestoreArguments {
    /// The folder of the backup
    folder: PathBuf,
    #[command(flatten)]
    app: AppOption,
}

/// Puts the SQLite files of a backup back, all or none, and says what puts the rest back.
pub fn run(
    stores: &StoreOptions,
    arguments: &RestoreArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let (app, folder) = (arguments.app.folder(), &arguments.folder);
    let parts = stores.parts(&app)?;
    let manifest = BackupManifest::read(folder)?;
    let named = manifest.elsewhere.iter();
    let named = named.map(|name| find(&parts.elsewhere, name));
    let native = NativeBackup::of_all(&named.collect::<Result<Vec<_>>>()?, folder)?;
    let manifest = restore_backup(folder, &parts.files)?;
    for file in &manifest.files {
        let mut places = parts.files.iter().filter(|place| place.part == file.part);
        if let Some(place) = places.next() {
            let (part, path) = (one_line(&file.part), place.path.display());
            writeln!(out, "{part}: restored to {path} ({} bytes)", file.bytes)?;
        }
    }
    writeln!(out, "as of {}", one_line(&manifest.taken_at))?;
    for backup in &native {
        backup.print_restore(out)?;
    }
    Ok(match native.is_empty() {
        true => CommandOutcome::Done,
        false => CommandOutcome::LeftToOthers,
    })
}

fn find<'a>(parts: &'a [ServerPart], name: &str) -> Result<&'a ServerPart> {
    let part = parts.iter().find(|part| part.part == name);
    part.ok_or_else(|| {
        CommandError::Refused(format!(
            "the backup has the part \"{name}\", and no such store is set up here; name it with --store"
        ))
    })
}
