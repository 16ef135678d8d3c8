//! Which of the messages that a client sends are new. A client may send the history again, ten thousand messages of it: the
//! work grows with them, and not with their square. It also sends the results of its own tools, for which a call waits only as
//! long as nothing else follows it.

use super::supersede::continues;
use crate::chat::{ChatMessage, Role};
use crate::chat_message::to_chat;
use crate::chats::is_sent_by_client;
use crate::error::{Error, Result};
use crate::request::TurnRequest;
use crate::turn::joined_answers::{is_stored_item, joined_answers};
use ambit_storage::LiveAgent;
use ambit_storage::storage::{Message, for_model};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;

/// How far back the beginning of a turn is looked for.
pub(in crate::turn) const LONGEST_TURN: usize = 8_192;

/// Drops what a client sends of the stored history. Refuses results that answer no call.
pub(super) fn drop_repeated(history: &[Message], request: &mut TurnRequest) -> Result<()> {
    let is_new = request.has_message_ids;
    let sent = &mut request.messages;
    // One message that answers no call is always new.
    if sent.len() > 1 || sent.iter().any(is_result) {
        let awaiting = without_resent_results(for_model(history), sent);
        drop_settled(&awaiting, sent)?;
        let history: Vec<ChatMessage> = awaiting.iter().filter_map(to_chat).collect();
        let repeated = match is_new {
            true => 0,
            false => repeated(&history, sent),
        };
        sent.drain(..first_new(&history, sent, repeated)?);
    }
    Ok(())
}

/// Drops results of calls that have theirs from what a client sends that sends nothing twice. Refuses results that answer no
/// call.
pub(super) fn check_items(history: &[Message], sent: &mut Vec<ChatMessage>) -> Result<()> {
    if !sent.iter().any(is_result) {
        return Ok(());
    }
    let answers = joined_answers(history, is_stored_item);
    let awaiting = without_resent_results(for_model(&answers), sent);
    drop_settled(&awaiting, sent)?;
    let history: Vec<ChatMessage> = awaiting.iter().filter_map(to_chat).collect();
    let Some(at) = unasked(&history, sent) else {
        return Ok(());
    };
    let call = answered(&sent[at]).unwrap_or_default();
    let message = format!(
        "input holds a result of \"{call}\", which is no call of the input and none that is open"
    );
    Err(Error::invalid("input", message))
}

/// How many of the messages that a client sends are the stored history again. Both are compared as a client sees them:
/// several texts of one answer are one message. The last message is always new.
fn repeated(stored: &[ChatMessage], sent: &[ChatMessage]) -> usize {
    let most = sent.len().saturating_sub(1);
    let stored = ConversationDigest::of(stored).all;
    let sent = ConversationDigest::of(&sent[..most]);
    let Some(last) = stored.last() else {
        return 0;
    };
    let in_stored = z_values(&sent.all, &stored);
    let in_sent = z_values(&stored, &sent.all);
    let longest = in_stored.iter().max().copied().unwrap_or_default();
    let is_repeat = |count: &usize| {
        let (length, end) = sent.prefixes[count - 1];
        if length == 0 {
            return false;
        }
        // The sent history may be longer than what was loaded, or leave out its latest answers.
        let ends_as_stored = || {
            let first = length.checked_sub(stored.len());
            end == *last && first.is_some_and(|first| in_sent[first] + 1 >= stored.len())
        };
        let is_whole = end == sent.all[length - 1];
        let is_part = || match is_whole {
            true => longest >= length,
            false => {
                let ends = stored.iter().skip(length - 1).zip(&in_stored);
                ends.into_iter()
                    .any(|(at_end, run)| *at_end == end && run + 1 >= length)
            }
        };
        ends_as_stored() || is_part()
    };
    (1..=most).rev().find(is_repeat).unwrap_or(0)
}

/// Digests of who says what: consecutive texts of an assistant are one.
struct ConversationDigest {
    all: Vec<u64>,
    /// For each message the length of `all` behind it, and the last digest as it was then.
    prefixes: Vec<(usize, u64)>,
}

impl ConversationDigest {
    fn of(messages: &[ChatMessage]) -> Self {
        let (mut all, mut prefixes) = (Vec::new(), Vec::with_capacity(messages.len()));
        let mut open: Option<DefaultHasher> = None;
        for message in messages {
            let is_answer = message.role == Role::Assistant;
            if !matches!(message.role, Role::System | Role::Developer) {
                let goes_on = is_answer && open.is_some();
                let mut hasher = open.take().filter(|_| goes_on).unwrap_or_default();
                match goes_on {
                    true => hasher.write(b"\n\n"),
                    false => discriminant(&message.role).hash(&mut hasher),
                }
                hash_message(message, &mut hasher);
                if goes_on {
                    all.pop();
                }
                all.push(hasher.finish());
                open = is_answer.then_some(hasher);
            }
            prefixes.push((all.len(), all.last().copied().unwrap_or_default()));
        }
        Self { all, prefixes }
    }
}

fn hash_message(message: &ChatMessage, hasher: &mut DefaultHasher) {
    hasher.write(message.content.words().as_bytes());
    for call in &message.tool_calls {
        hasher.write(b"\n\0call ");
        hasher.write(call.id.as_bytes());
    }
}

/// The Z-function: for each position of the text, how much of the pattern stands there.
fn z_values(pattern: &[u64], text: &[u64]) -> Vec<usize> {
    let both: Vec<Option<u64>> = pattern
        .iter()
        .copied()
        .map(Some)
        .chain([None])
        .chain(text.iter().copied().map(Some))
        .collect();
    let mut lengths = vec![0; both.len()];
    // The match that reaches furthest so far.
    let (mut from, mut to) = (0, 0);
    for at in 1..both.len() {
        let mut run = if at < to {
            lengths[at - from].min(to - at)
        } else {
            0
        };
        while at + run < both.len() && both[run] == both[at + run] {
            run += 1;
        }
        if at + run > to {
            (from, to) = (at, at + run);
        }
        lengths[at] = run;
    }
    lengths.split_off(pattern.len() + 1)
}

/// Paired history without the results at its end that those sent now replace: marks of results that are missing, and what the
/// client sent in an earlier attempt.
fn without_resent_results(mut paired: Vec<Message>, sent: &[ChatMessage]) -> Vec<Message> {
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

/// Drops results of the client's own calls that have one. Refuses a request that has nothing else.
fn drop_settled(paired: &[Message], sent: &mut Vec<ChatMessage>) -> Result<()> {
    let end = paired
        .iter()
        .rposition(|message| message.tool_result.is_none());
    let (before, results) = paired.split_at(end.map_or(0, |end| end + 1));
    let calling = before.last().into_iter();
    let asked = calling.flat_map(|message| &message.tool_calls);
    let open: Vec<&str> = asked
        .map(|call| call.id.as_str())
        .filter(|id| !results.iter().any(|result| is_result_of(result, id)))
        .collect();
    let repeated: HashSet<String> = sent.iter().flat_map(calls).map(str::to_owned).collect();
    let is_settled = |message: &ChatMessage| {
        answered(message).is_some_and(|id| {
            let last = paired.iter().rfind(|result| is_result_of(result, id));
            let is_awaited = open.contains(&id) || repeated.contains(id);
            !is_awaited && last.is_some_and(may_be_sent)
        })
    };
    if let Some(id) = sent.first().and_then(answered)
        && sent.iter().all(is_settled)
    {
        return Err(nothing_new(id));
    }
    sent.retain(|message| !is_settled(message));
    Ok(())
}

/// What is said to whom sends nothing but results of calls that have theirs; this is the first of them.
pub(super) fn nothing_new(call_id: &str) -> Error {
    let param = "messages[0].tool_call_id";
    let message =
        format!("{param} \"{call_id}\" answers a call that has its result; nothing here is new");
    Error::invalid(param, message)
}

/// The turn whose answer these new messages continue: they are nothing but results of calls that it has left open.
pub(super) async fn continued_turn(
    session: &LiveAgent,
    history: &[Message],
    new: &[ChatMessage],
) -> Result<Option<String>> {
    if !new.iter().all(is_result) {
        return Ok(None);
    }
    let Some(id) = new.first().and_then(answered) else {
        return Ok(None);
    };
    let mut before = history.iter().rev();
    let calling = before.find(|message| message.tool_calls.iter().any(|call| call.id == id));
    let Some(turn) = calling.and_then(|calling| calling.turn_id.clone()) else {
        return Ok(None);
    };
    let is_of_turn = |message: &&Message| message.turn_id.as_ref() == Some(&turn);
    let first = |messages: &[Message]| {
        let first = messages.iter().filter(is_of_turn).find_map(continues);
        first.map(str::to_owned)
    };
    // A turn says what it continues where it begins, which may be further back than what was loaded.
    let is_cut = history.first().as_ref().is_some_and(is_of_turn);
    let known = match first(history) {
        None if is_cut => first(&session.history().tail(LONGEST_TURN).await?),
        known => known,
    };
    Ok(Some(known.unwrap_or(turn)))
}

/// Where new messages begin in what a client sent, which begins with this many that `history` has. A result whose call is
/// closed in the history comes with its call once more. Refuses results that answer no call at all.
fn first_new(history: &[ChatMessage], sent: &[ChatMessage], repeated: usize) -> Result<usize> {
    let mut first = repeated;
    while let Some(at) = unasked(history, &sent[first..]) {
        let at = first + at;
        let id = answered(&sent[at]);
        let calling = sent[..first]
            .iter()
            .rposition(|message| calls(message).any(|call| Some(call) == id));
        first = calling.ok_or_else(|| {
            let param = format!("messages[{at}].tool_call_id");
            let call = id.unwrap_or_default();
            let message = format!(
                "{param} \"{call}\" answers no open call; send a result directly behind the calls that it belongs to"
            );
            Error::invalid(param, message)
        })?;
    }
    Ok(first)
}

/// The first result that answers no open call: neither one of `history`, nor one of the messages in front of it.
fn unasked(history: &[ChatMessage], sent: &[ChatMessage]) -> Option<usize> {
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
pub(super) fn may_be_sent(result: &Message) -> bool {
    result.extras.contains_key("synthetic") || is_sent_by_client(result)
}

pub(super) fn is_result_of(message: &Message, call_id: &str) -> bool {
    let result = message.tool_result.as_ref();
    result.is_some_and(|result| result.call_id == call_id)
}

fn is_result(message: &ChatMessage) -> bool {
    message.role == Role::Tool
}

/// The call that a message is the result of.
pub(super) fn answered(message: &ChatMessage) -> Option<&str> {
    let id = message.tool_call_id.as_deref();
    id.filter(|_| is_result(message))
}

/// The calls that a message makes.
pub(super) fn calls(message: &ChatMessage) -> impl Iterator<Item = &str> {
    message.tool_calls.iter().map(|call| call.id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::role_named;
    use rand::RngExt;

    fn said(role: &str, text: &str) -> ChatMessage {
        ChatMessage::new(role_named(role).unwrap(), text)
    }

    #[test]
    fn a_whole_history_is_recognised_with_answers_in_several_texts() {
        let stored = [
            said("user", "a"),
            said("assistant", "b"),
            said("assistant", "c"),
        ];
        let sent = [
            said("user", "a"),
            said("assistant", "b\n\nc"),
            said("user", "d"),
        ];
        assert_eq!(repeated(&stored, &sent), 2);
    }

    #[test]
    fn the_end_of_a_long_history_is_enough() {
        let stored = [said("user", "y"), said("assistant", "z")];
        let sent = ["user", "assistant", "user", "assistant", "user"];
        let sent = sent.iter().zip(["w", "x", "y", "z", "new"]);
        let sent: Vec<ChatMessage> = sent.map(|(role, text)| said(role, text)).collect();
        assert_eq!(repeated(&stored, &sent), 4);
    }

    #[test]
    fn the_same_question_again_is_new() {
        let stored = [said("user", "a"), said("assistant", "b")];
        assert_eq!(repeated(&stored, &[said("user", "a")]), 0);
        assert_eq!(repeated(&[], &[said("user", "a"), said("user", "b")]), 0);
    }

    /// What is meant, said plainly.
    fn plainly(stored: &[ChatMessage], sent: &[ChatMessage]) -> usize {
        let stored = ConversationDigest::of(stored).all;
        let is_repeat = |count: &usize| {
            let sent = ConversationDigest::of(&sent[..*count]).all;
            let both = sent.len().min(stored.len());
            both > 0
                && (sent[sent.len() - both..] == stored[stored.len() - both..]
                    || stored.windows(both).any(|part| part == sent))
        };
        let most = sent.len().saturating_sub(1);
        (1..=most).rev().find(is_repeat).unwrap_or(0)
    }

    #[test]
    fn the_fast_way_finds_what_the_plain_one_does() {
        let mut random = rand::rng();
        let mut found = [0; 4];
        for _ in 0..20_000 {
            let mut some = |most: usize| -> Vec<ChatMessage> {
                let count = random.random_range(0..most);
                let one = |_| {
                    let role =
                        ["user", "assistant", "assistant", "system"][random.random_range(0..4)];
                    said(role, ["a", "b"][random.random_range(0..2)])
                };
                (0..count).map(one).collect()
            };
            let (stored, sent) = (some(8), some(10));
            let expected = plainly(&stored, &sent);
            assert_eq!(repeated(&stored, &sent), expected, "{stored:?} {sent:?}");
            found[expected.min(3)] += 1;
        }
        assert!(found.iter().all(|times| *times > 100), "{found:?}");
    }
}
