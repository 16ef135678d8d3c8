//! The official packages of clients that the server is tried with, installed outside the repository when they are first
//! needed. What is pinned is in `crates/ambit/tests/clients`.

use crate::process::{Result, cache, root, succeeds};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the Python that has the packages for Python.
const PYTHON: &str = "TEST_CLIENTS_PYTHON";
/// Names the folder that has the packages for Node.
const NODE: &str = "TEST_CLIENTS_NODE";

/// The packages.
#[derive(Debug)]
pub struct Clients {
    python: PathBuf,
    node: PathBuf,
}

impl Clients {
    /// Installs what is not there yet.
    pub fn install() -> Result<Self> {
        let cache = cache("clients")?;
        let lock = cache.join("lock");
        // Another run of the tests may be installing the same.
        let _lock = File::create(&lock)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|error| format!("cannot lock {}: {error}", lock.display()))?;
        let node = cache.join("node");
        ready(&node, "node/package.json", npm)?;
        let python = cache.join("python");
        ready(&python, "python/requirements.txt", pip)?;
        Ok(Self {
            python: python.join("bin/python"),
            node,
        })
    }

    /// Names the packages to a program.
    pub fn tell<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env(PYTHON, &self.python).env(NODE, &self.node)
    }
}

/// Installs into a folder unless just that is installed there. The pinned versions are noted last, so that an installation
/// that broke off is repeated.
fn ready(folder: &Path, pinned: &str, install: fn(&Path, &Path) -> Result<()>) -> Result<()> {
    let pinned = root().join("crates/ambit/tests/clients").join(pinned);
    let note = folder.join("installed");
    let failed = |error| format!("cannot install into {}: {error}", folder.display());
    let wanted = fs::read_to_string(&pinned).map_err(failed)?;
    if fs::read_to_string(&note).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)?;
    println!("installing {} into {}", pinned.display(), folder.display());
    install(folder, &pinned)?;
    fs::write(note, wanted).map_err(failed)
}

fn npm(folder: &Path, pinned: &Path) -> Result<()> {
    fs::copy(pinned, folder.join("package.json"))
        .map_err(|error| format!("cannot copy {}: {error}", pinned.display()))?;
    let mut install = Command::new("npm");
    install.args(["install", "--silent", "--no-audit", "--no-fund"]);
    run(install.current_dir(folder), "npm")
}

fn pip(folder: &Path, pinned: &Path) -> Result<()> {
    let mut environment = Command::new("python3");
    run(environment.args(["-m", "venv"]).arg(folder), "python3-venv")?;
    let mut install = Command::new(folder.join("bin/python"));
    install.args(["-m", "pip", "install", "--quiet", "--requirement"]);
    run(install.arg(pinned), "python3-pip")
}

fn run(command: &mut Command, package: &str) -> Result<()> {
    match succeeds(command)? {
        true => Ok(()),
        false => Err(format!(
            "{} failed; on Debian the package {package} is needed",
            command.get_program().display()
        )),
    }
}
