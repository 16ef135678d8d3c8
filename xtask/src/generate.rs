//! `cargo xtask generate`: writes the files that come from tables in the code. A test says when they are out of date.

use crate::process::{Result, cargo, root, succeeds};

/// Writes `types/index.d.ts` and `docs/ctx.md`.
pub fn run(_arguments: &[String]) -> Result<bool> {
    let program = ["run", "-q", "-p", "ambit-runtime", "--example", "generate"];
    succeeds(cargo(&program).arg("--").arg(root()))
}
