//! The variables of this process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Returns what `$ENV.NAME` stands for in an app's files. A variable that is not UTF-8 is none.
pub fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// This program, which reads documents of strangers when it is called with `extract`: the file that this process is of, even where
/// another one has taken its place since.
pub fn extract_program() -> PathBuf {
    let own = PathBuf::from("/proc/self/exe");
    match own.exists() {
        true => own,
        false => std::env::current_exe().unwrap_or(own),
    }
}
