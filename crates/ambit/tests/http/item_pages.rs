//! Pages of the items of long conversations.

use crate::answers::CALLING;
use crate::responses::{ask, post};
use crate::site::{HELLO, Site, write};
use crate::turns::said;
use ambit_storage::Stores;
use ambit_storage::conformance::{FaultKind, FlakyDriver};
use ambit_storage::driver::{self, DriverOptions};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// Each has a call of a client's tool, its result and others' items; each third one a message that is edited.
const ROUNDS: usize = 18;

/// All items of a list, read in pages.
async fn paged(site: &Site, list: &str, order: &str, limit: usize) -> Vec<Value> {
    let (mut items, mut after) = (Vec::new(), String::new());
    loop {
        let page = format!("{list}?order={order}&limit={limit}{after}");
        let page = site.get(&page).await.json();
        let data = page["data"].as_array().unwrap();
        assert!(!data.is_empty(), "{list} {order} {limit}: {page}");
        items.extend(data.iter().cloned());
        if page["has_more"] == false {
            return items;
        }
        assert_eq!(data.len(), limit);
        after = format!("&after={}", page["last_id"].as_str().unwrap());
    }
}

/// Checks that pages of this size are the same list from both ends.
async fn check_pages(site: &Site, list: &str, limit: usize) -> Vec<Value> {
    let forward = paged(site, list, "asc", limit).await;
    let mut backward = paged(site, list, "desc", limit).await;
    backward.reverse();
    assert_eq!(backward, forward, "{limit}");
    forward
}

/// A turn of the chat.
async fn turn(site: &Site, change: &Value) -> (String, Value) {
    let mut body = said("");
    body["tools"] = json!([{"type": "function", "function": {"name": "look"}}]);
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    let answer = site.post("/v1/chat/completions", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let id = answer.header("x-ambit-request").unwrap().to_owned();
    (id, answer.json()["choices"][0]["message"].take())
}

fn user(text: impl Into<String>) -> Value {
    json!({"role": "user", "content": text.into()})
}

/// The items of a chat with several hundred messages. In these rounds a client sends an item whose id is not free.
async fn long_chat(site: &Site, rounds_with_id: &[usize]) -> String {
    turn(site, &json!({"messages": [user("hello")]})).await;
    let rows = site.get("/v1/contexts?scope=chatHistory&chat=c1").await;
    let row = rows.json()["items"][0]["id"].take();
    let conversation = format!("conv_{}", row.as_str().unwrap());
    let list = format!("/v1/conversations/{conversation}/items");
    for round in 0..ROUNDS {
        let items: Vec<Value> = (0..10).map(|at| user(format!("{round}.{at}"))).collect();
        post(site, &list, &json!({"items": items})).await;
        let (_, calling) = turn(site, &json!({"messages": [user("look there")]})).await;
        let call = &calling["tool_calls"][0]["id"];
        let result = json!({"role": "tool", "tool_call_id": call, "content": "blue"});
        turn(site, &json!({"messages": [result]})).await;
        if round % 3 == 0 {
            let (draft, _) = turn(site, &json!({"messages": [user("draft")]})).await;
            let edit = json!({"messages": [user("edited")], "supersede": format!("{draft}.U1")});
            turn(site, &edit).await;
        }
        if rounds_with_id.contains(&round) {
            let input = json!([{"id": "same", "role": "user", "content": "under an id"}]);
            let body = json!({"model": "hello", "input": input, "conversation": conversation});
            post(site, "/v1/responses", &body).await;
        }
    }
    list
}

fn texts(items: &[Value]) -> Vec<&str> {
    let texts = items.iter().map(|item| item["content"][0]["text"].as_str());
    texts.map(Option::unwrap_or_default).collect()
}

#[tokio::test]
async fn items_are_the_same_in_pages_of_any_size_from_either_end() {
    let site = Site::of(&[CALLING]).await;
    let list = long_chat(&site, &[]).await;
    let all = check_pages(&site, &list, 100).await;
    assert_eq!(check_pages(&site, &list, 9).await, all);
    let texts = texts(&all);
    let said = |text: &&&str| text.split_once('.').is_some();
    let posted = texts.iter().filter(said).map(|text| (*text).to_owned());
    let expected = (0..ROUNDS).flat_map(|round| (0..10).map(move |at| format!("{round}.{at}")));
    assert!(posted.eq(expected), "{texts:?}");
    assert!(!texts.contains(&"draft"), "{texts:?}");
    let of_kind = |kind: &str| -> Vec<Value> {
        let items = all.iter().filter(|item| item["type"] == kind);
        items.map(|item| item["call_id"].clone()).collect()
    };
    let calls = of_kind("function_call");
    assert_eq!(calls.len(), ROUNDS);
    assert_eq!(of_kind("function_call_output"), calls);
    // Parts that are read begin at other messages with each item that is added.
    for at in 0..14 {
        post(&site, &list, &json!({"items": [user(at.to_string())]})).await;
        let now = check_pages(&site, &list, 100).await;
        assert_eq!(now[..all.len()], all);
        assert_eq!(now.len(), all.len() + at + 1);
    }
    let unknown = site.get(&format!("{list}?after=msg_none")).await.failure();
    assert_eq!((unknown.0, unknown.2.as_deref()), (404, Some("after")));
}

#[tokio::test]
async fn g156_items_with_equal_ids_are_paged_from_either_end() {
    for rounds in [[0, 1], [0, ROUNDS - 1], [ROUNDS - 2, ROUNDS - 1]] {
        let site = Site::of(&[CALLING]).await;
        let list = long_chat(&site, &rounds).await;
        let all = check_pages(&site, &list, 100).await;
        assert_eq!(check_pages(&site, &list, 30).await, all);
        let ids: HashSet<&str> = all
            .iter()
            .map(|item| item["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids.len(), all.len());
        let mut under_an_id = all.iter().zip(texts(&all));
        let first = under_an_id.find(|(_, text)| *text == "under an id");
        assert_eq!(first.unwrap().0["id"], "same");
    }
}

/// A site, and the store that counts its reads.
async fn counted() -> (Site, Arc<FlakyDriver>) {
    let app = tempfile::tempdir().unwrap();
    for (name, text) in HELLO {
        write(&app.path().join(name), text);
    }
    let memory = driver::open("memory://", DriverOptions::default()).await;
    let store = Arc::new(FlakyDriver::new(memory.unwrap()));
    let stores = Stores::builder(DriverOptions::default()).driver("memory", store.clone());
    let stores = Arc::new(stores.build().unwrap());
    (Site::over(stores, Arc::new(app), |_| {}).await, store)
}

/// How often a request reads the store. The least of some, as other work goes on meanwhile.
async fn reads(site: &Site, store: &FlakyDriver, path: &str) -> u64 {
    let mut least = u64::MAX;
    for _ in 0..20 {
        let before = store.seen(FaultKind::Read);
        let answer = site.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        least = least.min(store.seen(FaultKind::Read) - before);
    }
    least
}

#[tokio::test]
async fn a_page_of_items_reads_no_more_of_a_longer_conversation() {
    let (site, store) = counted().await;
    let talk = post(&site, "/v1/conversations", &json!({})).await;
    let list = format!("/v1/conversations/{}/items", talk["id"].as_str().unwrap());
    let items: Vec<Value> = (0..20).map(|at| user(at.to_string())).collect();
    let mut counts = Vec::new();
    for posts in [15, 30] {
        for _ in 0..posts {
            post(&site, &list, &json!({"items": items})).await;
        }
        let last = ask(&site, "hello", &talk["id"]).await;
        let input = format!("/v1/responses/{}/input_items", last["id"].as_str().unwrap());
        let mut of_lists = Vec::new();
        for path in [
            format!("{list}?order=asc"),
            format!("{list}?order=desc"),
            input,
        ] {
            of_lists.push(reads(&site, &store, &path).await);
        }
        counts.push(of_lists);
    }
    assert_eq!(counts[0], counts[1]);
}
