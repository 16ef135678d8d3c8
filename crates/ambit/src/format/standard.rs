//! `standard`: OpenAI's chat completions.

mod answer_reader;
mod body;
mod client_tool_calls;
mod completion_state;
mod message_text;
mod text_queue;

pub(crate) use answer_reader::{AnswerPart, AnswerReader};
pub use body::{Completion, body};
pub(crate) use completion_state::TurnEnding;
pub(crate) use message_text::CompletionField;

use super::frames::read;
use super::{Format, FormatOptions, TurnFailure};
use ambit_runtime::stream::StreamEntry;
use serde_json::{Value, json};

/// A stream of chunks.
pub fn open(options: &FormatOptions) -> Box<dyn Format> {
    Box::new(StandardFormat::new(options))
}

struct StandardFormat {
    head: String,
    include_usage: bool,
    answer: AnswerReader,
}

impl StandardFormat {
    fn new(options: &FormatOptions) -> Self {
        let head = json!({
            "id": completion_id(options),
            "object": "chat.completion.chunk",
            "created": options.created,
            "model": options.model,
        });
        // Every chunk begins the same, so that it is written once.
        let head = head.to_string().trim_end_matches('}').to_owned();
        Self {
            head,
            include_usage: options.include_usage,
            answer: AnswerReader::new(options),
        }
    }

    fn chunks(&self, part: AnswerPart) -> Vec<String> {
        let delta = match part {
            AnswerPart::Start => json!({"role": "assistant", "content": ""}),
            AnswerPart::Text(CompletionField::Content, text) => json!({"content": text}),
            AnswerPart::Text(CompletionField::Reasoning, text) => {
                json!({"reasoning_content": text})
            }
            AnswerPart::ToolCall(call) => json!({"tool_calls": [call]}),
            AnswerPart::End(ending) => return self.last(&ending),
        };
        vec![self.chunk(&delta, "null")]
    }

    fn chunk(&self, delta: &Value, finish_reason: &str) -> String {
        let head = &self.head;
        format!(
            "{head},\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish_reason}}}]}}"
        )
    }

    fn last(&self, ending: &TurnEnding) -> Vec<String> {
        let failure = ending.failure.as_ref().map(TurnFailure::from);
        let mut out: Vec<String> = failure.iter().map(|it| json!(it).to_string()).collect();
        out.push(self.chunk(&json!({}), &format!("\"{}\"", ending.finish_reason)));
        if self.include_usage {
            let (head, usage) = (&self.head, &ending.usage);
            out.push(format!("{head},\"choices\":[],\"usage\":{usage}}}"));
        }
        out
    }
}

impl Format for StandardFormat {
    fn frames(&mut self, entry: &StreamEntry) -> Vec<String> {
        let Some(frame) = read(entry) else {
            return Vec::new();
        };
        let parts = self.answer.read(&frame);
        parts
            .into_iter()
            .flat_map(|part| self.chunks(part))
            .collect()
    }

    fn end(&mut self) -> Vec<String> {
        vec!["[DONE]".to_owned()]
    }
}

fn completion_id(options: &FormatOptions) -> String {
    format!("chatcmpl-{}", options.request_id)
}
