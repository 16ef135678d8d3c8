//! Looking at an app without running it.

use crate::app::{self, FileProblem};
use crate::ctx::surface;
use crate::error::{Error, Result};
use ambit_script::{Engine, EngineSettings};
use std::collections::BTreeMap;
use std::path::Path;

/// Everything that is wrong with the app in this folder or has no effect there, its scripts included, in order of files.
pub fn check(root: &Path, environment: &BTreeMap<String, String>) -> Result<Vec<FileProblem>> {
    let engine = Engine::new(&EngineSettings::default(), surface())
        .map_err(|error| Error::internal(error.to_string()))?;
    Ok(app::check::check(root, environment, &engine))
}
