//! The OpenAPI document.

use crate::site::Site;
use boon::{Compiler, Schemas};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What is any JSON in answers, and why.
const FREE: &[(&str, &str)] = &[
    ("Assistant.*", "the app's maker chooses what a client shows"),
    (
        "AssistantInfo.placeholder",
        "the app's maker chooses what a client shows",
    ),
    ("ChatInfo.metadata.*", "clients keep what they like"),
    ("ChatMessageView.metadata", "scripts keep what they like"),
    (
        "ChatMessageView.props.*",
        "scripts send messages of types of their own",
    ),
    (
        "AgUiEventContent.content.*",
        "scripts send messages of types of their own",
    ),
    ("AgUiEventContent.result", "a hook chooses it"),
    (
        "AgUiEventContent.snapshot",
        "scripts and clients share what they like",
    ),
    (
        "AgUiEventContent.value",
        "scripts ask for actions of their own",
    ),
    ("AnthropicBlock.input", "each tool has arguments of its own"),
    ("Collection.metadata.*", "clients keep what they like"),
    ("ContextItem.item", "an app's own storage chooses its items"),
    ("DataConstraints.extra.*", "apps have columns of their own"),
    ("Document.metadata.*", "clients keep what they like"),
    (
        "DocumentChunk.metadata.*",
        "documents and clients say what they like",
    ),
    (
        "DocumentChunk.score_dimensions.*",
        "clients score by their own names",
    ),
    (
        "FeedbackContext.context",
        "clients say of chunks what they like",
    ),
    (
        "KnowledgeItem.metadata.*",
        "documents and clients say what they like",
    ),
    (
        "MemoryMatch.value",
        "scripts and clients keep what they like",
    ),
    ("ConversationObject.metadata", "clients keep what they like"),
    ("CuiAnswer.next", "a hook chooses it"),
    (
        "ErrorDetails.details",
        "each error has details of its own, and scripts throw theirs",
    ),
    ("Frame.metadata.*", "scripts keep what they like"),
    (
        "Frame.props.*",
        "scripts send messages of types of their own",
    ),
    ("FeedEvent.*", "each type of event says what it has"),
    (
        "MemoryValue.value",
        "scripts and clients keep what they like",
    ),
    ("ModelFacts.options", "each provider has options of its own"),
    ("NodeView.input", "scripts trace what they like"),
    ("NodeView.metadata.*", "scripts trace what they like"),
    ("NodeView.output", "scripts trace what they like"),
    ("OutputText.annotations[]", "there are none"),
    ("OutputText.logprobs[]", "there are none"),
    (
        "PatchOperation.value",
        "scripts and clients share what they like",
    ),
    (
        "PublicError.details",
        "each error has details of its own, and scripts throw theirs",
    ),
    ("ResponseEventContent.logprobs[]", "there are none"),
    (
        "ResponseSettings.*",
        "fields that change nothing are said again",
    ),
    ("ResponseSettings.metadata", "clients keep what they like"),
    (
        "ResponseSettings.reasoning",
        "a Response says again what its client has said",
    ),
    (
        "ResponseSettings.text",
        "a Response says again what its client has said",
    ),
    (
        "ResponseSettings.tool_choice",
        "a Response says again what its client has said",
    ),
    (
        "ResponseSettings.tools[]",
        "a Response says again what its client has said",
    ),
    ("SentItem.*", "clients send items of kinds of their own"),
    ("SentPart.*", "clients send parts of kinds of their own"),
    ("SpaceValue.value", "scripts trace what they like"),
    ("StoreItem.value", "frameworks keep what they like"),
    ("TraceOrigin.context", "W3C Trace Context says what it has"),
    ("TypedChunk.input", "each tool has arguments of its own"),
    ("TypedChunk.messageMetadata", "formats say what they know"),
    ("TypedChunk.output", "each tool has results of its own"),
    (
        "TypedChunk.parts[]",
        "a person's parts are as clients send them",
    ),
    (
        "TypedPart.parts[]",
        "a person's parts are as clients send them",
    ),
    ("UiData.data", "scripts send messages of types of their own"),
    ("UiMessage.metadata", "clients keep what they like"),
    ("UiToolCall.input", "each tool has arguments of its own"),
    ("UiToolCall.output", "each tool has results of its own"),
    ("SpaceView.metadata.*", "scripts trace what they like"),
    ("SpaceView.values.*", "scripts trace what they like"),
    (
        "TokenUsage.completion_tokens_details.*",
        "each provider counts by its own names",
    ),
    ("ReferenceView.*", "each type of reference has its own"),
    (
        "ReferenceView.metadata.*",
        "who searches says what it likes",
    ),
    (
        "TokenUsage.prompt_tokens_details.*",
        "each provider counts by its own names",
    ),
    ("TraceEvent.metadata.*", "scripts trace what they like"),
    ("TraceEvent.output", "scripts trace what they like"),
    ("TraceLogEntry.data", "scripts trace what they like"),
    ("TurnInfo.response", "a hook chooses it"),
    ("TurnNames.next", "a hook chooses it"),
    ("get /openapi.json", "the OpenAPI standard says what it is"),
    ("post /v1/mcp", "the Model Context Protocol says what it is"),
];

/// The console's page and its files are no routes that a client calls.
const CONSOLE: &str = "console.rs";

/// Every file of the server's routes.
fn sources() -> Vec<String> {
    let mut folders = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/http")];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.ends_with(CONSOLE) => {}
                false => sources.push(read(&path)),
            }
        }
    }
    sources
}

/// The text before the file's own tests.
fn read(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let before = text.split("\n#[cfg(test)]").next();
    before.unwrap_or_default().to_owned()
}

fn operations(document: &Value) -> Vec<String> {
    let paths = document["paths"].as_object().unwrap().iter();
    let of = |(path, item): (&String, &Value)| {
        let methods = item.as_object().unwrap().keys();
        let named = methods.map(|method| format!("{method} {path}"));
        named.collect::<Vec<_>>()
    };
    paths.flat_map(of).collect()
}

/// Collects where a schema allows any JSON, by the names of its parts; of a list of pages the page is left out.
fn find_free(schemas: &Value, place: &str, schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.trim_start_matches("#/components/schemas/");
        return find_free(schemas, name, &schemas[name], found);
    }
    let fields = schema["properties"].as_object().into_iter().flatten();
    let fields = fields.map(|(name, field)| (format!("{place}.{name}"), field));
    let choices = ["allOf", "anyOf", "oneOf"].into_iter();
    let choices = choices.flat_map(|name| schema[name].as_array()).flatten();
    let choices = choices.map(|choice| (place.to_owned(), choice));
    let items = [("items", "[]"), ("additionalProperties", ".*")].into_iter();
    let items = items.filter_map(|(name, end)| {
        let inner = schema.get(name).filter(|inner| **inner != false)?;
        Some((format!("{place}{end}"), inner))
    });
    let inner: Vec<(String, &Value)> = fields.chain(choices).chain(items).collect();
    let kind = &schema["type"];
    if inner.is_empty() && (kind.is_null() || kind.to_string().contains("object")) {
        found.insert(place.replace("PageResponse_", "").replace(".data[]", ""));
    }
    for (place, schema) in inner {
        find_free(schemas, &place, schema, found);
    }
}

fn document() -> Value {
    serde_json::to_value(ambit::http::document("/v1")).unwrap()
}

/// Every reference within the document.
fn references(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str);
            let inner = fields.values().flat_map(references);
            own.into_iter().chain(inner).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// What the OpenAPI standard wants beyond what its types let be written.
#[test]
fn the_document_keeps_the_rules_of_its_standard() {
    let document = document();
    for reference in references(&document) {
        let pointer = reference.trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    let mut ids = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id), "{id} is the name of two operations");
            let parameters = operation["parameters"].as_array();
            let parameters = parameters.into_iter().flatten();
            let parameters = parameters.filter(|parameter| parameter["in"] == "path");
            let named: BTreeSet<_> = parameters
                .map(|parameter| parameter["name"].as_str())
                .collect();
            let parts = path
                .split('/')
                .map(|part| part.strip_prefix('{')?.strip_suffix('}'));
            assert_eq!(named, parts.filter(Option::is_some).collect(), "{path}");
            for answer in operation["responses"].as_object().unwrap().values() {
                assert!(answer["description"].is_string(), "{id}: {answer}");
            }
        }
    }
}

#[test]
fn every_answer_has_a_schema() {
    let document = document();
    let mut found = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let answers = operation["responses"].as_object().unwrap().values();
            let contents = answers.flat_map(|answer| answer["content"].as_object());
            for content in contents.flat_map(|content| content.values()) {
                let (schemas, place) = (
                    &document["components"]["schemas"],
                    &format!("{method} {path}"),
                );
                find_free(schemas, place, &content["schema"], &mut found);
            }
        }
    }
    let free = FREE.iter().map(|(place, _)| (*place).to_owned());
    assert_eq!(found, free.collect());
}

#[tokio::test]
async fn every_route_is_in_the_document() {
    let site = Site::development().await;
    let document = site.get("/openapi.json").await.json();
    let sources = sources();
    // A route that is added otherwise than by `routes!` would be in no document.
    let by_hand = sources
        .iter()
        .filter(|source| source.contains(".route("))
        .count();
    assert_eq!(by_hand, 0);
    let described: usize = sources
        .iter()
        .map(|source| source.matches("#[utoipa::path(").count())
        .sum();
    let operations = operations(&document);
    // A macro describes several; one that is described and no route is dead code, which the compiler names.
    assert!(operations.len() >= described, "{operations:#?}");
    for known in [
        "post /v1/chat/completions",
        "get /v1/models/{id}",
        "get /healthz",
    ] {
        assert!(
            operations.iter().any(|found| found == known),
            "{operations:#?}"
        );
    }
}

#[tokio::test]
async fn every_operation_in_the_document_is_answered_by_its_route() {
    let site = Site::development().await;
    let document = site.get("/openapi.json").await.json();
    for operation in operations(&document) {
        let (method, path) = operation.split_once(' ').unwrap();
        let method = method.to_uppercase().parse().unwrap();
        let answer = site.request(method, path).send().await.unwrap();
        assert_ne!(answer.status(), 405, "{operation}");
        if answer.status().is_success() {
            // What follows may be without end.
            continue;
        }
        let text = answer.text().await.unwrap();
        assert!(!text.contains("route \\\""), "{operation}: {text}");
    }
}

/// What clients of OpenAI's send, where a value has one of several forms.
#[tokio::test]
async fn the_document_says_which_forms_a_chat_request_may_have() {
    let site = Site::development().await;
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let url = "mem:///openapi.json";
    compiler.add_resource(url, document()).unwrap();
    let content = "/paths/~1v1~1chat~1completions/post/requestBody/content/application~1json";
    let schema = compiler.compile(&format!("{url}#{content}/schema"), &mut schemas);
    let schema = schema.unwrap();
    for (name, value, is_taken) in [
        ("stop", json!("end"), true),
        ("stop", json!(["end", "stop"]), true),
        ("stop", json!(null), true),
        ("stop", json!([5]), false),
        ("search", json!(false), true),
        ("search", json!({"need_search": false}), true),
        ("search", json!("all"), false),
        ("tool_choice", json!("auto"), true),
        (
            "tool_choice",
            json!({"type": "function", "function": {"name": "f"}}),
            true,
        ),
        ("tool_choice", json!(5), false),
        ("options", json!({"search": true}), true),
        ("options", json!({"search": 5}), false),
    ] {
        let messages = json!([{"role": "user", "content": "hi"}]);
        let body = json!({"model": "hello", "messages": messages, name: value});
        let answer = site.post("/v1/chat/completions", &body).await;
        let expected = if is_taken { 200 } else { 400 };
        assert_eq!(answer.status, expected, "{body}: {}", answer.text);
        let valid = schemas.validate(&body, schema);
        assert_eq!(valid.is_ok(), is_taken, "{body}: {valid:?}");
    }
}
