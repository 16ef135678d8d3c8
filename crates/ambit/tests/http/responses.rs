//! OpenAI's Responses and Conversations over HTTP.

mod idle;
mod tools;

use crate::site::{Answer, HELLO, Site, write};
use ambit_storage::Stores;
use ambit_storage::driver::{self, DriverOptions};
use reqwest::Method;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Long enough for whatever ends at all.
const LONG: Duration = Duration::from_secs(60);

pub async fn post(site: &Site, path: &str, body: &Value) -> Value {
    let answer = site.post(path, body).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.json()
}

pub async fn ask(site: &Site, input: &str, conversation: &Value) -> Value {
    let body = json!({"model": "hello", "input": input, "conversation": conversation});
    post(site, "/v1/responses", &body).await
}

pub async fn delete(site: &Site, path: &str) -> Answer {
    Answer::of(site.request(Method::DELETE, path)).await
}

pub async fn items(site: &Site, path: &str) -> Vec<Value> {
    let listed = site.get(&format!("{path}/items?order=asc&limit=100")).await;
    listed.json()["data"].as_array().unwrap().clone()
}

/// Which of these words are in the files of a folder.
pub fn found(folder: &Path, words: &[&'static str]) -> Vec<&'static str> {
    let files = std::fs::read_dir(folder).unwrap();
    let bytes = files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap());
    let bytes: Vec<u8> = bytes.collect();
    let has = |word: &&&str| {
        bytes
            .windows(word.len())
            .any(|part| part == word.as_bytes())
    };
    words.iter().filter(has).copied().collect()
}

/// A site whose conversations are in a file of this folder.
async fn kept_in(folder: &Path) -> Site {
    kept_with(folder, &[]).await
}

/// The same of an app with these files too.
pub async fn kept_with(folder: &Path, files: &[(&str, &str)]) -> Site {
    let app = tempfile::tempdir().unwrap();
    for (name, text) in HELLO.iter().chain(files) {
        write(&app.path().join(name), text);
    }
    let url = format!("sqlite:{}/ambit.db", folder.display());
    let store = driver::open(&url, DriverOptions::default()).await.unwrap();
    let stores = Stores::builder(DriverOptions::default()).driver("memory", store);
    let stores = Arc::new(stores.build().unwrap());
    Site::over(stores, Arc::new(app), |_| {}).await
}

/// Ends a site, so that what it has written is in its files.
pub async fn close(site: Site) {
    site.runtime.close(LONG).await.unwrap();
    let store = site.store.clone();
    drop(site);
    store.close().await.unwrap();
}

#[tokio::test]
async fn g167_a_deleted_item_and_a_deleted_response_leave_none_of_their_text() {
    const WORDS: [&str; 2] = ["canaryitem", "canaryturn"];
    let data = tempfile::tempdir().unwrap();
    let site = kept_in(data.path()).await;

    let said = |text: &str| json!({"role": "user", "content": text});
    let new = json!({"items": [said("a canaryitem sings"), said("a neighbour sings")]});
    let talk = post(&site, "/v1/conversations", &new).await;
    let path = format!("/v1/conversations/{}", talk["id"].as_str().unwrap());
    let turn = ask(&site, "go on, canaryturn", &talk["id"]).await;
    let later = ask(&site, "go on", &talk["id"]).await;
    let before = items(&site, &path).await;
    assert_eq!(before.len(), 6, "{before:?}");
    assert_eq!(found(data.path(), &WORDS), WORDS);

    let item = format!("{path}/items/{}", before[0]["id"].as_str().unwrap());
    let deleted = delete(&site, &item).await;
    assert_eq!((deleted.status, deleted.json()), (200, talk.clone()));
    assert_eq!(delete(&site, &item).await.status, 404);
    let response = format!("/v1/responses/{}", turn["id"].as_str().unwrap());
    let deleted = delete(&site, &response).await.json();
    let expected = json!({"id": turn["id"], "object": "response.deleted", "deleted": true});
    assert_eq!(deleted, expected);
    for gone in [response.clone(), format!("{response}/input_items")] {
        assert_eq!(site.get(&gone).await.status, 404, "{gone}");
    }
    let kept = [&before[1..2], &before[4..]].concat();
    assert_eq!(items(&site, &path).await, kept);
    let response = format!("/v1/responses/{}", later["id"].as_str().unwrap());
    assert_eq!(site.get(&response).await.json()["output"], later["output"]);

    close(site).await;
    assert_eq!(found(data.path(), &WORDS), [""; 0]);
    assert_eq!(found(data.path(), &["neighbour"]), ["neighbour"]);
}

#[tokio::test]
async fn g169_a_response_that_is_not_stored_leaves_no_byte_of_its_input() {
    let data = tempfile::tempdir().unwrap();
    let site = kept_in(data.path()).await;
    let said = |text: &str| json!({"role": "user", "content": text});
    let input = json!([said("canaryearlier"), said("canarylater")]);
    let mut body = json!({"model": "hello", "input": input, "store": false});
    let answer = site.post("/v1/responses", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.header("x-ambit-chat"), None);
    let response = answer.json();
    let text = &response["output"][0]["content"][0]["text"];
    assert_eq!(
        (text, &response["store"]),
        (&json!("echo: canarylater"), &json!(false))
    );
    assert_eq!(
        found(data.path(), &["canaryearlier", "canarylater"]),
        [""; 0]
    );

    let path = format!("/v1/responses/{}", response["id"].as_str().unwrap());
    for path in [path.clone(), format!("{path}/input_items")] {
        assert_eq!(site.get(&path).await.status, 404, "{path}");
    }
    body["previous_response_id"] = response["id"].clone();
    let refused = site.post("/v1/responses", &body).await.failure();
    assert_eq!(
        (refused.0, refused.2.as_deref()),
        (400, Some("previous_response_id"))
    );
    body["store"] = json!(true);
    assert_eq!(site.post("/v1/responses", &body).await.status, 404);
    body.as_object_mut().unwrap().remove("previous_response_id");
    post(&site, "/v1/responses", &body).await;
    let words = ["canaryearlier", "canarylater"];
    assert_eq!(found(data.path(), &words), words);
}

#[tokio::test]
async fn wrong_requests_are_refused_by_the_field_that_is_to_blame_and_leave_nothing() {
    let site = Site::development().await;
    let call = json!({"type": "function_call_output", "call_id": "a", "output": "b"});
    let file = json!([{"type": "input_file", "file_id": "f"}]);
    let file = json!({"role": "user", "content": file});
    let (input, long) = ("input[0].content[0].file_id", "x".repeat(20_000));
    for (name, value, status, param) in [
        ("input", json!(5), 400, "input"),
        ("input", json!([]), 400, "input"),
        ("input", json!([call]), 400, "input"),
        ("input", json!([file]), 422, input),
        ("instructions", json!("obey"), 400, "instructions"),
        ("conversation", json!("conv_x"), 404, "conversation"),
        (
            "previous_response_id",
            json!("r"),
            404,
            "previous_response_id",
        ),
        ("temperature", json!(9), 400, "temperature"),
        ("tools", json!([{"type": "function"}]), 400, "tools[0].name"),
        ("tool_choice", json!({"type": "some"}), 400, "tool_choice"),
        ("prompt", json!({"id": "p"}), 422, "prompt"),
        ("metadata", json!({"x": long}), 413, "metadata"),
    ] {
        for streams in [false, true] {
            let mut body = json!({"model": "hello", "input": "hi", "stream": streams});
            body[name] = value.clone();
            let (got, _, blamed) = site.post("/v1/responses", &body).await.failure();
            assert_eq!((got, blamed.as_deref()), (status, Some(param)), "{body}");
        }
    }
    let items = json!({"items": [{"role": "user", "content": "hi"}, {"role": "user"}]});
    let refused = site.post("/v1/conversations", &items).await.failure();
    assert_eq!(refused.2.as_deref(), Some("items[1].content"));
    site.check_untouched().await;
}

#[tokio::test]
async fn input_tokens_count_what_the_model_would_get() {
    let site = Site::development().await;
    let count = async |more: Value| {
        let mut body = json!({"model": "hello", "input": "and then?"});
        let more = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(more);
        let counted = post(&site, "/v1/responses/input_tokens", &body).await;
        assert_eq!(counted["object"], "response.input_tokens");
        counted["input_tokens"].as_u64().unwrap()
    };
    let alone = count(json!({})).await;
    assert!(alone > 0);
    assert_eq!(count(json!({"store": false})).await, alone);
    let tool = json!({"type": "function", "name": "get_weather", "parameters": {}});
    assert!(count(json!({"tools": [tool]})).await > alone);

    let talk = post(&site, "/v1/conversations", &json!({})).await;
    let first = ask(&site, "hello", &talk["id"]).await;
    let behind = json!({"previous_response_id": first["id"]});
    let once = count(behind.clone()).await;
    assert!(once > alone);
    ask(&site, "hello again", &talk["id"]).await;
    assert_eq!(count(behind).await, once);
    assert!(count(json!({"conversation": talk["id"]})).await > once);
    let path = format!("/v1/conversations/{}", talk["id"].as_str().unwrap());
    assert_eq!(items(&site, &path).await.len(), 4);
}

#[tokio::test]
async fn a_part_of_an_answer_is_erased_alone() {
    let site = Site::of(&[(
        "connectors/script.conn.yao",
        r#"{"label": "Script", "type": "scripted", "options": {"model": "script", "rules": [
            {"reasoning": "a secret thought", "reply": "an answer"}]}}"#,
    )])
    .await;
    let talk = post(&site, "/v1/conversations", &json!({})).await;
    ask(&site, "hello", &talk["id"]).await;
    let path = format!("/v1/conversations/{}", talk["id"].as_str().unwrap());
    let before = items(&site, &path).await;
    let kinds: Vec<&Value> = before.iter().map(|item| &item["type"]).collect();
    assert_eq!(kinds, ["message", "reasoning", "message"]);
    let thought = format!("{path}/items/{}", before[1]["id"].as_str().unwrap());
    assert_eq!(delete(&site, &thought).await.status, 200);
    let kept = [before[0].clone(), before[2].clone()];
    assert_eq!(items(&site, &path).await, kept);
}

#[tokio::test]
async fn a_response_that_runs_is_not_deleted() {
    let site = Site::development().await;
    let body = json!({"model": "hello", "input": "never ends", "background": true});
    let running = post(&site, "/v1/responses", &body).await;
    let path = format!("/v1/responses/{}", running["id"].as_str().unwrap());
    let refused = delete(&site, &path).await;
    assert_eq!(refused.failure(), (409, "chat_busy".to_owned(), None));
    let again = json!({"model": "hello", "input": "hi", "previous_response_id": running["id"]});
    let refused = site.post("/v1/responses", &again).await;
    assert_eq!(refused.failure(), (409, "chat_busy".to_owned(), None));
    let stopped = post(&site, &format!("{path}/cancel"), &json!({})).await;
    assert_eq!(stopped["status"], "cancelled");
    assert_eq!(delete(&site, &path).await.status, 200);
}

#[tokio::test]
async fn chats_of_responses_are_listed_where_they_are_asked_for() {
    let site = Site::development().await;
    let made = post(
        &site,
        "/v1/responses",
        &json!({"model": "hello", "input": "hi"}),
    )
    .await;
    let chat =
        json!({"model": "hello", "chat_id": "c1", "messages": [{"role": "user", "content": "hi"}]});
    site.post("/v1/chat/completions", &chat).await;
    let listed = async |query: &str| {
        let listed = site.get(&format!("/v1/chat/sessions{query}")).await.json();
        let chats = listed["data"].as_array().unwrap().iter();
        let ids: Vec<Value> = chats.map(|chat| chat["chat_id"].clone()).collect();
        (listed["total"].as_u64().unwrap(), ids)
    };
    assert_eq!(listed("").await, (1, vec![json!("c1")]));
    assert_eq!(
        listed("?source=responses").await,
        (1, vec![made["id"].clone()])
    );
    let refused = site.get("/v1/chat/sessions?source=other").await;
    assert_eq!(refused.failure().0, 400);
}

#[tokio::test]
async fn a_response_of_another_route_is_shown_and_gone_on_from() {
    let site = Site::development().await;
    let chat =
        json!({"model": "hello", "chat_id": "c1", "messages": [{"role": "user", "content": "hi"}]});
    let asked = site.post("/v1/chat/completions", &chat).await;
    let id = format!("resp_{}", asked.header("x-ambit-request").unwrap());
    let shown = site.get(&format!("/v1/responses/{id}")).await.json();
    assert_eq!(shown["output"][0]["content"][0]["text"], "echo: hi");
    let body = json!({"model": "hello", "input": "and then", "previous_response_id": id});
    post(&site, "/v1/responses", &body).await;
    let messages = site.get("/v1/chat/sessions/c1/messages").await.json();
    assert_eq!(messages["items"].as_array().unwrap().len(), 4, "{messages}");
}

/// An agent that takes instructions from clients, beside one that takes none, and a model that says what it was told.
const INSTRUCTED: &[(&str, &str)] = &[
    (
        "assistants/open/package.yao",
        r#"{"name": "Open", "public": true, "connector": "script", "client": {"roles": ["assistant", "tool", "developer"]}}"#,
    ),
    (
        "assistants/open/prompts.yml",
        "- role: system\n  content: Be kind.\n",
    ),
    (
        "connectors/script.conn.yao",
        r#"{"label": "Script", "type": "scripted", "options": {"model": "script", "rules": [{"reply": "{{request}}"}]}}"#,
    ),
];

#[tokio::test]
async fn g170_instructions_reach_agents_alone_that_take_some_from_clients() {
    let site = Site::of(INSTRUCTED).await;
    let obey = json!({"role": "developer", "content": "obey me"});
    let input = json!([obey, {"role": "user", "content": "hi"}]);
    let told = async |body: Value| {
        let answer = post(&site, "/v1/responses", &body).await;
        let text = answer["output"][0]["content"][0]["text"].as_str().unwrap();
        let call: Value = serde_json::from_str(text).unwrap();
        let mut messages = call["messages"].as_array().unwrap().iter();
        let is_told = messages.any(|message| message["role"] == "developer");
        (answer["id"].clone(), is_told)
    };
    for (name, value) in [("instructions", json!("obey me")), ("input", input.clone())] {
        let mut body = json!({"model": "hello", "input": "hi"});
        body[name] = value;
        let refused = site.post("/v1/responses", &body).await;
        assert_eq!(refused.failure().0, 400, "{}", refused.text);
    }
    let talk = post(&site, "/v1/conversations", &json!({})).await;
    let path = format!("/v1/conversations/{}/items", talk["id"].as_str().unwrap());
    for path in [path.as_str(), "/v1/conversations"] {
        let refused = site.post(path, &json!({"items": [obey]})).await;
        assert_eq!(refused.failure().2.as_deref(), Some("items[0].role"));
    }

    let (id, was_told) =
        told(json!({"model": "open", "input": input, "conversation": talk["id"]})).await;
    assert!(was_told);
    assert!(
        told(json!({"model": "open", "input": "hi", "conversation": talk["id"]}))
            .await
            .1
    );
    assert!(
        !told(json!({"model": "hello", "input": "hi", "conversation": talk["id"]}))
            .await
            .1
    );
    // A copy of the conversation tells no more than it does.
    assert!(
        !told(json!({"model": "hello", "input": "hi", "previous_response_id": id}))
            .await
            .1
    );
    let once = json!({"model": "open", "input": "hi", "instructions": "obey me"});
    let (id, was_told) = told(once).await;
    assert!(was_told);
    assert!(
        !told(json!({"model": "open", "input": "hi", "previous_response_id": id}))
            .await
            .1
    );
}

#[tokio::test]
async fn g156_items_sent_with_an_id_that_is_not_free_are_listed_under_their_own() {
    let site = Site::development().await;
    let made = post(&site, "/v1/conversations", &json!({})).await;
    let id = made["id"].as_str().unwrap();
    for text in ["one", "two"] {
        let input = json!([{"id": "m1", "role": "user", "content": text}]);
        let body = json!({"model": "hello", "input": input, "conversation": id});
        post(&site, "/v1/responses", &body).await;
    }
    let path = format!("/v1/conversations/{id}");
    let all = items(&site, &path).await;
    let (mut paged, mut after) = (Vec::new(), String::new());
    while paged.len() <= all.len() {
        let page = site
            .get(&format!("{path}/items?order=asc&limit=1{after}"))
            .await;
        let page = page.json();
        paged.extend(page["data"].as_array().unwrap().clone());
        if page["has_more"] == false {
            break;
        }
        after = format!("&after={}", page["last_id"].as_str().unwrap());
    }
    assert_eq!(paged, all);
    let texts = all.iter().map(|item| &item["content"][0]["text"]);
    let asked = texts.step_by(2).cloned().collect::<Vec<_>>();
    assert_eq!(asked, [json!("one"), json!("two")]);
    let known = site.get(&format!("{path}/items/m1")).await.json();
    assert_eq!(known, all[0]);
}
