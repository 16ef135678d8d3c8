//! Items of calls: those that the client runs, and those that the server has run.

use super::item::{CustomCallItem, FunctionCallItem, ItemStatus, McpCallItem, ResponseItem};
use super::settings::ClientTool;
use ambit_runtime::public_id;
use serde::Deserialize;

/// A call that a model has begun to ask for.
pub struct CallStart<'a> {
    /// The turn.
    pub turn: &'a str,
    /// The message that shows it.
    pub message: &'a str,
    /// The tool, as the model calls it.
    pub name: &'a str,
    /// The client's tool; none where the server runs it.
    pub client_tool: Option<ClientTool>,
}

/// The item of a call that begins.
pub fn new_call(start: CallStart<'_>) -> ResponseItem {
    let CallStart {
        turn,
        message,
        name,
        client_tool,
    } = start;
    let id = |prefix: &str| public_id::item_id(prefix, turn, message);
    let call_id = public_id::call_id(turn, message);
    let status = ItemStatus::InProgress;
    let function = |name: String, namespace: Option<String>| {
        ResponseItem::FunctionCall(FunctionCallItem {
            id: id("fc"),
            call_id: call_id.clone(),
            name,
            namespace,
            arguments: String::new(),
            status,
        })
    };
    match client_tool {
        Some(ClientTool::Function) => function(name.to_owned(), None),
        Some(ClientTool::Namespaced { namespace, name }) => function(name, Some(namespace)),
        Some(ClientTool::Custom) => ResponseItem::CustomToolCall(CustomCallItem {
            id: id("ctc"),
            call_id,
            name: name.to_owned(),
            input: String::new(),
        }),
        None => {
            // The model knows tools of servers as `server__tool`.
            let parts = name.split_once("__");
            let (server, tool) = parts.unwrap_or(("ambit", name));
            ResponseItem::McpCall(McpCallItem {
                id: id("mcp"),
                server_label: server.to_owned(),
                name: tool.to_owned(),
                arguments: String::new(),
                output: None,
                error: None,
                status,
            })
        }
    }
}

/// What a tool that takes free text is given: its one argument, or all of what is no JSON.
pub fn free_text(arguments: String) -> String {
    #[derive(Deserialize)]
    struct FreeText {
        input: String,
    }
    serde_json::from_str(&arguments).map_or(arguments, |FreeText { input }| input)
}
