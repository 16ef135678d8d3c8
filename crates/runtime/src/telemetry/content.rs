//! What was said, as spans hold it where an app wants that: messages, instructions, and what tools were called with and gave.
//! Secrets that the app's files hold are in none of it.

use crate::app::{App, TelemetryContent};
use crate::llm::Secrets;
use serde_json::{Map, Value, json};

/// Bytes of one attribute.
const MAX_BYTES: usize = 64 << 10;

/// What spans hold of what was said.
pub(super) enum SpanContent {
    /// Nothing.
    None,
    /// All but these.
    Full(Secrets),
}

/// A call of a model, as attributes have it.
#[derive(Default)]
pub(super) struct ModelContent {
    pub instructions: Option<String>,
    pub input: Option<String>,
    pub output: Option<String>,
}

impl SpanContent {
    /// What the app wants.
    pub fn of(app: &App) -> Self {
        match app.settings.telemetry.content {
            TelemetryContent::None => Self::None,
            TelemetryContent::Full => Self::Full(secrets(app)),
        }
    }

    /// What a model was sent and answered.
    pub fn model(
        &self,
        input: &Value,
        output: &Value,
        finish_reason: Option<&str>,
    ) -> ModelContent {
        let Self::Full(secrets) = self else {
            return ModelContent::default();
        };
        let mut instructions = Vec::new();
        let mut messages = Vec::new();
        match input.get("messages").and_then(Value::as_array) {
            Some(all) => {
                for message in all {
                    match message.get("role").and_then(Value::as_str) {
                        Some("system" | "developer") => instructions.extend(parts(message)),
                        _ => messages.push(chat_message(message)),
                    }
                }
            }
            // One that was too long for the trace is the beginning of its text there.
            None if input.is_string() => {
                let part = json!({"type": "text", "content": input});
                messages.push(json!({"role": "user", "parts": [part]}));
            }
            None => {}
        }
        let answers = output.is_object().then(|| {
            let mut answer = chat_message(output);
            if let Some(reason) = finish_reason {
                answer["finish_reason"] = reason.into();
            }
            vec![answer]
        });
        let list =
            |list: Vec<Value>| (!list.is_empty()).then(|| text_of(secrets, Value::Array(list)));
        ModelContent {
            instructions: list(instructions),
            input: list(messages),
            output: list(answers.unwrap_or_default()),
        }
    }

    /// What a tool was called with, or gave.
    pub fn tool(&self, value: &Value) -> Option<String> {
        match self {
            Self::Full(secrets) if !value.is_null() => Some(text_of(secrets, value.clone())),
            _ => None,
        }
    }
}

/// A message in the shape of the conventions.
fn chat_message(message: &Value) -> Value {
    let role = message.get("role").cloned();
    json!({"role": role.unwrap_or_else(|| "user".into()), "parts": parts(message)})
}

/// What a message holds, in the shape of the conventions.
fn parts(message: &Value) -> Vec<Value> {
    let text = |text: &Value| json!({"type": "text", "content": text});
    let content = message.get("content");
    let mut parts = Vec::new();
    if let Some(reasoning) = message.get("reasoning_content").filter(|it| it.is_string()) {
        parts.push(json!({"type": "reasoning", "content": reasoning}));
    }
    if message.get("role").and_then(Value::as_str) == Some("tool") {
        let id = message.get("tool_call_id");
        parts.push(json!({"type": "tool_call_response", "id": id, "response": content}));
        return parts;
    }
    match content {
        Some(Value::String(words)) if !words.is_empty() => parts.push(text(&json!(words))),
        Some(Value::Array(items)) => {
            parts.extend(items.iter().map(|item| match item.get("text") {
                Some(words) => text(words),
                // Of pictures and sound it is told that they are there.
                None => json!({"type": item.get("type")}),
            }));
        }
        _ => {}
    }
    let calls = message.get("tool_calls").and_then(Value::as_array);
    parts.extend(calls.into_iter().flatten().map(|call| {
        let called = call.get("function").unwrap_or(call);
        json!({
            "type": "tool_call",
            "id": call.get("id"),
            "name": called.get("name"),
            "arguments": called.get("arguments"),
        })
    }));
    parts
}

/// A value as a text, without secrets and not too long.
fn text_of(secrets: &Secrets, value: Value) -> String {
    let text = match without_secrets(secrets, value) {
        Value::String(text) => text,
        value => value.to_string(),
    };
    let mut text = text;
    let end = text.floor_char_boundary(MAX_BYTES);
    text.truncate(end);
    text
}

fn without_secrets(secrets: &Secrets, value: Value) -> Value {
    match value {
        Value::String(text) => secrets.hide(&text).into(),
        Value::Array(items) => {
            let items = items.into_iter();
            items.map(|item| without_secrets(secrets, item)).collect()
        }
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields =
                fields.map(|(name, value)| (secrets.hide(&name), without_secrets(secrets, value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other,
    }
}

/// What an app's connectors and tool servers are called with.
fn secrets(app: &App) -> Secrets {
    let connectors = app.connectors.values().flatten();
    let of_connectors = connectors.flat_map(|connector| {
        let password = connector.options.store.pass.as_ref();
        let password = password.map(|password| &password.0);
        [
            Secrets::of(connector),
            Secrets::of_service(password.into_iter(), &[], ""),
        ]
    });
    let servers = app.servers.values().flatten();
    let of_servers = servers.map(|server| {
        let about = &server.settings.connection;
        let credentials = about.personal().map(|(_, text)| text);
        Secrets::of_service(credentials, &about.arguments, &about.url)
    });
    Secrets::joined(of_connectors.chain(of_servers))
}
