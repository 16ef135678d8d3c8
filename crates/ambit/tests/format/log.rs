//! What a client reads of a log.

use crate::recorded_logs::{entries, events};
use ambit::format::{FormatDefinition, FormatEvent};
use ambit::runtime::stream::StreamEntry;
use serde_json::{Map, Value, json};

/// An event as an entry of a log has it.
pub fn event(name: &str, data: &Value) -> Value {
    json!({"type": "event", "props": {"event": name, "data": data}})
}

/// A log of these entries between a start and an end.
pub fn log_of(middle: &[Value]) -> Vec<StreamEntry> {
    let start = event("stream_start", &json!({"chat_id": "chat-1"}));
    let end = event("stream_end", &json!({"status": "completed"}));
    let all = [start].into_iter().chain(middle.to_vec()).chain([end]);
    let lines: Vec<String> = all.map(|line| line.to_string()).collect();
    entries(lines.iter().map(String::as_str))
}

/// The data of the events that a format makes of each entry, and of the end.
pub fn frames(row: &FormatDefinition, entries: &[StreamEntry]) -> (Vec<Vec<String>>, Vec<String>) {
    let (events, end) = events(row, entries);
    (events.into_iter().map(data).collect(), data(end))
}

fn data(events: Vec<FormatEvent>) -> Vec<String> {
    events.into_iter().map(|event| event.data).collect()
}

/// What a client of OpenAI's chat completions holds that put all chunks together.
#[derive(Debug, Default, PartialEq)]
pub struct Completion {
    pub role: Option<String>,
    pub content: String,
    pub reasoning: String,
    pub calls: Vec<Value>,
    pub finish_reason: Option<String>,
    pub usage: Option<Value>,
    pub errors: Vec<Value>,
}

impl Completion {
    /// Puts chunks together; anything that a strict client would stumble over fails the test.
    pub fn of_chunks(frames: &[String]) -> Self {
        let mut whole = Self::default();
        for frame in frames {
            let chunk: Value = serde_json::from_str(frame).unwrap();
            if let Some(error) = chunk.get("error") {
                whole.errors.push(error.clone());
                continue;
            }
            assert_eq!(chunk["id"], "chatcmpl-r1");
            assert_eq!(chunk["object"], "chat.completion.chunk");
            assert_eq!(chunk["created"], 1_764_300_000);
            assert_eq!(chunk["model"], "tests.hello");
            if let Some(usage) = chunk.get("usage") {
                assert_eq!(chunk["choices"], Value::Array(Vec::new()));
                assert!(whole.usage.replace(usage.clone()).is_none());
                continue;
            }
            assert!(whole.finish_reason.is_none(), "text behind the last chunk");
            whole.take(&chunk["choices"][0]);
        }
        whole
    }

    fn take(&mut self, choice: &Value) {
        assert_eq!(choice["index"], 0);
        self.finish_reason = choice["finish_reason"].as_str().map(str::to_owned);
        let delta = choice["delta"].as_object().unwrap();
        let is_last = self.finish_reason.is_some();
        assert_eq!(delta.is_empty(), is_last, "the last chunk alone is empty");
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        if let Some(role) = delta.get("role") {
            assert!(
                self.role
                    .replace(role.as_str().unwrap().to_owned())
                    .is_none()
            );
        }
        self.content.push_str(text("content"));
        self.reasoning.push_str(text("reasoning_content"));
        for call in delta
            .get("tool_calls")
            .iter()
            .flat_map(|calls| calls.as_array().unwrap())
        {
            self.take_call(call.as_object().unwrap());
        }
    }

    fn take_call(&mut self, call: &Map<String, Value>) {
        let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
        let Some(known) = self.calls.get_mut(index) else {
            assert_eq!(index, self.calls.len());
            let mut call = call.clone();
            call.remove("index");
            self.calls.push(call.into());
            return;
        };
        let more = call["function"]["arguments"].as_str().unwrap();
        let arguments = &mut known["function"]["arguments"];
        *arguments = format!("{}{more}", arguments.as_str().unwrap()).into();
    }

    /// The same of an answer that did not stream.
    pub fn of_body(body: &Value) -> Self {
        if let Some(error) = body.get("error") {
            return Self {
                errors: vec![error.clone()],
                ..Self::default()
            };
        }
        let choice = &body["choices"][0];
        let message = &choice["message"];
        let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
        Self {
            role: Some(text("role")),
            content: text("content"),
            reasoning: text("reasoning_content"),
            calls: message["tool_calls"]
                .as_array()
                .cloned()
                .unwrap_or_default(),
            finish_reason: choice["finish_reason"].as_str().map(str::to_owned),
            usage: Some(body["usage"].clone()),
            errors: Vec::new(),
        }
    }
}
