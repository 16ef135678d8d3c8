//! Writes what comes from the tables of `ctx` below a folder: `cargo xtask generate` runs this for the repository.

use ambit_runtime::ctx;
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let root = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    std::fs::create_dir_all(root.join("types"))?;
    std::fs::create_dir_all(root.join("docs"))?;
    std::fs::write(root.join("types/index.d.ts"), ctx::declarations())?;
    std::fs::write(root.join("docs/ctx.md"), ctx::reference())
}
