//! Reading the object that a hook returned, field by field.

use crate::chat::{ChatMessage, ROLES, role_name};
use crate::error::{Error, ErrorCode, Result};
use crate::request::ScriptCallOptions;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Another agent that takes over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delegate {
    pub agent_id: String,
    /// All that it gets.
    pub messages: Vec<ChatMessage>,
    /// How it is called.
    pub options: ScriptCallOptions,
}

/// An object that a hook returned. Fields are taken out of it; what is left at the end is not read.
pub struct HookFields {
    hook: &'static str,
    fields: Map<String, Value>,
}

impl HookFields {
    /// The object; `None` for `null` and nothing.
    pub fn of(hook: &'static str, value: Value) -> Result<Option<Self>> {
        match value {
            Value::Null => Ok(None),
            Value::Object(fields) => Ok(Some(Self { hook, fields })),
            _ => Err(fails(format!("{hook} must return an object or null"))),
        }
    }

    /// The hook that returned it.
    pub fn hook(&self) -> &'static str {
        self.hook
    }

    /// True if there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The fields that nobody took.
    pub fn rest(self) -> Map<String, Value> {
        self.fields
    }

    /// Takes a field; null counts as absent.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        let value = self.fields.shift_remove(name);
        value.filter(|value| !value.is_null())
    }

    /// Takes a text; an empty one counts as absent.
    pub fn text(&mut self, name: &str) -> Result<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
            Some(_) => Err(self.wrong(name, "a string")),
        }
    }

    /// Takes a truth value.
    pub fn flag(&mut self, name: &str) -> Result<Option<bool>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(self.wrong(name, "true or false")),
        }
    }

    /// Takes an object; an absent one is empty.
    pub fn map(&mut self, name: &str) -> Result<Map<String, Value>> {
        match self.take(name) {
            None => Ok(Map::new()),
            Some(Value::Object(map)) => Ok(map),
            Some(_) => Err(self.wrong(name, "an object")),
        }
    }

    /// Takes a list.
    pub fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(self.wrong(name, "a list")),
        }
    }

    /// Takes the agent that takes over.
    pub fn delegate(&mut self) -> Result<Option<Delegate>> {
        let Some(value) = self.take("delegate") else {
            return Ok(None);
        };
        let Value::Object(fields) = value else {
            return Err(self.wrong("delegate", "an object"));
        };
        let mut inner = Self {
            hook: self.hook,
            fields,
        };
        let Some(agent_id) = inner.text("agent_id")? else {
            return Err(self.wrong("delegate.agent_id", "the id of an agent"));
        };
        let Some(messages) = inner.messages("delegate.")? else {
            return Err(self.wrong("delegate.messages", "a list"));
        };
        Ok(Some(Delegate {
            agent_id,
            messages,
            options: inner.map("options")?.into(),
        }))
    }

    /// Takes messages, each an object with a role that a model knows; they are named in errors behind `path`.
    pub fn messages(&mut self, path: &str) -> Result<Option<Vec<ChatMessage>>> {
        let Some(messages) = self.list("messages")? else {
            return Ok(None);
        };
        let numbered = messages.into_iter().enumerate();
        let read = numbered.map(|(index, message)| {
            let path = format!("{path}messages[{index}]");
            let role = message.get("role").and_then(Value::as_str);
            let Some(role) = role.map(str::to_owned) else {
                return Err(self.wrong(&path, "an object with a role"));
            };
            ChatMessage::read(&path, message).map_err(|_| {
                let known = ROLES.map(role_name).join(", ");
                let hook = self.hook;
                fails(format!(
                    "{hook} returned {path} with the unknown role \"{role}\"; known are {known}"
                ))
            })
        });
        read.collect::<Result<_>>().map(Some)
    }

    /// A field that is not what it must be.
    pub fn wrong(&self, name: &str, what: &str) -> Error {
        fails(format!(
            "{} returned {name}, which must be {what}",
            self.hook
        ))
    }
}

fn fails(text: String) -> Error {
    Error::new(ErrorCode::HookError, text)
}
