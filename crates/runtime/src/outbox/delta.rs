//! The text of a delta that may still grow: it is written by hand, so that a chunk of a model costs no JSON values.

use crate::frame::props_path::PropsPath;
use serde::Serialize;
use std::fmt::Write;

/// An `append` of a text, without the text.
#[derive(Serialize)]
pub(super) struct TextDelta<'a> {
    #[serde(skip)]
    pub kind: &'a str,
    pub chunk_id: &'a str,
    pub message_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<&'a str>,
    pub delta: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta_action: Option<&'a str>,
}

impl TextDelta<'_> {
    /// The frame's text before and behind the text that is appended.
    pub fn around(&self, path: &PropsPath) -> (String, String) {
        let rest = serde_json::to_string(self).unwrap_or_default();
        let mut before = String::with_capacity(128);
        before.push_str("{\"type\":");
        before.push_str(&quoted(self.kind));
        before.push_str(",\"props\":");
        for step in path.steps() {
            let _ = write!(before, "{{{}:", quoted(step));
        }
        before.push('"');
        let mut behind = String::with_capacity(rest.len() + 8);
        behind.push('"');
        behind.extend(path.steps().iter().map(|_| '}'));
        behind.push(',');
        behind.push_str(rest.strip_prefix('{').unwrap_or(&rest));
        (before, behind)
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// A text as it stands between the quotes of a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let mut quoted = quoted(text);
    quoted.pop();
    if !quoted.is_empty() {
        quoted.remove(0);
    }
    quoted
}
