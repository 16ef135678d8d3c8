//! How long chats are kept that clients of Responses have begun, and what a Response is when its stream is kept no longer.

use super::{ask, post};
use crate::site::Site;
use crate::turns::said;
use ambit_storage::Caller;
use serde_json::json;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Lets time pass, and counts the storages that are removed then because nobody has used them for long.
async fn removed_behind(site: &Site, time: Duration) -> u64 {
    site.stores.options().clock.advance(time);
    let contexts = site.runtime.contexts_of(&Caller::system("any"));
    let mut walk = contexts.index_sweep();
    let mut removed = 0;
    while let Some(step) = walk.step(100).await.unwrap() {
        assert_eq!((step.busy, step.failed), (0, 0), "{step:?}");
        removed += step.retired;
    }
    removed
}

/// The ids of the chats that this query lists.
async fn chats(site: &Site, query: &str) -> Vec<String> {
    let listed = site.get(&format!("/v1/chat/sessions{query}")).await.json();
    let chats = listed["data"].as_array().unwrap().iter();
    chats
        .map(|chat| chat["chat_id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn chats_of_responses_go_when_nobody_has_used_them_for_as_long_as_the_app_says() {
    let two_days = r#"{"name": "Tests", "ambit": {"responses": {"retention": "2d"}}}"#;
    for (app, days) in [(r#"{"name": "Tests"}"#, 30_u32), (two_days, 2)] {
        let site = Site::of(&[("app.yao", app)]).await;
        let conversation = post(&site, "/v1/conversations", &json!({})).await;
        ask(&site, "hi", &conversation["id"]).await;
        site.post("/v1/chat/completions", &said("hi")).await;
        let others = chats(&site, "").await;
        let asked = json!({"model": "hello", "input": "hi"});
        let first = post(&site, "/v1/responses", &asked).await;
        let began = [first["id"].as_str().unwrap().to_owned()];
        let almost = days * DAY - HOUR;
        assert_eq!(removed_behind(&site, almost).await, 0, "{days}");
        assert_eq!(chats(&site, "?source=responses").await, began);

        // Who goes on with it begins its time anew.
        let mut next = asked.clone();
        next["previous_response_id"] = first["id"].clone();
        let second = post(&site, "/v1/responses", &next).await;
        assert_eq!(removed_behind(&site, almost).await, 0, "{days}");
        assert_eq!(chats(&site, "?source=responses").await, began);
        assert_eq!(removed_behind(&site, HOUR).await, 1, "{days}");
        assert_eq!(chats(&site, "?source=responses").await, [""; 0]);
        for gone in [&first, &second] {
            let path = format!("/v1/responses/{}", gone["id"].as_str().unwrap());
            assert_eq!(site.get(&path).await.status, 404, "{days}");
        }
        next["previous_response_id"] = second["id"].clone();
        let refused = site.post("/v1/responses", &next).await.failure();
        assert_eq!(
            (refused.0, refused.2.as_deref()),
            (404, Some("previous_response_id"))
        );
        assert_eq!(chats(&site, "").await, others);
    }
}

#[tokio::test]
async fn a_response_that_was_cut_off_stays_incomplete_when_its_stream_is_gone() {
    let model = r#"{"label": "Script", "type": "scripted", "options": {"model": "script",
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
        "rules": [{"reply": "It goes", "finish_reason": "length"}]}}"#;
    let site = Site::of(&[("connectors/script.conn.yao", model)]).await;
    let asked = json!({"model": "hello", "input": "hi"});
    let before = post(&site, "/v1/responses", &asked).await;
    let reason = json!({"reason": "max_output_tokens"});
    assert_eq!(before["incomplete_details"], reason, "{before}");
    let id = before["id"].as_str().unwrap();
    let turn = id.strip_prefix("resp_").unwrap();
    site.outlive_stream(turn).await;
    let after = site.get(&format!("/v1/responses/{id}")).await.json();
    assert_eq!(after, before);
}
