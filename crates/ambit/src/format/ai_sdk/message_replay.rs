//! The turns of one message as one stream: what came of those that have ended, behind one beginning.

use super::chunk::{PartChunk, ToolRunner, TypedChunk, UiMessageChunk};
use super::ui_message::UiMetadata;
use serde_json::Value;

/// What turns have made of a message so far.
#[derive(Default)]
pub struct MessageReplay {
    message_id: String,
    metadata: UiMetadata,
    chunks: Vec<PartChunk>,
}

/// What a tool of the client has given.
pub enum ClientToolOutput {
    /// A result.
    Result(Value),
    /// Why it failed.
    Failure(String),
}

impl MessageReplay {
    /// Takes a chunk of the next turn in; the ends of turns are left out.
    pub fn push(&mut self, chunk: PartChunk) {
        match chunk.chunk {
            UiMessageChunk::Typed(TypedChunk::Start {
                message_id,
                message_metadata,
            }) => {
                self.message_id = message_id;
                self.metadata.extend(message_metadata);
            }
            UiMessageChunk::Typed(TypedChunk::Finish {
                message_metadata, ..
            }) => self.metadata.extend(message_metadata.unwrap_or_default()),
            UiMessageChunk::Typed(TypedChunk::Error { .. } | TypedChunk::Abort { .. }) => {}
            _ => self.chunks.push(chunk),
        }
    }

    /// All chunks, the beginning first.
    pub fn chunks(self) -> Vec<PartChunk> {
        let start = TypedChunk::Start {
            message_id: self.message_id,
            message_metadata: self.metadata,
        };
        std::iter::once(start.into()).chain(self.chunks).collect()
    }
}

/// What a client shows of what its tool gave for a call.
pub fn output_chunk(call_id: String, output: ClientToolOutput) -> PartChunk {
    let (tool_call_id, runner) = (call_id, ToolRunner::CLIENT);
    let chunk = match output {
        ClientToolOutput::Result(output) => TypedChunk::ToolOutputAvailable {
            tool_call_id,
            output,
            preliminary: None,
            runner,
        },
        ClientToolOutput::Failure(error_text) => TypedChunk::ToolOutputError {
            tool_call_id,
            error_text,
            runner,
        },
    };
    chunk.into()
}
