//! Running other programs, and the two places that everything else starts from: the repository and the environment.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a command of the project answers; the error is a sentence for a person.
pub type Result<T, E = String> = std::result::Result<T, E>;

/// The repository's folder: of the clone that cargo runs this in, which need not be the one that it was built in.
pub fn root() -> PathBuf {
    let built = || env!("CARGO_MANIFEST_DIR").to_owned();
    let manifest = PathBuf::from(environment("CARGO_MANIFEST_DIR").unwrap_or_else(built));
    manifest.parent().unwrap_or(&manifest).to_owned()
}

/// A folder for what is installed outside the repository; made where it is missing.
pub fn cache(name: &str) -> Result<PathBuf> {
    let home = || environment("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = environment("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(home);
    let cache = cache.ok_or("no folder for what is installed: set XDG_CACHE_HOME or HOME")?;
    let folder = cache.join("ambit-xtask").join(name);
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    Ok(folder)
}

/// An environment variable, where it is set and not empty.
#[expect(
    clippy::disallowed_methods,
    reason = "the project's commands are set up by the environment; this is their one place that reads it"
)]
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// What cargo tells a program of its package. Build scripts ask for some of it, so that a cargo that is told of another package
/// than theirs would build again what an earlier one has built, and all that depends on it.
const OF_PACKAGE: &[&str] = &[
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_LINKS",
    "CARGO_PKG_NAME",
    "CARGO_PKG_VERSION_MAJOR",
    "CARGO_PKG_VERSION_MINOR",
    "CARGO_PKG_VERSION_PATCH",
    "CARGO_PKG_VERSION_PRE",
];

/// The cargo that runs this program, in the repository.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(environment("CARGO").unwrap_or_else(|| "cargo".to_owned()));
    command.args(arguments).current_dir(root());
    for name in OF_PACKAGE {
        command.env_remove(name);
    }
    command
}

/// Where cargo puts what it builds.
pub fn target_folder() -> Result<PathBuf> {
    let folder = environment("CARGO_TARGET_DIR").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| root().join("target"));
    std::path::absolute(&folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The platform that cargo builds for where nobody names another, as rustc calls it.
pub fn host() -> Result<String> {
    let mut host = None;
    each_line(&mut cargo(&["-vV"]), |line| {
        if let Some(name) = line.strip_prefix("host: ") {
            host = Some(name.to_owned());
        }
    })?;
    host.ok_or_else(|| "cargo does not say what it builds for; name it with --target".to_owned())
}

/// The first line that a program prints, where it succeeds.
pub fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output();
    let output = output.ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text.lines().next()?.trim().to_owned())
}

/// The commit that is checked out, and whether something was changed since.
pub fn commit() -> Option<String> {
    let commit = said("git", &["rev-parse", "--short=12", "HEAD"])?;
    let is_changed = said("git", &["status", "--porcelain", "--untracked-files=no"]).is_some();
    let changed = if is_changed { ", with changes" } else { "" };
    Some(format!("commit {commit}{changed}"))
}

/// Runs a command to its end with its output shown; true where it succeeded.
pub fn succeeds(command: &mut Command) -> Result<bool> {
    let status = command
        .status()
        .map_err(|error| cannot_start(command, &error))?;
    Ok(status.success())
}

/// Runs a command and hands over each line of its output as it comes; true where it succeeded.
pub fn each_line(command: &mut Command, mut line: impl FnMut(&str)) -> Result<bool> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| cannot_start(command, &error))?;
    if let Some(output) = child.stdout.take() {
        let mut reader = BufReader::new(output);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
            line(String::from_utf8_lossy(&bytes).trim_end_matches('\n'));
            bytes.clear();
        }
    }
    let status = child
        .wait()
        .map_err(|error| cannot_start(command, &error))?;
    Ok(status.success())
}

/// The message for a program that cannot be run at all.
pub fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    let program = command.get_program().to_string_lossy();
    format!("cannot run {program}: {error}; is it installed and on the PATH?")
}

#[cfg(test)]
mod tests {
    use super::cargo;

    #[test]
    fn a_cargo_within_is_told_of_no_package() {
        let command = cargo(&["test"]);
        let mut told = command.get_envs().filter(|(_, value)| value.is_some());
        assert_eq!(told.next(), None);
        let removed: Vec<_> = command.get_envs().map(|(name, _)| name).collect();
        assert!(removed.iter().any(|name| *name == "CARGO_MANIFEST_DIR"));
    }
}
