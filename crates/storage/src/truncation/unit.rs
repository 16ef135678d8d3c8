//! Units: what stays or goes as a whole. A call is one with all of its results, wherever they stand.

use super::estimate;
use crate::message::{Message, Role, view_for_model};
use std::collections::HashMap;

/// Messages that stay or go together.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageUnit {
    /// The messages, in the order of the view.
    pub messages: Vec<Message>,
    /// What it is.
    pub kind: UnitKind,
    /// Its tokens, reported or estimated, as it goes to a model: a result without a call does not.
    pub tokens: u64,
    /// True for what stays in any case: the question being answered, the newest unit, and calls whose results may
    /// still come.
    pub is_pinned: bool,
    /// True for what is pinned only because it is a call of an earlier turn that is open: a request without it makes
    /// sense.
    pub(crate) is_spare: bool,
    /// Where its messages stand in the view.
    pub(crate) places: Vec<usize>,
}

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// A system or developer message.
    Instruction,
    /// What a person says: a turn begins with it.
    Question,
    /// What stands for messages that went.
    StandIn,
    /// An answer, a call with its results, or a result without a call.
    Other,
}

impl MessageUnit {
    fn has_open_call(&self) -> bool {
        let ids = self.messages.iter().flat_map(|message| &message.tool_calls);
        let results = |id: &str| {
            let results = self
                .messages
                .iter()
                .filter_map(|message| message.tool_result.as_ref());
            results.filter(|result| result.call_id == id).count()
        };
        let calls = |id: &str| {
            let calls = self.messages.iter().flat_map(|message| &message.tool_calls);
            calls.filter(|call| call.id == id).count()
        };
        ids.into_iter()
            .any(|call| results(&call.id) < calls(&call.id))
    }
}

/// The units of a view without stand-ins, in the order of their first messages.
pub fn units(messages: &[Message]) -> Vec<MessageUnit> {
    grouped(messages, &[])
}

/// The units of a view, in the order of their first messages. A result belongs to the last call of its id before it.
pub(crate) fn grouped(messages: &[Message], stand_ins: &[usize]) -> Vec<MessageUnit> {
    let mut units: Vec<MessageUnit> = Vec::new();
    let mut callers: HashMap<&str, usize> = HashMap::new();
    for (place, message) in messages.iter().enumerate() {
        let result = message.tool_result.as_ref();
        let caller = result.and_then(|result| callers.get(result.call_id.as_str()));
        let at = caller.copied().unwrap_or(units.len());
        if at == units.len() {
            units.push(MessageUnit {
                messages: Vec::new(),
                kind: kind(message, stand_ins.contains(&place)),
                tokens: 0,
                is_pinned: false,
                is_spare: false,
                places: Vec::new(),
            });
        }
        let unit = &mut units[at];
        unit.places.push(place);
        unit.messages.push(message.clone());
        callers.extend(message.tool_calls.iter().map(|call| (call.id.as_str(), at)));
    }
    for unit in &mut units {
        let view = view_for_model(&unit.messages);
        unit.tokens = view.iter().map(|message| estimate(message)).sum();
    }
    pin(&mut units);
    units
}

fn kind(message: &Message, is_stand_in: bool) -> UnitKind {
    let says_something = message.tool_result.is_none() && message.tool_calls.is_empty();
    match message.role {
        _ if is_stand_in => UnitKind::StandIn,
        Role::System | Role::Developer if says_something => UnitKind::Instruction,
        Role::User if says_something => UnitKind::Question,
        _ => UnitKind::Other,
    }
}

fn pin(units: &mut [MessageUnit]) {
    let question = units
        .iter()
        .rposition(|unit| unit.kind == UnitKind::Question);
    let said = |unit: &MessageUnit| matches!(unit.kind, UnitKind::Question | UnitKind::Other);
    let last = |(_, unit): &(usize, &MessageUnit)| unit.places.last().copied();
    let newest = units.iter().enumerate().filter(|(_, unit)| said(unit));
    let newest = newest.max_by_key(last).map(|(at, _)| at);
    for (at, unit) in units.iter_mut().enumerate() {
        let is_of_turn = question.is_none_or(|question| at > question);
        let is_open = unit.has_open_call();
        let is_needed = Some(at) == question || Some(at) == newest || (is_of_turn && is_open);
        unit.is_pinned = is_needed || is_open;
        unit.is_spare = is_open && !is_needed;
    }
}

#[cfg(test)]
mod tests {
    use super::{UnitKind, units};
    use crate::storage::{Message, Role, ToolCall};

    fn call(ids: &[&str]) -> Message {
        Message::calling(ids.iter().map(|id| ToolCall::new(*id, "find", "")))
    }

    #[test]
    fn a_unit_is_a_call_with_all_of_its_results() {
        let view = [
            Message::system("s"),
            Message::user("q1"),
            Message::result("orphan", "r"),
            call(&["a", "b"]),
            Message::result("a", "r"),
            Message::user("q2"),
            Message::result("b", "r"),
            call(&["a"]),
            Message::result("a", "r"),
            Message::result("a", "again"),
            Message::assistant("done"),
        ];
        let found: Vec<_> = units(&view)
            .into_iter()
            .map(|unit| (unit.places, unit.kind, unit.is_pinned))
            .collect();
        let expected = [
            (vec![0], UnitKind::Instruction, false),
            (vec![1], UnitKind::Question, false),
            (vec![2], UnitKind::Other, false),
            (vec![3, 4, 6], UnitKind::Other, false),
            (vec![5], UnitKind::Question, true),
            (vec![7, 8, 9], UnitKind::Other, false),
            (vec![10], UnitKind::Other, true),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn open_calls_are_pinned_and_those_of_earlier_turns_can_be_spared() {
        let view = [
            Message::user("q1"),
            call(&["old"]),
            Message::user("q2"),
            call(&["open", "done"]),
            Message::result("done", "r"),
            Message::new(Role::Assistant, "still at it"),
        ];
        let pinned: Vec<(bool, bool)> = units(&view)
            .iter()
            .map(|unit| (unit.is_pinned, unit.is_spare))
            .collect();
        let expected = [(false, false), (true, true), (true, false), (true, false)];
        assert_eq!(pinned[..4], expected);
    }
}
