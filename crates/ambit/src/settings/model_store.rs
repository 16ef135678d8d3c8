//! Where the tables of an app's models are.

use super::StoreOptions;
use crate::command_error::{CommandError, Result};
use ambit::store_urls::{DATA_FILE, file_path};
use ambit_runtime::ModelStore;
use std::path::Path;

/// Names the models' database where no option does.
const MODELS_VARIABLE: &str = "AMBIT_MODELS";

impl StoreOptions {
    /// Where an option or the environment says, else beside the store that keeps the index.
    pub(super) fn model_store(&self, app: &Path) -> Result<ModelStore> {
        if let Some(url) = &self.models {
            return parse(url).ok_or_else(|| unknown("--models"));
        }
        let value = std::env::var_os(MODELS_VARIABLE).unwrap_or_default();
        if value.is_empty() {
            return Ok(self.stores(&app.join(DATA_FILE))?.models(app));
        }
        let store = value.to_str().and_then(parse);
        store.ok_or_else(|| unknown(MODELS_VARIABLE))
    }
}

fn parse(url: &str) -> Option<ModelStore> {
    match url.split_once(':')? {
        ("postgres", _) => Some(ModelStore::Postgres(url.to_owned())),
        ("sqlite", path) if !path.is_empty() => file_path(url).map(ModelStore::Sqlite),
        _ => None,
    }
}

/// What was given can hold a password, and is not repeated.
fn unknown(option: &str) -> CommandError {
    let reason =
        "must be sqlite:path or postgres://…: tables are kept in SQLite and PostgreSQL alone";
    CommandError::option(option, reason)
}
