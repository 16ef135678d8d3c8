//! What is sent is what was encoded, and is encoded again from what manifests keep.

use crate::fake::FAKES;
use crate::server::{Reply, Server};
use crate::support::{begin, open, typed};
use ambit_runtime::chat::LayeredValues;
use ambit_runtime::llm::{ModelCall, PROVIDERS};
use ambit_runtime::manifest::{BlockContent, ManifestBody, ModelCallManifest, layered_options};
use serde_json::{Value, json};

/// Everything that a call can hold: instructions, pictures, answers with thoughts and calls, results of these.
fn call() -> ModelCall {
    let function = |name: &str| json!({"name": name, "arguments": "{\"a\":[1,2.50,\"ä\"]}"});
    let messages = json!([
        {"role": "system", "content": "be brief \u{1F600}"},
        {"role": "developer", "content": "and kind"},
        {"role": "user", "content": "first", "name": "ann"},
        {"role": "assistant", "content": "then", "reasoning_content": "hm", "tool_calls": [
            {"id": "c1", "type": "function", "function": function("f")},
            {"id": "c2", "type": "function", "function": function("g")}]},
        {"role": "tool", "tool_call_id": "c1", "content": "1", "name": "f"},
        {"role": "tool", "tool_call_id": "c2", "content": "2", "name": "g"},
        {"role": "user", "content": [{"type": "text", "text": "and this"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]},
    ]);
    let parameters =
        json!({"type": "object", "properties": {"z": {"type": "number"}, "a": {"type": "string"}}});
    let tools = json!([
        {"type": "function", "function": {"name": "f", "description": "does", "parameters": parameters}},
        {"type": "function", "function": {"name": "g"}},
    ]);
    let options = json!({"temperature": 0.30, "max_tokens": 50, "tool_choice": "auto", "stop": ["x", "y"], "seed": 7});
    ModelCall {
        messages: typed(messages),
        tools: typed(tools),
        options: typed(options),
        ..ModelCall::default()
    }
}

#[tokio::test]
async fn the_bytes_that_were_encoded_are_sent() {
    for fake in FAKES {
        let server = Server::start(vec![Reply::stream(fake.text.0)]).await;
        let model = fake.open(&server, json!({"extra_body": {"own": "value"}}));
        let call = call();
        let encoded = model.encode(&call).unwrap();
        assert!(begin(&*model, &call).await.is_ok());
        let text = String::from_utf8(encoded.bytes.to_vec()).unwrap();
        assert!(text.contains(r#""own":"value""#), "{text}");
        let sent = String::from_utf8(server.only().bytes).unwrap();
        assert_eq!(sent, text, "{}", fake.kind);
    }
}

/// The call as it is made again from contents and options that were stored.
fn restored(call: &ModelCall) -> ModelCall {
    let again = |content: BlockContent| -> Value {
        let text = content.content.to_string();
        serde_json::from_str(&text).unwrap()
    };
    let messages = call.messages.iter().map(BlockContent::of_message);
    let tools = call.tools.iter().map(BlockContent::of_tool);
    let manifest = ModelCallManifest {
        options: layered_options(&call.options, &LayeredValues::default()),
        ..ModelCallManifest::default()
    };
    let manifest = ModelCallManifest::unpack(&manifest.pack().unwrap()).unwrap();
    ModelCall {
        messages: typed(messages.map(again).collect()),
        tools: typed(tools.map(again).collect()),
        options: manifest.generation_options(),
        ..ModelCall::default()
    }
}

#[test]
fn g190_a_call_of_stored_contents_is_encoded_in_the_same_bytes() {
    for row in PROVIDERS {
        let options =
            json!({"model": "m", "host": "http://localhost:1", "key": "sk-canary-1234567890"});
        let options = match row.kind {
            "scripted" => json!({"model": "m"}),
            _ => options,
        };
        let model = open(row.kind, options);
        let (call, again) = (call(), restored(&call()));
        let (sent, again) = (model.encode(&call).unwrap(), model.encode(&again).unwrap());
        let expected = ManifestBody::of(&sent.bytes, sent.encoder);
        let found = ManifestBody::of(&again.bytes, again.encoder);
        assert_eq!(found, expected, "{}", row.kind);
    }
}
