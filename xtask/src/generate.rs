//! `cargo xtask generate`: writes the files that come from tables in the code. A test says when they are out of date.

use crate::process::{Result, cargo, root, succeeds};

/// Writes `types/index.d.ts` and `docs/ctx.md`, then `docs/app-files.md` and the pages of `docs/reference`.
pub fn run(_arguments: &[String]) -> Result<bool> {
    let runtime = ["run", "-q", "-p", "ambit-runtime", "--example", "generate"];
    let ambit = ["run", "-q", "-p", "ambit", "--example", "reference"];
    // The program alone knows its commands: a test of it compares their page, and writes it where it is told to.
    let commands = [
        "test",
        "-q",
        "-p",
        "ambit",
        "--bin",
        "ambit",
        "page_of_commands",
    ];
    Ok(succeeds(cargo(&runtime).arg("--").arg(root()))?
        && succeeds(cargo(&ambit).arg("--").arg(root()))?
        && succeeds(cargo(&commands).env("AMBIT_BLESS", "1"))?)
}
