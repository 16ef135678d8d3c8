//! What a client holds of a message in the end: its parts, each in its last state. A text is one part even if it was sent in
//! several, and what was replaced is gone.

use super::chunk::{PartChunk, TypedChunk, UiMessageChunk};
use super::part_ids::{goes_on, message_of};
use super::ui_message::{
    SentPart, TextState, ToolState, TypedPart, UiData, UiMessage, UiMetadata, UiPart, UiToolCall,
};
use super::version::AiSdkVersion;
use serde_json::Value;

/// Puts the chunks of one message together.
#[derive(Default)]
pub struct MessageFold {
    id: String,
    metadata: UiMetadata,
    parts: Vec<FoldedPart>,
    /// Thinking has ids.
    has_reasoning_ids: bool,
}

struct FoldedPart {
    id: Option<String>,
    part: UiPart,
}

impl MessageFold {
    /// For clients of this version.
    pub fn new(version: AiSdkVersion) -> Self {
        Self {
            has_reasoning_ids: version.has_keys_of_7(),
            ..Self::default()
        }
    }

    /// The message as far as it is there.
    pub fn finish(self) -> UiMessage {
        UiMessage {
            id: self.id,
            metadata: Some(self.metadata.into()),
            parts: self.parts.into_iter().map(|folded| folded.part).collect(),
            ..UiMessage::default()
        }
    }

    /// Takes a chunk in.
    pub fn push(&mut self, chunk: PartChunk) {
        let PartChunk { part: id, chunk } = chunk;
        let chunk = match chunk {
            UiMessageChunk::Typed(chunk) => chunk,
            UiMessageChunk::Data(data) => return self.take_data(data),
        };
        match chunk {
            TypedChunk::Start {
                message_id,
                message_metadata,
            } => {
                self.id = message_id;
                self.metadata.extend(message_metadata);
            }
            TypedChunk::Finish {
                message_metadata, ..
            } => self.metadata.extend(message_metadata.unwrap_or_default()),
            TypedChunk::TextStart { id } => self.begin_text(id, false),
            TypedChunk::ReasoningStart { id } => self.begin_text(id, true),
            TypedChunk::TextDelta { id, delta } | TypedChunk::ReasoningDelta { id, delta } => {
                if let Some((text, _)) = self.text(&id) {
                    text.push_str(&delta);
                }
            }
            TypedChunk::TextEnd { id } | TypedChunk::ReasoningEnd { id } => {
                if let Some((_, state)) = self.text(&id) {
                    *state = TextState::Done;
                }
            }
            TypedChunk::ResetStep => {
                let is_step = |folded: &FoldedPart| {
                    matches!(folded.part, UiPart::Typed(TypedPart::StepStart))
                };
                let begun = self.parts.iter().rposition(is_step);
                self.parts.truncate(begun.map_or(0, |at| at + 1));
            }
            other => match whole_part(&other) {
                Some(part) => self.add_part(id, part.into()),
                None => self.take_call(other),
            },
        }
    }

    fn add_part(&mut self, id: Option<String>, part: UiPart) {
        self.parts.push(FoldedPart { id, part });
    }

    fn begin_text(&mut self, id: String, is_thinking: bool) {
        if goes_on(&id)
            && let Some((_, state)) = self.text(&id)
        {
            *state = TextState::Streaming;
            return;
        }
        let (text, state) = (String::new(), TextState::Streaming);
        let part = match is_thinking {
            true => TypedPart::Reasoning {
                id: self.has_reasoning_ids.then(|| id.clone()),
                text,
                state,
            },
            false => TypedPart::Text { text, state },
        };
        self.add_part(Some(id), part.into());
    }

    /// The text that a part is of.
    fn text(&mut self, id: &str) -> Option<(&mut String, &mut TextState)> {
        let message = message_of(id);
        let is_of = |folded: &&mut FoldedPart| {
            let id = folded.id.as_deref();
            id.is_some_and(|id| message_of(id) == message)
        };
        let folded = self.parts.iter_mut().rev().find(is_of)?;
        match &mut folded.part {
            UiPart::Typed(
                TypedPart::Text { text, state } | TypedPart::Reasoning { text, state, .. },
            ) => Some((text, state)),
            _ => None,
        }
    }

    fn take_data(&mut self, chunk: UiData) {
        if chunk.kind == "data-replaced" && chunk.transient {
            let replaced = message_of(chunk.data["id"].as_str().unwrap_or_default()).to_owned();
            self.parts.retain(|folded| {
                let id = folded.id.as_deref();
                id.is_none_or(|id| message_of(id) != replaced)
            });
            return;
        }
        if chunk.transient {
            return;
        }
        let is_it = |folded: &&mut FoldedPart| {
            let is_data = matches!(&folded.part, UiPart::Data(data) if data.kind == chunk.kind);
            is_data && folded.id == chunk.id
        };
        let known = self.parts.iter_mut().find(is_it);
        if let Some(FoldedPart {
            part: UiPart::Data(known),
            ..
        }) = known
        {
            known.data = chunk.data;
            return;
        }
        self.add_part(chunk.id.clone(), UiPart::Data(chunk));
    }

    fn take_call(&mut self, chunk: TypedChunk) {
        match chunk {
            TypedChunk::ToolInputStart {
                tool_call_id,
                tool_name,
                runner,
            } => {
                let call = UiToolCall::begun(tool_call_id, tool_name, runner.is_server());
                self.add_part(None, UiPart::Tool(call));
            }
            TypedChunk::ToolInputAvailable {
                tool_call_id,
                input,
                ..
            } => self.change_call(&tool_call_id, |call| {
                call.state = ToolState::InputAvailable;
                call.input = Some(input);
            }),
            TypedChunk::ToolInputError {
                tool_call_id,
                input,
                error_text,
                ..
            } => self.change_call(&tool_call_id, |call| {
                call.input = Some(input);
                call.fail(error_text);
            }),
            TypedChunk::ToolOutputAvailable {
                tool_call_id,
                output,
                preliminary,
                ..
            } => self.change_call(&tool_call_id, |call| {
                call.state = ToolState::OutputAvailable;
                call.error_text = None;
                call.output = Some(output);
                call.preliminary = preliminary;
            }),
            TypedChunk::ToolOutputError {
                tool_call_id,
                error_text,
                ..
            } => self.change_call(&tool_call_id, |call| call.fail(error_text)),
            _ => {}
        }
    }

    fn change_call(&mut self, id: &str, change: impl FnOnce(&mut UiToolCall)) {
        let calls = self.parts.iter_mut().rev();
        let mut calls = calls.filter_map(|folded| match &mut folded.part {
            UiPart::Tool(call) => Some(call),
            _ => None,
        });
        if let Some(call) = calls.find(|call| call.tool_call_id == id) {
            change(call);
        }
    }
}

/// The part that a chunk is as a whole.
fn whole_part(chunk: &TypedChunk) -> Option<TypedPart> {
    match chunk {
        TypedChunk::StartStep => Some(TypedPart::StepStart),
        TypedChunk::File { url, media_type } => Some(TypedPart::File {
            media_type: media_type.clone(),
            url: url.clone(),
        }),
        TypedChunk::SteeringMessage { id, parts } => Some(TypedPart::SteeringMessage {
            id: id.clone(),
            parts: parts.clone(),
        }),
        TypedChunk::SourceUrl(source) => Some(TypedPart::SourceUrl(source.clone())),
        TypedChunk::SourceDocument(source) => Some(TypedPart::SourceDocument(source.clone())),
        _ => None,
    }
}

/// Parts as a client sent them.
pub fn sent_parts(parts: &[Value]) -> Vec<UiPart> {
    let parts = parts.iter().cloned().map(SentPart);
    parts.map(UiPart::Sent).collect()
}
