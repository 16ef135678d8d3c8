//! What models want back of their reasoning, in the items of what is stored of their answers: where the stream has told it.

use super::item::{ReasoningItem, ResponseItem, hidden_thought};
use crate::format::provider_reasoning::encode;
use ambit_runtime::chat::ReasoningPart;
use ambit_runtime::public_id;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::VecDeque;

/// Puts the items of a turn together.
pub(crate) struct StoredReasoning<'a> {
    turn: &'a str,
    items: Vec<ResponseItem>,
    /// How many items there are of thoughts that show nothing.
    hidden_thoughts: usize,
}

/// How much of an answer stands in front of something.
#[derive(Clone, Copy, Default, Deserialize)]
struct AnswerPosition {
    /// Bytes of its text.
    text: usize,
    /// Calls of tools.
    calls: usize,
}

impl AnswerPosition {
    /// Where a part of the reasoning stands. Providers that do not say it think before they speak.
    fn of(part: &ReasoningPart) -> Self {
        let behind = part.fields.get("behind").map(Self::deserialize);
        behind.and_then(Result::ok).unwrap_or_default()
    }

    fn is_up_to(self, end: Self) -> bool {
        self.text <= end.text && self.calls <= end.calls
    }
}

impl<'a> StoredReasoning<'a> {
    /// For a turn.
    pub fn new(turn: &'a str) -> Self {
        Self {
            turn,
            items: Vec::new(),
            hidden_thoughts: 0,
        }
    }

    /// Adds the items of an answer, and what its model wants back.
    pub fn add(&mut self, items: Vec<ResponseItem>, parts: Vec<ReasoningPart>) {
        let begin = self.items.len();
        let mut parts = VecDeque::from(parts);
        let mut said = AnswerPosition::default();
        for item in items {
            let is_thought = matches!(item, ResponseItem::Reasoning(_));
            let mut due = Vec::new();
            while !is_thought
                && let Some(part) =
                    parts.pop_front_if(|part| AnswerPosition::of(part).is_up_to(said))
            {
                due.push(part.fields);
            }
            self.put(due, begin);
            match &item {
                ResponseItem::Message(_) => said.text += item.text().map_or(0, String::len),
                ResponseItem::Reasoning(_) => {}
                _ => said.calls += 1,
            }
            self.items.push(item);
        }
        let rest = parts.into_iter().map(|part| part.fields);
        self.put(rest.collect(), begin);
    }

    /// The items, oldest first.
    pub fn into_items(self) -> Vec<ResponseItem> {
        self.items
    }

    /// Puts parts into the thought of this answer that is the last item, else into a thought that shows nothing.
    fn put(&mut self, parts: Vec<Map<String, Value>>, begin: usize) {
        if parts.is_empty() {
            return;
        }
        let is_own = self.items.len() > begin;
        match self.items.last_mut() {
            Some(ResponseItem::Reasoning(item)) if is_own => {
                item.encrypted_content = Some(encode(parts, ""));
            }
            // A client gives this call back with its result: what comes behind both belongs to the next answer.
            Some(ResponseItem::McpCall(_)) => {}
            _ => {
                self.hidden_thoughts += 1;
                let name = hidden_thought(self.hidden_thoughts);
                let id = public_id::item_id("rs", self.turn, &name);
                self.items.push(ResponseItem::Reasoning(ReasoningItem {
                    encrypted_content: Some(encode(parts, "")),
                    ..ReasoningItem::hidden(id)
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StoredReasoning;
    use crate::format::provider_reasoning::decode;
    use crate::format::responses::{ListedText, ResponseItem, stored_text};
    use ambit_runtime::chat::ReasoningPart;
    use serde_json::{Map, Value, json};

    fn item(message: &str, kind: &str, content: &str) -> ResponseItem {
        let props = Map::from_iter([("content".to_owned(), content.into())]);
        let text = ListedText {
            turn: "r1",
            message,
            kind,
            props: &props,
            status: "completed",
        };
        stored_text(&text).unwrap()
    }

    fn part(name: &str, text: usize) -> ReasoningPart {
        let part = ReasoningPart::new(name).with("connector", "one");
        match text {
            0 => part,
            text => part.with("behind", json!({"text": text, "calls": 0})),
        }
    }

    /// Each item's id, and the parts that it holds.
    fn told(items: &[ResponseItem]) -> Vec<(String, Vec<String>)> {
        let told = items.iter().map(|item| {
            let json = json!(item);
            let text = json.get("encrypted_content").and_then(Value::as_str);
            let parts = text.map(|text| decode(text, "").unwrap());
            let kinds = parts.into_iter().flatten();
            let kinds = kinds.map(|part| part.kind().unwrap_or_default().to_owned());
            (item.id().to_owned(), kinds.collect())
        });
        told.collect()
    }

    #[test]
    fn parts_stand_where_they_were_told() {
        let mut reasoning = StoredReasoning::new("r1");
        reasoning.add(
            vec![
                item("M1", "thinking", "hm"),
                item("M2", "text", "nine"),
                item("M3", "thinking", "hm again"),
                item("M4", "text", "ten"),
            ],
            vec![part("a", 0), part("b", 0), part("c", 4), part("d", 7)],
        );
        reasoning.add(vec![item("M5", "text", "more")], vec![part("e", 0)]);
        let expected = [
            ("rs_r1_M1", vec!["a", "b"]),
            ("msg_r1_M2", vec![]),
            ("rs_r1_M3", vec!["c"]),
            ("msg_r1_M4", vec![]),
            ("rs_r1_P1", vec!["d"]),
            ("rs_r1_P2", vec!["e"]),
            ("msg_r1_M5", vec![]),
        ];
        let expected = expected.map(|(id, parts)| {
            let parts: Vec<String> = parts.into_iter().map(str::to_owned).collect();
            (id.to_owned(), parts)
        });
        assert_eq!(told(&reasoning.into_items()), expected);
    }

    #[test]
    fn without_parts_items_are_as_they_were() {
        let mut reasoning = StoredReasoning::new("r1");
        let items = vec![item("M1", "thinking", "hm"), item("M2", "text", "nine")];
        reasoning.add(items.clone(), Vec::new());
        assert_eq!(reasoning.into_items(), items);
    }
}
