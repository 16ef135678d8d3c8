//! The variables of this process.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Returns what `$ENV.NAME` stands for in an app's files. A variable that is not UTF-8 is none.
pub fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}
