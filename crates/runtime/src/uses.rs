//! `uses`: who does the steps beside the model, as the app, an agent's package, a call and `Create` say, and asking them.

mod client;

pub(crate) use client::{UsesClient, UsesFailure, UsesRequest, words};

use crate::app::App;
use ambit_storage::suggestion;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Who does which step of one agent in one turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UsesSettings {
    named: BTreeMap<String, String>,
    /// They do it even where the model can.
    pub is_forced: bool,
}

impl UsesSettings {
    /// The same with what one more level says, key by key; an empty value says nothing.
    pub fn with(mut self, named: &BTreeMap<String, String>, is_forced: Option<bool>) -> Self {
        for (key, value) in named {
            if !value.trim().is_empty() {
                self.named.insert(key.clone(), value.trim().to_owned());
            }
        }
        self.is_forced = is_forced.unwrap_or(self.is_forced);
        self
    }

    /// The same with what a script says, of which only texts count.
    pub fn with_given(self, named: &Map<String, Value>, is_forced: Option<bool>) -> Self {
        let texts = named.iter();
        let texts =
            texts.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        self.with(&texts.collect(), is_forced)
    }

    /// The same with `uses` and `force_uses` of a call's options.
    pub fn with_options(self, options: &Map<String, Value>) -> Self {
        let none = Map::new();
        let named = options.get("uses").and_then(Value::as_object);
        let is_forced = options.get("force_uses").and_then(Value::as_bool);
        self.with_given(named.unwrap_or(&none), is_forced)
    }

    /// What is said of this step.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.named.get(key).map(String::as_str)
    }
}

/// What a value of `uses` means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UsesTarget {
    /// What Ambit has for it.
    Builtin,
    /// Nobody does it.
    Disabled,
    /// This agent.
    Agent(String),
    /// A tool: `<server>.<tool>`, or a server that has one for it.
    Tool(String),
}

impl UsesTarget {
    /// Reads a value; `Err` says why it is unknown.
    pub fn read(app: &App, value: &str) -> Result<Self, String> {
        match value {
            "builtin" => return Ok(Self::Builtin),
            "disabled" => return Ok(Self::Disabled),
            _ => {}
        }
        if let Some(tool) = value.strip_prefix("mcp:") {
            return Ok(Self::Tool(tool.to_owned()));
        }
        let id = value.strip_prefix("agent:").unwrap_or(value);
        match app.agents.contains_key(id) {
            true => Ok(Self::Agent(id.to_owned())),
            false => {
                let known = app.agents.keys().map(String::as_str);
                let hint = suggestion::hint(id, known.chain(["builtin", "disabled"]));
                Err(format!("there is no agent \"{id}\"{hint}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn later_levels_count_key_by_key_and_empty_values_say_nothing() {
        let level = |value: Value| value.as_object().cloned().unwrap();
        let uses = UsesSettings::default()
            .with_given(
                &level(json!({"vision": "a", "audio": "b", "fetch": "builtin"})),
                Some(true),
            )
            .with_given(&level(json!({"vision": "c", "audio": ""})), None)
            .with_options(&level(json!({"uses": {"fetch": "disabled"}, "x": 1})));
        let named = ["vision", "audio", "fetch", "web"].map(|key| uses.get(key));
        assert_eq!(named, [Some("c"), Some("b"), Some("disabled"), None]);
        assert!(uses.is_forced);
        let forced = level(json!({"force_uses": false}));
        assert!(!uses.with_options(&forced).is_forced);
    }

    #[test]
    fn values_are_told_apart() {
        let mut app = App::default();
        for id in ["eyes", "tests.ears"] {
            app.agents.insert(id.to_owned(), Ok(Arc::default()));
        }
        let agent = |id: &str| Ok(UsesTarget::Agent(id.to_owned()));
        for (value, expected) in [
            ("builtin", Ok(UsesTarget::Builtin)),
            ("disabled", Ok(UsesTarget::Disabled)),
            ("eyes", agent("eyes")),
            ("agent:tests.ears", agent("tests.ears")),
            ("mcp:box.see", Ok(UsesTarget::Tool("box.see".to_owned()))),
            (
                "eyed",
                Err("there is no agent \"eyed\"; did you mean \"eyes\"?".to_owned()),
            ),
        ] {
            assert_eq!(UsesTarget::read(&app, value), expected, "{value}");
        }
    }
}
