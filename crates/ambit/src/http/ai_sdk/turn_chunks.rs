//! What a turn that has ended has streamed: from its log as long as that is kept, then from what the history has of it.

use crate::format::FormatOptions;
use crate::format::ai_sdk::{self, AiSdkVersion, PartChunk};
use crate::http::ServerState;
use ambit_runtime::Frame;
use ambit_runtime::chats::{ChatMessageView, ChatTurn, InterruptMessage};
use ambit_runtime::stream::StreamEntry;
use ambit_runtime::{Authorized, ErrorCode, Result};
use serde_json::json;

/// The chunks of a turn.
pub async fn of(
    server: &ServerState,
    who: &Authorized,
    turn: &ChatTurn,
    version: AiSdkVersion,
) -> Result<Vec<PartChunk>> {
    let stream = server.runtime.stream(who, &turn.request_id, 0).await;
    let mut stream = match stream {
        Ok(stream) => stream,
        Err(error) if is_gone(&error.code) => return Ok(of_history(turn, version)),
        Err(error) => return Err(error),
    };
    let mut entries: Vec<StreamEntry> = Vec::new();
    while let Some(more) = stream.next().await? {
        entries.extend(more);
    }
    let options = options(turn, version);
    Ok(ai_sdk::chunks(&entries, &options))
}

fn is_gone(code: &ErrorCode) -> bool {
    matches!(code, ErrorCode::StreamExpired | ErrorCode::NotFound)
}

fn options(turn: &ChatTurn, version: AiSdkVersion) -> FormatOptions {
    FormatOptions {
        request_id: turn.request_id.clone(),
        ai_sdk: version,
        ..FormatOptions::default()
    }
}

/// The chunks of a turn as the history tells them. Where models were called follows from what stands behind calls of tools and
/// behind what people said meanwhile.
pub fn of_history(turn: &ChatTurn, version: AiSdkVersion) -> Vec<PartChunk> {
    let mut frames = vec![Frame::event("stream_start", "", begin(turn))];
    let mut is_step_over = true;
    for shown in &turn.shown {
        if shown.role == "user" {
            frames.push(interrupt(shown));
            is_step_over = true;
            continue;
        }
        let is_call = shown.kind == "tool_call";
        if is_step_over && !is_call {
            frames.push(Frame::event("step_start", "", json!({})));
        }
        is_step_over = is_call;
        frames.extend(message(shown));
    }
    let lines = frames
        .iter()
        .filter_map(|frame| serde_json::to_string(frame).ok());
    let entries = (1..).zip(lines).map(|(number, line)| StreamEntry {
        number,
        text: line.as_str().into(),
    });
    let entries: Vec<StreamEntry> = entries.collect();
    ai_sdk::chunks(&entries, &options(turn, version))
}

fn begin(turn: &ChatTurn) -> serde_json::Value {
    let mut answer = turn.shown.iter().filter(|shown| shown.role != "user");
    let first = answer.next().or(turn.shown.first());
    let mut begin = json!({
        "request_id": turn.request_id,
        "trace_id": turn.request_id,
        "chat_id": first.map(|shown| &shown.chat_id),
        "assistant": {"assistant_id": first.map(|shown| &shown.assistant_id)},
    });
    if let Some(first) = &turn.continues {
        begin["continues"] = first.as_str().into();
    }
    begin
}

/// What tells of a message that a person sent meanwhile.
fn interrupt(said: &ChatMessageView) -> Frame {
    let message = InterruptMessage {
        message_id: said.message_id.clone(),
        props: said.props.clone(),
    };
    Frame::event("interrupt", "", json!({"messages": [message]}))
}

/// The frames that leave a message in its last state.
fn message(shown: &ChatMessageView) -> [Frame; 3] {
    let mut start = json!({"message_id": shown.message_id, "type": shown.kind});
    if shown.kind == "tool_call" {
        let is_open = shown.props.get("status").is_some_and(|it| it == "pending");
        start["tool_call"] = json!({"name": shown.props.get("name"), "client": is_open});
    }
    let end = json!({"message_id": shown.message_id, "status": shown.status});
    let whole = Frame {
        kind: shown.kind.clone(),
        props: shown.props.clone(),
        message_id: Some(shown.message_id.clone()),
        ..Frame::default()
    };
    [
        Frame::event("message_start", "", start),
        whole,
        Frame::event("message_end", "", end),
    ]
}
