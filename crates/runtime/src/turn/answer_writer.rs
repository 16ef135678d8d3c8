//! A model's answer on its way to the client: thinking, text and tool calls, each as a message of its own.

use crate::error::Result;
use crate::frame::MessageStatus;
use crate::frame::props_path::PropsPath;
use crate::llm::ModelAnswer;
use crate::llm::answer::ToolCall;
use crate::outbox::AgentOutbox;
use serde_json::{Map, Value, json};

/// Shows an answer as it grows.
pub(super) struct AnswerWriter {
    speaker: AgentOutbox,
    /// The messages begun so far.
    shown: Vec<String>,
    thinking: AnswerMessage,
    text: AnswerMessage,
    refusal: AnswerMessage,
    calls: Vec<AnswerMessage>,
    arguments: PropsPath,
    /// Broken off, it ends what is open: nobody else does before the turn's end.
    ends_itself: bool,
}

/// A message, and how many bytes of its content have been shown.
#[derive(Default)]
struct AnswerMessage {
    id: Option<String>,
    told: usize,
    is_ended: bool,
}

impl AnswerWriter {
    pub fn new(speaker: AgentOutbox, ends_itself: bool) -> Self {
        Self {
            speaker,
            shown: Vec::new(),
            thinking: AnswerMessage::default(),
            text: AnswerMessage::default(),
            refusal: AnswerMessage::default(),
            calls: Vec::new(),
            arguments: PropsPath::key("arguments"),
            ends_itself,
        }
    }

    /// Shows what is new.
    pub fn say(&mut self, answer: &ModelAnswer) -> Result<()> {
        grow(
            &self.speaker,
            &mut self.shown,
            &mut self.thinking,
            ("thinking", &answer.reasoning),
        )?;
        if answer.text.len() > self.text.told {
            end(&self.speaker, &mut self.thinking, MessageStatus::Completed);
        }
        grow(
            &self.speaker,
            &mut self.shown,
            &mut self.text,
            ("text", &answer.text),
        )?;
        if answer.refusal.len() > self.refusal.told {
            end(&self.speaker, &mut self.text, MessageStatus::Completed);
        }
        grow(
            &self.speaker,
            &mut self.shown,
            &mut self.refusal,
            ("text", &answer.refusal),
        )?;
        // Earlier calls are whole: only the last one can grow.
        for index in self.calls.len().saturating_sub(1)..answer.tool_calls.len() {
            self.call(index, &answer.tool_calls[index])?;
        }
        Ok(())
    }

    fn call(&mut self, index: usize, call: &ToolCall) -> Result<()> {
        if index == self.calls.len() {
            let others = [&mut self.thinking, &mut self.text]
                .into_iter()
                .chain(self.calls.last_mut());
            for open in others {
                end(&self.speaker, open, MessageStatus::Completed);
            }
            let start = json!({"tool_call": {"id": call.id, "name": call.name, "index": index}});
            let id = self.speaker.begin("tool_call", object(start))?;
            let props =
                json!({"id": call.id, "name": call.name, "arguments": "", "status": "pending"});
            self.speaker.update(&id, object(props))?;
            self.shown.push(id.clone());
            self.calls.push(AnswerMessage {
                id: Some(id),
                ..AnswerMessage::default()
            });
        }
        let open = &mut self.calls[index];
        if let (Some(id), true) = (&open.id, call.arguments.len() > open.told) {
            self.speaker
                .say_at(id, &self.arguments, &call.arguments[open.told..])?;
            open.told = call.arguments.len();
        }
        Ok(())
    }

    /// The messages so far, in order.
    pub fn shown(&self) -> &[String] {
        &self.shown
    }

    /// Ends what is open; the answer is the messages, in order.
    pub fn finish(mut self, status: MessageStatus) -> Vec<String> {
        self.end_all(status);
        std::mem::take(&mut self.shown)
    }

    fn end_all(&mut self, status: MessageStatus) {
        let open = [&mut self.thinking, &mut self.text, &mut self.refusal]
            .into_iter()
            .chain(&mut self.calls);
        for open in open {
            end(&self.speaker, open, status);
        }
    }
}

impl Drop for AnswerWriter {
    fn drop(&mut self) {
        if self.ends_itself {
            self.end_all(MessageStatus::Partial);
        }
    }
}

fn grow(
    speaker: &AgentOutbox,
    shown: &mut Vec<String>,
    open: &mut AnswerMessage,
    (kind, text): (&str, &str),
) -> Result<()> {
    if text.len() <= open.told {
        return Ok(());
    }
    if open.is_ended {
        // It goes on behind something else: as a message of its own.
        (open.id, open.is_ended) = (None, false);
    }
    let id = match &open.id {
        Some(id) => id.clone(),
        None => {
            let id = speaker.begin(kind, Map::new())?;
            shown.push(id.clone());
            open.id.insert(id).clone()
        }
    };
    speaker.say(&id, &text[open.told..])?;
    open.told = text.len();
    Ok(())
}

fn end(speaker: &AgentOutbox, open: &mut AnswerMessage, status: MessageStatus) {
    if let (Some(id), false) = (&open.id, open.is_ended) {
        speaker.finish(id, status, Map::new());
        open.is_ended = true;
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
