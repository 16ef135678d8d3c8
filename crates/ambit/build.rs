//! Packs the files of the built web console, which the program then holds, and says which version and commit it is of.

#[path = "src/gzip.rs"]
#[expect(dead_code, reason = "nothing is unpacked here")]
mod gzip;

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Where `cargo xtask console` leaves the console.
const FOLDER: &str = "console";
/// Names the commit, where whoever builds knows it better than git does.
const COMMIT: &str = "AMBIT_COMMIT";

fn main() -> io::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let commit = commit().map(|commit| format!(" ({})", &commit[..commit.len().min(12)]));
    println!(
        "cargo::rustc-env=AMBIT_VERSION={version}{}",
        commit.unwrap_or_default()
    );
    let folder = Path::new(FOLDER);
    let is_built = folder.is_dir();
    // A path that is not there would have this run each time.
    println!(
        "cargo::rerun-if-changed={}",
        if is_built { FOLDER } else { "." }
    );
    let is_wanted = env::var_os("CARGO_FEATURE_CONSOLE").is_some();
    let mut names = Vec::new();
    if is_built && is_wanted {
        list(folder, "", &mut names)?;
    }
    names.sort();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut table = String::from("&[\n");
    for (at, name) in names.iter().enumerate() {
        let packed = out.join(format!("console-{at}.gz"));
        fs::write(&packed, gzip::pack(&fs::read(folder.join(name))?))?;
        let _ = writeln!(table, "({name:?}, include_bytes!({packed:?})),");
    }
    table.push(']');
    fs::write(out.join("console_files.rs"), table)
}

/// The commit that is built: that of the environment, else the one that git knows. A debug build does not ask git: each commit would
/// have it begin anew.
fn commit() -> Option<String> {
    println!("cargo::rerun-if-env-changed={COMMIT}");
    let named = env::var_os(COMMIT).and_then(|name| name.into_string().ok());
    let named =
        named.filter(|name| name.len() >= 7 && name.bytes().all(|it| it.is_ascii_hexdigit()));
    if named.is_some() {
        return named;
    }
    if env::var_os("PROFILE").is_none_or(|profile| profile != "release") {
        return None;
    }
    // Sources that come from a registry may lie in a repository of something else.
    let root = Path::new("../..").canonicalize().ok()?;
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?) != root {
        return None;
    }
    // Grows with everything that moves to another commit.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "HEAD"])
}

/// What git says; nothing where there is no git, or no repository.
fn git(arguments: &[&str]) -> Option<String> {
    let ran = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8(ran.stdout).ok()?;
    ran.status.success().then(|| said.trim_end().to_owned())
}

/// The names of all files below a folder, but for hidden ones.
fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => list(&entry.path(), &format!("{prefix}{name}/"), names)?,
            false => names.push(format!("{prefix}{name}")),
        }
    }
    Ok(())
}
