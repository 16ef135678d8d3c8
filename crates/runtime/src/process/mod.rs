//! Processes: named functions that an app can call, such as `scripts.tools.Add`. A family of them is one file and one row.

mod agent;
mod bound;
mod catalogue;
mod crypto;
pub mod many;
mod models;
mod nest;
mod scripts;
pub mod store;
mod stores;
mod utils;

pub use bound::Bound;
pub use catalogue::Catalogue;
pub use nest::Nest;

use crate::ctx::{Reach, Run};
use crate::error::{Code, Error, Result};
use ambit_script::Caller;
use ambit_storage::near;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;

/// Processes whose names begin alike.
pub struct Family {
    /// What their names begin with, in front of the first dot.
    pub prefix: &'static str,
    /// All their names in an app, for messages about unknown ones.
    pub names: fn(&Catalogue) -> Vec<String>,
    /// Whether there is one of this name.
    pub has: fn(&Catalogue, &str) -> bool,
    /// Runs one.
    pub run: for<'a> fn(&'a Asked<'a>) -> BoxFuture<'a, Result<Value>>,
}

/// All processes.
pub const FAMILIES: &[Family] = &[
    scripts::SCRIPTS,
    scripts::AGENTS,
    models::MODELS,
    models::MODEL,
    stores::STORES,
    agent::AGENT,
    utils::UTILS,
    crypto::CRYPTO,
];

/// One call of a process.
pub struct Asked<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it gets.
    pub arguments: Vec<Value>,
    /// The run that calls.
    pub run: &'a Run,
    /// The context that it is called for; its caller is the process's.
    pub reach: &'a Arc<Reach>,
    /// The run that it is part of; none for a call from outside, which is a run by itself.
    pub within: Option<&'a Caller>,
    /// Whether a script gets the context as one more argument.
    pub with_ctx: bool,
}

impl Asked<'_> {
    /// The processes of its app.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.reach.scope.processes
    }
}

/// Runs a process. Dropping the future stops it.
pub async fn run(asked: &Asked<'_>) -> Result<Value> {
    let family = find(asked.catalogue(), asked.name)?;
    (family.run)(asked).await
}

/// The same for a script, which may call only what the app lists.
pub async fn run_for_script(asked: &Asked<'_>) -> Result<Value> {
    check(asked.catalogue(), asked.name)?;
    run(asked).await
}

/// Whether there is a process of this name, with the nearest one if not.
pub fn check_known(catalogue: &Catalogue, name: &str) -> Result<()> {
    find(catalogue, name).map(drop)
}

/// Whether there is a process of this name, and scripts may call it.
pub fn check(catalogue: &Catalogue, name: &str) -> Result<()> {
    find(catalogue, name)?;
    if catalogue.permits(name) {
        return Ok(());
    }
    let message = format!("permission_denied: process {name}");
    Err(Error::new(Code::PermissionDenied, message))
}

fn find(catalogue: &Catalogue, name: &str) -> Result<&'static Family> {
    let prefix = name.split('.').next().unwrap_or_default();
    let family = FAMILIES.iter().find(|family| family.prefix == prefix);
    let known = family.filter(|family| (family.has)(catalogue, name));
    known.ok_or_else(|| not_found(catalogue, name))
}

fn not_found(catalogue: &Catalogue, name: &str) -> Error {
    let names = FAMILIES.iter().flat_map(|family| (family.names)(catalogue));
    let names: Vec<String> = names.collect();
    let meant = near::nearest(name, names.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)"));
    Error::new(Code::NotFound, format!("process not found: {name}{meant}"))
}

/// Fixed names, as a family tells them.
fn listed(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}
