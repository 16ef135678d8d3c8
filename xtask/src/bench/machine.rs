//! What is known of the machine and of the versions that a run measures.

use super::{Options, Results};
use crate::pgo;
use crate::process::{Result, commit, said};
use crate::servers;
use std::path::Path;

/// Keeps it. What the system does not say is left out.
pub fn describe(arguments: &[String], options: &Options, results: &mut Results) -> Result<()> {
    let mut command = vec!["cargo xtask bench"];
    command.extend(arguments.iter().map(String::as_str));
    results.fact("command", &command.join(" "))?;
    let facts = [
        ("date", said("date", &["-u", "+%Y-%m-%d %H:%M UTC"])),
        ("Ambit", version(options.profile())),
        ("Rust", said("rustc", &["--version"])),
        ("processor", processor()),
        ("memory", memory()),
        ("kernel", said("uname", &["-sr"])),
        ("system", field("/etc/os-release", "PRETTY_NAME=")),
        ("file system of the stores", file_system(&options.dir)),
    ];
    for (fact, value) in facts {
        if let Some(value) = value {
            results.fact(fact, &value)?;
        }
    }
    Ok(())
}

/// Keeps the versions of the servers that this run has started.
pub fn describe_servers(results: &mut Results) -> Result<()> {
    let programs = servers::programs()?;
    for (name, program) in [("PostgreSQL", programs.postgres), ("Redis", programs.redis)] {
        if let Some(version) = said(&program.to_string_lossy(), &["--version"]) {
            results.fact(name, &version)?;
        }
    }
    Ok(())
}

fn version(profile: &str) -> Option<String> {
    let guided = match pgo::profiled() {
        Ok(Some(commit)) if profile == pgo::PROFILE => {
            format!(", guided by a profile of {commit}, which is of some of these works")
        }
        _ => String::new(),
    };
    Some(format!(
        "{}, built with the profile {profile}{guided}",
        commit()?
    ))
}

fn processor() -> Option<String> {
    let name = field("/proc/cpuinfo", "model name");
    let cores = std::thread::available_parallelism().ok()?;
    let name = name.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    Some(format!("{name}, {cores} cores"))
}

fn memory() -> Option<String> {
    let text = field("/proc/meminfo", "MemTotal:")?;
    let kilobytes: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(format!("{:.1} GiB", kilobytes / f64::from(1 << 20)))
}

/// The type of the file system, and what it lies on.
fn file_system(folder: &Path) -> Option<String> {
    let folder = folder.to_string_lossy();
    said(
        "findmnt",
        &["-n", "-o", "FSTYPE,SOURCE,OPTIONS", "-T", &folder],
    )
}

/// What stands behind this word in a file of the system.
fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let value = line.trim_start_matches([' ', '\t', ':', '=']);
    Some(value.trim().trim_matches('"').to_owned())
}
