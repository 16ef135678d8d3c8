//! What is left of items and responses that were deleted, whatever took their place or was made of them.

use crate::responses::{ask, close, delete, found, items, kept_with, post};
use crate::site::Site;
use serde_json::{Value, json};
use std::time::Duration;

/// How often is looked for what nothing announces.
const LOOK: Duration = Duration::from_millis(5);

/// What an agent is told in a chat, in the place of a message if one is named; the turn.
async fn say(site: &Site, text: &str, supersede: Option<&str>) -> String {
    let messages = json!([{"role": "user", "content": text}]);
    let mut body = json!({"model": "hello", "chat_id": "c1", "messages": messages});
    if let Some(superseded) = supersede {
        body["supersede"] = superseded.into();
    }
    let answer = site.post("/v1/chat/completions", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.header("x-ambit-request").unwrap().to_owned()
}

#[tokio::test]
async fn g167_a_superseded_response_is_deleted_like_any_other() {
    let data = tempfile::tempdir().unwrap();
    let site = kept_with(data.path(), &[]).await;
    say(&site, "a neighbour sings", None).await;
    let old = say(&site, "a canaryedited sings", None).await;
    say(&site, "another sings", Some(&format!("{old}.U1"))).await;
    let response = format!("/v1/responses/resp_{old}");
    assert_eq!(site.get(&response).await.status, 200);
    let deleted = delete(&site, &response).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text);
    assert_eq!(site.get(&response).await.status, 404);
    close(site).await;
    assert_eq!(found(data.path(), &["canaryedited"]), [""; 0]);
    let kept = ["neighbour", "another sings"];
    assert_eq!(found(data.path(), &kept), kept);
}

#[tokio::test]
async fn g167_traces_of_superseded_turns_tell_nothing_of_what_was_deleted() {
    let data = tempfile::tempdir().unwrap();
    let site = kept_with(data.path(), &[]).await;
    let first = say(&site, "a canarytold sings", None).await;
    let old = say(&site, "and then?", None).await;
    say(&site, "and now?", Some(&format!("{old}.U1"))).await;
    let deleted = delete(&site, &format!("/v1/responses/resp_{first}")).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text);
    close(site).await;
    assert_eq!(found(data.path(), &["canarytold"]), [""; 0]);
}

/// An agent that tells its model all that was said, in its own way.
const RETOLD: &[(&str, &str)] = &[(
    "assistants/hello/src/index.ts",
    "export function Create(ctx, messages) {\n  return { messages, metadata: { first: messages[0].content } };\n}\n",
)];

#[tokio::test]
async fn g167_what_hooks_of_later_turns_have_told_their_models_goes_too() {
    let data = tempfile::tempdir().unwrap();
    let site = kept_with(data.path(), RETOLD).await;
    let first = say(&site, "a canarytold sings", None).await;
    let later = say(&site, "and then?", None).await;
    let known = async || {
        let known = site.get(&format!("/v1/chat/requests/{later}")).await;
        known.json()
    };
    let mut expected = known().await;
    let told = &expected["response"]["create"]["messages"];
    assert!(told.to_string().contains("canarytold"), "{expected}");
    let deleted = delete(&site, &format!("/v1/responses/resp_{first}")).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text);
    expected["response"]["create"] = Value::Null;
    assert_eq!(known().await, expected);
    close(site).await;
    assert_eq!(found(data.path(), &["canarytold"]), [""; 0]);
}

/// Agents that write titles and put pictures in words.
const MADE: &[(&str, &str)] = &[
    (
        "agent/agent.yml",
        r#"{"uses": {"title": "namer", "vision": "eyes"}}"#,
    ),
    (
        "assistants/namer/package.yao",
        r#"{"name": "Namer", "connector": "naming"}"#,
    ),
    (
        "assistants/namer/prompts.yml",
        "- {role: system, content: x}\n",
    ),
    (
        "connectors/naming.conn.yao",
        r#"{"label": "N", "type": "scripted", "options": {"model": "n", "rules": [{"reply": "On canarytitle"}]}}"#,
    ),
    (
        "assistants/eyes/package.yao",
        r#"{"name": "Eyes", "connector": "seeing"}"#,
    ),
    (
        "assistants/eyes/prompts.yml",
        "- {role: system, content: x}\n",
    ),
    (
        "connectors/seeing.conn.yao",
        r#"{"label": "S", "type": "scripted", "options": {"model": "s", "rules": [{"reply": "a canaryseen sits"}]}}"#,
    ),
    (
        "connectors/script.conn.yao",
        r#"{"label": "Script", "type": "scripted", "options": {"model": "script", "capabilities": {"vision": false},
            "rules": [{"reply": "I see."}]}}"#,
    ),
];

#[tokio::test]
async fn g167_what_agents_have_made_of_an_item_goes_with_it() {
    const WORDS: [&str; 2] = ["canarytitle", "canaryseen"];
    let data = tempfile::tempdir().unwrap();
    let site = kept_with(data.path(), MADE).await;
    let talk = post(&site, "/v1/conversations", &json!({})).await;
    let picture = json!({"type": "input_image", "image_url": "data:image/png;base64,AAAA"});
    let text = json!({"type": "input_text", "text": "what is it?"});
    let input = json!([{"role": "user", "content": [text, picture]}]);
    let body = json!({"model": "hello", "input": input, "conversation": talk["id"]});
    let response = post(&site, "/v1/responses", &body).await;
    let title = async || {
        let chats = site.get("/v1/chat/sessions").await.json();
        chats["data"][0]["title"].clone()
    };
    while title().await != "On canarytitle" {
        tokio::time::sleep(LOOK).await;
    }
    assert_eq!(found(data.path(), &WORDS), WORDS);
    let path = format!("/v1/conversations/{}", talk["id"].as_str().unwrap());
    let before = items(&site, &path).await;
    let item = format!("{path}/items/{}", before[0]["id"].as_str().unwrap());
    assert_eq!(delete(&site, &item).await.status, 200);
    assert_eq!(title().await, "");
    let shown = format!("/v1/responses/{}", response["id"].as_str().unwrap());
    let shown = site.get(&shown).await.json();
    assert_eq!(shown["output"], response["output"]);
    close(site).await;
    assert_eq!(found(data.path(), &WORDS), [""; 0]);
}

#[tokio::test]
async fn g167_a_later_turn_keeps_the_title_that_is_made_of_an_earlier_one() {
    let data = tempfile::tempdir().unwrap();
    let site = kept_with(data.path(), &[]).await;
    say(&site, "cats and dogs", None).await;
    let later = say(&site, "mice", None).await;
    delete(&site, &format!("/v1/responses/resp_{later}")).await;
    let chats: Value = site.get("/v1/chat/sessions").await.json();
    assert_eq!(chats["data"][0]["title"], "cats and dogs");
}

/// A question behind a response; the new response.
async fn go_on(site: &Site, text: &str, response: &str) -> String {
    let body = json!({"model": "hello", "input": text, "previous_response_id": response});
    let answer = post(site, "/v1/responses", &body).await;
    answer["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn g167_a_deleted_response_survives_in_no_conversation_that_goes_on_another_way() {
    let data = tempfile::tempdir().unwrap();
    let site = kept_with(data.path(), RETOLD).await;
    let first = format!("resp_{}", say(&site, "a canarytold sings", None).await);
    say(&site, "a neighbour sings", None).await;
    let copy = go_on(&site, "sing", &first).await;
    go_on(&site, "sing on", &copy).await;
    let next = go_on(&site, "sing anew", &copy).await;
    let told = go_on(&site, "and now?", &next).await;
    let deleted = delete(&site, &format!("/v1/responses/{first}")).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text);
    for response in [&copy, &next, &told] {
        let shown = site.get(&format!("/v1/responses/{response}")).await;
        assert_eq!(shown.status, 200, "{}", shown.text);
    }
    let again = delete(&site, &format!("/v1/responses/{first}")).await;
    assert_eq!(again.status, 404, "{}", again.text);
    close(site).await;
    assert_eq!(found(data.path(), &["canarytold"]), [""; 0]);
    let kept = ["neighbour", "sing on", "sing anew"];
    assert_eq!(found(data.path(), &kept), kept);
}

#[tokio::test]
async fn g167_a_deleted_item_goes_from_the_copies_of_its_conversation_too() {
    let data = tempfile::tempdir().unwrap();
    let site = kept_with(data.path(), &[]).await;
    let said = |text: &str| json!({"role": "user", "content": text});
    let new = json!({"items": [said("a canaryitem sings"), said("a neighbour sings")]});
    let talk = post(&site, "/v1/conversations", &new).await;
    let path = format!("/v1/conversations/{}", talk["id"].as_str().unwrap());
    let first = ask(&site, "and then?", &talk["id"]).await;
    ask(&site, "and now?", &talk["id"]).await;
    let copy = go_on(&site, "sing", first["id"].as_str().unwrap()).await;
    let copied = format!("/v1/responses/{copy}");
    let before = site.get(&copied).await.json();
    let all = items(&site, &path).await;
    let item = format!("{path}/items/{}", all[0]["id"].as_str().unwrap());
    assert_eq!(delete(&site, &item).await.status, 200);
    assert_eq!(items(&site, &path).await, all[1..]);
    assert_eq!(site.get(&copied).await.json(), before);
    close(site).await;
    assert_eq!(found(data.path(), &["canaryitem"]), [""; 0]);
    assert_eq!(found(data.path(), &["neighbour"]), ["neighbour"]);
}
