//! Messages of a server from their bytes. An answer that cannot be read fails its call at once, and no other.

use super::message_buffer::LONGEST;
use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::service::RxJsonRpcMessage;
use serde_json::Value;

/// A message of a server.
pub type ServerMessage = RxJsonRpcMessage<RoleClient>;

/// A message, or what takes the place of an answer that is none. `None` is of no use to anybody.
pub fn read(bytes: &[u8]) -> Option<ServerMessage> {
    let mut error = match serde_json::from_slice::<ServerMessage>(bytes) {
        Ok(message) => return Some(message),
        Err(error) => error,
    };
    let id = match serde_json::from_slice::<Value>(bytes) {
        Ok(value) if value.get("method").is_some() => None,
        Ok(value) => value.get("id").and_then(Value::as_i64),
        Err(not_json) => {
            error = not_json;
            id_of_spoiled(bytes)
        }
    };
    let why = format!("its answer cannot be understood: {error}");
    id.map(|id| refusal(why, id))
}

/// What takes the place of an answer of which only the ends are known; `Err` if it cannot be told whose it was.
pub fn too_long(head: &[u8], tail: &[u8]) -> Result<ServerMessage, String> {
    let why = format!("its answer is larger than {} MiB", LONGEST >> 20);
    match id_at(head, tail) {
        Some(id) => Ok(refusal(why, id)),
        None => Err(why),
    }
}

fn refusal(why: String, id: i64) -> ServerMessage {
    let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, why, None);
    ServerMessage::error(error, Some(RequestId::Number(id)))
}

/// The id of an answer that is no strict JSON: half a character, bytes that are no text, or too deeply nested.
fn id_of_spoiled(bytes: &[u8]) -> Option<i64> {
    // Much of what servers print by mistake looks like JSON from afar.
    let is_message = bytes.starts_with(b"{") && bytes.ends_with(b"}");
    let text = String::from_utf8_lossy(bytes);
    let is_request = before_result(&text).contains("\"method\"");
    if !is_message || is_request || !text.contains("\"jsonrpc\"") {
        return None;
    }
    id_at(bytes, bytes)
}

/// The id of a message of which only both ends are known.
fn id_at(head: &[u8], tail: &[u8]) -> Option<i64> {
    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
    let number = |text: &str| {
        let digits = text.trim_start();
        let end = digits.find(|letter: char| !letter.is_ascii_digit());
        digits[..end.unwrap_or(digits.len())].parse().ok()
    };
    let first = before_result(&head).split_once("\"id\":");
    let first = first.map(|(_, rest)| rest);
    let last = || {
        let (_, rest) = tail.rsplit_once("\"id\":")?;
        let is_outermost = rest
            .trim_end()
            .strip_suffix('}')?
            .find(['{', '}'])
            .is_none();
        is_outermost.then_some(rest)
    };
    first.or_else(last).and_then(number)
}

/// Behind the beginning of the result, a member of any name may be the result's own.
fn before_result(text: &str) -> &str {
    let begins = ["\"result\"", "\"error\""].map(|name| text.find(name));
    let begin = begins.into_iter().flatten().min();
    &text[..begin.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::{id_at, read};
    use serde_json::{Value, json};

    #[test]
    fn the_id_of_a_message_is_found_at_either_end() {
        for (head, tail, id) in [
            (
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"id\":9",
                "xxx\"}}",
                Some(7),
            ),
            (
                "{\"jsonrpc\": \"2.0\", \"id\": 12, \"result\": {",
                "}}",
                Some(12),
            ),
            (
                "{\"result\":{\"id\":9,\"x\":\"",
                "\"}]},\"jsonrpc\":\"2.0\",\"id\":31}",
                Some(31),
            ),
            (
                "{\"error\":{\"data\":{\"id\":9,\"x\":\"",
                "\"}},\"id\":31,\"jsonrpc\":\"2.0\"}\n",
                Some(31),
            ),
            ("{\"result\":{\"x\":\"", "\",\"id\":31}}", None),
            ("{\"result\":{\"x\":\"", "xxxx", None),
        ] {
            assert_eq!(id_at(head.as_bytes(), tail.as_bytes()), id, "{head} {tail}");
        }
    }

    fn refused(bytes: &[u8]) -> Option<(Value, String)> {
        let message = serde_json::to_value(read(bytes)?).unwrap();
        let why = message["error"]["message"].as_str().unwrap().to_owned();
        Some((message["id"].clone(), why))
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_refused_under_its_own_id() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let deep = format!("{{\"result\":{{\"id\":9,\"x\":{deep}}},\"jsonrpc\":\"2.0\",\"id\":4}}");
        for (bytes, id) in [
            (
                &b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"x\":\"\\ud83d\"}}"[..],
                3,
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"x\":\"\xff\"}}",
                3,
            ),
            (deep.as_bytes(), 4),
            (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"outcome\":1}", 3),
        ] {
            let text = String::from_utf8_lossy(bytes);
            let (found, why) = refused(bytes).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(found, json!(id), "{text}");
            assert!(
                why.starts_with("its answer cannot be understood: "),
                "{why}"
            );
        }
    }

    #[test]
    fn what_answers_nothing_is_nobodys() {
        for bytes in [
            &b"ready"[..],
            b"[info] \"jsonrpc\" \"id\":3 took 4 ms",
            b"{\"level\":\"info\",\"id\":3,\"text\":\"\xff\"}",
            b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"params\":{\"result\":\"\\ud83d\"}}",
            b"{\"jsonrpc\":",
            b"[1, 2]",
        ] {
            let text = String::from_utf8_lossy(bytes);
            assert_eq!(refused(bytes), None, "{text}");
        }
    }
}
