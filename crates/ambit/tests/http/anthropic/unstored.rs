//! Nothing of a request in Anthropic's shape is stored, and none goes on without its client.

use super::{MIRROR, PATH, said};
use crate::site::{HELLO, Site, Stream, write};
use crate::stopwatch::Stopwatch;
use ambit_storage::Stores;
use ambit_storage::driver::{DriverOptions, open};
use reqwest::Method;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Waits until so many turns run.
async fn run(site: &Site, turns: usize) {
    let line = format!("ambit_turns_running {turns}\n");
    while !site.get("/metrics").await.text.contains(&line) {}
}

/// The counted turns of `hello` that ended like this.
async fn ended(site: &Site, status: &str) -> usize {
    let metrics = site.get("/metrics").await.text;
    let name = format!("ambit_turns_total{{agent=\"hello\",status=\"{status}\"}} ");
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(name.as_str()));
    line.map_or(0, |count| count.parse().unwrap())
}

#[tokio::test]
async fn g169_a_turn_ends_within_a_second_after_its_client_has_left() {
    let site = Site::development().await;
    for (expected, streams) in [(1, true), (2, false)] {
        let mut body = said("never ends");
        body["stream"] = json!(streams);
        let request = site.request(Method::POST, PATH).json(&body);
        if streams {
            let mut stream = Stream::of(request).await;
            stream
                .until(|data| data["type"] == "content_block_delta")
                .await;
        } else {
            run(&site, 0).await;
            let waiting = tokio::spawn(request.send());
            run(&site, 1).await;
            waiting.abort();
            assert!(waiting.await.unwrap_err().is_cancelled());
        }
        let began = Stopwatch::start(&[]);
        while ended(&site, "cancelled").await < expected {
            assert!(began.elapsed() < Duration::from_secs(1), "it goes on");
        }
    }
}

#[tokio::test]
async fn nothing_of_a_conversation_can_be_found_later() {
    let site = Site::development().await;
    let answer = site.post(PATH, &said("hi")).await;
    let id = answer.header("x-ambit-request").unwrap();
    for path in [
        format!("/v1/chat/requests/{id}"),
        format!("/v1/chat/requests/{id}/stream"),
        format!("/v1/trace/traces/{id}/info"),
    ] {
        assert_eq!(site.get(&path).await.status, 404, "{path}");
    }
    let chats = site.get("/v1/chat/sessions").await.json();
    assert_eq!(chats["total"], 0);
    let used = site.get("/v1/usage?group_by=agent").await.text;
    assert!(used.contains("\"total_tokens\":12"), "{used}");
}

/// The files below a folder that hold a text.
fn holding(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    // A store may move and remove files meanwhile.
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        let mut parts = bytes.windows(text.len());
        if parts.any(|part| part == text.as_bytes()) {
            found.push(path);
        }
    }
    found
}

/// A server whose stores are one that lasts, temporary conversations included.
async fn lasting(url: &str) -> Site {
    let app = tempfile::tempdir().unwrap();
    for (name, text) in HELLO.iter().chain(MIRROR) {
        write(&app.path().join(name), text);
    }
    let options = DriverOptions::default();
    let driver = open(url, options.clone()).await.unwrap();
    let stores = Stores::builder(options).driver("kept", driver);
    let stores = stores.temporary_drivers(&["kept"]).build().unwrap();
    Site::over(Arc::new(stores), Arc::new(app), |_| {}).await
}

#[tokio::test]
async fn g169_a_request_leaves_no_byte_of_its_messages_in_any_store() {
    const CANARY: &str = "canary-7d41e9";
    for scheme in ["sqlite", "file"] {
        let folder = tempfile::tempdir().unwrap();
        let site = lasting(&format!("{scheme}:{}/store", folder.path().display())).await;
        let body = json!({"model": "mirror", "system": CANARY, "messages": [
            {"role": "user", "content": CANARY}, {"role": "assistant", "content": CANARY},
            {"role": "user", "content": CANARY},
        ]});
        let answer = site.post(PATH, &body).await;
        assert_eq!(answer.text.matches(CANARY).count(), 4, "{}", answer.text);
        let mut running = body.clone();
        running["stream"] = json!(true);
        running["model"] = json!("hello");
        running.as_object_mut().unwrap().remove("system");
        running["messages"][2]["content"] = json!(format!("never ends {CANARY}"));
        let mut stream = Stream::of(site.request(Method::POST, PATH).json(&running)).await;
        stream
            .until(|data| data["type"] == "content_block_delta")
            .await;
        // Who is killed now leaves what is there now.
        assert_eq!(holding(folder.path(), CANARY), Vec::<PathBuf>::new());
        drop(stream);
        let mut stored = said(CANARY);
        stored["chat_id"] = json!("kept");
        assert_eq!(site.post("/v1/chat/completions", &stored).await.status, 200);
        assert_ne!(holding(folder.path(), CANARY), Vec::<PathBuf>::new());
    }
}
