//! `ai-sdk`: the UI message stream of the AI SDK, version 1, and what a client holds of it in the end.

mod chunk;
mod chunk_stream;
mod media_type;
mod message_fold;
mod message_replay;
mod part_ids;
mod props;
mod shown_call;
mod shown_message;
mod shown_text;
mod ui_message;
mod user_parts;
mod version;

pub use chunk::{PartChunk, ToolRunner, UiMessageChunk};
pub use message_fold::{MessageFold, sent_parts};
pub use message_replay::{ClientToolOutput, MessageReplay, output_chunk};
pub use ui_message::{ToolState, UiMessage, UiPart, UiRole, UiToolCall};
pub use user_parts::user_parts;
pub use version::AiSdkVersion;

use super::frames::read;
use super::{Format, FormatBody, FormatEvent, FormatOptions};
use ambit_runtime::frame::TurnEvent;
use ambit_runtime::stream::StreamEntry;
use chunk_stream::ChunkStream;

/// What a client writes in `accept`.
pub const NAME: &str = "ai-sdk";
/// What clients know a UI message stream by.
pub const HEADERS: &[(&str, &str)] = &[("x-vercel-ai-ui-message-stream", "v1")];

/// A stream of chunks.
pub fn open(options: &FormatOptions) -> Box<dyn Format> {
    Box::new(AiSdkFormat {
        stream: ChunkStream::new(options),
        earlier: None,
    })
}

/// A stream of the turn that continues a message, with what earlier turns have made of it in front.
pub fn open_behind(earlier: MessageReplay, options: &FormatOptions) -> Box<dyn Format> {
    Box::new(AiSdkFormat {
        stream: ChunkStream::new(options),
        earlier: Some(earlier),
    })
}

struct AiSdkFormat {
    stream: ChunkStream,
    /// What comes with the first chunk.
    earlier: Option<MessageReplay>,
}

impl Format for AiSdkFormat {
    fn events(&mut self, entry: &StreamEntry) -> Vec<FormatEvent> {
        let Some(frame) = read(entry) else {
            return Vec::new();
        };
        let mut chunks = self.stream.read(&frame);
        let is_start = matches!(TurnEvent::read(&frame), Some(TurnEvent::StreamStart(_)));
        if let Some(mut earlier) = self.earlier.take_if(|_| is_start) {
            chunks.into_iter().for_each(|chunk| earlier.push(chunk));
            chunks = earlier.chunks();
        }
        chunks.iter().map(|chunk| event(&chunk.chunk)).collect()
    }

    fn end(&mut self) -> Vec<FormatEvent> {
        vec!["[DONE]".to_owned().into()]
    }
}

fn event(chunk: &UiMessageChunk) -> FormatEvent {
    // Only a map with keys that are no text could fail.
    serde_json::to_string(chunk).unwrap_or_default().into()
}

/// The chunks of a whole log.
pub fn chunks(entries: &[StreamEntry], options: &FormatOptions) -> Vec<PartChunk> {
    let mut stream = ChunkStream::new(options);
    let frames = entries.iter().filter_map(read);
    frames.flat_map(|frame| stream.read(&frame)).collect()
}

/// The message that a client holds in the end.
pub fn body(entries: &[StreamEntry], options: &FormatOptions) -> FormatBody {
    let mut fold = MessageFold::new(options.ai_sdk);
    for chunk in chunks(entries, options) {
        fold.push(chunk);
    }
    FormatBody::UiMessage(Box::new(fold.finish()))
}
