//! The browser that pages are tried in: the one that the environment names, else Chromium or Chrome of this machine.

use crate::packages::{self, search};
use crate::process::{Result, environment};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names its program.
const VARIABLE: &str = "TEST_CHROMIUM";
/// What it is called on the PATH.
const NAMES: &[&str] = &[
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
];
/// Where macOS keeps it.
const APPLICATIONS: &[&str] = &[
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];
/// What Debian calls it.
const PACKAGE: &str = "chromium";

/// A browser's program.
#[derive(Debug)]
pub struct Browser(PathBuf);

impl Browser {
    /// Finds one; installs the Debian package if there is none and this is root on Debian.
    pub fn find() -> Result<Self> {
        if let Some(program) = environment(VARIABLE) {
            return Ok(Self(PathBuf::from(program)));
        }
        if let Some(program) = installed() {
            return Ok(Self(program));
        }
        packages::install(&[PACKAGE]).map_err(advice)?;
        let program = installed().map(Self);
        program.ok_or_else(|| advice("are installed, but their program was not found"))
    }

    /// Names it to a program.
    pub fn tell<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env(VARIABLE, &self.0)
    }
}

fn installed() -> Option<PathBuf> {
    let path = packages::path();
    let applications = APPLICATIONS.iter().map(Path::new);
    let mut applications = applications.filter(|program| program.is_file());
    let found = NAMES.iter().find_map(|name| search(name, &path));
    found.or_else(|| applications.next().map(Path::to_owned))
}

fn advice(what: &str) -> String {
    format!(
        "the packages {PACKAGE} {what}. Install Chromium (Debian: apt-get install {PACKAGE}; Homebrew: brew install --cask \
         chromium) or Chrome, or name the program of either in {VARIABLE}"
    )
}

#[cfg(test)]
mod tests {
    use super::advice;

    #[test]
    fn the_advice_says_what_to_install() {
        let text = advice("are missing");
        assert!(text.contains("apt-get install chromium;"), "{text}");
        assert!(text.ends_with("TEST_CHROMIUM"), "{text}");
    }
}
