//! Health, measures, and what is said of what does not exist.

use crate::site::{Answer, Site, TOKENS};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn health_is_told_to_everybody() {
    let site = Site::of(&[TOKENS]).await;
    for path in ["/healthz", "/readyz"] {
        let answer = site.get(path).await;
        assert_eq!(
            (answer.status, answer.json()),
            (200, json!({"status": "ok"})),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_server_whose_store_is_closed_is_not_ready() {
    let site = Site::development().await;
    site.store.close().await.unwrap();
    let answer = site.get("/readyz").await;
    assert_eq!(answer.failure(), (503, "unavailable".to_owned(), None));
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(site.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn measures_count_requests_by_route_and_name_nobody() {
    let site = Site::development().await;
    site.get("/v1/models/hello").await;
    site.get("/v1/models/secret-name").await;
    site.post(
        "/v1/chat/completions",
        &json!({"model": "hello", "messages": [{"role": "user", "content": "secret-name"}]}),
    )
    .await;
    let text = site.get("/metrics").await.text;
    for line in [
        r#"ambit_http_requests_total{method="GET",route="/v1/models/{id}",status="200"} 1"#,
        r#"ambit_http_requests_total{method="GET",route="/v1/models/{id}",status="404"} 1"#,
        r#"ambit_http_request_seconds_count{route="/v1/models/{id}"} 2"#,
        r#"ambit_turns_total{agent="hello",status="completed"} 1"#,
        r#"ambit_model_tokens_total{connector="script",kind="input"} 10"#,
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    assert!(!text.contains("secret-name"), "{text}");
}

#[tokio::test]
async fn measures_are_for_operators_unless_the_settings_open_them() {
    let closed = Site::of(&[TOKENS]).await;
    assert_eq!(closed.get("/metrics").await.status, 401);
    let open = Site::set(&[TOKENS], |settings| settings.has_public_metrics = true).await;
    assert_eq!(open.get("/metrics").await.status, 200);
}

#[tokio::test]
async fn a_route_that_does_not_exist_is_said_so_in_the_shape_of_errors() {
    let site = Site::development().await;
    let answer = site.get("/v1/nothing").await;
    let id = answer.json()["error"]["request_id"].clone();
    assert!(id.as_str().is_some_and(|id| !id.is_empty()));
    let expected = json!({"error": {
        "message": "route \"/v1/nothing\" not found",
        "type": "not_found_error",
        "code": "not_found",
        "request_id": id,
    }});
    assert_eq!((answer.status, answer.json()), (404, expected));
    for (path, hint) in [
        (
            "/v1",
            "; routes are below /v1, and GET /openapi.json lists them",
        ),
        (
            "/nothing",
            "; routes begin with /v1, and GET /openapi.json lists them",
        ),
        (
            "/v1x/models",
            "; routes begin with /v1, and GET /openapi.json lists them",
        ),
        ("/chat/completions", "; it is at /v1/chat/completions"),
        (
            "/agents/a/chat/completions",
            "; it is at /v1/agents/a/chat/completions",
        ),
        (
            "/v1/v1/messages",
            "; it is at /v1/messages: /v1 stands there twice",
        ),
        ("/v1/metrics", "; it is at /metrics, without /v1"),
        ("/v1/openapi.json", "; it is at /openapi.json, without /v1"),
    ] {
        let answer = site.get(path).await;
        let expected = format!("route \"{path}\" not found{hint}");
        assert_eq!(
            (answer.status, &answer.json()["error"]["message"]),
            (404, &json!(expected))
        );
    }
    let answer = Answer::of(site.request(Method::PUT, "/v1/models")).await;
    assert_eq!(answer.failure(), (405, "unsupported".to_owned(), None));
    assert_eq!(answer.header("allow"), Some("GET,HEAD"));
    for (method, path, methods) in [
        (Method::PUT, "/v1/models", "GET"),
        (Method::GET, "/v1/chat/completions", "POST"),
        (
            Method::POST,
            "/v1/memory/user/keys/color",
            "GET and PUT and DELETE",
        ),
        (Method::PUT, "/metrics", "GET"),
    ] {
        let expected = format!("{method} is not a method of {path}; it has {methods}");
        let answer = Answer::of(site.request(method, path)).await;
        assert_eq!(answer.json()["error"]["message"], json!(expected));
    }
}

#[tokio::test]
async fn responses_are_not_spoken_over_a_websocket() {
    let site = Site::development().await;
    let request = site.request(Method::GET, "/v1/responses");
    let request = request.header("connection", "Upgrade");
    let request = request.header("upgrade", "websocket");
    let request = request.header("sec-websocket-version", "13");
    let request = request.header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let answer = Answer::of(request).await;
    assert_eq!(answer.failure(), (405, "unsupported".to_owned(), None));
    assert_eq!(answer.header("allow"), Some("POST"));
}
