//! Chats as tools: what `GET /chat/sessions` and `GET /chat/sessions/:chat_id/messages` give.

use super::arguments;
use super::context::{McpContext, path_part};
use super::tool_answer::{ToolAnswer, ToolFailure, value};
use crate::http::chat_search::{ChatListResponse, MessageListResponse};
use crate::http::input::{BodyFields, Id};
use crate::http::paging::{PageParameters, PageSize, limit};
use ambit_runtime::chats::{self, ChatFilter, ChatName, ChatSource, MessageFilter};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use utoipa::ToSchema;

/// Which chats.
#[derive(Deserialize, ToSchema)]
pub struct ChatListArguments {
    /// Those that this agent worked on.
    #[schema(value_type = Option<String>)]
    assistant_id: Option<Id>,
    /// At most so many, 1 to 100; 20 where nobody says.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 100)]
    limit: Option<PageSize>,
}

/// Which messages.
#[derive(Deserialize, ToSchema)]
pub struct ChatMessagesArguments {
    /// The chat.
    #[schema(value_type = String)]
    chat_id: Id,
    /// Only those before this sequence.
    before: Option<u64>,
    /// At most so many, 1 to 100; 20 where nobody says.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 100)]
    limit: Option<PageSize>,
}

impl BodyFields for ChatListArguments {}

impl BodyFields for ChatMessagesArguments {}

/// Lists chats.
pub async fn list(context: Arc<McpContext>, given: Map<String, Value>) -> ToolAnswer {
    let asked: ChatListArguments = arguments::read(&given)?;
    let who = context.caller_of("GET", "/chat/sessions");
    let who = who.ok_or(ToolFailure::Unknown)?;
    let filter = ChatFilter {
        assistant_id: asked.assistant_id.map(|id| id.0),
        source: Some(ChatSource::Chat),
        ..ChatFilter::default()
    };
    let paging = PageParameters::first(asked.limit);
    let ambit = context.server.runtime.contexts(&who);
    let part = chats::list(&ambit, &who, &filter, paging.window()).await?;
    value(&ChatListResponse::listed(part, paging))
}

/// Gives messages.
pub async fn messages(context: Arc<McpContext>, given: Map<String, Value>) -> ToolAnswer {
    let asked: ChatMessagesArguments = arguments::read(&given)?;
    let chat_id = asked.chat_id.0;
    let who = context.caller_of("GET", &messages_path(&chat_id));
    let who = who.ok_or(ToolFailure::Unknown)?;
    let filter = MessageFilter {
        before: asked.before,
        limit: limit(asked.limit),
        ..MessageFilter::default()
    };
    let name = ChatName {
        chat_id: &chat_id,
        assistant_id: None,
        context: None,
    };
    let ambit = context.server.runtime.contexts(&who);
    let found = chats::messages(&ambit, &who, name, &filter).await?;
    value(&MessageListResponse::from(found))
}

/// The route of a chat's messages.
pub fn messages_path(chat_id: &str) -> String {
    format!("/chat/sessions/{}/messages", path_part(chat_id))
}
