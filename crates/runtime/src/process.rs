//! Processes: named functions that an app can call, such as `scripts.tools.Add`. A family of them is one file and one row.

mod agent;
pub mod concurrent;
mod context_process_runner;
mod crypto;
mod kb;
mod models;
mod registry;
mod run_resources;
mod scripts;
pub mod store;
mod stores;
mod utils;

pub use context_process_runner::ContextProcessRunner;
pub use registry::{ProcessRegistry, table_models};
pub use run_resources::RunResources;

use crate::ctx::{ContextHandle, RunHost};
use crate::error::{Error, ErrorCode, Result};
use ambit_script::ParentRun;
use ambit_storage::suggestion;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;

/// Processes whose names begin alike.
pub struct ProcessFamily {
    /// What their names begin with, in front of the first dot.
    pub prefix: &'static str,
    /// All their names in an app, for messages about unknown ones.
    pub names: fn(&ProcessRegistry) -> Vec<String>,
    /// Whether there is one of this name.
    pub has: fn(&ProcessRegistry, &str) -> bool,
    /// Runs one.
    pub run: for<'a> fn(&'a ProcessCall<'a>) -> BoxFuture<'a, Result<Value>>,
}

/// All processes.
pub const FAMILIES: &[ProcessFamily] = &[
    scripts::SCRIPTS,
    scripts::AGENTS,
    models::MODELS,
    models::MODEL,
    stores::STORES,
    agent::AGENT,
    utils::UTILS,
    crypto::CRYPTO,
    kb::KB,
];

pub struct ProcessCall<'a> {
    pub name: &'a str,
    /// What it gets.
    pub arguments: Vec<Value>,
    /// The run that calls.
    pub run: &'a RunHost,
    /// The context that it is called for; its caller is the process's.
    pub reach: &'a Arc<ContextHandle>,
    /// The run that it is part of; none for a call from outside, which is a run by itself.
    pub within: Option<&'a ParentRun>,
    /// Whether a script gets the context as one more argument.
    pub with_ctx: bool,
}

impl ProcessCall<'_> {
    /// The processes of its app.
    pub fn catalogue(&self) -> &Arc<ProcessRegistry> {
        &self.reach.scope.processes
    }
}

/// Runs a process. Dropping the future stops it.
pub async fn run(call: &ProcessCall<'_>) -> Result<Value> {
    let family = find(call.catalogue(), call.name)?;
    (family.run)(call).await
}

/// The same for a script, which may call only what the app lists.
pub async fn run_for_script(call: &ProcessCall<'_>) -> Result<Value> {
    check(call.catalogue(), call.name)?;
    run(call).await
}

/// Whether there is a process of this name, with the nearest one if not.
pub fn check_known(catalogue: &ProcessRegistry, name: &str) -> Result<()> {
    find(catalogue, name).map(drop)
}

/// Whether there is a process of this name, and scripts may call it.
pub fn check(catalogue: &ProcessRegistry, name: &str) -> Result<()> {
    find(catalogue, name)?;
    if catalogue.permits(name) {
        return Ok(());
    }
    let message = format!("permission_denied: process {name}");
    Err(Error::new(ErrorCode::PermissionDenied, message))
}

fn find(catalogue: &ProcessRegistry, name: &str) -> Result<&'static ProcessFamily> {
    let prefix = name.split('.').next().unwrap_or_default();
    let family = FAMILIES.iter().find(|family| family.prefix == prefix);
    let known = family.filter(|family| (family.has)(catalogue, name));
    known.ok_or_else(|| not_found(catalogue, name))
}

fn not_found(catalogue: &ProcessRegistry, name: &str) -> Error {
    let names = FAMILIES.iter().flat_map(|family| (family.names)(catalogue));
    let names: Vec<String> = names.collect();
    let hint = suggestion::aside(name, names.iter().map(String::as_str));
    Error::new(
        ErrorCode::NotFound,
        format!("process not found: {name}{hint}"),
    )
}

/// Fixed names, as a family tells them.
fn listed(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}
