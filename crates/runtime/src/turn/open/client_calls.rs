//! Calls that a client names by the ids that Ambit gives them: what it sends gets the ids that providers gave, which the history
//! has. Providers may use an id again; those of clients name one call each.

use super::new_messages::{LONGEST_TURN, answered, calls, is_result_of, may_be_sent, nothing_new};
use crate::chat::ChatMessage;
use crate::error::Result;
use crate::public_id::split_call_id;
use crate::turn::answers::call_messages;
use ambit_storage::LiveAgent;
use ambit_storage::storage::{Message, for_model};
use std::collections::HashSet;

/// What becomes of a result that names its call by a client's id.
enum NamedCall {
    /// The history has no such call, or it is not the client's.
    Unknown,
    /// It has its result, or nobody waits for one any more.
    Settled,
    /// The id that its provider gave.
    Open(String),
}

/// Gives calls and results the ids of the history, and leaves out results of calls that are settled. What cannot be found keeps
/// its id, so that it is refused by it.
pub(super) async fn rename_calls(
    session: &LiveAgent,
    history: &[Message],
    sent: &mut Vec<ChatMessage>,
) -> Result<()> {
    let is_public = |id: &str| split_call_id(id).is_some();
    let named: Vec<&str> = sent.iter().flat_map(call_ids).collect();
    if !named.iter().any(|id| is_public(id)) {
        return Ok(());
    }
    let is_known = |id: &&str| !is_public(id) || find(history, id).is_some();
    let older = match named.iter().all(is_known) {
        true => None,
        false => Some(session.history().tail(LONGEST_TURN).await?),
    };
    let paired = for_model(older.as_deref().unwrap_or(history));
    let repeated: HashSet<String> = sent.iter().flat_map(calls).map(str::to_owned).collect();
    let first = sent.first().and_then(answered).map(str::to_owned);
    for message in sent.iter_mut() {
        for call in &mut message.tool_calls {
            if let Some((_, id)) = find(&paired, &call.id) {
                call.id = id;
            }
        }
    }
    sent.retain_mut(|message| {
        let Some(id) = answered(message) else {
            return true;
        };
        match named_call(&paired, id, repeated.contains(id)) {
            NamedCall::Unknown => {}
            NamedCall::Settled => return false,
            NamedCall::Open(id) => message.tool_call_id = Some(id),
        }
        true
    });
    match first {
        Some(id) if sent.is_empty() => Err(nothing_new(&id)),
        _ => Ok(()),
    }
}

/// The call of a result, which the client may send along once more.
fn named_call(paired: &[Message], id: &str, is_repeated: bool) -> NamedCall {
    let Some((at, provider_id)) = find(paired, id) else {
        return NamedCall::Unknown;
    };
    let behind = &paired[at + 1..];
    let mut results = behind.iter().take_while(|it| it.tool_result.is_some());
    let result = results.find(|result| is_result_of(result, &provider_id));
    let is_last = behind.iter().all(|it| it.tool_result.is_some());
    match result {
        Some(result) if !is_repeated && !may_be_sent(result) => NamedCall::Unknown,
        _ if is_last || is_repeated => NamedCall::Open(provider_id),
        _ => NamedCall::Settled,
    }
}

/// Where a call stands, and the id that its provider gave.
fn find(messages: &[Message], id: &str) -> Option<(usize, String)> {
    let (turn, message_id) = split_call_id(id)?;
    let mut numbered = messages.iter().enumerate().rev();
    numbered.find_map(|(at, message)| {
        if message.turn_id.as_deref() != Some(turn) {
            return None;
        }
        let mut shown = call_messages(message);
        let call = shown.find(|call| call.message_id == message_id)?;
        Some((at, call.call_id))
    })
}

/// The calls that a message makes or answers.
fn call_ids(message: &ChatMessage) -> impl Iterator<Item = &str> {
    calls(message).chain(answered(message))
}
