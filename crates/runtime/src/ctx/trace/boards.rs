//! What calls of boards do.

use super::nodes::{nodes, start, warn};
use super::{BOARD, with_id};
use crate::ctx::ScriptCall;
use crate::trace::TraceSpace;
use ambit_script::HostValue;
use serde_json::{Value, json};

pub fn create_space(call: &ScriptCall<'_>) -> HostValue {
    let (start, _) = start(call, Value::Null, &call.value(0));
    let nodes = nodes(call);
    let board = nodes.first().map(|node| node.add_space(start));
    board.map_or(HostValue::Undefined, |board| board_object(call, &board))
}

pub fn get_space(call: &ScriptCall<'_>) -> HostValue {
    let board = find(call, call.value(0).as_str());
    board.map_or(Value::Null.into(), |board| board_object(call, &board))
}

/// The board of this id; none where the trace was released.
fn find(call: &ScriptCall<'_>, id: Option<&str>) -> Option<TraceSpace> {
    let cursor = &call.reach.cursor;
    let id = id.filter(|_| !cursor.is_silent())?;
    cursor.base().trace().space(id)
}

pub fn board(call: &ScriptCall<'_>) -> HostValue {
    let board = find(call, call.handle.get("board").and_then(Value::as_str));
    let name = call.value(0);
    let key = name.as_str();
    if key.is_none() && !matches!(call.method.name(), "Clear" | "Keys") {
        warn(call, "the key must be a string");
    }
    let key = key.unwrap_or_default();
    match call.method.name() {
        "Get" => board
            .and_then(|board| board.get(key))
            .unwrap_or_default()
            .into(),
        "Has" => json!(board.and_then(|board| board.get(key)).is_some()).into(),
        "Keys" => json!(board.map(|board| board.keys()).unwrap_or_default()).into(),
        change => {
            if let Some(board) = board {
                match change {
                    "Set" => board.set(key, call.value(1)),
                    "Delete" => board.delete(key),
                    _ => board.clear(),
                }
            }
            HostValue::Undefined
        }
    }
}

fn board_object(call: &ScriptCall<'_>, board: &TraceSpace) -> HostValue {
    let handle = json!({"context": call.reach.number, "board": board.id()});
    with_id(&BOARD, handle, board.id())
}
