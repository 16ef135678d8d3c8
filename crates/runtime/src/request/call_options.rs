//! In which ways calls of models can be changed, and the options with which scripts call agents and models.

use super::SkipChanges;
use crate::chat::{GenerationOptions, ToolDefinition};
use crate::tool::ServerSelection;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What is said of an agent's calls of its model: by the app, the agent's package, whoever calls the agent, and `Create`. What
/// is not set says nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallOptions {
    /// A connector's id, or `use::<role>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector: Option<String>,
    /// The mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The key of a preset of prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_preset: Option<String>,
    /// Whether the global prompts are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_global_prompts: Option<bool>,
    /// How the answer is to be generated.
    #[serde(rename = "options")]
    pub generation: GenerationOptions,
    /// Tools that the client runs itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// The tool servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<Vec<ServerSelection>>,
    /// Which agent, server or built-in part does which step beside the model.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub uses: BTreeMap<String, String>,
    /// Whether that is so even where the model can do it itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_uses: Option<bool>,
    /// Whether and what is searched automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchChoice>,
}

impl CallOptions {
    /// The same with what somebody says who counts before.
    pub fn merge(self, later: Self) -> Self {
        let Self {
            mut generation,
            mut uses,
            ..
        } = self;
        generation.merge(later.generation);
        let named = later.uses.into_iter();
        let named = named.map(|(step, value)| (step, value.trim().to_owned()));
        uses.extend(named.filter(|(_, value)| !value.is_empty()));
        let without_global = [self.disable_global_prompts, later.disable_global_prompts];
        Self {
            connector: later.connector.or(self.connector),
            mode: later.mode.or(self.mode),
            prompt_preset: later.prompt_preset.or(self.prompt_preset),
            // Nobody brings back what another has left out.
            disable_global_prompts: without_global.into_iter().flatten().max(),
            generation,
            tools: match later.tools.is_empty() {
                true => self.tools,
                false => later.tools,
            },
            mcp_servers: later.mcp_servers.or(self.mcp_servers),
            uses,
            force_uses: later.force_uses.or(self.force_uses),
            search: later.search.or(self.search),
        }
    }

    /// Who does a step beside the model.
    pub fn uses(&self, step: &str) -> Option<&str> {
        self.uses.get(step).map(String::as_str)
    }
}

/// Whether and what is searched automatically.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum SearchChoice {
    /// Whether.
    Flag(bool),
    /// What: a search intent.
    #[schema(value_type = Object)]
    Intent(Map<String, Value>),
}

/// The options with which a script calls an agent or a model, or hands over to an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct ScriptCallOptions {
    /// What they say of the model's calls.
    pub call: CallOptions,
    /// What they say of what is left out.
    pub skip: SkipChanges,
    /// All of them as they were given: hooks of the called agent may know more.
    pub given: Map<String, Value>,
}

impl ScriptCallOptions {
    /// What is merged into the metadata.
    pub fn metadata(&self) -> Map<String, Value> {
        let metadata = self.given.get("metadata").and_then(Value::as_object);
        metadata.cloned().unwrap_or_default()
    }
}

impl From<Map<String, Value>> for ScriptCallOptions {
    fn from(given: Map<String, Value>) -> Self {
        let text = |name: &str| given.get(name)?.as_str().map(str::to_owned);
        let flag = |name: &str| given.get(name)?.as_bool();
        let uses = given.get("uses").and_then(Value::as_object);
        let uses = uses.into_iter().flatten();
        let uses =
            uses.filter_map(|(step, value)| Some((step.clone(), value.as_str()?.to_owned())));
        let search = |value| SearchChoice::deserialize(value).ok();
        Self {
            call: CallOptions {
                connector: text("connector"),
                mode: text("mode"),
                disable_global_prompts: flag("disable_global_prompts"),
                uses: uses.collect(),
                force_uses: flag("force_uses"),
                search: given.get("search").and_then(search),
                ..CallOptions::default()
            },
            skip: given.get("skip").map(SkipChanges::read).unwrap_or_default(),
            given,
        }
    }
}

impl From<ScriptCallOptions> for Map<String, Value> {
    fn from(options: ScriptCallOptions) -> Self {
        options.given
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn options(given: Value) -> CallOptions {
        CallOptions::deserialize(given).unwrap()
    }

    #[test]
    fn later_levels_count_key_by_key_and_empty_values_say_nothing() {
        let uses = options(
            json!({"uses": {"vision": "a", "audio": "b", "fetch": "builtin"}, "force_uses": true}),
        )
        .merge(options(json!({"uses": {"vision": " c ", "audio": ""}})));
        let given = json!({"uses": {"fetch": "disabled", "web": 5}, "x": 1});
        let script = ScriptCallOptions::deserialize(&given).unwrap();
        assert_eq!(json!(script), given);
        let uses = uses.merge(script.call);
        let named = ["vision", "audio", "fetch", "web"].map(|step| uses.uses(step));
        assert_eq!(named, [Some("c"), Some("b"), Some("disabled"), None]);
        assert_eq!(uses.force_uses, Some(true));
        let forced = options(json!({"force_uses": false}));
        assert_eq!(uses.merge(forced).force_uses, Some(false));
    }

    #[test]
    fn every_way_of_changing_a_call_is_merged() {
        let first = json!({"connector": "a", "mode": "a", "prompt_preset": "a", "disable_global_prompts": false,
            "options": {"seed": 1, "user": "a"}, "tools": [{"type": "a"}], "mcp_servers": ["a"], "uses": {"web": "a"},
            "force_uses": false, "search": true});
        let second = json!({"connector": "b", "mode": "b", "prompt_preset": "b", "disable_global_prompts": true,
            "options": {"seed": 2}, "tools": [{"type": "b"}], "mcp_servers": [], "uses": {"web": "b"}, "force_uses": true,
            "search": {"need_search": false}});
        let merge = |first: &Value, second: &Value| {
            json!(options(first.clone()).merge(options(second.clone())))
        };
        let nothing = json!({});
        assert_eq!(merge(&first, &nothing), first);
        assert_eq!(merge(&nothing, &first), first);
        let mut both = second.clone();
        both["options"]["user"] = "a".into();
        assert_eq!(merge(&first, &second), both);
        assert_eq!(merge(&second, &first)["disable_global_prompts"], true);
    }
}
