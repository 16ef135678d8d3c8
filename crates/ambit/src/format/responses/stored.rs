//! Items of what is stored of an answer.

use super::call_items::{CallStart, free_text, new_call};
use super::item::{
    ItemStatus, McpCallError, MessageItem, OutputText, ReasoningItem, ResponseItem, SummaryText,
};
use super::settings::ClientTool;
use crate::format::answer::{AnswerField, text_of};
use ambit_runtime::frame::OutputMessage;
use ambit_runtime::public_id;
use serde_json::{Map, Value};

/// A message that was shown, other than a call.
pub struct ListedText<'a> {
    /// The turn.
    pub turn: &'a str,
    /// The message.
    pub message: &'a str,
    /// What kind of message.
    pub kind: &'a str,
    pub props: &'a Map<String, Value>,
    /// How it ended.
    pub status: &'a str,
}

/// Its item; nothing where it shows no text.
pub fn stored_text(stored: &ListedText<'_>) -> Option<ResponseItem> {
    let text = text_of(&OutputMessage {
        kind: stored.kind.to_owned(),
        props: stored.props.clone(),
        ..OutputMessage::default()
    })?;
    let status = match stored.status {
        "partial" | "error" => ItemStatus::Incomplete,
        _ => ItemStatus::Completed,
    };
    let id = |prefix: &str| match stored.turn {
        "" => format!("{prefix}_{}", stored.message),
        turn => public_id::item_id(prefix, turn, stored.message),
    };
    Some(match text.place {
        AnswerField::Content => ResponseItem::Message(MessageItem {
            id: id("msg"),
            role: "assistant",
            status,
            content: vec![OutputText::new(text.text)],
        }),
        AnswerField::Reasoning => ResponseItem::Reasoning(ReasoningItem {
            id: id("rs"),
            status,
            summary: vec![SummaryText::new(text.text)],
            encrypted_content: None,
        }),
    })
}

/// A call that was shown.
pub struct ListedCall<'a> {
    /// The turn.
    pub turn: &'a str,
    /// The message that shows it.
    pub message: &'a str,
    /// The tool, as the model calls it.
    pub name: &'a str,
    /// The client's tool, where its request is known to have brought one.
    pub client_tool: Option<ClientTool>,
    pub arguments: String,
    /// What came of it on the server.
    pub result: Option<String>,
    /// Why nothing came of it on the server.
    pub error: Option<McpCallError>,
}

/// Its item. A call that has come to nothing on the server is the client's.
pub fn stored_call(stored: ListedCall<'_>) -> ResponseItem {
    let is_servers = stored.result.is_some() || stored.error.is_some();
    let client_tool = match stored.client_tool {
        None if !is_servers => Some(ClientTool::Function),
        known => known,
    };
    let mut item = new_call(CallStart {
        turn: stored.turn,
        message: stored.message,
        name: stored.name,
        client_tool,
    });
    item.set_status(ItemStatus::Completed);
    match &mut item {
        ResponseItem::FunctionCall(call) => call.arguments = stored.arguments,
        ResponseItem::CustomToolCall(call) => call.input = free_text(stored.arguments),
        ResponseItem::McpCall(call) => {
            call.arguments = stored.arguments;
            if stored.error.is_some() {
                call.status = ItemStatus::Failed;
            }
            call.output = stored.result;
            call.error = stored.error;
        }
        ResponseItem::Message(_) | ResponseItem::Reasoning(_) => {}
    }
    item
}
