//! Results that clients send for calls of their own tools. A call waits for one only as long as nothing else follows it.

use crate::error::{Error, Result};
use ambit_storage::storage::Message;
use serde_json::Value;

/// Begins the ids of messages that clients sent.
pub(super) const OF_CLIENT: &str = "U";

/// Paired history without what stands at its end for the results that are sent now: the mark of a result that is missing, or
/// what the client sent in an attempt before.
pub(super) fn awaiting(mut paired: Vec<Message>, sent: &[Value]) -> Vec<Message> {
    let end = paired
        .iter()
        .rposition(|message| message.tool_result.is_none());
    let mut at = end.map_or(0, |end| end + 1);
    while at < paired.len() {
        let is_sent = |id: &str| sent.iter().any(|message| answered(message) == Some(id));
        let result = paired[at].tool_result.as_ref();
        let is_replaced = result.is_some_and(|result| is_sent(&result.call_id));
        if is_replaced && may_be_sent(&paired[at]) {
            paired.remove(at);
        } else {
            at += 1;
        }
    }
    paired
}

/// Whether what a client sent must be compared with the history: one message that answers no call is always new.
pub(super) fn may_be_known(sent: &[Value]) -> bool {
    sent.len() > 1 || sent.iter().any(is_result)
}

/// Where new messages begin in what a client sent, which begins with this many that `history` has. A result whose call is
/// closed in the history comes with its call once more. Refuses results that answer no call at all.
pub(super) fn first_new(history: &[Value], sent: &[Value], repeated: usize) -> Result<usize> {
    let mut first = repeated;
    while let Some(at) = unasked(history, &sent[first..]) {
        let at = first + at;
        let id = answered(&sent[at]);
        let calling = sent[..first]
            .iter()
            .rposition(|message| calls(message).any(|call| Some(call) == id));
        first = calling.ok_or_else(|| {
            let param = format!("messages[{at}].tool_call_id");
            let message = format!(
                "{param} answers no open call; send a result directly behind the calls that it belongs to"
            );
            Error::invalid(param, message)
        })?;
    }
    Ok(first)
}

/// The first result that answers no open call: neither one of `history`, nor one of the messages in front of it.
fn unasked(history: &[Value], sent: &[Value]) -> Option<usize> {
    let end = history.iter().rposition(|message| !is_result(message));
    let (before, results) = history.split_at(end.map_or(0, |end| end + 1));
    let has_result = |id: &str| results.iter().any(|result| answered(result) == Some(id));
    let mut open: Vec<&str> = before.last().into_iter().flat_map(calls).collect();
    open.retain(|id| !has_result(id));
    sent.iter().position(|message| {
        open.extend(calls(message));
        let Some(id) = answered(message) else {
            return false;
        };
        let call = open.iter().position(|call| *call == id);
        call.map(|call| open.remove(call)).is_none()
    })
}

/// A result of a tool of the server is never a client's to change.
fn may_be_sent(result: &Message) -> bool {
    let extra = |name: &str| result.extras.get(name);
    let id = extra("message_id").and_then(Value::as_str);
    extra("synthetic").is_some() || id.is_some_and(|id| id.starts_with(OF_CLIENT))
}

fn is_result(message: &Value) -> bool {
    message.get("role").and_then(Value::as_str) == Some("tool")
}

/// The call that a message is the result of.
fn answered(message: &Value) -> Option<&str> {
    let id = message.get("tool_call_id").and_then(Value::as_str);
    id.filter(|_| is_result(message))
}

/// The calls that a message makes.
fn calls(message: &Value) -> impl Iterator<Item = &str> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let calls = calls.into_iter().flatten();
    calls.filter_map(|call| call.get("id").and_then(Value::as_str))
}
