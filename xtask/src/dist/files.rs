//! Files of packages: made with the rights that they have where they are installed.

use crate::process::{Result, succeeds};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The rights of a program.
pub const PROGRAM: u32 = 0o755;
/// The rights of a text.
pub const TEXT: u32 = 0o644;

/// Makes a folder empty, and those that it stands in.
pub fn empty_folder(folder: &Path) -> Result<()> {
    if folder.exists() {
        remove_folder(folder)?;
    }
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

pub fn remove_folder(folder: &Path) -> Result<()> {
    fs::remove_dir_all(folder)
        .map_err(|error| format!("cannot remove {}: {error}", folder.display()))
}

/// Copies a file, and makes the folders that it goes into.
pub fn copy(from: &Path, to: &Path, rights: u32) -> Result<()> {
    let failed = |error| {
        format!(
            "cannot copy {} to {}: {error}",
            from.display(),
            to.display()
        )
    };
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder).map_err(failed)?;
    fs::copy(from, to).map_err(failed)?;
    fs::set_permissions(to, Permissions::from_mode(rights)).map_err(failed)
}

pub fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Lets everybody read the files of a folder and enter its folders, whatever this process leaves to others.
pub fn open_to_readers(folder: &Path) -> Result<()> {
    complete(
        Command::new("chmod")
            .args(["-R", "u=rwX,go=rX"])
            .arg(folder),
    )
}

/// Runs a command, which must succeed.
pub fn complete(command: &mut Command) -> Result<()> {
    if succeeds(command)? {
        return Ok(());
    }
    Err(format!(
        "{} failed",
        command.get_program().to_string_lossy()
    ))
}

/// Whether a command can be run here and succeeds; nothing is shown.
pub fn works(command: &mut Command) -> bool {
    let ran = command.output();
    ran.is_ok_and(|output| output.status.success())
}
