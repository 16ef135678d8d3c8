//! Programs of this machine, and the packages that have them.

use crate::process::{environment, succeeds};
use std::path::PathBuf;
use std::process::Command;

/// The program of this name in the first of these folders that has one.
pub fn search(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    folders
        .iter()
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// The folders of the PATH.
pub fn path() -> Vec<PathBuf> {
    std::env::split_paths(&environment("PATH").unwrap_or_default()).collect()
}

/// Installs packages where this is root on Debian; the error says what the matter with them is.
pub fn install(packages: &[&str]) -> Result<(), &'static str> {
    if !is_root() || search("apt-get", &path()).is_none() {
        return Err("are missing");
    }
    println!("installing {}", packages.join(" and "));
    // An update that fails is no reason to stop: the lists that are there may do.
    apt(&["update", "-q"]);
    let mut arguments = vec!["install", "-q", "-y", "--no-install-recommends"];
    arguments.extend(packages);
    match apt(&arguments) {
        true => Ok(()),
        false => Err("could not be installed by apt-get"),
    }
}

fn is_root() -> bool {
    let user = Command::new("id").arg("-u").output();
    user.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn apt(arguments: &[&str]) -> bool {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    succeeds(command.args(arguments)).unwrap_or(false)
}
