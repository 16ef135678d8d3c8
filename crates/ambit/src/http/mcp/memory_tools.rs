//! Memory as tools: what `/memory/…` does.

use super::arguments;
use super::context::{McpContext, path_part};
use super::tool_answer::{ToolAnswer, ToolFailure, value};
use crate::http::input::{BodyFields, Id, Text};
use crate::http::memory::{self, NewValue};
use ambit_runtime::chats::PageWindow;
use ambit_runtime::inspect::memory::{MemorySelector, OpenMemory};
use ambit_runtime::{Error, Result};
use ambit_storage::memory::ExpectedVersion;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use utoipa::ToSchema;

/// Keys of one answer.
const KEY_LIMIT: usize = 1_000;

/// Whose memory.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
enum MemoryOwner {
    /// The caller's own.
    User,
    /// Their team's.
    Team,
    /// That of a chat.
    Chat,
}

/// Which value.
#[derive(Deserialize, ToSchema)]
pub struct MemoryKeyArguments {
    /// Whose memory: the caller's own, their team's, or that of a chat.
    #[schema(inline)]
    space: MemoryOwner,
    /// The value's name.
    key: String,
    /// The chat, for the space `chat`.
    #[schema(value_type = Option<String>)]
    chat_id: Option<Id>,
}

/// Which values.
#[derive(Deserialize, ToSchema)]
pub struct MemoryKeysArguments {
    /// Whose memory: the caller's own, their team's, or that of a chat.
    #[schema(inline)]
    space: MemoryOwner,
    /// What the names look like; `*` stands for any text.
    #[schema(value_type = Option<String>)]
    pattern: Option<Text>,
    /// The chat, for the space `chat`.
    #[schema(value_type = Option<String>)]
    chat_id: Option<Id>,
}

/// A value to be put.
#[derive(Deserialize, ToSchema)]
pub struct MemorySetArguments {
    /// Whose memory: the caller's own, their team's, or that of a chat.
    #[schema(inline)]
    space: MemoryOwner,
    /// The value's name.
    key: String,
    /// Any JSON.
    value: Value,
    /// How long it lives: seconds, or a text such as `30s`, `5m`, `2h` or `7d`.
    ttl: Option<Value>,
    /// The chat, for the space `chat`.
    #[schema(value_type = Option<String>)]
    chat_id: Option<Id>,
}

impl BodyFields for MemoryKeyArguments {
    fn check(&self) -> Result<()> {
        check_chat(self.space, self.chat_id.as_ref())
    }
}

impl BodyFields for MemoryKeysArguments {
    fn check(&self) -> Result<()> {
        check_chat(self.space, self.chat_id.as_ref())
    }
}

impl BodyFields for MemorySetArguments {
    fn check(&self) -> Result<()> {
        check_chat(self.space, self.chat_id.as_ref())
    }
}

fn check_chat(space: MemoryOwner, chat_id: Option<&Id>) -> Result<()> {
    match (space, chat_id) {
        (MemoryOwner::Chat, None) => Err(Error::invalid(
            "chat_id",
            "chat_id is required for the space \"chat\"",
        )),
        (MemoryOwner::User | MemoryOwner::Team, Some(_)) => Err(Error::invalid(
            "chat_id",
            "chat_id is for the space \"chat\" alone",
        )),
        _ => Ok(()),
    }
}

/// Gives a value.
pub async fn get(context: Arc<McpContext>, given: Map<String, Value>) -> ToolAnswer {
    let asked: MemoryKeyArguments = arguments::read(&given)?;
    let place = MemoryPlace::of_key(asked.space, asked.chat_id, &asked.key);
    let open = place.open(&context, "GET").await?;
    let found = open.get(&asked.key).await?.value;
    value(&json!({"value": found}))
}

/// Lists names.
pub async fn keys(context: Arc<McpContext>, given: Map<String, Value>) -> ToolAnswer {
    let asked: MemoryKeysArguments = arguments::read(&given)?;
    let place = MemoryPlace::of(asked.space, asked.chat_id);
    let open = place.open(&context, "GET").await?;
    let pattern = asked.pattern.as_ref().map(|pattern| pattern.0.as_str());
    let window = PageWindow {
        skip: 0,
        limit: KEY_LIMIT,
    };
    let found = open.list(pattern, window).await?.items.into_iter();
    let keys: Vec<String> = found.map(|info| info.key).collect();
    value(&json!({"keys": keys}))
}

/// Puts a value.
pub async fn set(context: Arc<McpContext>, given: Map<String, Value>) -> ToolAnswer {
    let asked: MemorySetArguments = arguments::read(&given)?;
    let place = MemoryPlace::of_key(asked.space, asked.chat_id, &asked.key);
    let open = place.open(&context, "PUT").await?;
    let new = NewValue {
        value: asked.value,
        ttl: asked.ttl,
        expect: None,
    };
    memory::set(&open, &asked.key, &new).await?;
    Ok(json!({}))
}

/// Deletes a value.
pub async fn delete(context: Arc<McpContext>, given: Map<String, Value>) -> ToolAnswer {
    let asked: MemoryKeyArguments = arguments::read(&given)?;
    let place = MemoryPlace::of_key(asked.space, asked.chat_id, &asked.key);
    let open = place.open(&context, "DELETE").await?;
    open.delete(&asked.key, ExpectedVersion::Any).await?;
    Ok(json!({}))
}

/// A memory, and the path of the route that reaches what is wanted of it.
struct MemoryPlace {
    space: &'static str,
    chat_id: Option<Id>,
    path: String,
}

impl MemoryPlace {
    fn of(space: MemoryOwner, chat_id: Option<Id>) -> Self {
        let space = match space {
            MemoryOwner::User => "user",
            MemoryOwner::Team => "team",
            MemoryOwner::Chat => "chat",
        };
        let path = match &chat_id {
            Some(id) => format!("/memory/{space}/{}", path_part(&id.0)),
            None => format!("/memory/{space}"),
        };
        Self {
            space,
            chat_id,
            path,
        }
    }

    fn of_key(space: MemoryOwner, chat_id: Option<Id>, key: &str) -> Self {
        let mut place = Self::of(space, chat_id);
        place.path += &format!("/keys/{}", path_part(key));
        place
    }

    /// Opens it for whoever may call the route. For others there is no such tool.
    async fn open(&self, context: &McpContext, method: &str) -> Result<OpenMemory, ToolFailure> {
        let who = context.caller_of(method, &self.path);
        let who = who.ok_or(ToolFailure::Unknown)?;
        let which = MemorySelector {
            space: self.space,
            owner: self.chat_id.as_ref().map(|id| id.0.as_str()),
            assistant_id: None,
            context: None,
        };
        Ok(context.server.runtime.memory(&who, which).await?)
    }
}
