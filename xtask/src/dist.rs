//! `cargo xtask dist`: what a release consists of: an archive, a Debian package, a container image and checksums.

mod archive;
mod debian;
pub mod files;
mod image;
mod options;
mod own_pages;

use crate::pgo;
use crate::process::{Result, host, root, target_folder};
use files::{complete, read};
use options::DistOptions;
use std::path::PathBuf;

/// Bytes that the stripped program may have. Wanted are 40 MB (decision 0073).
const SIZE_LIMIT: u64 = 56_000_000;

/// The texts that come with the program.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// What Debian and containers call the processors of platforms.
const ARCHITECTURES: [(&str, &str); 2] = [
    ("x86_64-unknown-linux-gnu", "amd64"),
    ("aarch64-unknown-linux-gnu", "arm64"),
];

/// Makes the packages; an error where the program is too large.
pub fn run(arguments: &[String]) -> Result<bool> {
    let Some(options) = DistOptions::of(arguments)? else {
        println!("{}", options::HELP);
        return Ok(true);
    };
    let target = options.target.map_or_else(host, Ok)?;
    let release = Release {
        version: version()?,
        program: options.binary.map_or_else(|| build(&target), Ok)?,
        target,
        folder: target_folder()?.join("dist-packages"),
    };
    release.check_size()?;
    archive::make(&release)?;
    debian::make(&release)?;
    image::make(&release)?;
    archive::write_checksums(&release.folder)?;
    println!("the packages are in {}", release.folder.display());
    Ok(true)
}

/// A program, and where its packages go.
#[derive(Debug)]
struct Release {
    version: String,
    /// The platform, as rustc names it.
    target: String,
    program: PathBuf,
    folder: PathBuf,
}

impl Release {
    fn check_size(&self) -> Result<()> {
        let program = self.program.display();
        let size = std::fs::metadata(&self.program)
            .map_err(|error| format!("cannot read {program}: {error}"))?
            .len();
        println!("{program} has {size} bytes");
        if size > SIZE_LIMIT {
            return Err(format!(
                "{program} has {size} bytes and may have {SIZE_LIMIT}; is it stripped?"
            ));
        }
        Ok(())
    }

    /// What Debian and containers call its processor; none where there are no packages of these kinds for the platform.
    fn architecture(&self) -> Option<&'static str> {
        let mut known = ARCHITECTURES.iter();
        let found = known.find(|(target, _)| *target == self.target);
        found.map(|(_, architecture)| *architecture)
    }
}

/// Builds the program.
fn build(target: &str) -> Result<PathBuf> {
    complete(&mut pgo::guided(target)?)?;
    Ok(pgo::programs(target)?.join("ambit"))
}

/// The version of all crates.
fn version() -> Result<String> {
    let manifest = read(&root().join("Cargo.toml"))?;
    let mut lines = manifest.lines();
    let version = lines.find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    version
        .map(str::to_owned)
        .ok_or_else(|| "Cargo.toml says no version".to_owned())
}

#[cfg(test)]
mod tests;
