//! What clients are not told: where a store is, and what it says when it fails.

use crate::site::{Answer, HELLO, Site, write};
use crate::turns::said;
use ambit_storage::Stores;
use ambit_storage::driver::{self, DriverOptions};
use reqwest::Method;
use serde_json::json;
use std::sync::Arc;

#[tokio::test]
async fn a_store_that_is_away_is_told_without_its_words() {
    let data = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/ambit.db", data.path().display());
    let store = driver::open(&url, DriverOptions::default()).await.unwrap();
    let stores = Stores::builder(DriverOptions::default()).driver("main", store.clone());
    let app = tempfile::tempdir().unwrap();
    for (name, text) in HELLO {
        write(&app.path().join(name), text);
    }
    let stores = Arc::new(stores.build().unwrap());
    let site = Site::over(stores, Arc::new(app), |_| {}).await;
    let first = site.post("/v1/chat/completions", &said("hi")).await;
    assert_eq!(first.status, 200, "{}", first.text);
    store.close().await.unwrap();
    for (method, path) in [
        (Method::POST, "/chat/completions"),
        (Method::GET, "/contexts"),
        (Method::GET, "/chat/sessions"),
        (Method::GET, "/memory/user"),
        (Method::GET, "/usage"),
        (Method::GET, "/events"),
        (Method::GET, "/chat/requests/r1"),
    ] {
        let request = site.request(method.clone(), &format!("/v1{path}"));
        let answer = Answer::of(match method {
            Method::POST => request.json(&said("hi")),
            _ => request,
        })
        .await;
        assert_eq!(
            answer.failure(),
            (503, "unavailable".to_owned(), None),
            "{path}"
        );
        let message = "the server cannot reach what it needs for this; repeat the request later";
        assert_eq!(answer.json()["error"]["message"], json!(message), "{path}");
    }
}
