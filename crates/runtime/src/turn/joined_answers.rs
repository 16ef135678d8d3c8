//! The stored history as the model of an agent may know it. Items of one answer, as clients of OpenAI's Responses send them, are
//! one message, and what a client has sent in a role reaches no agent that takes none of that role from clients.

use crate::app::AppAgent;
use crate::chat::role_name;
use crate::chats::is_sent_by_client;
use ambit_storage::storage::{Message, Role};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Stored messages as an agent may know them.
pub(super) fn readable_history<'a>(
    messages: &'a [Message],
    agent: &AppAgent,
) -> Vec<Cow<'a, Message>> {
    let readable = messages
        .iter()
        .filter(|message| is_readable(message, agent));
    joined_answers(readable, is_stored_item)
}

/// Whether an agent may know a stored message.
pub(super) fn is_readable(message: &Message, agent: &AppAgent) -> bool {
    let roles = &agent.package.client.roles;
    let may_say = |role: &Role| roles.iter().any(|known| known == role_name(*role));
    client_roles(message).iter().all(may_say)
}

/// The roles that a client needs to send this message; none where it is a person's, or nobody has sent it.
fn client_roles(message: &Message) -> &'static [Role] {
    let has = |name: &str| message.extras.contains_key(name);
    let is_sent = has("client") || is_sent_by_client(message);
    match message.role {
        Role::System if is_sent || has("message_id") => &[Role::System],
        Role::Developer if is_sent || has("message_id") => &[Role::Developer],
        // A call that comes with its result.
        Role::Assistant if item_type(message) == Some("mcp_call") => &[Role::Assistant, Role::Tool],
        Role::Assistant if is_sent => &[Role::Assistant],
        Role::Tool if is_sent => &[Role::Tool],
        _ => &[],
    }
}

fn item_type(message: &Message) -> Option<&str> {
    let item = message.extras.get("client")?.get("item")?;
    item.get("type")?.as_str()
}

/// Whether a stored message is an item that a client has sent.
pub(super) fn is_stored_item(message: &Message) -> bool {
    let client = message.extras.get("client");
    client.is_some_and(|client| client.get("item").is_some())
}

/// The messages, with consecutive items of an assistant as one. An item in which there is nothing for a model is left out. What is
/// not joined is not copied.
pub(super) fn joined_answers<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
    is_item: impl Fn(&Message) -> bool,
) -> Vec<Cow<'a, Message>> {
    let mut joined: Vec<Cow<'a, Message>> = Vec::new();
    let mut is_open = false;
    for message in messages {
        let is_part = message.role == Role::Assistant && is_item(message);
        match joined.last_mut() {
            Some(answer) if is_part && is_open => join(answer.to_mut(), message),
            _ => {
                leave_out_empty(&mut joined, is_open);
                joined.push(Cow::Borrowed(message));
            }
        }
        is_open = is_part;
    }
    leave_out_empty(&mut joined, is_open);
    joined
}

fn leave_out_empty(joined: &mut Vec<Cow<'_, Message>>, is_item: bool) {
    let is_empty = |last: &Cow<'_, Message>| {
        let is_said = |name: &str| last.extras.contains_key(name);
        last.parts.is_empty() && last.tool_calls.is_empty() && !is_said("refusal")
    };
    if is_item && joined.last().is_some_and(is_empty) {
        joined.pop();
    }
}

/// Adds an item to the answer that it is part of.
fn join(answer: &mut Message, item: &Message) {
    let position = position_behind(answer);
    answer.parts.extend(item.parts.iter().cloned());
    answer.tool_calls.extend(item.tool_calls.iter().cloned());
    for (name, value) in &item.extras {
        match (name.as_str(), answer.extras.get_mut(name), value) {
            ("reasoning_content" | "refusal", Some(Value::String(text)), Value::String(more)) => {
                text.push_str("\n\n");
                text.push_str(more);
            }
            ("reasoning_parts", Some(Value::Array(parts)), Value::Array(more)) => {
                parts.extend(placed(more, position.as_ref()));
            }
            ("reasoning_parts", None, Value::Array(more)) => {
                let parts: Vec<Value> = placed(more, position.as_ref()).collect();
                answer.extras.insert(name.clone(), parts.into());
            }
            (_, None, value) => {
                answer.extras.insert(name.clone(), value.clone());
            }
            _ => {}
        }
    }
}

/// Where a thought stands behind all of an answer; none at its beginning.
fn position_behind(answer: &Message) -> Option<Value> {
    let texts = answer
        .parts
        .iter()
        .filter_map(|part| part.get("text")?.as_str());
    let text = texts.map(str::len).reduce(|all, more| all + 1 + more);
    let (text, calls) = (text.unwrap_or_default(), answer.tool_calls.len());
    (text + calls > 0).then(|| json!({"text": text, "calls": calls}))
}

/// What a provider wants back, as standing behind this.
fn placed(parts: &[Value], position: Option<&Value>) -> impl Iterator<Item = Value> {
    parts.iter().cloned().map(move |mut part| {
        if let (Value::Object(fields), Some(position)) = (&mut part, position) {
            fields.insert("behind".to_owned(), position.clone());
        }
        part
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ambit_storage::storage::ToolCall;

    fn owned(messages: Vec<Cow<'_, Message>>) -> Vec<Message> {
        messages.into_iter().map(Cow::into_owned).collect()
    }

    #[test]
    fn items_of_an_answer_are_one_message() {
        let mut reasoning = Message::assistant("");
        reasoning.parts.clear();
        let parts = json!([{"type": "thinking"}]);
        reasoning.extras.insert("reasoning_parts".to_owned(), parts);
        let call = |id: &str| ToolCall::new(id, "f", "{}");
        let items = [
            Message::user("hi"),
            reasoning.clone(),
            Message::calling([call("a")]),
            Message::calling([call("b")]),
            Message::result("a", "1"),
            Message::result("b", "2"),
            Message::assistant("done"),
            reasoning,
        ];
        let joined = owned(joined_answers(&items, |_| true));
        let mut answer = Message::calling([call("a"), call("b")]);
        let parts = json!([{"type": "thinking"}]);
        answer.extras.insert("reasoning_parts".to_owned(), parts);
        let mut last = Message::assistant("done");
        let parts = json!([{"type": "thinking", "behind": {"text": 4, "calls": 0}}]);
        last.extras.insert("reasoning_parts".to_owned(), parts);
        let expected = [
            Message::user("hi"),
            answer,
            Message::result("a", "1"),
            Message::result("b", "2"),
            last,
        ];
        assert_eq!(joined, expected);
    }

    #[test]
    fn a_thought_keeps_its_place_in_the_answer_that_its_item_is_part_of() {
        let part = json!({"type": "thinking", "signature": "s"});
        let mut thought = Message::assistant("");
        thought.parts.clear();
        let parts = Value::from(vec![part.clone()]);
        thought.extras.insert("reasoning_parts".to_owned(), parts);
        let call = Message::calling([ToolCall::new("a", "f", "{}")]);
        let items = [
            thought.clone(),
            Message::assistant("so"),
            Message::assistant("on"),
            call,
            thought,
        ];
        let joined = owned(joined_answers(&items, |_| true));
        let mut behind = part.clone();
        behind["behind"] = json!({"text": 5, "calls": 1});
        assert_eq!(joined.len(), 1);
        assert_eq!(joined[0].extras["reasoning_parts"], json!([part, behind]));
    }

    #[test]
    fn what_is_no_item_stays_as_it_is() {
        let said = [Message::assistant("a"), Message::assistant("b")];
        assert_eq!(owned(joined_answers(&said, is_stored_item)), said);
    }
}
