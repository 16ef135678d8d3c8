//! Chats as resources: texts that a host can put before its model.

use super::chat_tools::messages_path;
use super::context::{McpContext, path_part};
use super::cursor::Cursor;
use super::protocol::ProtocolRequest;
use super::results;
use super::rpc_error::{RpcError, RpcErrorKind};
use crate::format::answer::text_of;
use ambit_runtime::chats::{
    self, ChatFilter, ChatInfo, ChatMessageView, ChatName, MessageFilter, PageWindow,
};
use ambit_runtime::frame::OutputMessage;
use ambit_runtime::mcp::cut;
use ambit_runtime::{Error, ErrorCode};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

/// What the addresses of chats begin with.
const PREFIX: &str = "ambit://chats/";
/// What the text is.
const MIME_TYPE: &str = "text/markdown";
/// Resources of one part of the list.
const PAGE: usize = 100;
/// Messages of a chat's text.
const MESSAGES: usize = 200;

/// `resources/list`: the chats, the last active first.
pub async fn list(context: &McpContext, request: &ProtocolRequest) -> Result<Value, RpcError> {
    let skip = Cursor::CHATS.position(&request.params)?;
    let caller = context.caller_of("GET", "/chat/sessions");
    let Some(who) = caller.filter(|_| context.offers("chat")) else {
        return Ok(results::cacheable(
            request.era,
            results::page("resources", Vec::new(), None),
        ));
    };
    let window = PageWindow { skip, limit: PAGE };
    let ambit = context.server.runtime.contexts(&who);
    let part = chats::list(&ambit, &who, &ChatFilter::default(), window).await?;
    let end = skip + part.items.len();
    let has_more = !part.items.is_empty() && (end as u64) < part.total;
    let readable = part.items.iter().filter(|chat| is_readable(context, chat));
    let items = readable.map(shown).collect();
    let next = has_more.then(|| Cursor::CHATS.at(end));
    let page = results::page("resources", items, next);
    Ok(results::cacheable(request.era, page))
}

/// `resources/templates/list`: how the address of a chat is made of its name.
pub fn templates(context: &McpContext, request: &ProtocolRequest) -> Value {
    let caller = context.caller_of("GET", &messages_path("-"));
    let template = json!({
        "uriTemplate": format!("{PREFIX}{{chat_id}}"),
        "name": "chat",
        "title": "A chat",
        "description": "The newest messages of a chat.",
        "mimeType": MIME_TYPE,
    });
    let offered = caller.filter(|_| context.offers("chat"));
    let items = offered.map(|_| template).into_iter().collect();
    let page = results::page("resourceTemplates", items, None);
    results::cacheable(request.era, page)
}

/// `resources/read`: the newest messages of a chat.
pub async fn read(context: &McpContext, request: &ProtocolRequest) -> Result<Value, RpcError> {
    let uri = request.text("uri")?;
    let chat_id = chat_of(uri).ok_or_else(|| not_found(uri))?;
    let caller = context.caller_of("GET", &messages_path(&chat_id));
    let who = caller.filter(|_| context.offers("chat"));
    let who = who.ok_or_else(|| not_found(uri))?;
    let ambit = context.server.runtime.contexts(&who);
    let name = ChatName {
        chat_id: &chat_id,
        assistant_id: None,
        context: None,
    };
    let filter = MessageFilter {
        limit: MESSAGES,
        ..MessageFilter::default()
    };
    let found = chats::messages(&ambit, &who, name, &filter).await;
    let found = found.map_err(|error| of_chat(error, uri))?;
    let text = cut(markdown(&found.items));
    let contents = json!([{"uri": uri, "mimeType": MIME_TYPE, "text": text}]);
    Ok(results::cacheable(
        request.era,
        results::field("contents", contents),
    ))
}

/// Whether a chat has a name, and its messages are for the caller.
fn is_readable(context: &McpContext, chat: &ChatInfo) -> bool {
    let path = messages_path(&chat.chat_id);
    !chat.chat_id.is_empty() && context.caller_of("GET", &path).is_some()
}

fn shown(chat: &ChatInfo) -> Value {
    json!({
        "uri": format!("{PREFIX}{}", path_part(&chat.chat_id)),
        "name": chat.chat_id,
        "title": chat.title,
        "mimeType": MIME_TYPE,
    })
}

/// The chat that an address names.
fn chat_of(uri: &str) -> Option<String> {
    let name = uri.strip_prefix(PREFIX)?;
    let name = percent_decode_str(name).decode_utf8().ok()?;
    (!name.is_empty()).then(|| name.into_owned())
}

fn of_chat(error: Error, uri: &str) -> RpcError {
    match error.code {
        ErrorCode::NotFound => not_found(uri),
        _ => error.into(),
    }
}

fn not_found(uri: &str) -> RpcError {
    let message = format!("there is no resource \"{uri}\"");
    RpcError::new(RpcErrorKind::ResourceNotFound, message).with_data(json!({"uri": uri}))
}

/// Messages as text, each below who has said it.
fn markdown(messages: &[ChatMessageView]) -> String {
    let mut text = String::new();
    let mut speaker = "";
    for message in messages {
        let Some(said) = said(message) else {
            continue;
        };
        if message.role != speaker {
            speaker = message.role;
            text += &format!("## {speaker}\n\n");
        }
        text += &format!("{}\n\n", said.trim_end());
    }
    text
}

/// What a message says to whoever reads only text.
fn said(message: &ChatMessageView) -> Option<String> {
    if message.kind == "thinking" || message.kind == "loading" {
        return None;
    }
    if message.kind == "user_input" {
        return message.props.get("content").map(input_text);
    }
    let shown = OutputMessage {
        kind: message.kind.clone(),
        props: message.props.clone(),
        ..OutputMessage::default()
    };
    text_of(&shown).map(|said| said.text)
}

/// A person's words; of content with parts, those that are text.
fn input_text(content: &Value) -> String {
    let Some(parts) = content.as_array() else {
        return content.as_str().unwrap_or_default().to_owned();
    };
    let texts = parts.iter().filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::chat_of;

    #[test]
    fn an_address_names_a_chat() {
        for (uri, expected) in [
            ("ambit://chats/c1", Some("c1")),
            ("ambit://chats/a%2Fb%20c", Some("a/b c")),
            ("ambit://chats/", None),
            ("ambit://chats/%ff", None),
            ("ambit://other/c1", None),
        ] {
            assert_eq!(chat_of(uri).as_deref(), expected, "{uri}");
        }
    }
}
