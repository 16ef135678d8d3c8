//! Where a view is cut: the oldest goes, the newest stays, and what stays begins with a turn.

use super::{MessageUnit, TruncationBudget, UnitKind};

/// The units that go, by their places in the view. What stays:
///
/// - instructions, if they are preserved, and what is pinned, in any case;
/// - then the newest units, as far as messages and tokens of the room go. The stay begins with a turn: what is left of
///   one that is cut goes too, unless that turn is the running one.
pub fn cut(view: &[MessageUnit], room: &TruncationBudget) -> Vec<usize> {
    let is_fixed = |unit: &MessageUnit| {
        unit.is_pinned || (room.preserve_system && unit.kind == UnitKind::Instruction)
    };
    let counted = |unit: &MessageUnit| match unit.kind {
        UnitKind::Instruction if room.preserve_system => 0,
        _ => unit.messages.len(),
    };
    let fixed = || view.iter().filter(|unit| is_fixed(unit));
    let mut messages: usize = fixed().map(counted).sum();
    let mut tokens: u64 = fixed().map(|unit| unit.tokens).sum();
    let mut start = view.len();
    for (at, unit) in view.iter().enumerate().rev() {
        if is_fixed(unit) || unit.kind == UnitKind::StandIn {
            continue;
        }
        messages += counted(unit);
        tokens += unit.tokens;
        if messages > room.keep || tokens > room.tokens {
            break;
        }
        start = at;
    }
    let begin = view
        .iter()
        .skip(start)
        .position(|unit| unit.kind == UnitKind::Question);
    let start = begin.map_or(start, |begin| start + begin);
    let goes = |(at, unit): &(usize, &MessageUnit)| {
        !is_fixed(unit) && (*at < start || unit.kind == UnitKind::StandIn)
    };
    let gone = view.iter().enumerate().filter(goes);
    gone.map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::{TruncationBudget, cut};
    use crate::storage::{Message, ToolCall};
    use crate::truncation::units;

    /// `q` a question, `a` an answer, `s` an instruction, `c` a call with its results.
    fn gone(view: &str, keep: usize, tokens: u64) -> Vec<usize> {
        let mut messages = Vec::new();
        for (at, sign) in view.chars().enumerate() {
            match sign {
                'q' => messages.push(Message::user("")),
                's' => messages.push(Message::system("")),
                'c' => {
                    let id = format!("call-{at}");
                    messages.push(Message::calling([ToolCall::new(&id, "", "")]));
                    messages.extend([Message::result(&id, ""), Message::result(&id, "")]);
                }
                _ => messages.push(Message::assistant("")),
            }
        }
        let room = TruncationBudget {
            keep,
            tokens,
            preserve_system: true,
        };
        cut(&units(&messages), &room)
    }

    #[test]
    fn what_stays_begins_with_a_turn_and_is_at_most_as_many_as_kept() {
        let cases: [(&str, usize, &[usize]); 8] = [
            ("sqaqaq", 6, &[]),
            ("sqaqaq", 4, &[1, 2]),
            ("sqaqaq", 3, &[1, 2]),
            ("sqaqaq", 1, &[1, 2, 3, 4]),
            ("qcaqca", 6, &[0, 1, 2]),
            ("qcaqca", 4, &[0, 1, 2, 4]),
            ("qaqcccc", 10, &[0, 1, 3]),
            ("aaaa", 2, &[0, 1]),
        ];
        for (view, keep, expected) in cases {
            assert_eq!(gone(view, keep, 1_000), expected, "{view} {keep}");
        }
    }

    #[test]
    fn tokens_limit_what_keep_would_leave() {
        assert_eq!(gone("sqaqaq", 6, 16), [1, 2]);
        assert_eq!(gone("sqaqaq", 6, 15), [1, 2, 3, 4]);
        assert_eq!(gone("sqaqaq", 6, 0), [1, 2, 3, 4]);
    }
}
