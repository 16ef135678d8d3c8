//! What of a request is the stored history again. A client may send ten thousand messages: the work grows with them, and not
//! with their square.

use crate::chat_message::content_text;
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many of the messages that a client sends are the stored history again. Both are compared as a client sees them:
/// several texts of one answer are one message. The last message is always new.
pub(super) fn repeated(stored: &[Value], sent: &[Value]) -> usize {
    let most = sent.len().saturating_sub(1);
    let stored = ConversationDigest::of(stored).all;
    let sent = ConversationDigest::of(&sent[..most]);
    let Some(last) = stored.last() else {
        return 0;
    };
    let in_stored = runs(&sent.all, &stored);
    let in_sent = runs(&stored, &sent.all);
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

/// Who says what, for comparison: texts of an assistant in a row are one.
struct ConversationDigest {
    all: Vec<u64>,
    /// For each message: how many there are up to it, and the last of them as it is then.
    prefixes: Vec<(usize, u64)>,
}

impl ConversationDigest {
    fn of(messages: &[Value]) -> Self {
        let (mut all, mut prefixes) = (Vec::new(), Vec::with_capacity(messages.len()));
        let mut open: Option<DefaultHasher> = None;
        for message in messages {
            let role = message
                .get("role")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if role != "system" && role != "developer" {
                let goes_on = role == "assistant" && open.is_some();
                let mut said = open.take().filter(|_| goes_on).unwrap_or_default();
                match goes_on {
                    true => said.write(b"\n\n"),
                    false => role.hash(&mut said),
                }
                say(message, &mut said);
                if goes_on {
                    all.pop();
                }
                all.push(said.finish());
                open = (role == "assistant").then_some(said);
            }
            prefixes.push((all.len(), all.last().copied().unwrap_or_default()));
        }
        Self { all, prefixes }
    }
}

fn say(message: &Value, said: &mut DefaultHasher) {
    said.write(content_text(message.get("content")).as_bytes());
    let calls = message.get("tool_calls").and_then(Value::as_array);
    for call in calls.into_iter().flatten() {
        let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
        said.write(b"\n\0call ");
        said.write(id.as_bytes());
    }
}

/// For each place of the text: how much of the pattern stands there.
fn runs(pattern: &[u64], text: &[u64]) -> Vec<usize> {
    let both: Vec<Option<u64>> = pattern
        .iter()
        .copied()
        .map(Some)
        .chain([None])
        .chain(text.iter().copied().map(Some))
        .collect();
    let mut runs = vec![0; both.len()];
    // The run that reaches furthest so far.
    let (mut from, mut to) = (0, 0);
    for at in 1..both.len() {
        let mut run = if at < to {
            runs[at - from].min(to - at)
        } else {
            0
        };
        while at + run < both.len() && both[run] == both[at + run] {
            run += 1;
        }
        if at + run > to {
            (from, to) = (at, at + run);
        }
        runs[at] = run;
    }
    runs.split_off(pattern.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use serde_json::json;

    fn said(role: &str, text: &str) -> Value {
        json!({"role": role, "content": text})
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
        let sent: Vec<Value> = sent.map(|(role, text)| said(role, text)).collect();
        assert_eq!(repeated(&stored, &sent), 4);
    }

    #[test]
    fn the_same_question_again_is_new() {
        let stored = [said("user", "a"), said("assistant", "b")];
        assert_eq!(repeated(&stored, &[said("user", "a")]), 0);
        assert_eq!(repeated(&[], &[said("user", "a"), said("user", "b")]), 0);
    }

    /// What is meant, said plainly.
    fn plainly(stored: &[Value], sent: &[Value]) -> usize {
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
            let mut some = |most: usize| -> Vec<Value> {
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
