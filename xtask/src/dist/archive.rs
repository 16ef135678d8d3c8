//! The archive for every platform, and the checksums of all packages.

use super::files::{
    PROGRAM, TEXT, complete, copy, empty_folder, open_to_readers, remove_folder, write,
};
use super::{DOCUMENTS, Release, own_pages};
use crate::process::{Result, each_line, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packs the program, its texts and what it writes for shells in one folder.
pub fn make(release: &Release) -> Result<PathBuf> {
    let name = format!("ambit-{}-{}", release.version, release.target);
    let stage = release.folder.join("stage");
    let tree = stage.join(&name);
    empty_folder(&stage)?;
    copy(&release.program, &tree.join("ambit"), PROGRAM)?;
    for document in DOCUMENTS {
        copy(&root().join(document), &tree.join(document), TEXT)?;
    }
    own_pages::write(&release.program, &tree)?;
    open_to_readers(&tree)?;
    let archive = release.folder.join(format!("{name}.tar.xz"));
    let mut tar = Command::new("tar");
    tar.args(["--owner=0", "--group=0", "--numeric-owner", "-cJf"]);
    tar.arg(&archive);
    complete(tar.arg("-C").arg(&stage).arg(&name))?;
    remove_folder(&stage)?;
    println!("made {}", archive.display());
    Ok(archive)
}

/// Writes the sums of all packages in a folder, in the form that `sha256sum --check` reads.
pub fn write_checksums(folder: &Path) -> Result<()> {
    let failed = |error| format!("cannot read {}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if name.to_string_lossy().starts_with("ambit") {
            names.push(name);
        }
    }
    names.sort();
    let mut sum = Command::new("sha256sum");
    let mut sums = String::new();
    let summed = each_line(sum.args(names).current_dir(folder), |line| {
        sums.push_str(line);
        sums.push('\n');
    })?;
    if !summed {
        return Err(format!("cannot sum the packages in {}", folder.display()));
    }
    write(&folder.join("SHA256SUMS"), &sums)
}
