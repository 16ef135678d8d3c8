//! `encrypted_content` of reasoning items: what a provider wants back, as text that is nobody else's business.

use ambit_runtime::chat::ReasoningPart;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The parts in a text; none in what others have made.
pub fn decrypted(text: &str) -> Vec<ReasoningPart> {
    let bytes = STANDARD.decode(text).unwrap_or_default();
    let parts: Vec<ReasoningPart> = serde_json::from_slice(&bytes).unwrap_or_default();
    // Parts that say no connector would go to any.
    let has_owner = |part: &ReasoningPart| part.fields.contains_key("connector");
    parts.into_iter().filter(has_owner).collect()
}
