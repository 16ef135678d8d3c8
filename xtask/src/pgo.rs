//! `cargo xtask pgo`: the profile that guides the compiler where `dist` and `bench` build: which parts of the program run how often
//! under loads of the benchmarks.

use crate::process::{Result, cannot_start, cargo, host, root, succeeds, target_folder};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The profile of cargo by which it builds.
pub const PROFILE: &str = "dist";

/// The loads, as options of the benchmark program: turns, their tools, streams and the start; then all other works in small.
const LOADS: &[&[&str]] = &[
    &["--url", "memory:", "--work", "W8,W11,W15"],
    &["--url", "sqlite:turns.db", "--work", "W8,W10,W12,W15"],
    &[
        "--url",
        "sqlite:rest.db",
        "--quick",
        "--without",
        "W8,W10,W12,W15,W18,W19",
    ],
];

/// Makes the profile, for which the program is built once more.
pub fn run(arguments: &[String]) -> Result<bool> {
    if !arguments.is_empty() {
        return Err("it takes no arguments".to_owned());
    }
    let (host, folder) = (host()?, folder()?);
    let merger = merger(&host)?;
    let counts = folder.join("counts");
    if counts.exists() {
        std::fs::remove_dir_all(&counts)
            .map_err(|error| format!("cannot remove {}: {error}", counts.display()))?;
    }
    let mut build = dist(&host);
    build.args([
        "--package",
        "ambit-bench",
        "--package",
        "ambit",
        "--target-dir",
    ]);
    build.arg(&folder);
    compile_with(&mut build, "-Cprofile-generate=", &counts);
    if !succeeds(&mut build)? || !run_loads(&folder.join(&host).join(PROFILE).join("ambit-bench"))?
    {
        return Ok(false);
    }
    let mut merge = Command::new(merger);
    merge
        .args(["merge", "--output"])
        .arg(profile()?)
        .arg(&counts);
    let is_made = succeeds(&mut merge)?;
    if is_made {
        println!(
            "what is built next with the profile dist is guided by {}",
            profile()?.display()
        );
    }
    Ok(is_made)
}

/// A build with the profile `dist` for a platform, guided where there is a profile of it.
pub fn guided(target: &str) -> Result<Command> {
    let mut build = dist(target);
    if is_there()? && target == host()? {
        compile_with(&mut build, "-Cprofile-use=", &profile()?);
    } else {
        println!("no profile guides the compiler: `cargo xtask pgo` on {target} makes one");
    }
    Ok(build)
}

/// Whether there is a profile of this platform.
pub fn is_there() -> Result<bool> {
    Ok(profile()?.is_file())
}

fn dist(target: &str) -> Command {
    // With a platform named what runs at the build itself, as macros do, is built apart and counts nothing.
    cargo(&["build", "--profile", PROFILE, "--target", target])
}

fn compile_with(build: &mut Command, option: &str, path: &Path) {
    let mut flags = OsString::from(option);
    flags.push(path);
    // One argument, whatever is in the path.
    build.env("CARGO_ENCODED_RUSTFLAGS", flags);
}

/// Has each load run; true where all came to their end.
fn run_loads(bench: &Path) -> Result<bool> {
    let place = tempfile::tempdir().map_err(|error| format!("cannot make a folder: {error}"))?;
    for load in LOADS {
        let mut command = Command::new(bench);
        command.arg("run").args(*load).current_dir(place.path());
        if !succeeds(&mut command)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn folder() -> Result<PathBuf> {
    Ok(target_folder()?.join("pgo"))
}

fn profile() -> Result<PathBuf> {
    Ok(folder()?.join("ambit.profdata"))
}

/// The program of the toolchain that adds counts up.
fn merger(host: &str) -> Result<PathBuf> {
    let mut ask = Command::new("rustc");
    ask.args(["--print", "sysroot"]).current_dir(root());
    let said = ask.output().map_err(|error| cannot_start(&ask, &error))?;
    let sysroot = String::from_utf8_lossy(&said.stdout);
    let tools = Path::new(sysroot.trim_end()).join("lib/rustlib").join(host);
    let merger = tools.join("bin/llvm-profdata");
    match merger.is_file() {
        true => Ok(merger),
        false => Err(format!(
            "{} is missing: rustup component add llvm-tools",
            merger.display()
        )),
    }
}
