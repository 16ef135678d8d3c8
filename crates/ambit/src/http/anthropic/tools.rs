//! Tools of the client, and which of them are called.

use super::body::{InputTool, InputToolChoice};
use ambit_runtime::chat::{ToolChoice, ToolDefinition};
use ambit_runtime::{Error, Result};
use serde_json::{Map, Value, json};

/// The tools, all of which the client runs.
pub fn definitions(tools: Vec<InputTool>) -> Result<Vec<ToolDefinition>> {
    let numbered = tools.into_iter().enumerate();
    numbered.map(|(at, tool)| definition(at, tool)).collect()
}

fn definition(at: usize, tool: InputTool) -> Result<ToolDefinition> {
    if let Some(kind) = tool.kind.as_deref().filter(|kind| *kind != "custom") {
        let param = format!("tools[{at}].type");
        let message = format!(
            "{param} \"{kind}\" is a tool that Anthropic runs or knows; only custom tools can be used here"
        );
        return Err(Error::unsupported(param, message));
    }
    let Some(name) = tool.name.filter(|name| !name.is_empty()) else {
        let param = format!("tools[{at}].name");
        let message = format!("{param} is missing");
        return Err(Error::invalid(param, message));
    };
    Ok(ToolDefinition {
        name,
        description: tool.description,
        parameters: Some(tool.input_schema.unwrap_or_default().into()),
        extra: Map::new(),
    })
}

/// Whether tools are called, and which.
pub fn choice(given: &InputToolChoice) -> Result<ToolChoice> {
    let mode = |mode: &str| Ok(ToolChoice::Mode(mode.to_owned()));
    match (given.kind.as_str(), &given.name) {
        ("auto", _) => mode("auto"),
        ("any", _) => mode("required"),
        ("none", _) => mode("none"),
        ("tool", Some(name)) => {
            let named = json!({"name": name});
            let fields = [
                ("type".to_owned(), Value::from("function")),
                ("function".to_owned(), named),
            ];
            Ok(ToolChoice::Object(Map::from_iter(fields)))
        }
        ("tool", None) => Err(Error::invalid(
            "tool_choice.name",
            "tool_choice.name is missing; it names the tool that is to be called",
        )),
        _ => Err(Error::invalid(
            "tool_choice.type",
            "tool_choice.type must be auto, any, tool or none",
        )),
    }
}
