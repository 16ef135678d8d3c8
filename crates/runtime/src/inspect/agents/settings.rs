//! The settings of an agent that count, each with the file that says it. Values are as they are written: `$ENV.NAME` stays a name.

use crate::app::{AGENTS_FILE, App, PackageFile, SEARCH_FILE};
use crate::config::{ConfigStruct, FieldSpec, Setting, ValueKind, units};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The settings of the app.
const APP: &str = "app.yao";

/// Texts that are shown as files and prompts, and keys of services that may be written out.
const LEFT_OUT: &[&str] = &[
    "locales",
    "prompts",
    "search.web.api_key_env",
    "search.web.http",
    "search.web.results",
];
/// A package only lowers these.
const LOWERED: &str = "runtime.limits.";

/// A setting of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AgentSetting {
    /// The value, as it is written: `$ENV.NAME` stays a name.
    pub value: Value,
    /// The file that says it, below the app's folder, or `default`.
    pub from: String,
}

/// What a file says of the settings, or of a part of them.
#[derive(Clone, Copy)]
struct SettingLevel<'a> {
    file: &'a str,
    value: &'a Value,
}

/// The settings of the agent of a package; none where that cannot be read.
pub fn of(app: &App, package: &str) -> BTreeMap<String, AgentSetting> {
    let mut found = BTreeMap::new();
    let written = app.written.of(package);
    let ValueKind::Struct(object) = PackageFile::KIND else {
        return found;
    };
    if written.is_null() {
        return found;
    }
    let mut own = written.clone();
    if own["connector"] == "" {
        // As good as none.
        own["connector"] = Value::Null;
    }
    let (beside, defaults) = (beside(written), defaults(app.written.of(AGENTS_FILE)));
    let search = json!({"search": app.written.of(SEARCH_FILE)});
    let limits = json!({"runtime": app.written.of(APP)});
    // The first that says something counts; limits are read from the first and the last.
    let levels = [
        (package, &own),
        (package, &beside),
        (AGENTS_FILE, &defaults),
        (SEARCH_FILE, &search),
        (APP, &limits),
    ];
    let levels = levels.map(|(file, value)| SettingLevel { file, value });
    collect(&mut found, "", object, &levels);
    found
}

/// What a package says of results beside its `search`, which counts before it.
fn beside(package: &Value) -> Value {
    let (kb, db) = (&package["kb"]["options"], &package["db"]["options"]);
    let kb = json!({"max_results": kb["top_k"], "threshold": kb["score_threshold"]});
    json!({"search": {"kb": kb, "db": {"max_results": db["limit"]}}})
}

/// What counts for all agents, by the keys of packages.
fn defaults(written: &Value) -> Value {
    json!({
        "connector": written["system"]["default"],
        "uses": written["uses"],
        "force_uses": written["force_uses"],
        "options": {"history_size": written["store"]["max_size"]},
    })
}

fn collect(
    found: &mut BTreeMap<String, AgentSetting>,
    prefix: &str,
    object: &ConfigStruct,
    levels: &[SettingLevel<'_>],
) {
    for field in object.fields() {
        let name = format!("{prefix}{}", field.name);
        if LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        let levels = levels.iter().map(|level| SettingLevel {
            file: level.file,
            value: &level.value[field.name],
        });
        let levels: Vec<SettingLevel<'_>> = levels.collect();
        let setting = match &field.kind {
            ValueKind::Struct(inner) => {
                collect(found, &format!("{name}."), inner, &levels);
                None
            }
            ValueKind::Unused(_) => None,
            _ if name.starts_with(LOWERED) => lowered(field, &levels),
            _ => first(&levels).or_else(|| default(field)),
        };
        found.extend(setting.map(|setting| (name, setting)));
    }
}

/// The first level that says something.
fn first(levels: &[SettingLevel<'_>]) -> Option<AgentSetting> {
    levels.iter().find_map(SettingLevel::setting)
}

/// The lower one of what the package says and what the app allows.
fn lowered(field: &FieldSpec, levels: &[SettingLevel<'_>]) -> Option<AgentSetting> {
    let own = levels.first().and_then(SettingLevel::setting);
    let most = levels.last().and_then(SettingLevel::setting);
    let most = most.or_else(|| default(field));
    let measured = |setting: &Option<AgentSetting>| {
        let setting = setting.as_ref()?;
        measure(&field.kind, &setting.value)
    };
    let is_higher = measured(&own)
        .zip(measured(&most))
        .is_some_and(|(own, most)| own > most);
    match is_higher {
        true => most,
        false => own.or(most),
    }
}

/// A limit as a number; nothing where a variable stands for it.
fn measure(kind: &ValueKind, value: &Value) -> Option<u64> {
    match (kind, value) {
        (ValueKind::Duration, value) => units::milliseconds(value),
        (ValueKind::Size, Value::String(text)) => units::bytes(text),
        (_, value) => value.as_u64(),
    }
}

fn default(field: &FieldSpec) -> Option<AgentSetting> {
    let value = field.default?;
    Some(AgentSetting {
        value: value(),
        from: "default".to_owned(),
    })
}

impl SettingLevel<'_> {
    fn setting(&self) -> Option<AgentSetting> {
        (!self.value.is_null()).then(|| AgentSetting {
            value: self.value.clone(),
            from: self.file.to_owned(),
        })
    }
}
