//! Entries of the history: shown messages and answers of models as they are stored.

use super::{AnswerRecord, CallMessage};
use crate::frame::OutputMessage;
use crate::llm::TokenUsage;
use ambit_storage::storage::{Message, Role, ToolCall};
use serde_json::{Map, Value, json};

/// A stored entry with what was changed of the messages in it; `None` where nothing was.
pub(super) fn amended_entry(
    stored: &Message,
    amended: &[OutputMessage],
    turn_id: &str,
) -> Option<Message> {
    let now = |id: Option<&Value>| {
        let id = id.and_then(Value::as_str)?;
        amended.iter().find(|shown| shown.message_id == id)
    };
    let mut changed = stored.clone();
    if let Some(shown) = now(stored.extras.get("message_id")) {
        changed = message_entry(shown, turn_id);
        changed.id.clone_from(&stored.id);
        changed.created_at = stored.created_at;
    }
    let views = changed
        .extras
        .get_mut("shown")
        .and_then(Value::as_array_mut);
    for view in views.into_iter().flatten() {
        if let Some(shown) = now(view.get("message_id")) {
            let mut fields = location(shown);
            fields.insert("type".to_owned(), shown.kind.clone().into());
            fields.insert("props".to_owned(), shown.props.clone().into());
            *view = fields.into();
        }
    }
    (changed != *stored).then_some(changed)
}

/// A message that a hook or tool has sent.
pub(super) fn message_entry(shown: &OutputMessage, turn_id: &str) -> Message {
    let text = shown
        .props
        .get("content")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let is_text = shown.kind == "text" && shown.props.len() == 1;
    let mut entry = Message::assistant(text);
    if !is_text {
        entry.parts.clear();
        entry
            .extras
            .insert("props".to_owned(), shown.props.clone().into());
    }
    entry.metadata = shown.metadata.clone().map(Value::Object);
    entry
        .extras
        .insert("type".to_owned(), shown.kind.clone().into());
    entry.extras.extend(location(shown));
    signed(entry, turn_id, &shown.assistant_id)
}

/// A model's answer, and how it was shown.
pub(super) fn answer_entry(
    record: &AnswerRecord,
    shown: &[OutputMessage],
    turn_id: &str,
) -> Message {
    let answer = &record.answer;
    let mut entry = Message::assistant(answer.text.clone());
    if answer.text.is_empty() {
        entry.parts.clear();
    }
    let calls = answer.tool_calls.iter();
    entry.tool_calls = calls
        .map(|call| ToolCall::new(&call.id, &call.name, call.arguments.clone()))
        .collect();
    entry.usage = Some(json!(answer.usage)).filter(|_| answer.usage != TokenUsage::default());
    for (name, value) in [
        ("reasoning_content", json!(answer.reasoning)),
        ("refusal", json!(answer.refusal)),
    ] {
        if value.as_str().is_some_and(|text| !text.is_empty()) {
            entry.extras.insert(name.to_owned(), value);
        }
    }
    if !answer.reasoning_parts.is_empty() {
        let parts = json!(answer.reasoning_parts);
        entry.extras.insert("reasoning_parts".to_owned(), parts);
    }
    let views = answer_views(record, shown);
    if !views.is_empty() {
        entry.extras.insert("shown".to_owned(), views.into());
    }
    signed(entry, turn_id, &record.agent)
}

/// The messages in which an answer was shown, without the props that follow from the answer.
fn answer_views(record: &AnswerRecord, shown: &[OutputMessage]) -> Vec<Value> {
    let answer = &record.answer;
    let mut calls = answer.tool_calls.iter();
    let mut views = Vec::new();
    for message in shown {
        if !record.shown.contains(&message.message_id) {
            continue;
        }
        let content = message.props.get("content").and_then(Value::as_str);
        let follows = match message.kind.as_str() {
            "text" => content == Some(answer.text.as_str()),
            "thinking" => content == Some(answer.reasoning.as_str()),
            kind => kind == "tool_call",
        };
        let mut view = location(message);
        view.insert("type".to_owned(), message.kind.clone().into());
        if message.kind == "tool_call"
            && let Some(call) = calls.next()
        {
            view.insert("call".to_owned(), call.id.clone().into());
        }
        if !follows {
            view.insert("props".to_owned(), message.props.clone().into());
        }
        views.push(Value::Object(view));
    }
    views
}

/// An entry that an agent has made in a turn.
pub(super) fn signed(mut entry: Message, turn_id: &str, agent: &str) -> Message {
    entry.role = Role::Assistant;
    entry.turn_id = Some(turn_id.to_owned());
    entry.extras.insert("assistant_id".to_owned(), agent.into());
    entry
}

/// Where a message was shown.
fn location(shown: &OutputMessage) -> Map<String, Value> {
    let fields = [
        ("message_id", Some(shown.message_id.clone())),
        ("block_id", shown.block_id.clone()),
        ("thread_id", shown.thread_id.clone()),
        (
            "status",
            shown.status.map(|status| status.as_str().to_owned()),
        ),
    ];
    let present = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
    let mut location: Map<String, Value> = present.collect();
    if shown.amended {
        location.insert("amended".to_owned(), true.into());
    }
    location
}

/// The tool calls of a stored answer, each with the message in which it was shown.
pub(in crate::turn) fn call_messages(stored: &Message) -> impl Iterator<Item = CallMessage> {
    let text = |view: &Value, name: &str| view.get(name)?.as_str().map(str::to_owned);
    views(stored).filter_map(move |view| {
        Some(CallMessage {
            call_id: text(view, "call")?,
            message_id: text(view, "message_id")?,
        })
    })
}

/// The ids of the shown messages that an entry stands for.
pub(in crate::turn) fn message_ids(stored: &Message) -> impl Iterator<Item = String> {
    let own = stored.extras.get("message_id").into_iter();
    let ids = own.chain(views(stored).filter_map(|view| view.get("message_id")));
    ids.filter_map(|id| id.as_str().map(str::to_owned))
}

fn views(stored: &Message) -> impl Iterator<Item = &Value> {
    let views = stored.extras.get("shown").and_then(Value::as_array);
    views.into_iter().flatten()
}
