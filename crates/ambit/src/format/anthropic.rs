//! `messages`: Anthropic's Messages. An answer is a list of blocks, one open at a time.

mod block_writer;
mod body;
mod event;
mod failure;
mod message;

pub use body::body;
pub use event::AnthropicEvent;
pub use failure::{AnthropicFailure, AnthropicFailureDetails};
pub use message::{AnthropicBlock, AnthropicMessage, AnthropicUsage};

use super::answer::{AnswerPart, AnswerReader, TurnEnding};
use super::{Format, FormatEvent, FormatOptions, frames};
use ambit_runtime::Frame;
use ambit_runtime::frame::TurnEvent;
use ambit_runtime::stream::StreamEntry;
use block_writer::{AnswerPiece, BlockWriter};
use event::StopDelta;

/// What a silent stream says from time to time.
pub const PING: &str = "event: ping\ndata: {\"type\": \"ping\"}\n\n";

/// A stream of events.
pub fn open(options: &FormatOptions) -> Box<dyn Format> {
    Box::new(AnthropicFormat {
        reader: AnswerReader::new(options),
        writer: BlockWriter::new(options),
        options: options.clone(),
    })
}

struct AnthropicFormat {
    reader: AnswerReader,
    writer: BlockWriter,
    options: FormatOptions,
}

impl Format for AnthropicFormat {
    fn events(&mut self, entry: &StreamEntry) -> Vec<FormatEvent> {
        let Some(frame) = frames::read(entry) else {
            return Vec::new();
        };
        let mut events = Vec::new();
        for part in self.reader.read(&frame) {
            match part {
                AnswerPart::Start => events.push(AnthropicEvent::MessageStart {
                    message: Box::new(AnthropicMessage::begin(&self.options)),
                }),
                AnswerPart::Text(field, text) => {
                    self.writer
                        .push(AnswerPiece::Text(field, text), &mut events);
                }
                AnswerPart::ToolCall(call) => {
                    for piece in AnswerPiece::of_call(&call) {
                        self.writer.push(piece, &mut events);
                    }
                }
                AnswerPart::End(ending) => {
                    self.writer.finish(&mut events);
                    events.extend(last(&ending));
                }
            }
        }
        if let Some(piece) = piece_of_event(&frame) {
            self.writer.push(piece, &mut events);
        }
        events.into_iter().map(FormatEvent::from).collect()
    }

    fn end(&mut self) -> Vec<FormatEvent> {
        Vec::new()
    }
}

/// What events say of the answer beside its text and calls.
fn piece_of_event(frame: &Frame) -> Option<AnswerPiece> {
    match TurnEvent::read(frame)? {
        TurnEvent::MessageEnd { message_id, .. } => Some(AnswerPiece::End(message_id.to_owned())),
        TurnEvent::ReasoningPart(part) => Some(AnswerPiece::ReasoningPart(part?.clone())),
        TurnEvent::StepStart {
            thread_id: None, ..
        } => Some(AnswerPiece::Step),
        _ => None,
    }
}

/// How the stream ends.
fn last(ending: &TurnEnding) -> Vec<AnthropicEvent> {
    if let Some(failure) = &ending.failure {
        return vec![AnthropicEvent::Error {
            error: AnthropicFailureDetails::from(failure),
        }];
    }
    let delta = AnthropicEvent::MessageDelta {
        delta: StopDelta::new(stop_reason(ending)),
        usage: AnthropicUsage::from(&ending.usage),
    };
    vec![delta, AnthropicEvent::MessageStop]
}

/// Why the answer ended.
fn stop_reason(ending: &TurnEnding) -> &'static str {
    match ending.finish_reason {
        "length" => "max_tokens",
        "tool_calls" => "tool_use",
        "content_filter" => "refusal",
        _ => "end_turn",
    }
}
