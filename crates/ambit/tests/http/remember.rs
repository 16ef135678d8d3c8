//! Memories over HTTP.

use crate::site::{Answer, Site};
use reqwest::Method;
use serde_json::{Value, json};

async fn put(site: &Site, path: &str, body: &Value) -> Answer {
    Answer::of(site.request(Method::PUT, path).json(body)).await
}

#[tokio::test]
async fn a_value_that_is_left_out_is_not_null() {
    let site = Site::development().await;
    let path = "/v1/memory/user/keys/k";
    for body in [json!({}), json!({"ttl": 5})] {
        let param = Some("value".to_owned());
        let expected = (400, "invalid_argument".to_owned(), param);
        assert_eq!(put(&site, path, &body).await.failure(), expected, "{body}");
        assert_eq!(site.get(path).await.status, 404);
    }
    assert_eq!(put(&site, path, &json!({"value": null})).await.status, 204);
    let kept = site.get(path).await.json();
    assert_eq!(
        (&kept["value"], &kept["type"]),
        (&Value::Null, &json!("null"))
    );
}

#[tokio::test]
async fn a_value_that_is_too_large_is_named() {
    let site = Site::development().await;
    let body = json!({"value": "x".repeat(1 << 20)});
    let answer = put(&site, "/v1/memory/user/keys/k", &body).await;
    let param = Some("value".to_owned());
    assert_eq!(answer.failure(), (413, "limit_exceeded".to_owned(), param));
}

#[tokio::test]
async fn a_value_lives_as_long_as_the_app_says() {
    let file = (
        "app.yao",
        r#"{"name": "Tests", "ambit": {"memory": {"default_ttl": {"user": "1h"}}}}"#,
    );
    let site = Site::of(&[file]).await;
    let path = "/v1/memory/user/keys";
    put(&site, &format!("{path}/usual"), &json!({"value": 1})).await;
    let own = json!({"value": 1, "ttl": "0s"});
    put(&site, &format!("{path}/own"), &own).await;
    let listed = site.get("/v1/memory/user").await.json();
    let ends: Vec<(&Value, bool)> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|named| (&named["key"], named["expires_at"].is_i64()))
        .collect();
    assert_eq!(ends, [(&json!("own"), false), (&json!("usual"), true)]);
}
