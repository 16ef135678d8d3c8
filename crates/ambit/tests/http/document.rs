//! The OpenAPI document.

use crate::site::Site;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Every file of the server's routes.
fn sources() -> Vec<String> {
    let mut folders = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/http")];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
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
    assert_eq!(operations.len(), described, "{operations:#?}");
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
