//! What an agent has answered, read from the log of its turn.

use super::tool_answer;
use crate::format;
use crate::format::FormatOptions;
use crate::format::answer::{AnswerField, AnswerPart, AnswerReader, TurnEnding};
use ambit_runtime::frame::TurnEvent;
use ambit_runtime::stream::{StreamEntry, StreamReader};
use ambit_runtime::{Error, Result};
use serde_json::{Map, Value, json};

/// An answer as far as it is read.
pub struct AgentAnswer {
    request_id: String,
    reader: AnswerReader,
    status: Option<String>,
    ending: Option<Box<TurnEnding>>,
}

impl Default for AgentAnswer {
    fn default() -> Self {
        Self::new("")
    }
}

impl AgentAnswer {
    /// Of this turn.
    pub fn new(request_id: &str) -> Self {
        Self {
            request_id: request_id.to_owned(),
            reader: AnswerReader::new(&FormatOptions::default()),
            status: None,
            ending: None,
        }
    }

    /// The whole log of a turn that has ended.
    pub async fn read(request_id: &str, mut stream: StreamReader) -> Result<Self> {
        let mut answer = Self::new(request_id);
        while let Some(entries) = stream.next().await? {
            for entry in &entries {
                answer.push(entry);
            }
        }
        Ok(answer)
    }

    /// Takes an entry in; the answer is how many steps and calls of tools ended with it.
    pub fn push(&mut self, entry: &StreamEntry) -> usize {
        let Some(frame) = format::read(entry) else {
            return 0;
        };
        for part in self.reader.read(&frame) {
            if let AnswerPart::End(ending) = part {
                self.ending = Some(ending);
            }
        }
        let event = TurnEvent::read(&frame);
        if let Some(TurnEvent::StreamEnd(end)) = event {
            self.status = end.status.map(str::to_owned);
        }
        usize::from(event.is_some_and(|event| self.is_step(&event)))
    }

    fn is_step(&self, event: &TurnEvent<'_>) -> bool {
        match event {
            TurnEvent::StepEnd(_) => true,
            TurnEvent::MessageEnd { message_id, .. } => {
                let message = self.reader.state.messages.get(message_id);
                // The message of a call ends with its arguments, with each report of its progress, and with its result.
                let status = message.and_then(|message| message.props.get("status"));
                let is_call = message.is_some_and(|message| message.kind == "tool_call");
                let status = status.and_then(Value::as_str);
                is_call && matches!(status, Some("completed" | "error"))
            }
            _ => false,
        }
    }

    /// The call's result, when the turn has ended.
    pub fn result(self) -> Result<Map<String, Value>> {
        let ending = self
            .ending
            .ok_or_else(|| Error::internal("the stream of a turn has no end"))?;
        if let Some(failure) = ending.failure {
            return Err(failure);
        }
        let state = &self.reader.state;
        Ok(tool_answer::success(json!({
            "text": state.text(AnswerField::Content),
            "chat_id": state.start.chat_id,
            "request_id": self.request_id,
            "status": self.status,
            "next": ending.next,
        })))
    }
}
