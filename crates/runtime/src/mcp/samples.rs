//! Examples of calls, as models are shown them.

use crate::tool::ServerTool;
use crate::value_text::value_text;
use std::fmt::Write;

/// The one message that shows examples, if there are any. So many of each tool.
pub fn message(tools: &[ServerTool], most: usize) -> Option<String> {
    let mut text = String::new();
    for tool in tools {
        for sample in tool.samples.iter().take(most) {
            let words = |key: &str| sample.get(key)?.as_str().filter(|text| !text.is_empty());
            let title = [words("name"), words("description")].into_iter().flatten();
            let title: Vec<&str> = title.collect();
            let _ = write!(text, "\n\n{}", tool.name);
            if !title.is_empty() {
                let _ = write!(text, " ({})", title.join(": "));
            }
            for key in ["input", "output"] {
                if let Some(value) = sample.get(key).filter(|value| !value.is_null()) {
                    let _ = write!(text, "\n{key}: {}", value_text(value));
                }
            }
        }
    }
    (!text.is_empty()).then(|| format!("Examples of tool calls:{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn tool(name: &str, samples: &Value) -> ServerTool {
        ServerTool {
            name: name.to_owned(),
            samples: serde_json::from_value(samples.clone()).unwrap(),
            ..ServerTool::default()
        }
    }

    #[test]
    fn so_many_examples_of_each_tool_stand_in_one_message() {
        let tools = [
            tool(
                "s__add",
                &json!([
                {"name": "small", "description": "two numbers", "input": {"a": 1}, "output": 3},
                {"name": "b", "input": "text"}, {"input": 7}]),
            ),
            tool("s__none", &json!([])),
            tool("s__get", &json!([{"output": "plain"}])),
        ];
        let text = "Examples of tool calls:\n\ns__add (small: two numbers)\ninput: {\"a\":1}\noutput: 3\n\ns__add (b)\ninput: text\n\ns__get\noutput: plain";
        assert_eq!(message(&tools, 2).unwrap(), text);
        assert_eq!(message(&tools, 0), None);
        assert_eq!(message(&tools[1..2], 3), None);
    }
}
