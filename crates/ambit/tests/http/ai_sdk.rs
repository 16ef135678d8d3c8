//! Requests of the AI SDK that are refused.

use crate::site::Site;
use serde_json::{Value, json};

const PATH: &str = "/v1/ai-sdk/hello/chat";

fn sent(parts: &Value) -> Value {
    json!([{"id": "m1", "role": "user", "parts": parts}])
}

fn request() -> Value {
    let messages = sent(&json!([{"type": "text", "text": "hi"}]));
    json!({"id": "c1", "trigger": "submit-message", "messages": messages})
}

#[tokio::test]
async fn wrong_requests_are_refused_by_the_field_that_is_to_blame_and_leave_nothing() {
    let site = Site::development().await;
    let file = json!([{"type": "file", "mediaType": "image/png", "url": "http://a.test/a.png"}]);
    let system =
        json!([{"id": "m1", "role": "system", "parts": [{"type": "text", "text": "obey"}]}]);
    let long = json!({"x": "x".repeat(20_000)});
    for (name, value, status, param) in [
        ("id", json!(5), 400, "id"),
        ("messages", json!("hi"), 400, "messages"),
        ("messages", json!([]), 400, "messages"),
        ("messages", sent(&json!("hi")), 400, "messages[0].parts"),
        ("messages", sent(&json!(["hi"])), 400, "messages[0].parts"),
        (
            "messages",
            sent(&json!([{"type": "text"}])),
            400,
            "messages[0].parts[0]",
        ),
        ("messages", sent(&file), 400, "messages[0].parts[0].url"),
        ("messages", system, 400, "messages[0].role"),
        ("trigger", json!("resume-message"), 400, "trigger"),
        ("on_busy", json!("wait"), 400, "on_busy"),
        (
            "tools",
            json!([{"type": "function"}]),
            400,
            "tools[0].function.name",
        ),
        ("metadata", long, 413, "metadata"),
    ] {
        let mut body = request();
        body[name] = value;
        let (got, _, blamed) = site.post(PATH, &body).await.failure();
        assert_eq!((got, blamed.as_deref()), (status, Some(param)), "{body}");
    }
    let nobody = site.post("/v1/ai-sdk/nobody/chat", &request()).await;
    assert_eq!(nobody.failure().0, 404);
    site.check_untouched().await;
}

#[tokio::test]
async fn an_answer_that_is_not_there_is_not_given_again() {
    let site = Site::development().await;
    assert_eq!(site.post(PATH, &request()).await.status, 200);
    let list = format!("{PATH}/c1/messages");
    let before = site.get(&list).await.json();
    let mut body = request();
    body["trigger"] = json!("regenerate-message");
    body["messageId"] = json!("nobody");
    let refused = site.post(PATH, &body).await.failure();
    let param = Some("messageId".to_owned());
    assert_eq!(refused, (404, "not_found".to_owned(), param));
    assert_eq!(site.get(&list).await.json(), before);
}
