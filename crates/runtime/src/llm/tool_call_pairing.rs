//! A conversation as every provider accepts it: each call of a tool has an id of its own and one result directly behind it.

use crate::chat::{ChatMessage, Role, ToolCall};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet, VecDeque};

/// What providers take at most.
const ID_LENGTH: usize = 40;
/// What stands for a result that is missing.
const MISSING: &str = "no result: the call was interrupted";

/// The conversation with ids that differ and with results where they belong. A result without a call becomes what the user
/// says, so that nothing is lost.
pub fn pair_calls(messages: &[ChatMessage]) -> Vec<ChatMessage> {
    let mut pairing = ToolCallPairing::default();
    for message in messages {
        match message.role {
            Role::Assistant => pairing.assistant(message),
            Role::Tool => pairing.result(message),
            _ => pairing.later.push(message.clone()),
        }
    }
    pairing.close();
    pairing.messages
}

/// What a call gives its tool, for providers that take only an object.
pub fn arguments(call: &ToolCall) -> Value {
    match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        Ok(Value::Null) => json!({}),
        // The model sees what it wrote, in the only shape that is taken.
        Ok(other) => json!({"arguments": other}),
        Err(_) => json!({"arguments": call.arguments}),
    }
}

#[derive(Default)]
struct ToolCallPairing {
    messages: Vec<ChatMessage>,
    used: HashSet<String>,
    /// The last number that was put behind an id.
    numbers: HashMap<String, usize>,
    /// The calls of the last message of the assistant.
    open: Vec<PairedCall>,
    /// Where those without a result are in `open`, by their original ids.
    unanswered: HashMap<String, VecDeque<usize>>,
    /// What came since then that is no result: it goes behind the results.
    later: Vec<ChatMessage>,
}

struct PairedCall {
    sent_id: String,
    result: Option<ChatMessage>,
}

impl ToolCallPairing {
    fn assistant(&mut self, message: &ChatMessage) {
        self.close();
        let mut message = message.clone();
        for call in &mut message.tool_calls {
            let sent_id = self.unused(&call.id);
            let original_id = std::mem::replace(&mut call.id, sent_id.clone());
            let places = self.unanswered.entry(original_id).or_default();
            places.push_back(self.open.len());
            self.open.push(PairedCall {
                sent_id,
                result: None,
            });
        }
        self.messages.push(message);
    }

    fn result(&mut self, message: &ChatMessage) {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        let place = self.unanswered.get_mut(id).and_then(VecDeque::pop_front);
        let Some(call) = place.and_then(|place| self.open.get_mut(place)) else {
            self.later.push(ChatMessage::user(message.content.clone()));
            return;
        };
        call.result = Some(ChatMessage {
            tool_call_id: Some(call.sent_id.clone()),
            ..message.clone()
        });
    }

    /// Ends what the last message of the assistant began.
    fn close(&mut self) {
        for call in self.open.drain(..) {
            let missing = || ChatMessage::result(call.sent_id, MISSING);
            self.messages.push(call.result.unwrap_or_else(missing));
        }
        self.unanswered.clear();
        self.messages.append(&mut self.later);
    }

    /// The id in letters that every provider takes, and not used before.
    fn unused(&mut self, given: &str) -> String {
        let plain = |letter: char| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => letter,
            _ => '_',
        };
        let mut base: String = given.chars().take(ID_LENGTH).map(plain).collect();
        if base.is_empty() {
            "call".clone_into(&mut base);
        }
        if self.used.insert(base.clone()) {
            return base;
        }
        let number = self.numbers.entry(base.clone()).or_insert(1);
        loop {
            *number += 1;
            let end = format!("_{number}");
            let mut id = base.clone();
            id.truncate(ID_LENGTH - end.len());
            id.push_str(&end);
            if self.used.insert(id.clone()) {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::chat::ChatMessage;
    use serde_json::{Value, json};

    fn pair_calls(messages: &[Value]) -> Vec<Value> {
        let messages = ChatMessage::read_all("messages", messages.to_vec());
        let paired = super::pair_calls(&messages.unwrap());
        paired.iter().map(ChatMessage::to_json).collect()
    }

    fn calling(ids: &[&str]) -> Value {
        let function = json!({"name": "f", "arguments": "{}"});
        let calls = ids
            .iter()
            .map(|id| json!({"id": id, "type": "function", "function": function}));
        json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>()})
    }

    fn result(id: &str, content: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": content})
    }

    fn user(content: &str) -> Value {
        json!({"role": "user", "content": content})
    }

    #[test]
    fn a_call_without_an_id_gets_one_as_does_its_result() {
        let call = json!({"id": 1, "function": {"name": "f", "arguments": "{}"}});
        let calls = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        let paired = pair_calls(&[calls, json!({"role": "tool", "content": "x"})]);
        let id = paired[0]["tool_calls"][0]["id"].as_str().unwrap();
        assert!(!id.is_empty());
        assert_eq!(paired[1], result(id, "x"));
    }

    #[test]
    fn a_conversation_in_order_stays_as_it_is() {
        let messages = [
            json!({"role": "system", "content": "s"}),
            user("a"),
            calling(&["1", "2"]),
            result("1", "x"),
            result("2", "y"),
            json!({"role": "assistant", "content": "b"}),
            user("c"),
        ];
        assert_eq!(pair_calls(&messages), messages);
    }

    #[test]
    fn g039_an_id_that_comes_again_never_takes_an_earlier_result() {
        let messages = [
            calling(&["c", "c"]),
            result("c", "one"),
            result("c", "two"),
            calling(&["c"]),
            result("c", "three"),
        ];
        let expected = [
            calling(&["c", "c_2"]),
            result("c", "one"),
            result("c_2", "two"),
            calling(&["c_3"]),
            result("c_3", "three"),
        ];
        assert_eq!(pair_calls(&messages), expected);
    }

    #[test]
    fn as_many_calls_of_one_id_as_a_body_holds_are_paired_at_once() {
        let calls = vec!["c"; 70_000];
        let paired = pair_calls(&[calling(&calls), result("c", "one")]);
        assert_eq!(paired.len(), 1 + calls.len());
        assert_eq!(paired[calls.len()]["tool_call_id"], "c_70000");
    }

    #[test]
    fn what_is_missing_is_said_and_what_is_out_of_order_is_put_in_order() {
        let messages = [
            result("0", "from before"),
            calling(&["1", "2"]),
            user("meanwhile"),
            result("2", "y"),
            user("and now"),
        ];
        let expected = [
            user("from before"),
            calling(&["1", "2"]),
            result("1", "no result: the call was interrupted"),
            result("2", "y"),
            user("meanwhile"),
            user("and now"),
        ];
        assert_eq!(pair_calls(&messages), expected);
    }

    #[test]
    fn ids_are_in_letters_that_every_provider_takes() {
        let long = "x".repeat(60);
        let messages = [calling(&["a b:ü", "", &long, &long])];
        let sent = pair_calls(&messages);
        let ids: Vec<&str> = sent[0]["tool_calls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|call| call["id"].as_str().unwrap())
            .collect();
        let (first, second) = ("x".repeat(40), "x".repeat(38) + "_2");
        assert_eq!(ids, ["a_b__", "call", &first, &second]);
    }
}
