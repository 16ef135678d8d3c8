//! The messages of a run, as clients of AG-UI have them.

use crate::http::chat::check_role;
use ambit_runtime::app::AppAgent;
use ambit_runtime::chat::{
    ChatContent, ChatMessage, ClientMessageFields, ContentPart, FileContent, Role, ToolCall,
};
use ambit_runtime::{Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A message as the client has it.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunMessage {
    /// The id by which the client knows it.
    id: String,
    /// Who says it. What the server has shown beside its answers comes back as `activity` and `reasoning`, and is skipped.
    role: RunMessageRole,
    /// A text, or parts: `text`, `image`, `audio`, `video` and `document`.
    content: Option<Value>,
    /// The name of whoever says it.
    name: Option<String>,
    /// Calls of tools.
    tool_calls: Option<Vec<RunToolCall>>,
    /// Of a tool's result: the call.
    tool_call_id: Option<String>,
    /// Of a tool's result: what went wrong.
    error: Option<String>,
}

/// Who says a message.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
enum RunMessageRole {
    User,
    Assistant,
    Tool,
    System,
    Developer,
    Activity,
    Reasoning,
}

/// A call of a tool.
#[derive(Deserialize, ToSchema)]
struct RunToolCall {
    id: String,
    function: RunFunction,
}

/// What is called, and with what.
#[derive(Deserialize, ToSchema)]
struct RunFunction {
    name: String,
    arguments: String,
}

/// A part of a message.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum RunContentPart {
    Text { text: String },
    Image { source: PartSource },
    Audio { source: PartSource },
    Video { source: PartSource },
    Document { source: PartSource },
}

/// Where the bytes of a part are.
#[derive(Deserialize)]
#[serde(
    tag = "type",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
enum PartSource {
    Data { value: String, mime_type: String },
    Url { value: String },
    File { value: String },
}

/// The messages that say something to the agent, each with its id.
pub fn read_all(messages: Vec<RunMessage>, agent: &AppAgent) -> Result<Vec<ChatMessage>> {
    let mut read = Vec::with_capacity(messages.len());
    for (at, message) in messages.into_iter().enumerate() {
        let place = format!("messages[{at}]");
        let Some(role) = message.role.spoken() else {
            continue;
        };
        check_role(role, agent, &format!("{place}.role"))?;
        read.push(message.read(role, &place)?);
    }
    Ok(read)
}

impl RunMessageRole {
    /// The role of what is said; none of what the server has shown besides.
    fn spoken(self) -> Option<Role> {
        match self {
            Self::User => Some(Role::User),
            Self::Assistant => Some(Role::Assistant),
            Self::Tool => Some(Role::Tool),
            Self::System => Some(Role::System),
            Self::Developer => Some(Role::Developer),
            Self::Activity | Self::Reasoning => None,
        }
    }
}

impl RunMessage {
    fn read(self, role: Role, place: &str) -> Result<ChatMessage> {
        let client = ClientMessageFields {
            is_error: self.error.is_some(),
            ..ClientMessageFields::of_id(self.id)
        };
        let content = match (role, self.content) {
            (Role::Assistant, None | Some(Value::Null)) => ChatContent::Null,
            (_, content) => read_content(content.unwrap_or_default(), place)?,
        };
        let calls = self.tool_calls.unwrap_or_default().into_iter();
        let mut message = ChatMessage::new(role, content);
        message.name = self.name;
        message.tool_calls = calls.map(ToolCall::from).collect();
        if role == Role::Tool {
            let missing = || {
                let place = format!("{place}.toolCallId");
                let message = format!("{place} is missing; it names the call that is answered");
                Error::invalid(place, message)
            };
            message.tool_call_id = Some(self.tool_call_id.ok_or_else(missing)?);
            if let Some(error) = self.error.filter(|_| message.content.words().is_empty()) {
                message.content = ChatContent::Text(error);
            }
        }
        message.client = Some(Box::new(client));
        message.check(place)?;
        Ok(message)
    }
}

impl From<RunToolCall> for ToolCall {
    fn from(call: RunToolCall) -> Self {
        Self {
            id: call.id,
            name: call.function.name,
            arguments: call.function.arguments,
            ..Self::default()
        }
    }
}

fn read_content(content: Value, place: &str) -> Result<ChatContent> {
    let place = format!("{place}.content");
    match content {
        Value::String(text) => Ok(ChatContent::Text(text)),
        Value::Array(parts) if !parts.is_empty() => {
            let numbered = parts.into_iter().enumerate();
            let parts = numbered.map(|(at, part)| read_part(part, &format!("{place}[{at}]")));
            Ok(ChatContent::Parts(parts.collect::<Result<_>>()?))
        }
        _ => {
            let message = format!("{place} must be a string or a list of parts");
            Err(Error::invalid(place, message))
        }
    }
}

fn read_part(part: Value, place: &str) -> Result<ContentPart> {
    let read = RunContentPart::deserialize(part);
    let part = read.map_err(|error| {
        let message = format!("{place} is no text, image, audio, video or document: {error}");
        Error::invalid(place, message)
    })?;
    Ok(match part {
        RunContentPart::Text { text } => ContentPart::of_text(text),
        RunContentPart::Image { source } => match source.address() {
            Ok(url) => ContentPart::image(url),
            Err(file_id) => provider_file(file_id),
        },
        RunContentPart::Video { source } => match source.address() {
            Ok(url) => ContentPart::video(&url),
            Err(file_id) => provider_file(file_id),
        },
        RunContentPart::Audio {
            source: PartSource::Data { value, mime_type },
        } => ContentPart::audio(value, &mime_type),
        RunContentPart::Audio { source } | RunContentPart::Document { source } => {
            match source.address() {
                Ok(url) => ContentPart::file(FileContent::at(url)),
                Err(file_id) => provider_file(file_id),
            }
        }
    })
}

/// A file that only the provider knows.
fn provider_file(id: String) -> ContentPart {
    ContentPart::file(FileContent {
        extra: Map::from_iter([("file_id".to_owned(), id.into())]),
        ..FileContent::default()
    })
}

impl PartSource {
    /// An address with the bytes or of them; of what only the provider knows its id there.
    fn address(self) -> Result<String, String> {
        match self {
            Self::Data { value, mime_type } => Ok(format!("data:{mime_type};base64,{value}")),
            Self::Url { value } => Ok(value),
            Self::File { value } => Err(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read_part;
    use serde_json::{Value, json};

    #[expect(clippy::needless_pass_by_value, reason = "calls of it read better")]
    fn part(kind: &str, source: Value) -> Value {
        let part = read_part(json!({"type": kind, "source": source}), "content[0]");
        json!(part.unwrap())
    }

    #[test]
    fn parts_become_those_of_other_routes() {
        let data = json!({"type": "data", "value": "AAAA", "mimeType": "audio/wav"});
        let url = json!({"type": "url", "value": "https://a/b"});
        let file = json!({"type": "file", "value": "file-1", "provider": "openai"});
        let address = "data:audio/wav;base64,AAAA";
        let expected = json!({"type": "image_url", "image_url": {"url": address}});
        assert_eq!(part("image", data.clone()), expected);
        let expected =
            json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}});
        assert_eq!(part("audio", data.clone()), expected);
        let mp3 = json!({"type": "data", "value": "AAAA", "mimeType": "audio/mpeg"});
        assert_eq!(part("audio", mp3)["input_audio"]["format"], "mp3");
        let expected = json!({"type": "file", "file": {"file_data": address}});
        assert_eq!(part("document", data), expected);
        let expected = json!({"type": "video_url", "video_url": {"url": "https://a/b"}});
        assert_eq!(part("video", url.clone()), expected);
        let expected = json!({"type": "file", "file": {"url": "https://a/b"}});
        assert_eq!(part("audio", url), expected);
        let expected = json!({"type": "file", "file": {"file_id": "file-1"}});
        assert_eq!(part("image", file), expected);
    }

    #[test]
    fn what_is_no_part_is_refused() {
        let unknown = read_part(json!({"type": "smell"}), "messages[0].content[0]");
        let error = unknown.err().unwrap();
        assert_eq!(error.param.as_deref(), Some("messages[0].content[0]"));
    }
}
