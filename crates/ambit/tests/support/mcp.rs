//! Requests of the Model Context Protocol, and what they are answered.

use crate::site::Answer;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

/// The version without a handshake.
pub const STATELESS: &str = "2026-07-28";

/// What a client says of itself that knows tasks.
pub fn knows_tasks() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// A request of 2026-07-28 to `POST /v1/mcp`.
pub fn stateless(to: RequestBuilder, method: &str, params: Value) -> RequestBuilder {
    with_capabilities(to, method, params, json!({}))
}

/// The same of a client that can do this.
pub fn with_capabilities(
    to: RequestBuilder,
    method: &str,
    mut params: Value,
    capabilities: Value,
) -> RequestBuilder {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = STATELESS.into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    let names = [&params["name"], &params["uri"], &params["taskId"]];
    let name = names.into_iter().find_map(Value::as_str);
    let mut request = to.header("mcp-protocol-version", STATELESS);
    request = request.header("mcp-method", method);
    if let Some(name) = name {
        request = request.header("mcp-name", name);
    }
    request.json(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
}

/// A request of the versions before.
pub fn handshake(to: RequestBuilder, method: &str, params: &Value) -> RequestBuilder {
    to.json(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
}

/// The answer to a request: its body, or what a stream has ended with.
pub fn reply(answer: &Answer) -> Value {
    let reply = match messages(answer).pop() {
        Some(last) => last,
        None => answer.json(),
    };
    assert_eq!(reply["jsonrpc"], json!("2.0"), "{}", answer.text);
    reply
}

/// The result of a request that has one.
pub fn result(answer: &Answer) -> Value {
    let result = reply(answer)["result"].take();
    assert!(result.is_object(), "{} {}", answer.status, answer.text);
    result
}

/// Status and number of a failure.
pub fn failure(answer: &Answer) -> (u16, i64) {
    let code = reply(answer)["error"]["code"].as_i64();
    (answer.status, code.unwrap_or_default())
}

/// The messages of a stream.
pub fn messages(answer: &Answer) -> Vec<Value> {
    let data = answer.text.lines();
    let data = data.filter_map(|line| line.strip_prefix("data: "));
    data.map(|text| serde_json::from_str(text).unwrap())
        .collect()
}
