//! Packs the files of the built web console, which the program then holds.

#[path = "src/gzip.rs"]
#[expect(dead_code, reason = "nothing is unpacked here")]
mod gzip;

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Where `cargo xtask console` leaves the console.
const FOLDER: &str = "console";

fn main() -> io::Result<()> {
    let folder = Path::new(FOLDER);
    let is_built = folder.is_dir();
    // A path that is not there would have this run each time.
    println!(
        "cargo::rerun-if-changed={}",
        if is_built { FOLDER } else { "." }
    );
    let is_wanted = env::var_os("CARGO_FEATURE_CONSOLE").is_some();
    let mut names = Vec::new();
    if is_built && is_wanted {
        list(folder, "", &mut names)?;
    }
    names.sort();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut table = String::from("&[\n");
    for (at, name) in names.iter().enumerate() {
        let packed = out.join(format!("console-{at}.gz"));
        fs::write(&packed, gzip::pack(&fs::read(folder.join(name))?))?;
        let _ = writeln!(table, "({name:?}, include_bytes!({packed:?})),");
    }
    table.push(']');
    fs::write(out.join("console_files.rs"), table)
}

/// The names of all files below a folder, but for hidden ones.
fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => list(&entry.path(), &format!("{prefix}{name}/"), names)?,
            false => names.push(format!("{prefix}{name}")),
        }
    }
    Ok(())
}
