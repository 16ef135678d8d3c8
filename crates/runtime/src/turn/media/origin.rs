//! Which message of a conversation one is that a model is to see. What its parts point to changes, so words for it are those of
//! this message alone.

use super::fetch;
use crate::chat::{ChatMessage, ContentPart};
use crate::turn::Turn;
use std::borrow::Cow;

/// The turn that each message with a part which lies elsewhere came with, or its id where it came with none. What the history
/// does not have is this turn's.
pub(super) fn of<'a>(turn: &'a Turn, messages: &[ChatMessage]) -> Vec<&'a str> {
    let own = turn.context.id();
    let mut origins = vec![own; messages.len()];
    let mut known: Option<Vec<_>> = None;
    // The same may have been sent more than once, and of the older ones some may be left out: from the end, they are alike.
    for (message, origin) in messages.iter().zip(&mut origins).rev() {
        let parts = message.content.parts();
        if !is_far(parts) {
            continue;
        }
        let known = known.get_or_insert_with(|| far_messages(turn));
        if let Some(at) = known.iter().rposition(|(known, _)| &**known == parts) {
            *origin = known.remove(at).1;
        }
    }
    origins
}

/// The messages of the conversation with parts that lie elsewhere, each with its origin.
fn far_messages(turn: &Turn) -> Vec<(Cow<'_, [ContentPart]>, &str)> {
    let own = turn.context.id();
    let stored = turn.conversation.history.iter().map(|message| {
        let origin = message.turn_id.as_ref().unwrap_or(&message.id);
        let parts = message.parts.iter().cloned().map(ContentPart::from);
        (parts.collect(), origin.as_str())
    });
    let new = turn.context.request.messages.iter();
    let all = stored.chain(new.map(|chat| (Cow::from(chat.content.parts()), own)));
    all.filter(|(parts, _)| is_far(parts)).collect()
}

fn is_far(parts: &[ContentPart]) -> bool {
    parts.iter().any(|part| fetch::address(part).is_some())
}
