//! A model's answer on its way to the client: thinking, text and tool calls, each as a message of its own.

use crate::chat::{ToolCall, ToolDefinition};
use crate::error::Result;
use crate::frame::MessageStatus;
use crate::frame::props_path::PropsPath;
use crate::llm::ModelAnswer;
use crate::outbox::{AgentOutbox, ToolCallStart};
use serde_json::{Map, Value, json};

/// Shows an answer as it grows.
pub(super) struct AnswerWriter {
    outbox: AgentOutbox,
    /// What the client runs itself.
    pub client_tools: Vec<ToolDefinition>,
    /// The messages begun so far.
    shown: Vec<String>,
    thinking: AnswerMessage,
    text: AnswerMessage,
    refusal: AnswerMessage,
    calls: Vec<AnswerMessage>,
    arguments: PropsPath,
    /// Dropped, it ends what is open: in a call from inside a turn nobody else does before the turn's end.
    ends_on_drop: bool,
}

/// A message, and how many bytes of its content are shown.
#[derive(Default)]
struct AnswerMessage {
    id: Option<String>,
    length: usize,
    is_ended: bool,
}

impl AnswerWriter {
    pub fn new(outbox: AgentOutbox, ends_on_drop: bool) -> Self {
        Self {
            outbox,
            client_tools: Vec::new(),
            shown: Vec::new(),
            thinking: AnswerMessage::default(),
            text: AnswerMessage::default(),
            refusal: AnswerMessage::default(),
            calls: Vec::new(),
            arguments: PropsPath::key("arguments"),
            ends_on_drop,
        }
    }

    /// Shows what is new.
    pub fn show(&mut self, answer: &ModelAnswer) -> Result<()> {
        let outbox = &self.outbox;
        let (shown, reasoning) = (&mut self.shown, &answer.reasoning);
        self.thinking.grow(outbox, shown, "thinking", reasoning)?;
        if answer.text.len() > self.text.length {
            self.thinking.end(outbox, MessageStatus::Completed);
        }
        self.text.grow(outbox, shown, "text", &answer.text)?;
        if answer.refusal.len() > self.refusal.length {
            self.text.end(outbox, MessageStatus::Completed);
        }
        self.refusal.grow(outbox, shown, "text", &answer.refusal)?;
        // Earlier calls are whole: only the last one can grow.
        for index in self.calls.len().saturating_sub(1)..answer.tool_calls.len() {
            self.show_call(index, &answer.tool_calls[index])?;
        }
        Ok(())
    }

    fn show_call(&mut self, index: usize, call: &ToolCall) -> Result<()> {
        let outbox = &self.outbox;
        if index == self.calls.len() {
            let others = [&mut self.thinking, &mut self.text];
            for message in others.into_iter().chain(self.calls.last_mut()) {
                message.end(outbox, MessageStatus::Completed);
            }
            let id = outbox.begin_tool_call(ToolCallStart {
                id: call.id.clone(),
                name: call.name.clone(),
                index,
                is_client: self.client_tools.iter().any(|tool| tool.name == call.name),
            })?;
            let props =
                json!({"id": call.id, "name": call.name, "arguments": "", "status": "pending"});
            outbox.update(&id, object(props))?;
            self.shown.push(id.clone());
            self.calls.push(AnswerMessage {
                id: Some(id),
                ..AnswerMessage::default()
            });
        }
        let message = &mut self.calls[index];
        if let (Some(id), true) = (&message.id, call.arguments.len() > message.length) {
            let new = &call.arguments[message.length..];
            outbox.say_at(id, &self.arguments, new)?;
            message.length = call.arguments.len();
        }
        Ok(())
    }

    /// The messages so far, in order.
    pub fn shown(&self) -> &[String] {
        &self.shown
    }

    /// Ends what is open, and returns the messages in order.
    pub fn finish(mut self, status: MessageStatus) -> Vec<String> {
        self.end_all(status);
        std::mem::take(&mut self.shown)
    }

    fn end_all(&mut self, status: MessageStatus) {
        let texts = [&mut self.thinking, &mut self.text, &mut self.refusal];
        for message in texts.into_iter().chain(&mut self.calls) {
            message.end(&self.outbox, status);
        }
    }
}

impl Drop for AnswerWriter {
    fn drop(&mut self) {
        if self.ends_on_drop {
            self.end_all(MessageStatus::Partial);
        }
    }
}

impl AnswerMessage {
    /// Shows what is new of a text. A message that begins with this is among those shown even if its text cannot be.
    fn grow(
        &mut self,
        outbox: &AgentOutbox,
        shown: &mut Vec<String>,
        kind: &str,
        text: &str,
    ) -> Result<()> {
        if text.len() <= self.length {
            return Ok(());
        }
        if self.is_ended {
            // It goes on behind something else: as a message of its own.
            (self.id, self.is_ended) = (None, false);
        }
        let id = match &self.id {
            Some(id) => id,
            None => {
                let id = outbox.begin(kind)?;
                shown.push(id.clone());
                self.id.insert(id)
            }
        };
        outbox.say(id, &text[self.length..])?;
        self.length = text.len();
        Ok(())
    }

    fn end(&mut self, outbox: &AgentOutbox, status: MessageStatus) {
        if let (Some(id), false) = (&self.id, self.is_ended) {
            outbox.finish(id, status);
            self.is_ended = true;
        }
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
