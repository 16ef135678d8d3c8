//! Chats, messages and memories that are found by their words.

use crate::bed::{ANN, BOB, Bed, CHIEF, TWIN};
use reqwest::Method;
use serde_json::{Value, json};

async fn names(bed: &Bed, path: &str) -> Vec<String> {
    let found = bed.get(ANN, path).await.json();
    let items = found["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["key"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn chats_are_found_with_their_best_messages() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "lamp").await;
    bed.talk(ANN, "b", "chair").await;
    bed.talk(TWIN, "c", "lamp").await;
    let page = bed
        .get(ANN, "/chat/sessions?q=LAMPS&pagesize=5")
        .await
        .json();
    let chat = bed.get(ANN, "/chat/sessions/a").await.json();
    let messages = bed.get(ANN, "/chat/sessions/a/messages").await.json();
    let found = page["data"][0].clone();
    let matched = |message: &Value, snippet: &str, from: usize, score: &Value| {
        json!({
            "message_id": message["message_id"], "role": message["role"], "snippet": snippet,
            "ranges": [[from, from + 4]], "created_at": message["created_at"], "score": score,
        })
    };
    let scores = [&found["matches"][0]["score"], &found["matches"][1]["score"]];
    assert!(scores[0].as_f64() > scores[1].as_f64());
    let mut expected = chat;
    expected["score"] = scores[0].clone();
    expected["matches"] = json!([
        matched(&messages["items"][0], "lamp", 0, scores[0]),
        matched(&messages["items"][1], "to lamp", 3, scores[1]),
    ]);
    assert_eq!(
        page,
        json!({"data": [expected], "page": 1, "pagesize": 5, "pagecnt": 1, "total": 1, "next": -1, "prev": -1})
    );
    let whole = bed.get(CHIEF, "/chat/sessions?q=lamp").await.json();
    assert_eq!(whole["searched"], json!({"owners": 1, "left_out": 0}));
    let of_bob = bed.get(CHIEF, "/chat/sessions?q=lamp&user_id=bob").await;
    assert_eq!(of_bob.json()["total"], 0);
    let refused = bed.get(BOB, "/chat/sessions?q=lamp&user_id=ann").await;
    assert_eq!(refused.status, 404);
}

#[tokio::test]
async fn messages_of_a_chat_are_found() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "lamp").await;
    let path = "/chat/sessions/a/messages?q=lamp&role=assistant";
    let found = bed.get(ANN, path).await.json();
    let all = bed.get(ANN, "/chat/sessions/a/messages").await.json();
    let mut expected = all["items"][1].clone();
    expected["score"] = found["items"][0]["score"].clone();
    expected["snippet"] = json!("to lamp");
    expected["ranges"] = json!([[3, 7]]);
    assert_eq!(found, json!({"items": [expected], "next": null}));
    assert_eq!(bed.get(BOB, path).await.status, 404);
}

#[tokio::test]
async fn values_of_a_memory_are_found() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "lamp").await;
    for (key, value) in [
        ("likes", json!({"colour": "a blue lamp", "n": 3})),
        ("lamp", json!(["of glass"])),
        ("other", json!({"n": 4})),
    ] {
        let path = format!("/memory/user/keys/{key}");
        let put = bed
            .send(ANN, Method::PUT, &path, &json!({"value": value}))
            .await;
        assert_eq!(put.status, 204);
    }
    let found = bed
        .get(ANN, "/memory/user/search?q=lamps&limit=1")
        .await
        .json();
    let score = &found["items"][0]["score"];
    let expected = json!({"items": [
        {"key": "lamp", "value": ["of glass"], "score": score, "snippet": "lamp of glass"},
    ]});
    assert_eq!(found, expected);
    let filtered = "/memory/user/search?filter={\"n\":{\"$gte\":3}}";
    assert_eq!(names(&bed, filtered).await, ["likes", "other"]);
    let named = "/memory/user/search?q=lamp&pattern=li*";
    assert_eq!(names(&bed, named).await, ["likes"]);
    let all = bed.get(ANN, "/memory/user/search?limit=1").await.json();
    assert_eq!(all["items"][0]["score"], Value::Null);
    assert_eq!(
        names(&bed, "/memory/chat/a/search?q=lamp").await,
        ["key-lamp"]
    );
    assert_eq!(
        bed.get(BOB, "/memory/chat/a/search?q=lamp").await.status,
        404
    );
    assert_eq!(bed.get(BOB, "/memory/user/ann/search").await.status, 404);
}

#[tokio::test]
async fn what_cannot_be_searched_for_is_refused() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "lamp").await;
    for (path, param) in [
        ("/chat/sessions?q=", "q"),
        ("/chat/sessions?q=a&order_by=sort", "order_by"),
        ("/chat/sessions?order_by=score", "order_by"),
        ("/chat/sessions?q=a&from=5&to=4", "to"),
        ("/chat/sessions/a/messages?q=a&after=4&before=3", "before"),
        ("/memory/user/search?limit=101", "limit"),
        ("/memory/user/search?filter=x", "filter"),
        (
            "/memory/user/search?filter={\"a\":{\"$no\":1}}",
            "filter.a.$no",
        ),
    ] {
        let refused = bed.get(ANN, path).await;
        assert_eq!(refused.status, 400, "{path}");
        assert_eq!(refused.json()["error"]["param"], param, "{path}");
    }
}
