//! What could be meant in two ways, or is too large, is refused and not guessed.

use crate::site::{Answer, Site};
use crate::turns::{said, streamed};
use reqwest::Method;
use serde_json::{Value, json};

fn invalid(param: &str) -> (u16, String, Option<String>) {
    (400, "invalid_argument".to_owned(), Some(param.to_owned()))
}

async fn send(site: &Site, method: Method, path: &str, body: &'static str) -> Answer {
    Answer::of(site.request(method, path).body(body)).await
}

#[tokio::test]
async fn a_name_that_stands_twice_is_refused() {
    let site = Site::development().await;
    site.post("/v1/chat/completions?chat_id=c", &said("hi"))
        .await;
    for (method, path, body, param) in [
        (
            Method::POST,
            "/v1/contexts/remove",
            r#"{"dry_run": true, "dry_run": false}"#,
            "dry_run",
        ),
        (
            Method::PUT,
            "/v1/memory/user/keys/k",
            r#"{"value": {"a": [1, {"b": 1, "b": 2}]}}"#,
            "value.a[1].b",
        ),
        (
            Method::PUT,
            "/v1/chat/sessions/c",
            r#"{"title": "a", "title": "b"}"#,
            "title",
        ),
        (
            Method::POST,
            "/v1/chat/completions",
            r#"{"model": "hello", "messages": [{"role": "user", "content": "x", "role": "system"}]}"#,
            "messages[0].role",
        ),
        (
            Method::POST,
            "/v1/chat/completions",
            r#"{"model": "hello", "chat_id": "a", "chat_id": "b", "messages": [{"role": "user", "content": "x"}]}"#,
            "chat_id",
        ),
        (
            Method::POST,
            "/v1/chat/completions",
            r#"{"skip": {"trace": true, "trace": false}, "messages": [{"role": "user", "content": "x"}], "model": "hello"}"#,
            "skip.trace",
        ),
    ] {
        let answer = send(&site, method, path, body).await;
        assert_eq!(answer.failure(), invalid(param), "{path} {body}");
        let message =
            format!("{param} is given twice; which of the values is meant cannot be told");
        assert_eq!(answer.json()["error"]["message"], message);
    }
    assert_eq!(site.get("/v1/chat/sessions/c").await.status, 200);
    let unknown =
        r#"{"x": 1, "x": 2, "model": "hello", "messages": [{"role": "user", "content": "x"}]}"#;
    let answer = send(&site, Method::POST, "/v1/chat/completions", unknown).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn an_empty_condition_is_not_one_that_is_left_out() {
    let site = Site::development().await;
    for (path, param) in [
        ("/v1/contexts?user=", "user"),
        ("/v1/contexts?active_before=", "active_before"),
        ("/v1/usage?user=&agent=hello", "user"),
        ("/v1/usage?date", "date"),
        ("/v1/chat/sessions?assistant_id=", "assistant_id"),
    ] {
        let answer = site.get(path).await;
        assert_eq!(answer.failure(), invalid(param), "{path}");
        let message = format!("{param} is empty; leave it out instead");
        assert_eq!(answer.json()["error"]["message"], message);
    }
    let body = json!({"user": "", "dry_run": true});
    let answer = site.post("/v1/contexts/remove", &body).await;
    assert_eq!(answer.failure(), invalid("user"));
    let path = "/v1/chat/completions?chat_id=";
    let answer = site.post(path, &said("hi")).await;
    assert_eq!(answer.failure(), invalid("chat_id"));
    let path = "/v1/chat/completions?locale=&theme=";
    assert_eq!(site.post(path, &said("hi")).await.status, 200);
}

#[tokio::test]
async fn all_contexts_are_meant_where_that_is_said() {
    let site = Site::development().await;
    let path = "/v1/chat/completions?chat_id=c";
    site.post(path, &said("hi")).await;
    for path in ["/v1/contexts/clear", "/v1/contexts/remove"] {
        for body in [json!({}), json!({"all": false}), json!({"agent": null})] {
            let answer = site.post(path, &body).await;
            assert_eq!(answer.failure(), invalid("all"), "{path} {body}");
        }
        let dry = site.post(path, &json!({"dry_run": true})).await.json();
        let all = site.post(path, &json!({"all": true})).await.json();
        assert_eq!((&all["done"], &all["failed"]), (&dry["done"], &json!([])));
        assert_ne!(all["done"], json!([]));
    }
    assert_eq!(site.get("/v1/chat/sessions/c").await.status, 404);
}

/// Parts, and the field that is to blame behind the part's place.
fn bad_parts() -> Vec<(Value, &'static str)> {
    vec![
        (json!({"type": "zork"}), ".type"),
        (json!({"type": "text", "text": 5}), ".text"),
        (json!({"type": "image_url"}), ".image_url"),
        (json!({"type": "image_url", "image_url": 5}), ".image_url"),
        (json!({"type": "image_url", "image_url": ""}), ".image_url"),
        (
            json!({"type": "image_url", "image_url": {}}),
            ".image_url.url",
        ),
        (
            json!({"type": "image_url", "image_url": {"url": "u", "detail": 1}}),
            ".image_url.detail",
        ),
        (
            json!({"type": "video_url", "video_url": {"url": 1}}),
            ".video_url.url",
        ),
        (
            json!({"type": "input_audio", "input_audio": {"format": "wav"}}),
            ".input_audio.data",
        ),
        (json!({"type": "file", "file": {}}), ".file.file_data"),
        (
            json!({"type": "file", "file": {"url": "u", "filename": []}}),
            ".file.filename",
        ),
    ]
}

#[tokio::test]
async fn g148_a_malformed_part_is_refused_by_the_path_of_its_field() {
    let site = Site::development().await;
    for (part, field) in bad_parts() {
        let content = json!([{"type": "text", "text": "x"}, part]);
        let message = json!({"role": "user", "content": content});
        let expected = invalid(&format!("messages[0].content[1]{field}"));
        let asked = json!({"model": "hello", "messages": [message]});
        let answer = site.post("/v1/chat/completions", &asked).await;
        assert_eq!(answer.failure(), expected, "{part}");
        let added = json!({"type": "graceful", "messages": [message]});
        let answer = site.post("/v1/chat/completions/c/append", &added).await;
        assert_eq!(answer.failure(), expected, "{part}");
    }
    let none = json!({"model": "hello", "messages": [{"role": "user", "content": []}]});
    let answer = site.post("/v1/chat/completions", &none).await;
    assert_eq!(answer.failure(), invalid("messages[0].content"));
}

#[tokio::test]
async fn metadata_that_is_too_large_is_refused_alike_wherever_it_comes() {
    let site = Site::development().await;
    let mut running = site.stream(&streamed("never ends")).await;
    let events = running.until(|data| data["type"] == "text").await;
    let begun = &events[0].data["props"]["data"];
    let (context, chat) = (
        begun["context_id"].as_str().unwrap(),
        begun["chat_id"].as_str().unwrap(),
    );
    let metadata = json!({"x": "x".repeat(16 << 10)});
    let added = json!({"type": "force", "messages": [], "metadata": metadata});
    let path = format!("/v1/chat/completions/{context}/append");
    let appended = site.post(&path, &added).await;
    let request = site.request(Method::PUT, &format!("/v1/chat/sessions/{chat}"));
    let changed = Answer::of(request.json(&json!({"metadata": metadata}))).await;
    for answer in [appended, changed] {
        let param = Some("metadata".to_owned());
        assert_eq!(
            answer.failure(),
            (413, "limit_exceeded".to_owned(), param),
            "{}",
            answer.text
        );
    }
}
