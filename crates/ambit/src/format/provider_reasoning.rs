//! What a provider wants back of its model's reasoning, as an opaque text that clients bring along again: the signature of a block
//! of Anthropic's, the `encrypted_content` of an item of OpenAI's.

use ambit_runtime::chat::ReasoningPart;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// Where a part of Anthropic's kind has the text that its block shows.
const TEXT: &str = "thinking";
/// Where a part says behind what it stands, which the order of blocks says too.
const POSITION: &str = "behind";
/// Where a part says which connector made it.
const CONNECTOR: &str = "connector";

/// Writes the parts that belong to a thought; where it is shown with this text, they need not say it again.
pub fn encode(parts: Vec<Map<String, Value>>, text: &str) -> String {
    let parts = parts.into_iter().map(|mut part| {
        part.shift_remove(POSITION);
        if part.get(TEXT).and_then(Value::as_str) == Some(text) {
            part.insert(TEXT.to_owned(), Value::Null);
        }
        Value::Object(part)
    });
    STANDARD.encode(Value::Array(parts.collect()).to_string())
}

/// Reads what `encode` has written; none where somebody else has, or where a part does not say which connector made it.
pub fn decode(signature: &str, text: &str) -> Option<Vec<ReasoningPart>> {
    let bytes = STANDARD.decode(signature).ok()?;
    let parts: Vec<Map<String, Value>> = serde_json::from_slice(&bytes).ok()?;
    let parts = parts.into_iter().map(|mut part| {
        if !part.get(CONNECTOR).is_some_and(Value::is_string) {
            return None;
        }
        if let Some(shown) = part.get_mut(TEXT).filter(|shown| shown.is_null()) {
            *shown = text.into();
        }
        Some(ReasoningPart::from(part))
    });
    let parts: Vec<ReasoningPart> = parts.collect::<Option<_>>()?;
    (!parts.is_empty()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};
    use ambit_runtime::chat::ReasoningPart;
    use serde_json::json;

    #[test]
    fn parts_come_back_with_the_text_of_their_block_and_without_their_position() {
        let part = ReasoningPart::new("thinking")
            .with("signature", "s")
            .with("connector", "claude");
        let whole = part.with("thinking", "hm");
        let placed = whole.clone().with("behind", json!({"text": 3, "calls": 0}));
        let signature = encode(vec![placed.fields], "hm");
        let back = decode(&signature, "hm").unwrap();
        assert_eq!(back.len(), 1);
        assert_eq!(json!(back[0]).as_object().unwrap().len(), 4);
        assert_eq!(back[0].fields["thinking"], "hm");
        assert_eq!(back[0].fields["signature"], "s");
        let other = encode(vec![whole.fields], "hm, and more");
        assert_eq!(decode(&other, "x").unwrap()[0].fields["thinking"], "hm");
    }

    #[test]
    fn what_ambit_has_not_written_is_nothing() {
        let unsigned = encode(vec![ReasoningPart::new("thinking").fields], "");
        for signature in [
            "",
            "EqQBCgIYAhIM1gbcDa9GJwZA2b3h",
            "e30=",
            "W10=",
            unsigned.as_str(),
        ] {
            assert_eq!(decode(signature, "hm"), None, "{signature}");
        }
    }
}
