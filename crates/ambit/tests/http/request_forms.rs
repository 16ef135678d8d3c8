//! Values of requests that have one of several forms, as the OpenAPI document has them and as the server takes them.

use crate::site::{Answer, Site};
use boon::{Compiler, Schemas};
use reqwest::Method;
use serde_json::{Value, json};

/// What clients of OpenAI's send, where a value has one of several forms.
#[tokio::test]
async fn the_document_says_which_forms_a_chat_request_may_have() {
    let request = json!({"model": "hello", "messages": [{"role": "user", "content": "hi"}]});
    let function = json!({"type": "function", "function": {"name": "f"}});
    let forms = [
        ("stop", json!("end"), true),
        ("stop", json!(["end", "stop"]), true),
        ("stop", json!(null), true),
        ("stop", json!([5]), false),
        ("search", json!(false), true),
        ("search", json!({"need_search": false}), true),
        ("search", json!("all"), false),
        ("tool_choice", json!("auto"), true),
        ("tool_choice", function, true),
        ("tool_choice", json!(5), false),
        ("options", json!({"search": true}), true),
        ("options", json!({"search": 5}), false),
    ];
    compare(&Method::POST, "/v1/chat/completions", &request, &forms).await;
}

#[tokio::test]
async fn the_document_says_which_forms_a_request_for_a_response_may_have() {
    let request = json!({"model": "hello", "input": "hi"});
    let forms = [
        ("input", json!([{"role": "user", "content": "hi"}]), true),
        ("input", json!({"role": "user"}), false),
        ("input", json!(["hi"]), false),
        ("tool_choice", json!("auto"), true),
        ("tool_choice", json!(5), false),
        ("conversation", json!(null), true),
        ("conversation", json!(5), false),
    ];
    compare(&Method::POST, "/v1/responses", &request, &forms).await;
}

#[tokio::test]
async fn the_document_says_which_forms_the_life_of_a_value_may_have() {
    let forms = [
        ("ttl", json!(5), true),
        ("ttl", json!("5m"), true),
        ("ttl", json!(null), true),
        ("ttl", json!([5]), false),
        ("ttl", json!({"seconds": 5}), false),
    ];
    let path = "/v1/memory/{space}/keys/{key}";
    compare(&Method::PUT, path, &json!({"value": 1}), &forms).await;
}

/// Fails where the document and the server do not both take the request with this field, or do not both refuse it.
async fn compare(method: &Method, path: &str, request: &Value, forms: &[(&str, Value, bool)]) {
    let site = Site::development().await;
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let url = "mem:///openapi.json";
    let document = serde_json::to_value(ambit::http::document("/v1"));
    compiler.add_resource(url, document.unwrap()).unwrap();
    let place = path.replace('/', "~1");
    let place = place.replace('{', "%7B").replace('}', "%7D");
    let operation = format!("/paths/{place}/{}", method.as_str().to_lowercase());
    let content = "requestBody/content/application~1json/schema";
    let schema = compiler.compile(&format!("{url}#{operation}/{content}"), &mut schemas);
    let schema = schema.unwrap();
    let path = path.replace("{space}", "user").replace("{key}", "life");
    for (name, value, is_taken) in forms {
        let mut body = request.clone();
        body[*name] = value.clone();
        let answer = Answer::of(site.request(method.clone(), &path).json(&body)).await;
        assert_eq!(answer.status < 300, *is_taken, "{body}: {}", answer.text);
        let valid = schemas.validate(&body, schema);
        assert_eq!(valid.is_ok(), *is_taken, "{body}: {valid:?}");
    }
}
