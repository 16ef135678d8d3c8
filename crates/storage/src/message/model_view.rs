//! What goes to a model: a checked view in which each result stands behind its call and no call is left open.

use super::{Message, Role};
use serde_json::json;
use std::borrow::{Borrow, Cow};
use std::collections::{HashMap, VecDeque};

/// The messages in an order that every provider accepts. Results follow their calls in the order of the calls, orphan
/// results and erased messages are left out, and open calls, also those whose result was erased, get a marked synthetic
/// result. The stored history is not changed.
pub fn for_model(messages: &[impl Borrow<Message>]) -> Vec<Message> {
    let view = view_for_model(messages).into_iter();
    view.map(Cow::into_owned).collect()
}

/// The same without a copy of the messages: only synthetic results are new.
pub fn view_for_model(messages: &[impl Borrow<Message>]) -> Vec<Cow<'_, Message>> {
    let messages = messages.iter().map(Borrow::<Message>::borrow);
    let messages: Vec<&Message> = messages.filter(|message| !message.is_erased()).collect();
    let mut calls: HashMap<&str, VecDeque<usize>> = HashMap::new();
    let mut results: HashMap<&str, VecDeque<(usize, &Message)>> = HashMap::new();
    for (at, message) in messages.iter().copied().enumerate() {
        for call in &message.tool_calls {
            calls.entry(&call.id).or_default().push_back(at);
        }
        if let Some(result) = &message.tool_result {
            results
                .entry(&result.call_id)
                .or_default()
                .push_back((at, message));
        }
    }
    let mut view = Vec::with_capacity(messages.len());
    for (at, message) in messages.iter().copied().enumerate() {
        if message.role == Role::Tool || message.tool_result.is_some() {
            continue;
        }
        view.push(Cow::Borrowed(message));
        for call in &message.tool_calls {
            // A model may use an id again: a result belongs to the last call of its id before it.
            let rivals = calls.entry(&call.id).or_default();
            rivals.pop_front();
            let end = rivals
                .iter()
                .find(|rival| **rival > at)
                .copied()
                .unwrap_or(messages.len());
            let waiting = results.entry(&call.id).or_default();
            while waiting.front().is_some_and(|(place, _)| *place < at) {
                waiting.pop_front();
            }
            let answer = waiting.pop_front_if(|(place, _)| *place < end);
            view.push(answer.map_or_else(
                || Cow::Owned(unanswered(message, &call.id)),
                |(_, result)| Cow::Borrowed(result),
            ));
        }
    }
    view
}

fn unanswered(message: &Message, call_id: &str) -> Message {
    let mut result = Message::result(call_id, json!("no result: the call did not finish"));
    result.id = format!("{}/{call_id}", message.id);
    result.turn_id.clone_from(&message.turn_id);
    result.created_at = message.created_at;
    result.extras.insert("synthetic".to_owned(), json!(true));
    if let Some(answer) = &mut result.tool_result {
        answer.is_error = true;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::for_model;
    use crate::storage::{Message, ToolCall};
    use serde_json::json;

    fn erased() -> Message {
        serde_json::from_value(json!({"id": "m", "role": "user", "erased": true})).unwrap()
    }

    #[test]
    fn g167_a_call_whose_result_was_erased_has_a_synthetic_one() {
        let call = Message::calling([ToolCall::new("c", "find", "")]);
        let view = for_model(&[Message::user("q"), call.clone(), erased()]);
        assert_eq!(view[..2], [Message::user("q"), call]);
        assert_eq!(view.len(), 3);
        assert_eq!(view[2].extras["synthetic"], json!(true));
    }

    #[test]
    fn g167_no_result_is_left_of_a_call_that_was_erased() {
        let question = Message::user("q");
        let view = for_model(&[erased(), Message::result("c", "found"), question.clone()]);
        assert_eq!(view, [question]);
    }
}
