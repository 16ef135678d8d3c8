//! What `Create` returned.

use super::hook_fields::{Delegate, HookFields};
use crate::app::StepUses;
use crate::app::read::ConfigObject;
use crate::chat::{ChatMessage, GenerationOptions};
use crate::error::Result;
use crate::trace::{LogLevel, TraceNode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What `Create` changes of its turn. Absent fields change nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CreateResult {
    /// The whole list for the model; never empty.
    pub messages: Option<Vec<ChatMessage>>,
    /// `temperature`, `max_tokens`, `max_completion_tokens` and `audio`.
    pub options: GenerationOptions,
    /// The tool servers instead of the package's, each `"id"` or `{server_id, tools?, resources?}`.
    pub mcp_servers: Option<Vec<Value>>,
    /// The key of a preset.
    pub prompt_preset: Option<String>,
    /// The connector for this turn.
    pub connector: Option<String>,
    /// The language, in lower case.
    pub locale: Option<String>,
    /// The theme.
    pub theme: Option<String>,
    /// The page.
    pub route: Option<String>,
    /// What is merged into `ctx.metadata`.
    pub metadata: Map<String, Value>,
    /// Which agent, server or built-in part does what.
    pub uses: Map<String, Value>,
    /// Whether that is so even if the model can do it itself.
    pub force_uses: Option<bool>,
    /// `true`, `false` or a known intent.
    pub search: Option<Value>,
    /// Whether the global prompts are left out.
    pub disable_global_prompts: Option<bool>,
    /// The agent that takes over.
    pub delegate: Option<Delegate>,
}

impl CreateResult {
    /// As a response shows it: what `Create` returned and nothing else.
    pub fn shown(&self) -> Value {
        let Ok(Value::Object(mut fields)) = serde_json::to_value(self) else {
            return Value::Null;
        };
        fields.retain(|_, value| {
            !value.is_null() && value.as_object().is_none_or(|map| !map.is_empty())
        });
        if let Some(Value::Object(options)) = fields.remove("options") {
            fields.extend(options);
        }
        Value::Object(fields)
    }

    /// Reads the returned value; keys that are not read are named in the trace.
    pub(super) fn read(value: Value, node: &TraceNode) -> Result<Option<Self>> {
        let Some(mut fields) = HookFields::of("Create", value)? else {
            return Ok(None);
        };
        if fields.is_empty() {
            return Ok(None);
        }
        let created = Self {
            messages: fields.messages("")?.filter(|messages| !messages.is_empty()),
            options: options(&mut fields)?,
            mcp_servers: servers(&mut fields)?,
            prompt_preset: fields.text("prompt_preset")?,
            connector: fields.text("connector")?,
            locale: fields
                .text("locale")?
                .map(|tag| tag.to_lowercase().replace('_', "-")),
            theme: fields.text("theme")?,
            route: fields.text("route")?,
            metadata: fields.map("metadata")?,
            uses: uses(&mut fields)?,
            force_uses: fields.flag("force_uses")?,
            search: search(&mut fields)?,
            disable_global_prompts: fields.flag("disable_global_prompts")?,
            delegate: fields.delegate()?,
        };
        tell_unread("Create", fields, node);
        Ok(Some(created))
    }
}

/// Names the keys that were not read.
pub fn tell_unread(hook: &str, fields: HookFields, node: &TraceNode) {
    let rest = fields.rest();
    if !rest.is_empty() {
        let keys: Vec<&str> = rest.keys().map(String::as_str).collect();
        let text = format!(
            "{hook} returned keys that are not read: {}",
            keys.join(", ")
        );
        node.log(LogLevel::Info, text, Value::Null);
    }
}

fn options(fields: &mut HookFields) -> Result<GenerationOptions> {
    let mut options = GenerationOptions::default();
    for name in ["temperature", "max_tokens", "max_completion_tokens"] {
        match fields.take(name) {
            Some(number @ Value::Number(_)) => {
                options.set(name, number);
            }
            Some(_) => return Err(fields.wrong(name, "a number")),
            None => {}
        }
    }
    let audio = fields.map("audio")?;
    if !audio.is_empty() {
        options.audio = Some(audio);
    }
    Ok(options)
}

fn servers(fields: &mut HookFields) -> Result<Option<Vec<Value>>> {
    let Some(servers) = fields.list("mcp_servers")? else {
        return Ok(None);
    };
    for (index, server) in servers.iter().enumerate() {
        let is_id = |value: Option<&Value>| {
            let id = value.and_then(Value::as_str);
            id.is_some_and(|id| !id.is_empty())
        };
        let is_list = |name: &str| match server.get(name) {
            None | Some(Value::Null) => true,
            Some(Value::Array(items)) => items.iter().all(Value::is_string),
            Some(_) => false,
        };
        let is_server = is_id(server.get("server_id")) && is_list("tools") && is_list("resources");
        if !is_id(Some(server)) && !is_server {
            let name = format!("mcp_servers[{index}]");
            return Err(fields.wrong(&name, "an id or {server_id, tools?, resources?}"));
        }
    }
    Ok(Some(servers))
}

fn uses(fields: &mut HookFields) -> Result<Map<String, Value>> {
    let uses = fields.map("uses")?;
    let known = StepUses::keys();
    for (name, value) in &uses {
        if !known.contains(&name.as_str()) {
            let known = format!("one of {}", known.join(", "));
            return Err(fields.wrong(&format!("uses.{name}"), &known));
        }
        if !value.is_string() && !value.is_null() {
            return Err(fields.wrong(&format!("uses.{name}"), "a string"));
        }
    }
    let given = uses.into_iter();
    Ok(given.filter(|(_, value)| value.is_string()).collect())
}

fn search(fields: &mut HookFields) -> Result<Option<Value>> {
    match fields.take("search") {
        // `ctx.search`, where a hook returned its `ctx`.
        Some(Value::Object(intent)) if intent.is_empty() => Ok(None),
        search @ (None | Some(Value::Bool(_) | Value::Object(_))) => Ok(search),
        Some(_) => Err(fields.wrong("search", "true, false or an object")),
    }
}
