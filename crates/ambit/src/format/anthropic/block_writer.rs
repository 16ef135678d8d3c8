//! Pieces of an answer as blocks of which one is open at a time.

use super::event::{AnthropicEvent, BlockDelta};
use super::message::AnthropicBlock;
use crate::format::FormatOptions;
use crate::format::answer::{AnswerField, ToolCallDelta};
use crate::format::provider_reasoning;
use ambit_runtime::public_id::call_id;
use serde_json::{Map, Value};
use std::collections::VecDeque;

/// A piece of an answer, in the order of the log.
#[derive(Debug)]
pub enum AnswerPiece {
    /// The model of the turn is called; what it wanted back of an earlier call is of no use to a client that does not see that
    /// call's tools.
    Step,
    /// Text; it begins with line breaks where it does not go on with the text before.
    Text(AnswerField, String),
    /// A call of a tool that the client runs.
    Call {
        /// The message that shows it.
        message: String,
        /// The tool.
        name: String,
    },
    /// More of what a tool is called with.
    Arguments {
        /// The message that shows the call.
        message: String,
        /// A piece of JSON.
        text: String,
    },
    /// A message is over.
    End(String),
    /// What the model wants back of its reasoning.
    ReasoningPart(Map<String, Value>),
}

impl AnswerPiece {
    /// The pieces that are new of a call.
    pub fn of_call(call: &ToolCallDelta) -> Vec<Self> {
        let message = || call.message().to_owned();
        let begun = call.name().map(|name| Self::Call {
            message: message(),
            name: name.to_owned(),
        });
        let arguments = Self::Arguments {
            message: message(),
            text: call.arguments().to_owned(),
        };
        begun.into_iter().chain([arguments]).collect()
    }

    /// The message that it is of, for what belongs to a call.
    fn message(&self) -> Option<&str> {
        match self {
            Self::Call { message, .. } | Self::Arguments { message, .. } | Self::End(message) => {
                Some(message)
            }
            Self::Step | Self::Text(..) | Self::ReasoningPart(_) => None,
        }
    }
}

/// Writes blocks. While a call is open, all else waits until it is over.
pub struct BlockWriter {
    request_id: String,
    /// What the model thinks is left out.
    omits_thinking: bool,
    open: OpenBlock,
    /// How many blocks have begun.
    count: usize,
    waiting: VecDeque<AnswerPiece>,
    /// What the model wants back and no block has told yet.
    parts: Vec<Map<String, Value>>,
    /// Some of that is of the thought that is open, which is over then.
    is_signed: bool,
    /// Whether there was text, and whether there were thoughts.
    has_text: bool,
    has_thoughts: bool,
}

enum OpenBlock {
    None,
    Text,
    /// What it shows.
    Thinking(String),
    /// The message of the call.
    Call(String),
}

impl BlockWriter {
    pub fn new(options: &FormatOptions) -> Self {
        Self {
            request_id: options.request_id.clone(),
            omits_thinking: options.omits_thinking,
            open: OpenBlock::None,
            count: 0,
            waiting: VecDeque::new(),
            parts: Vec::new(),
            is_signed: false,
            has_text: false,
            has_thoughts: false,
        }
    }

    /// Takes a piece in and adds the events that come of it.
    pub fn push(&mut self, piece: AnswerPiece, events: &mut Vec<AnthropicEvent>) {
        self.waiting.push_back(piece);
        while let Some(at) = self.waiting.iter().position(|piece| self.is_next(piece)) {
            if let Some(piece) = self.waiting.remove(at) {
                self.write(piece, events);
            }
        }
    }

    /// Ends what is open, and writes what has waited.
    pub fn finish(&mut self, events: &mut Vec<AnthropicEvent>) {
        while let OpenBlock::Call(message) = &self.open {
            let end = AnswerPiece::End(message.clone());
            self.push(end, events);
        }
        if !matches!(self.open, OpenBlock::Thinking(_)) {
            self.write_parts(events);
        }
        self.close(events);
    }

    /// While a call is open, only what belongs to it comes next.
    fn is_next(&self, piece: &AnswerPiece) -> bool {
        match &self.open {
            OpenBlock::Call(open) => piece.message() == Some(open.as_str()),
            _ => true,
        }
    }

    fn write(&mut self, piece: AnswerPiece, events: &mut Vec<AnthropicEvent>) {
        match piece {
            AnswerPiece::Step => self.parts.clear(),
            AnswerPiece::Text(AnswerField::Content, text) => self.text(text, events),
            AnswerPiece::Text(AnswerField::Reasoning, text) => self.thought(text, events),
            AnswerPiece::Call { message, name } => {
                self.leave_thinking(events);
                let block = AnthropicBlock::ToolUse {
                    id: call_id(&self.request_id, &message),
                    name,
                    input: Map::new(),
                };
                self.begin(block, OpenBlock::Call(message), events);
            }
            AnswerPiece::Arguments { message, text } => {
                let is_open = matches!(&self.open, OpenBlock::Call(open) if *open == message);
                if is_open && !text.is_empty() {
                    self.go_on(BlockDelta::InputJsonDelta { partial_json: text }, events);
                }
            }
            AnswerPiece::End(message) => {
                if matches!(&self.open, OpenBlock::Call(open) if *open == message) {
                    self.close(events);
                }
            }
            AnswerPiece::ReasoningPart(part) => {
                if !self.omits_thinking {
                    self.is_signed = matches!(self.open, OpenBlock::Thinking(_));
                    self.parts.push(part);
                }
            }
        }
    }

    fn text(&mut self, mut text: String, events: &mut Vec<AnthropicEvent>) {
        if !matches!(self.open, OpenBlock::Text) {
            self.leave_thinking(events);
            let had_text = std::mem::replace(&mut self.has_text, true);
            text = without_separator(text, had_text);
            let text = String::new();
            self.begin(AnthropicBlock::Text { text }, OpenBlock::Text, events);
        }
        self.go_on(BlockDelta::TextDelta { text }, events);
    }

    fn thought(&mut self, mut text: String, events: &mut Vec<AnthropicEvent>) {
        if self.omits_thinking {
            return;
        }
        let goes_on = matches!(self.open, OpenBlock::Thinking(_)) && !self.is_signed;
        if !goes_on {
            let had_thoughts = std::mem::replace(&mut self.has_thoughts, true);
            text = without_separator(text, had_thoughts);
            self.begin_thinking(events);
        }
        if let OpenBlock::Thinking(shown) = &mut self.open {
            shown.push_str(&text);
        }
        self.go_on(BlockDelta::ThinkingDelta { thinking: text }, events);
    }

    /// What follows is no thought: what the model wants back of earlier ones stands before it.
    fn leave_thinking(&mut self, events: &mut Vec<AnthropicEvent>) {
        if !matches!(self.open, OpenBlock::Thinking(_)) {
            self.write_parts(events);
        }
    }

    /// Tells what the model wants back, in a block that shows nothing.
    fn write_parts(&mut self, events: &mut Vec<AnthropicEvent>) {
        if !self.parts.is_empty() {
            let parts = std::mem::take(&mut self.parts);
            self.begin_thinking(events);
            self.parts = parts;
        }
    }

    fn begin_thinking(&mut self, events: &mut Vec<AnthropicEvent>) {
        let block = AnthropicBlock::Thinking {
            thinking: String::new(),
            signature: String::new(),
        };
        self.begin(block, OpenBlock::Thinking(String::new()), events);
    }

    fn begin(&mut self, block: AnthropicBlock, open: OpenBlock, events: &mut Vec<AnthropicEvent>) {
        self.close(events);
        self.is_signed = false;
        self.open = open;
        events.push(AnthropicEvent::ContentBlockStart {
            index: self.count,
            content_block: block,
        });
        self.count += 1;
    }

    fn go_on(&self, delta: BlockDelta, events: &mut Vec<AnthropicEvent>) {
        let index = self.count.saturating_sub(1);
        events.push(AnthropicEvent::ContentBlockDelta { index, delta });
    }

    /// Ends the open block. A thought gets its signature before.
    fn close(&mut self, events: &mut Vec<AnthropicEvent>) {
        match std::mem::replace(&mut self.open, OpenBlock::None) {
            OpenBlock::None => return,
            OpenBlock::Thinking(shown) if !self.parts.is_empty() => {
                let parts = std::mem::take(&mut self.parts);
                let signature = provider_reasoning::encode(parts, &shown);
                self.go_on(BlockDelta::SignatureDelta { signature }, events);
            }
            OpenBlock::Thinking(_) | OpenBlock::Text | OpenBlock::Call(_) => {}
        }
        let index = self.count.saturating_sub(1);
        events.push(AnthropicEvent::ContentBlockStop { index });
    }
}

/// The text of a block that begins: what kept it apart from an earlier text is the block's beginning now.
fn without_separator(text: String, has_earlier: bool) -> String {
    if !has_earlier {
        return text;
    }
    let rest = text.strip_prefix("\n\n").or(text.strip_prefix('\n'));
    rest.map(str::to_owned).unwrap_or(text)
}
