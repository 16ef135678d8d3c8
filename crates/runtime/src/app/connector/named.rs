//! Connectors that other files name: those that are not there are told.

use crate::app::loader::Loader;
use crate::app::problem::{Problem, Severity};
use crate::app::read::{Content, Node};
use crate::app::variables::Variables;
use ambit_storage::near;

/// Warns of a connector that the app does not have. One that a role or a variable names may be there elsewhere.
pub fn check(loader: &mut Loader, file: &str, (key, named): (&str, &Node)) {
    let Content::Text(name) = &named.content else {
        return;
    };
    if name.is_empty() || name.starts_with("use::") || Variables::named(name).is_some() {
        return;
    }
    let known = loader.within("connectors", ".conn.yao");
    let ids = || known.iter().map(|(id, _)| id.as_str());
    if ids().any(|id| id == name) {
        return;
    }
    let hint = near::hint(name, ids());
    let message = format!("\"{key}\": the app has no connector \"{name}\"{hint}");
    loader.refuse(Problem {
        line: Some(named.at.line),
        column: Some(named.at.column),
        ..Problem::new(Severity::Warning, file, message)
    });
}
