//! `standard`: OpenAI's chat completions.

mod body;
mod client_tool_calls;
mod completion_state;
mod message_text;
mod text_queue;

pub use body::{Completion, body};

use super::frames::read;
use super::{Format, FormatOptions, TurnFailure};
use ambit_runtime::Frame;
use ambit_runtime::stream::StreamEntry;
use completion_state::{CompletionDelta, CompletionState, TurnEnding};
use message_text::CompletionField;
use serde_json::{Map, Value, json};
use text_queue::{TextPiece, TextQueue};

/// A stream of chunks.
pub fn open(options: &FormatOptions) -> Box<dyn Format> {
    Box::new(StandardFormat::new(options))
}

struct StandardFormat {
    head: String,
    include_usage: bool,
    reading: CompletionState,
    content: TextQueue,
    reasoning: TextQueue,
    /// A message of type `error` that may turn out to be the turn's own failure, which is told otherwise.
    failure: Option<String>,
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
            reading: CompletionState::new(options),
            content: TextQueue::default(),
            reasoning: TextQueue::default(),
            failure: None,
        }
    }

    fn chunk(&self, delta: &Map<String, Value>) -> String {
        let delta = Value::Object(delta.clone());
        let head = &self.head;
        format!("{head},\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}")
    }

    fn event(&mut self, frame: &Frame) -> Vec<String> {
        self.reading.event(frame);
        match frame.event_name() {
            Some("stream_start") => {
                let mut delta = Map::new();
                delta.insert("role".to_owned(), "assistant".into());
                delta.insert("content".to_owned(), "".into());
                vec![self.chunk(&delta)]
            }
            Some("message_end") => {
                let id = frame.event_data().and_then(|data| data.get("message_id"));
                let id = id.and_then(Value::as_str).unwrap_or_default();
                self.content.close(id);
                self.reasoning.close(id);
                self.ready(None)
            }
            Some("stream_end") => self.last(),
            _ => Vec::new(),
        }
    }

    fn message(&mut self, frame: &Frame) -> Vec<String> {
        let change = self.reading.frame(frame);
        let Some(id) = &frame.message_id else {
            return Vec::new();
        };
        if self.failure.as_ref() != Some(id) {
            self.failure = (frame.kind == "error").then(|| id.clone());
            self.content.hold(self.failure.as_deref());
        }
        self.push(id, &change);
        self.ready(change.call)
    }

    fn push(&mut self, id: &str, change: &CompletionDelta) {
        let Some(text) = &change.text else {
            return;
        };
        let channel = match text.place {
            CompletionField::Content => &mut self.content,
            CompletionField::Reasoning => &mut self.reasoning,
        };
        let message = self.reading.state.get(id);
        channel.push(&TextPiece {
            message: id,
            thread: message.and_then(|message| message.thread_id.as_deref()),
            text: &text.text,
            is_new: change.is_new,
            is_line: text.is_line,
        });
    }

    /// Chunks of what can be sent now.
    fn ready(&mut self, call: Option<Value>) -> Vec<String> {
        let (reasoning, content) = (self.reasoning.ready(), self.content.ready());
        self.chunks(reasoning, content, call)
    }

    fn chunks(&self, reasoning: String, content: String, call: Option<Value>) -> Vec<String> {
        let texts = [("reasoning_content", reasoning), ("content", content)];
        let mut deltas: Vec<(&str, Value)> = texts
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| (name, text.into()))
            .collect();
        deltas.extend(call.map(|call| ("tool_calls", vec![call].into())));
        let chunk =
            |(name, value): (&str, Value)| self.chunk(&Map::from_iter([(name.to_owned(), value)]));
        deltas.into_iter().map(chunk).collect()
    }

    /// What is left, then how it ended.
    fn last(&mut self) -> Vec<String> {
        let Some(ending) = self.reading.ending.take() else {
            return Vec::new();
        };
        if self.is_told_by(&ending) {
            self.content.drop_held();
        }
        let (reasoning, content) = (self.reasoning.finish(), self.content.finish());
        let mut out = self.chunks(reasoning, content, None);
        out.extend(
            ending
                .failure
                .as_ref()
                .map(|error| json!(TurnFailure::from(error)).to_string()),
        );
        let head = &self.head;
        let reason = ending.finish_reason;
        out.push(format!(
            "{head},\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}"
        ));
        if self.include_usage {
            let usage = ending.usage;
            out.push(format!("{head},\"choices\":[],\"usage\":{usage}}}"));
        }
        out
    }

    /// Whether the message that is held back says what the end says.
    fn is_told_by(&self, ending: &TurnEnding) -> bool {
        let held = self
            .failure
            .as_deref()
            .and_then(|id| self.reading.state.get(id));
        let said = held.and_then(|message| message.props.get("message")?.as_str());
        let told = ending.failure.as_ref().map(|error| error.message.as_str());
        said.is_some() && said == told
    }
}

impl Format for StandardFormat {
    fn frames(&mut self, entry: &StreamEntry) -> Vec<String> {
        match read(entry) {
            Some(frame) if frame.kind == "event" => self.event(&frame),
            Some(frame) => self.message(&frame),
            None => Vec::new(),
        }
    }

    fn end(&mut self) -> Vec<String> {
        vec!["[DONE]".to_owned()]
    }
}

fn completion_id(options: &FormatOptions) -> String {
    format!("chatcmpl-{}", options.request_id)
}
