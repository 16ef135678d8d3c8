//! Which parts of a request's body come of which messages and tools of a call. They are found in every protocol in the same way: the
//! call is encoded once more with a mark in each message and tool, and the marks are looked for.

use crate::chat::{ChatContent, ChatMessage, ContentPart, ToolDefinition};
use crate::error::Result;
use crate::llm::{ModelCall, Provider};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Where a block or a tool of a call is in the body of its request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct RequestPlace {
    /// The block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<usize>,
    /// The items of the body, as JSON pointers.
    pub at: Vec<String>,
}

/// The places of all messages and tools, the numbers of which are these.
pub(super) fn places(
    provider: &dyn Provider,
    call: &ModelCall,
    blocks: &[usize],
    tools: &[usize],
) -> Result<Vec<RequestPlace>> {
    let marked = ModelCall {
        messages: numbered(&call.messages, "block", marked_message),
        tools: numbered(&call.tools, "tool", marked_tool),
        options: call.options.clone(),
        ..ModelCall::default()
    };
    let encoded = provider.encode(&marked)?;
    let body: Value = serde_json::from_slice(&encoded.bytes).unwrap_or_default();
    let mut found = BTreeMap::new();
    find(&body, "", "", &mut found);
    let at = |kind: &str, n: usize| found.get(&mark(kind, n)).cloned().unwrap_or_default();
    let blocks = blocks.iter().enumerate().map(|(n, block)| RequestPlace {
        block: Some(*block),
        at: at("block", n),
        ..RequestPlace::default()
    });
    let tools = tools.iter().enumerate().map(|(n, tool)| RequestPlace {
        tool: Some(*tool),
        at: at("tool", n),
        ..RequestPlace::default()
    });
    Ok(blocks.chain(tools).collect())
}

/// What stands for the texts of a message or a tool; no mark is the beginning of another.
fn mark(kind: &str, n: usize) -> String {
    format!("ambit_{kind}_{n}_")
}

fn numbered<T>(items: &[T], kind: &str, marked: fn(&T, String) -> T) -> Vec<T> {
    let items = items.iter().enumerate();
    items.map(|(n, item)| marked(item, mark(kind, n))).collect()
}

fn marked_message(message: &ChatMessage, mark: String) -> ChatMessage {
    let mut marked = message.clone();
    for call in &mut marked.tool_calls {
        call.name.clone_from(&mark);
    }
    match &mut marked.content {
        ChatContent::Text(text) => *text = mark,
        ChatContent::Parts(parts) => {
            for part in parts {
                if let ContentPart::Text { text, .. } = part {
                    text.clone_from(&mark);
                }
            }
        }
        ChatContent::Null | ChatContent::Absent => {}
    }
    marked
}

fn marked_tool(tool: &ToolDefinition, mark: String) -> ToolDefinition {
    ToolDefinition {
        description: Some(mark),
        ..tool.clone()
    }
}

/// Notes by its marks where the items of this value are. The item of a text is the innermost member of a list that holds it.
fn find(value: &Value, at: &str, item: &str, found: &mut BTreeMap<String, Vec<String>>) {
    match value {
        Value::String(text) => {
            let item = if item.is_empty() { at } else { item };
            for mark in marks(text) {
                let places = found.entry(mark).or_default();
                if !places.iter().any(|place| place == item) {
                    places.push(item.to_owned());
                }
            }
        }
        Value::Array(items) => {
            for (n, inner) in items.iter().enumerate() {
                let at = format!("{at}/{n}");
                find(inner, &at, &at, found);
            }
        }
        Value::Object(members) => {
            for (name, inner) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                find(inner, &format!("{at}/{name}"), item, found);
            }
        }
        _ => {}
    }
}

/// The marks in a text.
fn marks(text: &str) -> Vec<String> {
    let parts = text.split("ambit_").skip(1);
    let marks = parts.filter_map(|part| {
        let (kind, rest) = part.split_once('_')?;
        let (n, _) = rest.split_once('_')?;
        let n = n.parse().ok()?;
        matches!(kind, "block" | "tool").then(|| mark(kind, n))
    });
    marks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn marks_are_found_in_the_innermost_items_that_hold_them() {
        let body = json!({
            "system": "ambit_block_0_\n\nambit_block_1_",
            "messages": [{"content": "ambit_block_2_"}, {"content": [{"text": "ambit_block_3_"}, {"name": "ambit_block_3_"}]}],
            "tools": [{"function": {"description": "ambit_tool_0_"}}],
        });
        let mut found = BTreeMap::new();
        find(&body, "", "", &mut found);
        let expected = json!({
            "ambit_block_0_": ["/system"],
            "ambit_block_1_": ["/system"],
            "ambit_block_2_": ["/messages/0"],
            "ambit_block_3_": ["/messages/1/content/0", "/messages/1/content/1"],
            "ambit_tool_0_": ["/tools/0"],
        });
        assert_eq!(json!(found), expected);
    }
}
