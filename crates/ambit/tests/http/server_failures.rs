//! Calls of tools whose server fails, as clients of OpenAI's Responses are told of them.

use crate::responses::{items, post};
use crate::site::{Site, Stream};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;

const CONNECTOR: &str = r#"{
    "label": "Script",
    "type": "scripted",
    "options": {
        "model": "script",
        "rules": [
            {"match": {"has_tool_result": true}, "reply": "done"},
            {"match": {"last_user": "^down"}, "tool_calls": [{"name": "faulty__down", "arguments": {}}]},
            {"match": {"last_user": "^nonsense"}, "tool_calls": [{"name": "faulty__nonsense", "arguments": {}}]},
            {"match": {"last_user": "^refuses"}, "tool_calls": [{"name": "faulty__refuses", "arguments": {}}]},
            {"match": {"last_user": "^fails"}, "tool_calls": [{"name": "faulty__fails", "arguments": {}}]}
        ]
    }
}"#;

/// A server of tools that fails each call in another way.
async fn answer(Json(request): Json<Value>) -> Response {
    let result = |result: Value| {
        Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).into_response()
    };
    let error = |code: i32, message: &str| {
        let error = json!({"code": code, "message": message});
        Json(json!({"jsonrpc": "2.0", "id": request["id"], "error": error})).into_response()
    };
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let tools = ["down", "nonsense", "refuses", "fails"].map(tool);
    match request["method"].as_str().unwrap() {
        "initialize" => result(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "faulty", "version": "1"},
        })),
        method if method.starts_with("notifications/") => StatusCode::ACCEPTED.into_response(),
        "tools/list" => result(json!({"tools": tools})),
        "tools/call" => match request["params"]["name"].as_str().unwrap() {
            "down" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            "nonsense" => ([(header::CONTENT_TYPE, "text/html")], "<html>").into_response(),
            "refuses" => error(-32_602, "not now"),
            _ => result(json!({
                "isError": true,
                "content": [{"type": "text", "text": "out of paper"}],
            })),
        },
        _ => error(-32_601, "method not found"),
    }
}

async fn site() -> Site {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let service = Router::new().route("/mcp", routing::post(answer));
    tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
    let server = json!({"label": "Faulty", "transport": "http", "url": url});
    let package = json!({"name": "Hello", "public": true, "connector": "script", "mcp": {"servers": ["faulty"]}});
    Site::of(&[
        ("assistants/hello/package.yao", &package.to_string()),
        ("connectors/script.conn.yao", CONNECTOR),
        ("mcps/faulty.mcp.yao", &server.to_string()),
    ])
    .await
}

/// The errors of calls among items.
fn errors<'a>(items: impl IntoIterator<Item = &'a Value>) -> Vec<Value> {
    let calls = items.into_iter().filter(|item| item["type"] == "mcp_call");
    calls.map(|call| call["error"].clone()).collect()
}

/// What is told of the error of the call that answers this text: as it is streamed, and as it is stored.
async fn told(site: &Site, text: &str) -> Value {
    let conversation = post(site, "/v1/conversations", &json!({})).await["id"].take();
    let body =
        json!({"model": "hello", "input": text, "conversation": conversation, "stream": true});
    let request = site.request(Method::POST, "/v1/responses").json(&body);
    let events = Stream::of(request).await.rest().await;
    let done = events
        .iter()
        .filter(|event| event.data["type"] == "response.output_item.done");
    let streamed = errors(done.map(|event| &event.data["item"]));
    let [error] = &streamed[..] else {
        panic!("{text}: {streamed:?}");
    };
    let mut ends = events
        .iter()
        .filter(|event| event.data["type"] == "response.completed");
    let output = &ends.next().unwrap().data["response"]["output"];
    assert_eq!(errors(output.as_array().unwrap()), streamed, "{text}");
    let path = format!("/v1/conversations/{}", conversation.as_str().unwrap());
    assert_eq!(errors(&items(site, &path).await), streamed, "{text}");
    error.clone()
}

#[tokio::test]
async fn the_error_of_a_call_says_how_its_server_has_failed() {
    let site = site().await;
    for (text, kind, code) in [
        ("down", "http_error", 500),
        ("nonsense", "mcp_protocol_error", -32_700),
        ("refuses", "mcp_protocol_error", -32_602),
    ] {
        let mut error = told(&site, text).await;
        let Value::String(message) = error["message"].take() else {
            panic!("{text}: {error}");
        };
        assert!(message.starts_with("MCP server \"faulty\": "), "{message}");
        let expected = json!({"type": kind, "code": code, "message": null});
        assert_eq!(error, expected, "{text}: {message}");
    }
    let content = json!([{"type": "text", "text": "out of paper"}]);
    let expected = json!({"type": "mcp_tool_execution_error", "content": content});
    assert_eq!(told(&site, "fails").await, expected);
}
