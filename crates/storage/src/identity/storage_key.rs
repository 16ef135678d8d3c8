//! The encoding of an identity that names it in every store, and its decoding.

use super::{SessionIdentity, check};
use crate::{Error, Result};

/// `a:agent` or `g:group`, then `u:`, `c:`, `s:` where present. Injective; at most 2.5 kB.
pub(super) fn storage_key(identity: &SessionIdentity) -> String {
    let owner = match identity.group() {
        Some(group) => part('g', group),
        None => part('a', identity.agent_name()),
    };
    let rest = [
        ('u', identity.user_id()),
        ('c', identity.chat_name()),
        ('s', identity.scope()),
    ];
    let rest = rest
        .into_iter()
        .filter_map(|(tag, value)| Some(part(tag, value?)));
    std::iter::once(owner)
        .chain(rest)
        .collect::<Vec<_>>()
        .join("/")
}

/// The tuple behind a storage key. With a group the agent's name is not part of the key, hence `agent` is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageKeyParts {
    /// The agent, if the storage is its own.
    pub agent: Option<String>,
    /// The group, if agents share the storage.
    pub group: Option<String>,
    /// The user.
    pub user: Option<String>,
    /// The chat.
    pub chat: Option<String>,
    /// The scope.
    pub scope: Option<String>,
}

/// Decodes what `SessionIdentity::storage_key` wrote; anything else is `Invalid`.
pub fn decode_storage_key(text: &str) -> Result<StorageKeyParts> {
    let bad = |reason: &str| Error::invalid("storage_key", format!("\"{text}\" {reason}"));
    let mut tuple = StorageKeyParts::default();
    let mut last = 0;
    for piece in text.split('/') {
        let (tag, value) = piece
            .split_once(':')
            .ok_or_else(|| bad("has a part without a tag"))?;
        let (order, field) = match tag {
            "a" => (1, &mut tuple.agent),
            "g" => (1, &mut tuple.group),
            "u" => (2, &mut tuple.user),
            "c" => (3, &mut tuple.chat),
            "s" => (4, &mut tuple.scope),
            _ => return Err(bad("has an unknown tag; known are a, g, u, c and s")),
        };
        if order <= last || (last == 0 && order != 1) {
            return Err(bad("has its parts out of order"));
        }
        last = order;
        let value = decode(value).ok_or_else(|| bad("is not encoded as storage keys are"))?;
        check("storage_key", &value)?;
        *field = Some(value);
    }
    Ok(tuple)
}

/// `tag:value` with each byte outside `[A-Za-z0-9.-]` as `~` and two hex digits.
pub(crate) fn part(tag: char, value: &str) -> String {
    let mut text = format!("{tag}:");
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-' {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("~{byte:02x}"));
        }
    }
    text
}

fn decode(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'~' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    let decoded = String::from_utf8(bytes).ok()?;
    (part('x', &decoded)[2..] == *value).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g051_a_storage_key_decodes_to_its_tuple() {
        let some = |text: &str| Some(text.to_owned());
        for text in [
            "a_b", "50%", "a/b", "u:5", "~7e", "*", "a\\b", "a b", "é", "日本", "..",
        ] {
            let own = SessionIdentity::builder(text).user_id(text).chat_name(text);
            let key = own.clone().scope(text).build().unwrap().storage_key();
            let tuple = StorageKeyParts {
                agent: some(text),
                group: None,
                user: some(text),
                chat: some(text),
                scope: some(text),
            };
            assert_eq!(decode_storage_key(&key).unwrap(), tuple, "{key}");
            let key = own.group(text).build().unwrap().storage_key();
            let tuple = StorageKeyParts {
                agent: None,
                group: some(text),
                scope: None,
                ..tuple
            };
            assert_eq!(decode_storage_key(&key).unwrap(), tuple, "{key}");
        }
    }

    #[test]
    fn a_key_that_no_identity_has_is_not_decoded() {
        for (key, reason) in [
            ("", "has a part without a tag"),
            ("a", "has a part without a tag"),
            ("x:a", "has an unknown tag; known are a, g, u, c and s"),
            ("u:a", "has its parts out of order"),
            ("a:a/s:b/c:d", "has its parts out of order"),
            ("a:a/a:b", "has its parts out of order"),
            ("a:a b", "is not encoded as storage keys are"),
            ("a:~7E", "is not encoded as storage keys are"),
            ("a:~61", "is not encoded as storage keys are"),
            ("a:~ff", "is not encoded as storage keys are"),
            ("a:~", "is not encoded as storage keys are"),
        ] {
            let error = decode_storage_key(key).unwrap_err().to_string();
            assert_eq!(error, format!("storage_key \"{key}\" {reason}"));
        }
    }
}
