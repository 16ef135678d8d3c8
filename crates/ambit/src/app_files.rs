//! What is known of the files of an app, for editors: JSON Schemas, and the settings with which an editor finds them. Pages for
//! people come from the same tables (`reference/`).

use crate::auth;
use ambit_runtime::app;
use ambit_runtime::app::read::{FileKind, schema};
use serde_json::{Map, Value, json};

/// Where an app has its schemas.
pub const SCHEMAS: &str = ".vscode/schemas";

/// The settings of Visual Studio Code for an app.
pub const EDITOR_SETTINGS: &str = ".vscode/settings.json";

/// The kinds of files that an app may have.
pub(crate) fn kinds() -> Vec<&'static FileKind> {
    app::FILES.iter().chain(auth::FILES).collect()
}

/// A JSON Schema.
#[derive(Debug)]
pub struct SchemaFile {
    /// The file's name.
    pub name: String,
    /// The files that it is about, as patterns below the app's folder.
    pub patterns: &'static [&'static str],
    /// The schema.
    pub schema: Value,
}

/// The schemas of all kinds of files.
pub fn schemas() -> Vec<SchemaFile> {
    let kinds = kinds().into_iter().map(|kind| SchemaFile {
        name: format!("{}.json", kind.name),
        patterns: kind.patterns,
        schema: schema(kind.doc, &kind.kind),
    });
    kinds.collect()
}

/// Which files the schemas in [`SCHEMAS`] are for, as Visual Studio Code and its extension for YAML want to know it.
pub fn editor_settings() -> Value {
    let (mut json, mut yaml) = (Vec::new(), Map::new());
    for file in schemas() {
        let url = format!("./{SCHEMAS}/{}", file.name);
        let patterns = file.patterns.iter().copied();
        let (of_yaml, of_json): (Vec<&str>, Vec<&str>) =
            patterns.partition(|pattern| pattern.ends_with(".yml"));
        if !of_json.is_empty() {
            json.push(json!({"fileMatch": of_json, "url": url}));
        }
        if !of_yaml.is_empty() {
            yaml.insert(url, of_yaml.into());
        }
    }
    json!({
        "files.associations": {"*.yao": "jsonc"},
        "json.schemas": json,
        "yaml.schemas": yaml,
    })
}
