//! `standard`: OpenAI's chat completions.

mod body;
mod chunk;

pub use body::{Completion, body};
pub use chunk::CompletionChunk;

use super::answer::{AnswerPart, AnswerReader};
use super::frames::read;
use super::{Format, FormatEvent, FormatOptions, TurnFailure};
use ambit_runtime::llm::TokenUsage;
use ambit_runtime::stream::StreamEntry;
use chunk::ChunkChoice;
use serde::Serialize;

/// A stream of chunks.
pub fn open(options: &FormatOptions) -> Box<dyn Format> {
    Box::new(StandardFormat::new(options))
}

struct StandardFormat {
    id: String,
    options: FormatOptions,
    answer: AnswerReader,
}

impl StandardFormat {
    fn new(options: &FormatOptions) -> Self {
        Self {
            id: completion_id(options),
            options: options.clone(),
            answer: AnswerReader::new(options),
        }
    }

    fn chunks(&self, part: AnswerPart) -> impl Iterator<Item = FormatEvent> {
        let (mut before, mut after) = (None, None);
        if let AnswerPart::End(ending) = &part {
            before = ending.failure.as_ref().map(TurnFailure::from);
            after = self.options.include_usage.then(|| ending.usage.clone());
        }
        let before = before.map(|failure| json(&failure));
        let own = self.chunk(vec![part.into()], None);
        let after = after.map(|usage| self.chunk(Vec::new(), Some(usage)));
        let chunks = before.into_iter().chain([own]).chain(after);
        chunks.map(FormatEvent::from)
    }

    fn chunk(&self, choices: Vec<ChunkChoice>, usage: Option<TokenUsage>) -> String {
        json(&CompletionChunk {
            id: self.id.clone(),
            object: "chat.completion.chunk",
            created: self.options.created,
            model: self.options.model.clone(),
            choices,
            usage,
        })
    }
}

fn json(payload: &impl Serialize) -> String {
    // Only a map with keys that are no text could fail.
    serde_json::to_string(payload).unwrap_or_default()
}

impl Format for StandardFormat {
    fn events(&mut self, entry: &StreamEntry) -> Vec<FormatEvent> {
        let Some(frame) = read(entry) else {
            return Vec::new();
        };
        let parts = self.answer.read(&frame);
        parts
            .into_iter()
            .flat_map(|part| self.chunks(part))
            .collect()
    }

    fn end(&mut self) -> Vec<FormatEvent> {
        vec!["[DONE]".to_owned().into()]
    }
}

fn completion_id(options: &FormatOptions) -> String {
    format!("chatcmpl-{}", options.request_id)
}
