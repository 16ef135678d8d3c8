//! `cargo xtask pgo`: the profile that guides the compiler where `dist` and `bench` build: which parts of the program run how often
//! under loads of the benchmarks.

use crate::dist::files;
use crate::process::{
    Result, cannot_start, cargo, commit, environment, host, root, succeeds, target_folder,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The profile of cargo by which all of them build.
pub const PROFILE: &str = "dist";

/// The loads, as options of the benchmark program: turns over both stores, waiting tools, streams, the start and a model's queries;
/// then the other works over SQLite in small, but those that compare cores and nodes.
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
    let (merger, host, folder) = (merger()?, host()?, folder()?);
    let counts = folder.join("counts");
    files::empty_folder(&counts)?;
    let mut build = build(&host, &folder);
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
    if !succeeds(&mut merge)? {
        return Ok(false);
    }
    files::write(&source()?, &commit().unwrap_or_default())?;
    // Cargo does not see that packages which are not edited were built by another profile.
    files::empty_folder(&programs(&host)?)?;
    println!(
        "the next `bench` and `dist` are guided by {}",
        profile()?.display()
    );
    Ok(true)
}

/// A build of what is published, and of the benchmark program; guided where there is a profile of this platform.
pub fn guided(target: &str) -> Result<Command> {
    let mut build = build(target, &target_folder()?);
    if profile()?.is_file() && target == host()? {
        compile_with(&mut build, "-Cprofile-use=", &profile()?);
    } else {
        println!("no profile guides the compiler: `cargo xtask pgo` on {target} makes one");
    }
    Ok(build)
}

/// Where such a build puts its programs.
pub fn programs(target: &str) -> Result<PathBuf> {
    Ok(target_folder()?.join(target).join(PROFILE))
}

/// The commit that the profile is of, where there is one.
pub fn profiled() -> Result<Option<String>> {
    match profile()?.is_file() {
        true => files::read(&source()?).map(Some),
        false => Ok(None),
    }
}

/// The same packages each time: what is built together decides which features they have, and so what their functions are called.
fn build(target: &str, folder: &Path) -> Command {
    let mut build = cargo(&["build", "--locked", "--profile", PROFILE]);
    build.args(["--package", "ambit", "--package", "ambit-bench"]);
    // With a platform named what runs at the build itself, as macros do, is built apart and counts nothing.
    build.args(["--target", target, "--target-dir"]).arg(folder);
    build
}

/// Adds an option to those of `RUSTFLAGS`, which cargo does not read beside these.
fn compile_with(build: &mut Command, option: &str, path: &Path) {
    let given = environment("RUSTFLAGS").unwrap_or_default();
    let mut flags = OsString::new();
    for flag in given.split_whitespace() {
        flags.push(flag);
        flags.push("\x1f");
    }
    flags.push(option);
    flags.push(path);
    build.env("CARGO_ENCODED_RUSTFLAGS", flags);
}

/// Puts each load on the program; true where all came to their end.
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

fn source() -> Result<PathBuf> {
    Ok(folder()?.join("commit"))
}

/// The program of the toolchain that adds counts up.
fn merger() -> Result<PathBuf> {
    let mut ask = Command::new("rustc");
    ask.args(["--print", "target-libdir"]).current_dir(root());
    let said = ask.output().map_err(|error| cannot_start(&ask, &error))?;
    let libraries = String::from_utf8_lossy(&said.stdout);
    let merger = Path::new(libraries.trim_end())
        .with_file_name("bin")
        .join("llvm-profdata");
    match merger.is_file() {
        true => Ok(merger),
        false => Err(format!(
            "{} is missing: rustup component add llvm-tools",
            merger.display()
        )),
    }
}
