//! The OpenAPI document.

mod free;

use crate::site::Site;
use free::FREE;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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
    // `Routes::with` alone calls the router's `route`: what is added otherwise would be in no document.
    let callers = sources
        .iter()
        .filter(|source| source.contains(".route("))
        .count();
    assert_eq!(callers, 1);
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
