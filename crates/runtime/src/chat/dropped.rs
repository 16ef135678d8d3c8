//! What would have been part of a call of a model and is not, and why.

use super::BlockKind;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// As many neighbours are told one by one; of more there is one of each kind and reason.
const MOST: usize = 8;

/// Neighbours that were left out of a call for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DroppedParts {
    /// What they are.
    pub kind: DroppedKind,
    /// `history_size`, `truncation:<strategy>`, `repeated`, `superseded`, `not_for_model`, `global_disabled`, `skip.history`, `max_turn`,
    /// `hook`, `script_limits`, `model_window`, `no_capability:<name>` or `unknown_option:<name>`.
    pub reason: String,
    /// How many; none where nobody has counted them.
    pub count: Option<u64>,
    /// The first: the id of a stored message, or the name of a tool or an option.
    pub first: Option<String>,
    /// The last.
    pub last: Option<String>,
    /// Their tokens, as truncation estimates them; none where not all of them were read.
    pub tokens: Option<u64>,
}

/// What was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum DroppedKind {
    /// Messages of a kind.
    Block(BlockKind),
    /// Something else.
    Other(DroppedItem),
}

/// What is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DroppedItem {
    /// Tools.
    Tool,
    /// An option.
    Option,
}

impl DroppedParts {
    /// As many messages of a kind, of which nothing more is known.
    pub fn messages(kind: BlockKind, reason: &str, count: Option<u64>) -> Self {
        Self::some(DroppedKind::Block(kind), reason, count)
    }

    /// These tools.
    pub fn tools<'a>(
        mut names: impl ExactSizeIterator<Item = &'a str> + DoubleEndedIterator,
        reason: &str,
    ) -> Self {
        let kind = DroppedKind::Other(DroppedItem::Tool);
        let count = u64::try_from(names.len()).unwrap_or_default();
        let first = names.next().map(str::to_owned);
        Self {
            last: names.next_back().map(str::to_owned).or(first.clone()),
            first,
            ..Self::some(kind, reason, Some(count))
        }
    }

    /// An option.
    pub fn option(name: &str, reason: &str) -> Self {
        let kind = DroppedKind::Other(DroppedItem::Option);
        Self {
            first: Some(name.to_owned()),
            last: Some(name.to_owned()),
            ..Self::some(kind, reason, Some(1))
        }
    }

    fn some(kind: DroppedKind, reason: &str, count: Option<u64>) -> Self {
        Self {
            kind,
            reason: reason.to_owned(),
            count,
            first: None,
            last: None,
            tokens: None,
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.reason == other.reason
    }

    /// Stands for further ones too.
    fn join(&mut self, next: Self) {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
        self.count = sum(self.count, next.count);
        self.tokens = sum(self.tokens, next.tokens);
        self.last = next.last;
    }
}

/// Messages one after the other, of which some were left out.
#[derive(Debug, Default)]
pub struct DroppedMessages {
    parts: Vec<DroppedParts>,
    has_kept: bool,
}

impl DroppedMessages {
    /// The next message was left out.
    pub fn leave_out(&mut self, kind: BlockKind, reason: &str, id: Option<&str>, tokens: u64) {
        let id = id.filter(|id| !id.is_empty()).map(str::to_owned);
        self.add(DroppedParts {
            first: id.clone(),
            last: id,
            tokens: Some(tokens),
            ..DroppedParts::messages(kind, reason, Some(1))
        });
    }

    /// The next messages were left out.
    pub fn add(&mut self, part: DroppedParts) {
        match self.parts.last_mut() {
            Some(before) if !self.has_kept && before.is_like(&part) => before.join(part),
            _ => self.parts.push(part),
        }
        self.has_kept = false;
    }

    /// The next message is there.
    pub fn keep(&mut self) {
        self.has_kept = true;
    }

    /// What was left out.
    pub fn into_parts(self) -> Vec<DroppedParts> {
        self.parts
    }
}

/// The same, one of each kind and reason where there are many.
pub fn bounded(parts: Vec<DroppedParts>) -> Vec<DroppedParts> {
    if parts.len() <= MOST {
        return parts;
    }
    let mut joined: Vec<DroppedParts> = Vec::new();
    for part in parts {
        match joined.iter_mut().find(|known| known.is_like(&part)) {
            Some(known) => known.join(part),
            None => joined.push(part),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn neighbours_with_one_reason_are_one() {
        let mut messages = DroppedMessages::default();
        for id in ["a", "b"] {
            messages.leave_out(BlockKind::History, "history_size", Some(id), 5);
        }
        messages.leave_out(BlockKind::History, "not_for_model", Some("c"), 5);
        messages.keep();
        messages.leave_out(BlockKind::History, "not_for_model", Some("e"), 5);
        let part = |reason: &str, count: u64, [first, last]: [&str; 2]| {
            let tokens = 5 * count;
            json!({"kind": "history", "reason": reason, "count": count, "first": first, "last": last, "tokens": tokens})
        };
        let expected = json!([
            part("history_size", 2, ["a", "b"]),
            part("not_for_model", 1, ["c", "c"]),
            part("not_for_model", 1, ["e", "e"]),
        ]);
        assert_eq!(json!(messages.into_parts()), expected);
    }

    #[test]
    fn many_are_one_of_each_reason() {
        let parts = (0..100).map(|n| {
            let reason = ["hook", "not_for_model"][n % 2];
            DroppedParts::messages(BlockKind::History, reason, Some(1))
        });
        let joined = bounded(parts.collect());
        let counts: Vec<Option<u64>> = joined.iter().map(|part| part.count).collect();
        assert_eq!(counts, [Some(50), Some(50)]);
    }

    #[test]
    fn tools_and_options_are_told_by_their_names() {
        let tools = DroppedParts::tools(["a", "b", "c"].into_iter(), "max_turn");
        let expected = json!({"kind": "tool", "reason": "max_turn", "count": 3, "first": "a", "last": "c", "tokens": null});
        assert_eq!(json!(tools), expected);
        let read: DroppedParts = serde_json::from_value(expected).unwrap();
        assert_eq!(read, tools);
    }
}
