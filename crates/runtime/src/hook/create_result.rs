//! What `Create` returned.

use super::hook_fields::{Delegate, HookFields};
use crate::app::StepUses;
use crate::app::read::ConfigObject;
use crate::chat::{ChatMessage, GenerationOptions};
use crate::error::{Disclosure, Result};
use crate::request::{CallOptions, SearchChoice};
use crate::tool::ServerSelection;
use crate::trace::{LogLevel, TraceNode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Longer keys are no names.
const MAX_NAME_LENGTH: usize = 40;

/// What `Create` changes of its turn. Absent fields change nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CreateResult {
    /// The whole list for the model; never empty.
    pub messages: Option<Vec<ChatMessage>>,
    /// How the model is called.
    #[serde(flatten)]
    pub call: CallOptions,
    /// The language, in lower case.
    pub locale: Option<String>,
    pub theme: Option<String>,
    /// The page.
    pub route: Option<String>,
    /// What is merged into `ctx.metadata`.
    pub metadata: Map<String, Value>,
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
    pub(super) fn read(
        value: Value,
        node: &TraceNode,
        disclosure: Disclosure,
    ) -> Result<Option<Self>> {
        let Some(mut fields) = HookFields::of("Create", value)? else {
            return Ok(None);
        };
        if fields.is_empty() {
            return Ok(None);
        }
        let created = Self {
            messages: fields.messages("")?.filter(|messages| !messages.is_empty()),
            call: call_options(&mut fields)?,
            locale: fields
                .text("locale")?
                .map(|tag| tag.to_lowercase().replace('_', "-")),
            theme: fields.text("theme")?,
            route: fields.text("route")?,
            metadata: fields.map("metadata")?,
            delegate: fields.delegate()?,
        };
        tell_unread(fields, node, disclosure);
        Ok(Some(created))
    }
}

/// Names the keys that were not read: in the trace, and to developers in the log too.
pub fn tell_unread(fields: HookFields, node: &TraceNode, disclosure: Disclosure) {
    let hook = fields.hook();
    let rest = fields.rest();
    if rest.is_empty() {
        return;
    }
    let keys: Vec<&str> = rest.keys().map(String::as_str).collect();
    if disclosure == Disclosure::Full {
        let names = keys.iter().filter(|key| is_name(key)).copied();
        let names = names.collect::<Vec<_>>().join(", ");
        tracing::warn!(hook, keys = names, "a hook returned keys that are not read");
    }
    let text = format!(
        "{hook} returned keys that are not read: {}",
        keys.join(", ")
    );
    node.log(LogLevel::Info, text, Value::Null);
}

/// Whether a key is one that somebody has written into a script, rather than what somebody has said.
fn is_name(key: &str) -> bool {
    let is_of_names = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    key.len() <= MAX_NAME_LENGTH && key.chars().all(is_of_names)
}

fn call_options(fields: &mut HookFields) -> Result<CallOptions> {
    Ok(CallOptions {
        generation: generation(fields)?,
        mcp_servers: servers(fields)?,
        prompt_preset: fields.text("prompt_preset")?,
        connector: fields.text("connector")?,
        uses: uses(fields)?,
        force_uses: fields.flag("force_uses")?,
        search: search(fields)?,
        disable_global_prompts: fields.flag("disable_global_prompts")?,
        ..CallOptions::default()
    })
}

fn generation(fields: &mut HookFields) -> Result<GenerationOptions> {
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

fn servers(fields: &mut HookFields) -> Result<Option<Vec<ServerSelection>>> {
    let Some(servers) = fields.list("mcp_servers")? else {
        return Ok(None);
    };
    let servers = servers.into_iter().enumerate().map(|(index, server)| {
        let server = ServerSelection::deserialize(server).ok();
        let named = server.filter(|server| !server.id().is_empty());
        named.ok_or_else(|| {
            let name = format!("mcp_servers[{index}]");
            fields.wrong(&name, "an id or {server_id, tools?, resources?}")
        })
    });
    servers.collect::<Result<_>>().map(Some)
}

fn uses(fields: &mut HookFields) -> Result<BTreeMap<String, String>> {
    let known = StepUses::keys();
    let mut uses = BTreeMap::new();
    for (name, value) in fields.map("uses")? {
        if !known.contains(&name.as_str()) {
            let known = format!("one of {}", known.join(", "));
            return Err(fields.wrong(&format!("uses.{name}"), &known));
        }
        match value {
            Value::String(value) => uses.insert(name, value),
            Value::Null => None,
            _ => return Err(fields.wrong(&format!("uses.{name}"), "a string")),
        };
    }
    Ok(uses)
}

fn search(fields: &mut HookFields) -> Result<Option<SearchChoice>> {
    match fields.take("search") {
        // `ctx.search`, where a hook returned its `ctx`.
        Some(Value::Object(intent)) if intent.is_empty() => Ok(None),
        Some(Value::Object(intent)) => Ok(Some(SearchChoice::Intent(intent))),
        Some(Value::Bool(flag)) => Ok(Some(SearchChoice::Flag(flag))),
        Some(_) => Err(fields.wrong("search", "true, false or an object")),
        None => Ok(None),
    }
}
