//! What of a conversation stays where not all of it fits: instructions, what was said from the last question on, and of what was
//! said before, the latest.

use super::output::TurnOutput;
use crate::chat::{ChatMessage, Role};
use crate::json_length::json_length;
use ambit_script::RunLimits;
use std::borrow::Cow;

/// Why messages are missing in a call that a hook was not given.
pub(super) const SCRIPT_LIMITS: &str = "script_limits";
/// Why messages are missing that are more than the model takes.
pub(super) const MODEL_WINDOW: &str = "model_window";

/// The part of a script's memory that messages may have as text at most: there they are text, then objects.
const HEAP_SHARE: usize = 8;

/// Which of the messages stay, so that their sizes fit into the room. Those that must stay may be more than that.
pub(super) fn staying(
    messages: &[ChatMessage],
    room: u64,
    size: impl Fn(&ChatMessage) -> u64,
) -> Vec<bool> {
    let last = messages
        .iter()
        .rposition(|message| message.role == Role::User);
    let own = last.unwrap_or_default();
    let must_stay = |(at, message): (usize, &ChatMessage)| at >= own || is_instruction(message);
    let mut stays: Vec<bool> = messages.iter().enumerate().map(must_stay).collect();
    let needed = messages.iter().zip(&stays).filter(|(_, stays)| **stays);
    let needed: u64 = needed.map(|(message, _)| size(message)).sum();
    let mut left = room.saturating_sub(needed);
    let before = messages[..own].iter().zip(&mut stays[..own]).rev();
    for (message, stays) in before.filter(|(_, stays)| !**stays) {
        let size = size(message);
        if size > left {
            break;
        }
        left -= size;
        *stays = true;
    }
    if stays.iter().all(|stays| *stays) {
        return stays;
    }
    // What a tool gave goes with its call.
    for (message, stays) in messages[..own].iter().zip(&mut stays) {
        match message.role {
            Role::Tool => *stays = false,
            _ if *stays && !is_instruction(message) => break,
            _ => {}
        }
    }
    stays
}

fn is_instruction(message: &ChatMessage) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}

/// Which of the messages a hook with these limits is given: it must have room to work with them, and to return them.
pub(super) fn staying_for_hook(messages: &[ChatMessage], limits: &RunLimits) -> Vec<bool> {
    let room = (limits.heap / HEAP_SHARE).min(limits.returned / 4 * 3);
    staying(messages, room as u64, |message| {
        let known = message.origin.measure().map(|known| known.bytes);
        known.unwrap_or_else(|| json_length(message)) as u64
    })
}

/// The messages that a hook is given. What it is not given, the trace says.
pub(super) fn for_hook<'m>(
    messages: &'m [ChatMessage],
    limits: &RunLimits,
    output: &TurnOutput,
) -> Cow<'m, [ChatMessage]> {
    let stays = staying_for_hook(messages, limits);
    if stays.iter().all(|stays| *stays) {
        return Cow::Borrowed(messages);
    }
    let given: Vec<ChatMessage> = chosen(messages, &stays).cloned().collect();
    let (count, all) = (given.len(), messages.len());
    output.warn(&format!(
        "the hook is given the last {count} of {all} messages: more do not fit into an eighth of its limit \"heap\" \
         and three quarters of \"returned\""
    ));
    Cow::Owned(given)
}

/// The messages that stay.
pub(super) fn chosen<'m>(
    messages: &'m [ChatMessage],
    stays: &'m [bool],
) -> impl Iterator<Item = &'m ChatMessage> {
    let marked = messages.iter().zip(stays);
    marked
        .filter(|(_, stays)| **stays)
        .map(|(message, _)| message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(roles: &[Role]) -> Vec<ChatMessage> {
        roles
            .iter()
            .map(|role| ChatMessage::new(*role, "x"))
            .collect()
    }

    /// The places of what stays, each message having the size 1.
    fn places(roles: &[Role], room: u64) -> Vec<usize> {
        let stays = staying(&conversation(roles), room, |_| 1);
        let places = stays.iter().enumerate().filter(|(_, stays)| **stays);
        places.map(|(at, _)| at).collect()
    }

    #[test]
    fn the_latest_stay_and_what_was_asked_last() {
        use Role::{Assistant, User};
        let roles = [User, Assistant, User, Assistant, User];
        assert_eq!(places(&roles, 9), [0, 1, 2, 3, 4]);
        assert_eq!(places(&roles, 3), [2, 3, 4]);
        assert_eq!(places(&roles, 0), [4]);
    }

    #[test]
    fn instructions_stay_wherever_they_are() {
        use Role::{Assistant, Developer, System, User};
        let roles = [System, User, Developer, Assistant, User];
        assert_eq!(places(&roles, 4), [0, 2, 3, 4]);
        assert_eq!(places(&roles, 0), [0, 2, 4]);
    }

    #[test]
    fn a_result_goes_with_its_call_and_stays_behind_the_last_question() {
        use Role::{Assistant, Tool, User};
        let roles = [
            User, Assistant, Tool, Tool, Assistant, User, Assistant, Tool,
        ];
        assert_eq!(places(&roles, 5), [4, 5, 6, 7]);
        assert_eq!(places(&roles, 7), [1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn nothing_goes_where_nobody_has_asked() {
        use Role::{Assistant, Tool};
        assert_eq!(places(&[Assistant, Tool], 0), [0, 1]);
    }

    #[test]
    fn all_stays_where_all_fits() {
        use Role::{Assistant, Tool, User};
        assert_eq!(places(&[Tool, Assistant, User], 3), [0, 1, 2]);
        assert_eq!(places(&[Tool, Assistant, User], 2), [1, 2]);
    }
}
