//! Requests for Responses that name stored items.

use crate::responses::{ask, items, post};
use crate::site::{Answer, Site};
use serde_json::{Value, json};

/// What a request with these fields is answered.
async fn answer(site: &Site, fields: Value) -> Answer {
    let mut body = fields;
    body["model"] = json!("hello");
    site.post("/v1/responses", &body).await
}

fn referring(id: &Value) -> Value {
    json!([{"type": "item_reference", "id": id}])
}

fn text(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["output"][0]["content"][0]["text"].take()
}

#[tokio::test]
async fn an_item_of_the_own_conversation_is_found_by_any_id() {
    let site = Site::development().await;
    let said = |text: &str| json!({"role": "user", "content": text});
    let mut first = said("one");
    first["id"] = json!("own");
    let new = json!({"items": [first, said("two")]});
    let talk = post(&site, "/v1/conversations", &new).await;
    let path = format!("/v1/conversations/{}", talk["id"].as_str().unwrap());
    let listed = items(&site, &path).await;
    assert_eq!(listed[0]["id"], "own");
    for (item, echo) in listed.iter().zip(["echo: one", "echo: two"]) {
        let input = referring(&item["id"]);
        let fields = json!({"input": input, "conversation": talk["id"]});
        assert_eq!(text(&answer(&site, fields).await), echo);
    }

    let input = json!([{"id": "mine", "role": "user", "content": "three"}]);
    let first = answer(&site, json!({"input": input})).await.json();
    let input = referring(&json!("mine"));
    let fields = json!({"input": input, "previous_response_id": first["id"]});
    assert_eq!(text(&answer(&site, fields).await), "echo: three");
    let unknown = (404, "not_found".to_owned(), Some("input".to_owned()));
    for fields in [
        json!({"input": input}),
        json!({"input": input, "conversation": talk["id"]}),
    ] {
        assert_eq!(answer(&site, fields).await.failure(), unknown);
    }
}

#[tokio::test]
async fn a_response_takes_the_place_of_what_its_request_names() {
    let site = Site::development().await;
    let talk = post(&site, "/v1/conversations", &json!({})).await;
    let path = format!("/v1/conversations/{}", talk["id"].as_str().unwrap());
    for text in ["one", "two"] {
        ask(&site, text, &talk["id"]).await;
    }
    let texts = async || -> Vec<Value> {
        let items = items(&site, &path).await.into_iter();
        let texts = items.map(|mut item| item["content"][0]["text"].take());
        texts.collect()
    };
    let before = items(&site, &path).await;
    let edited = &before[2]["id"];
    let fields = json!({"input": "three", "conversation": talk["id"], "supersede": edited});
    let edit = answer(&site, fields).await;
    assert_eq!(text(&edit), "echo: three");
    let expected = ["one", "echo: one", "three", "echo: three"];
    assert_eq!(texts().await, expected);
    let fields = json!({"conversation": talk["id"], "supersede": edit.json()["id"]});
    assert_eq!(text(&answer(&site, fields).await), "echo: three");
    assert_eq!(texts().await, expected);

    let fields = json!({"input": "hi", "conversation": talk["id"], "supersede": "nobody"});
    let param = Some("supersede".to_owned());
    let refused = answer(&site, fields).await.failure();
    assert_eq!(refused, (404, "not_found".to_owned(), param.clone()));
    let fields = json!({"input": "hi", "store": false, "supersede": "nobody"});
    let refused = answer(&site, fields).await.failure();
    assert_eq!(refused, (400, "invalid_argument".to_owned(), param));
}
