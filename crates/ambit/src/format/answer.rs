//! The answer in a turn's log, for the formats of clients that know only text and calls of their own tools.

mod answer_reader;
mod answer_state;
mod client_tool_calls;
mod message_text;
mod text_queue;

pub use answer_reader::{AnswerPart, AnswerReader};
pub use answer_state::{AnswerDelta, AnswerState, TurnEnding};
pub use client_tool_calls::{CompletionToolCall, ToolCallDelta};
pub use message_text::{AnswerField, text_of};
pub use text_queue::{TextPiece, TextQueue};
