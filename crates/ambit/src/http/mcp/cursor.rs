//! Where a list goes on: a position that only the list it is of understands.

use super::rpc_error::{RpcError, RpcErrorKind};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

/// The positions of a list.
pub struct Cursor(&'static str);

impl Cursor {
    /// Those of the list of tools.
    pub const TOOLS: Self = Self("tools:");
    /// Those of the list of chats.
    pub const CHATS: Self = Self("chats:");

    /// A position as it is sent.
    pub fn at(&self, position: usize) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}{position}", self.0))
    }

    /// The position that a request names; the beginning where it names none.
    pub fn position(&self, params: &Map<String, Value>) -> Result<usize, RpcError> {
        let Some(cursor) = params.get("cursor") else {
            return Ok(0);
        };
        let read = cursor.as_str().and_then(|text| self.read(text));
        read.ok_or_else(|| {
            let message = "params.cursor is no nextCursor of this list";
            RpcError::new(RpcErrorKind::InvalidParams, message)
        })
    }

    fn read(&self, text: &str) -> Option<usize> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        text.strip_prefix(self.0)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Cursor;
    use serde_json::json;

    #[test]
    fn a_position_is_understood_by_its_own_list() {
        let params = |cursor: &str| json!({"cursor": cursor}).as_object().cloned().unwrap();
        let cursor = Cursor::TOOLS.at(100);
        assert_eq!(Cursor::TOOLS.position(&params(&cursor)).ok(), Some(100));
        assert!(Cursor::CHATS.position(&params(&cursor)).is_err());
        assert!(Cursor::TOOLS.position(&params("7")).is_err());
        let none = serde_json::Map::new();
        assert_eq!(Cursor::TOOLS.position(&none).ok(), Some(0));
    }
}
