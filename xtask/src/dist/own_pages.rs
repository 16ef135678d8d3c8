//! What the program writes for `man` and for shells.

use super::files::{complete, works};
use crate::process::Result;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

/// The page for `man`, which is compressed as Debian wants it.
const PAGE: &str = "share/man/man1/ambit.1";
/// With which arguments the program writes what, and its place below `usr`, as Debian has it.
const FILES: [(&[&str], &str); 4] = [
    (&["man"], PAGE),
    (
        &["completions", "bash"],
        "share/bash-completion/completions/ambit",
    ),
    (
        &["completions", "zsh"],
        "share/zsh/vendor-completions/_ambit",
    ),
    (
        &["completions", "fish"],
        "share/fish/vendor_completions.d/ambit.fish",
    ),
];

/// Has the program write them below this folder; none where it is one for other machines.
pub fn write(program: &Path, folder: &Path) -> Result<()> {
    let shown = program.display();
    // A name alone would be looked for on the PATH.
    let program = std::path::absolute(program).map_err(|error| format!("{shown}: {error}"))?;
    if !works(Command::new(&program).arg("--version")) {
        println!("no page for man and no completions: {shown} does not run on this machine");
        return Ok(());
    }
    for (arguments, path) in FILES {
        let path = folder.join(path);
        let made = fs::create_dir_all(path.parent().unwrap_or(folder));
        let file = made.and_then(|()| File::create(&path));
        let file = file.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        complete(Command::new(&program).args(arguments).stdout(file))?;
    }
    let mut compress = Command::new("gzip");
    complete(
        compress
            .args(["--best", "--no-name"])
            .arg(folder.join(PAGE)),
    )
}
