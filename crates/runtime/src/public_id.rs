//! Ids as clients know them. What one turn numbers – its messages and calls – is named so that no two turns share a name.

use ambit_storage::address::digest;

/// The most bytes that an id of a call has.
const LONGEST_CALL: usize = 64;
/// Letters of the hash that stands for a message in an id of a call.
const HASH: usize = 32;

/// Returns the id of a turn's message: `R.M1`.
pub fn message_id(request_id: &str, message_id: &str) -> String {
    format!("{request_id}.{message_id}")
}

/// Returns the id of the call that a turn's message shows: `call_R_M8`. Where a script has chosen an id of the message that is too
/// long, or has letters that providers refuse, its hash stands there.
pub fn call_id(request_id: &str, message_id: &str) -> String {
    let id = format!("call_{request_id}_{message_id}");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if id.len() <= LONGEST_CALL && id.bytes().all(is_plain) {
        return id;
    }
    let mut hash = digest(&[message_id]);
    hash.truncate(HASH);
    format!("call_{request_id}_{hash}")
}

/// Returns the turn of a call's id, and the message or its hash; none of an id that a provider has made.
pub fn split_call_id(id: &str) -> Option<(&str, &str)> {
    id.strip_prefix("call_")?.split_once('_')
}

/// Returns the id of the message that an id is a part of, a call or a result included: `R.M1` of `R.M1.c1` and `call_R_M1`. Any
/// other id is returned as it is.
pub fn whole(id: &str) -> String {
    if let Some((request_id, message)) = split_call_id(id) {
        return message_id(request_id, message);
    }
    match id.rsplit_once('.') {
        Some((message, part)) if message.contains('.') && is_part(part) => message.to_owned(),
        _ => id.to_owned(),
    }
}

/// Whether this is how a part of a message is numbered: `c1` continues it, `r1` replaces it, `result` is that of its call.
fn is_part(text: &str) -> bool {
    let number = text.strip_prefix('c').or_else(|| text.strip_prefix('r'));
    let is_number =
        |number: &str| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    text == "result" || number.is_some_and(is_number)
}

/// Returns the id of a turn as a Response: `resp_R`.
pub fn response_id(request_id: &str) -> String {
    format!("{RESPONSE}{request_id}")
}

/// Returns the turn of a Response's id.
pub fn response_turn(id: &str) -> Option<&str> {
    id.strip_prefix(RESPONSE).filter(|turn| !turn.is_empty())
}

/// Returns the id of the item that shows a turn's message: `msg_R_M1`, `rs_R_M2` …
pub fn item_id(prefix: &str, request_id: &str, message_id: &str) -> String {
    format!("{prefix}_{request_id}_{message_id}")
}

/// Returns the turn that an item's id names.
pub fn item_turn(id: &str) -> Option<&str> {
    let mut parts = id.splitn(3, '_');
    parts.nth(1).filter(|_| parts.next().is_some())
}

/// Returns the id of the conversation whose history has this row in the index: `conv_` and its id.
pub fn conversation_id(row: &str) -> String {
    format!("{CONVERSATION}{row}")
}

/// Returns the row of a conversation's id.
pub fn conversation_row(id: &str) -> Option<&str> {
    id.strip_prefix(CONVERSATION).filter(|row| !row.is_empty())
}

/// Begins the ids of conversations.
const CONVERSATION: &str = "conv_";
/// Begins the ids of Responses, and the names of chats that they have begun.
pub const RESPONSE: &str = "resp_";

#[cfg(test)]
mod tests {
    use super::{call_id, split_call_id, whole};

    #[test]
    fn a_part_leads_to_its_message() {
        for part in [
            "r1.M1",
            "r1.M1.c1",
            "r1.M1.r12",
            "r1.M1.result",
            "call_r1_M1",
        ] {
            assert_eq!(whole(part), "r1.M1");
        }
        for other in ["r1", "a.c1", "r1.M1.c", "r1.M1.rx", "call_abc"] {
            assert_eq!(whole(other), other);
        }
    }

    #[test]
    fn an_id_of_a_call_leads_back_to_its_message() {
        assert_eq!(split_call_id(&call_id("01j9", "M8")), Some(("01j9", "M8")));
        assert_eq!(split_call_id("call_abc"), None);
        assert_eq!(split_call_id("toolu_01"), None);
    }

    #[test]
    fn an_id_of_a_call_fits_whatever_a_script_calls_the_message() {
        let turn = "01k9zq3v5x7f8h2m4n6p8r0t1w";
        assert_eq!(call_id(turn, "M-8_a"), format!("call_{turn}_M-8_a"));
        let long = "x".repeat(33);
        let ids = ["a b:ö", "a b:ä", "", long.as_str()].map(|message| call_id(turn, message));
        for (at, id) in ids.iter().enumerate() {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
            assert!(id.len() <= 64 && id.chars().all(is_plain), "{id}");
            assert!(!ids[..at].contains(id), "{id}");
            assert_eq!(split_call_id(id).map(|(turn, _)| turn), Some(turn));
        }
    }
}
