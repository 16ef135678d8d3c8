//! `cargo xtask types`: TypeScript reads the declarations, the examples of the reference and the hooks of the example apps.

use crate::process::{Result, cache, root, succeeds};
use std::path::PathBuf;
use std::process::Command;

/// The compiler that is asked.
const TYPESCRIPT: &str = "5.9.3";

/// Type-checks; true where the compiler finds nothing.
pub fn run(_arguments: &[String]) -> Result<bool> {
    let compiler = compiler()?;
    let mut command = Command::new("node");
    command.arg(compiler).args(["-p", "types/tests"]);
    succeeds(command.current_dir(root()))
}

/// The compiler's script, installed outside the repository when it is first needed.
fn compiler() -> Result<PathBuf> {
    let folder = cache(&format!("typescript-{TYPESCRIPT}"))?;
    let script = folder.join("node_modules/typescript/lib/tsc.js");
    if script.is_file() {
        return Ok(script);
    }
    let mut install = Command::new("npm");
    install.args(["install", "--silent", "--no-audit", "--no-fund"]);
    install.arg(format!("typescript@{TYPESCRIPT}"));
    if !succeeds(install.current_dir(&folder))? {
        return Err(format!("npm could not install typescript@{TYPESCRIPT}"));
    }
    Ok(script)
}
