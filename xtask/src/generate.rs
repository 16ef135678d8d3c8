//! `cargo xtask generate`: writes the files that come from tables in the code. A test says when they are out of date.

use crate::process::{Result, cargo, root, succeeds};

/// Writes `types/index.d.ts` and `docs/ctx.md`, then `docs/app-files.md`.
pub fn run(_arguments: &[String]) -> Result<bool> {
    let runtime = ["run", "-q", "-p", "ambit-runtime", "--example", "generate"];
    let ambit = ["run", "-q", "-p", "ambit", "--example", "app_files"];
    Ok(succeeds(cargo(&runtime).arg("--").arg(root()))?
        && succeeds(cargo(&ambit).arg("--").arg(root()))?)
}
