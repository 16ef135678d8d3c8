//! What a turn that has ended has streamed: from its log as long as that is kept, then from what the history has of it and what is
//! known of it.

use crate::format::FormatOptions;
use crate::format::ai_sdk::{self, AiSdkVersion, PartChunk};
use crate::http::ServerState;
use ambit_runtime::Frame;
use ambit_runtime::chats::{ChatMessageView, ChatTurn, InterruptMessage};
use ambit_runtime::stream::StreamEntry;
use ambit_runtime::{Authorized, ErrorCode, Result, TurnInfo};
use serde_json::{Value, json};

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
        Err(error) if is_gone(&error.code) => {
            let info = known(server, who, &turn.request_id).await?;
            return Ok(of_history(turn, info.as_ref(), version));
        }
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

/// What is known of a turn, for longer than its stream is kept.
async fn known(
    server: &ServerState,
    who: &Authorized,
    request_id: &str,
) -> Result<Option<TurnInfo>> {
    match server.runtime.turn(who, request_id).await {
        Ok(info) => Ok(Some(info)),
        Err(error) if error.code == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn options(turn: &ChatTurn, version: AiSdkVersion) -> FormatOptions {
    FormatOptions {
        request_id: turn.request_id.clone(),
        ai_sdk: version,
        ..FormatOptions::default()
    }
}

/// The chunks of a turn as the history tells them, with what is known of it.
pub fn of_history(
    turn: &ChatTurn,
    info: Option<&TurnInfo>,
    version: AiSdkVersion,
) -> Vec<PartChunk> {
    let mut frames = vec![Frame::event("stream_start", "", begin(turn, info))];
    for (at, shown) in turn.shown.iter().enumerate() {
        frames.extend(steps(turn, at));
        match shown.role {
            "user" => frames.push(interrupt(shown)),
            _ => frames.extend(message(shown)),
        }
    }
    frames.extend(steps(turn, turn.shown.len()));
    frames.extend(info.and_then(TurnInfo::stream_end));
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

/// The steps that began in front of the shown message at this index.
fn steps(turn: &ChatTurn, at: usize) -> impl Iterator<Item = Frame> {
    let begun = turn.steps.iter().filter(move |step| **step == at);
    begun.map(|_| Frame::event("step_start", "", json!({})))
}

fn begin(turn: &ChatTurn, info: Option<&TurnInfo>) -> Value {
    let mut answer = turn.shown.iter().filter(|shown| shown.role != "user");
    let first = answer.next().or(turn.shown.first());
    let chat_id = info.map(|info| &info.chat_id);
    let agent = info.map(|info| &info.assistant_id);
    let agent = agent.or(first.map(|shown| &shown.assistant_id));
    let mut begin = json!({
        "request_id": turn.request_id,
        "context_id": info.map(|info| &info.context_id),
        "trace_id": turn.request_id,
        "chat_id": chat_id.or(first.map(|shown| &shown.chat_id)),
        "assistant": {"assistant_id": agent},
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
