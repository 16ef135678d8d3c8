//! Manifests of calls of models, and who sees what of them.

use crate::bed::{ANN, BOB, Bed, CHIEF, Person};
use crate::site::{Answer, Site};
use reqwest::Method;
use serde_json::{Value, json};

/// An agent with prompts of its own and of all.
const FILES: &[(&str, &str)] = &[
    ("agent/prompts.yml", "- {role: system, content: For all.}\n"),
    (
        "assistants/shop/package.yao",
        r#"{"name": "Shop", "public": true, "connector": "tooled", "options": {"temperature": 0.5, "stop": ["Canary of the app"]}}"#,
    ),
    (
        "assistants/shop/prompts.yml",
        "- {role: system, content: Canary of the app.}\n",
    ),
    (
        "connectors/tooled.conn.yao",
        r#"{"type": "scripted", "options": {"model": "tooled", "usage": {"prompt_tokens": 10, "completion_tokens": 2},
            "rules": []}}"#,
    ),
];

/// An agent whose hook asks a model and hands over to another agent, in the role of a user.
const SCRIPTED: &[(&str, &str)] = &[
    (
        "assistants/shop/package.yao",
        r#"{"name": "Shop", "public": true, "connector": "fixed"}"#,
    ),
    (
        "assistants/shop/src/index.ts",
        "export function Create(ctx) {
            ctx.llm.Stream('fixed', [{ role: 'user', content: 'Canary of the call' }]);
            const message = { role: 'user', content: 'Canary of the delegate' };
            return { delegate: { agent_id: 'other', messages: [message] } };
        }",
    ),
    (
        "assistants/other/package.yao",
        r#"{"name": "Other", "public": true, "connector": "fixed"}"#,
    ),
    (
        "assistants/other/src/index.ts",
        "export function Create(ctx, messages) { return null; }",
    ),
    (
        "connectors/fixed.conn.yao",
        r#"{"type": "scripted", "options": {"model": "fixed", "rules": [{"reply": "Done."}]}}"#,
    ),
];

async fn turn(bed: &Bed, who: Person, chat: &str, text: &str) -> String {
    let answer = bed.turn_of("shop", who, chat, text).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.header("x-ambit-request").unwrap().to_owned()
}

/// A turn on a server whose developer everybody is.
async fn developed(site: &Site, text: &str) -> String {
    let message = json!({"role": "user", "content": text});
    let body = json!({"model": "shop", "chat_id": "a", "messages": [message]});
    let answer = site.post("/v1/chat/completions", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.header("x-ambit-request").unwrap().to_owned()
}

async fn json(site: &Site, path: &str) -> Value {
    let found = site.get(&format!("/v1{path}")).await;
    assert_eq!(found.status, 200, "{path}: {}", found.text);
    found.json()
}

fn kinds(manifest: &Value) -> Vec<&str> {
    let blocks = manifest["blocks"].as_array().unwrap().iter();
    blocks
        .map(|block| block["kind"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn g190_a_request_is_rendered_again_as_it_was_sent() {
    let site = Site::of(FILES).await;
    developed(&site, "one").await;
    let id = developed(&site, "two").await;
    let calls = json(&site, &format!("/chat/requests/{id}/calls")).await;
    assert_eq!(calls["items"].as_array().unwrap().len(), 1, "{calls}");
    let call = calls["items"][0]["call_id"].as_str().unwrap();
    assert_eq!(call, format!("{id}.call-0"));
    let manifest = json(&site, &format!("/calls/{call}/manifest")).await;
    assert_eq!(
        kinds(&manifest),
        ["global", "prompt", "history", "history", "request"],
        "{manifest}"
    );
    let source = &manifest["blocks"][1]["source"];
    // The first 128 bits of the file's SHA-256.
    let version = "dGbuljesfDG5Rb6ovWnTLA";
    let expected = json!({"file": "assistants/shop/prompts.yml", "version": version, "index": 0});
    assert_eq!(*source, expected);
    let temperature = json!({"value": 0.5, "layer": "package"});
    assert_eq!(manifest["options"]["temperature"], temperature);
    let stop = json!({"value": ["Canary of the app"], "layer": "package"});
    assert_eq!(manifest["options"]["stop"], stop);
    assert_eq!(manifest["status"], json!("completed"));
    let attempts = manifest["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0]["error"], json!(null));
    let began = attempts[0]["at"].as_i64().unwrap();
    assert!(began <= manifest["at"].as_i64().unwrap());
    let request = json(&site, &format!("/calls/{call}/request")).await;
    assert_eq!(request["exact"], json!(true), "{request}");
    assert_eq!(request["sha256"], manifest["body"]["sha256"]);
    assert_eq!(request["missing"], json!([]));
    let contents = request["body"]["messages"].as_array().unwrap().iter();
    let contents: Vec<&Value> = contents.map(|message| &message["content"]).collect();
    let expected = json!(["For all.", "Canary of the app.", "one", "echo: one", "two"]);
    assert_eq!(json!(contents), expected);
    for n in 0..5_usize {
        let block = json(&site, &format!("/calls/{call}/blocks/{n}")).await;
        assert_eq!(block["content"]["content"], expected[n]);
        assert_eq!(block["hash"], manifest["blocks"][n]["hash"]);
    }
    let tool = site.get(&format!("/v1/calls/{call}/tools/0")).await;
    assert_eq!(tool.status, 404, "{}", tool.text);
}

#[tokio::test]
async fn a_call_is_told_once_behind_the_beginning_of_its_node() {
    let site = Site::of(FILES).await;
    let id = developed(&site, "one").await;
    let events = site.get(&format!("/v1/trace/traces/{id}/events")).await;
    let data = events.text.lines();
    let data = data.filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let calls: Vec<usize> = (0..events.len())
        .filter(|at| events[*at]["type"] == "call")
        .collect();
    let [call] = calls[..] else {
        panic!("{events:?}");
    };
    let is_node = |event: &Value| event["node"]["id"] == events[call]["node_id"];
    let began = events.iter().position(is_node);
    assert_eq!(events[0]["type"], "init");
    assert!(began.is_some_and(|began| began < call), "{events:?}");
}

#[tokio::test]
async fn what_was_removed_is_in_no_request() {
    let site = Site::of(FILES).await;
    let id = developed(&site, "one").await;
    let path = "/v1/chat/sessions/a";
    let removed = Answer::of(site.request(Method::DELETE, path)).await;
    assert_eq!(removed.status, 204);
    for part in ["manifest", "request", "blocks/0"] {
        let path = format!("/v1/calls/{id}.call-0/{part}");
        assert_eq!(site.get(&path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn without_a_trace_there_are_no_calls_and_the_failure_says_so() {
    let site = Site::of(FILES).await;
    let body = json!({"model": "shop", "chat_id": "a", "skip": {"trace": true}, "messages": [{"role": "user", "content": "one"}]});
    let answer = site.post("/v1/chat/completions", &body).await;
    let id = answer.header("x-ambit-request").unwrap().to_owned();
    let calls = site.get(&format!("/v1/chat/requests/{id}/calls")).await;
    assert_eq!(calls.status, 404, "{}", calls.text);
    assert!(calls.text.contains("tracing is off"), "{}", calls.text);
}

#[tokio::test]
async fn g192_the_app_s_words_need_the_right_to_read_the_app() {
    let bed = Bed::of(FILES).await;
    let id = turn(&bed, ANN, "a", "one").await;
    let call = format!("{id}.call-0");
    for path in [
        format!("/calls/{call}/manifest"),
        format!("/chat/requests/{id}/calls"),
        format!("/trace/traces/{id}/events"),
        format!("/trace/traces/{id}/nodes"),
        format!("/trace/traces/{id}/logs"),
        format!("/chat/requests/{id}"),
        format!("/chat/requests/{id}/stream?accept=cui-web"),
        "/chat/requests".to_owned(),
        "/chat/sessions/a/messages".to_owned(),
    ] {
        let found = bed.get(ANN, &path).await;
        assert_eq!(found.status, 200, "{path}: {}", found.text);
        assert!(
            !found.text.contains("Canary of the app"),
            "{path}: {}",
            found.text
        );
        assert!(!found.text.contains("For all."), "{path}: {}", found.text);
    }
    for path in ["blocks/0", "blocks/2", "tools/0", "request"] {
        let path = format!("/calls/{call}/{path}");
        for who in [ANN, CHIEF] {
            assert_eq!(bed.get(who, &path).await.status, 403, "{path} by {who:?}");
        }
    }
    let path = format!("/calls/{call}/manifest");
    let options = bed.get(ANN, &path).await.json()["options"].clone();
    let temperature = json!({"value": 0.5, "layer": "package"});
    assert_eq!(options["temperature"], temperature);
    let stop = &options["stop"]["value"];
    assert_eq!(stop["bytes"], json!(r#"["Canary of the app"]"#.len()));
    assert_eq!(bed.get(BOB, &path).await.status, 404);
}

#[tokio::test]
async fn g192_what_hooks_tell_models_and_agents_is_in_no_trace() {
    let bed = Bed::of(SCRIPTED).await;
    let id = turn(&bed, ANN, "a", "one").await;
    let nodes = bed.get(ANN, &format!("/trace/traces/{id}/nodes")).await;
    assert_eq!(nodes.status, 200, "{}", nodes.text);
    let nodes = nodes.json()["data"].take();
    let nodes = nodes.as_array().unwrap();
    let mut paths = vec![
        format!("/trace/traces/{id}/nodes"),
        format!("/trace/traces/{id}/events"),
        format!("/chat/requests/{id}"),
    ];
    let node = |node: &Value| format!("/trace/traces/{id}/nodes/{}", node["id"].as_str().unwrap());
    paths.extend(nodes.iter().map(node));
    for path in paths {
        let found = bed.get(ANN, &path).await;
        assert_eq!(found.status, 200, "{path}: {}", found.text);
        assert!(!found.text.contains("Canary"), "{path}: {}", found.text);
    }
    let withheld = json!({"role": "user", "withheld": true});
    let given = |kind: &str| {
        let mut nodes = nodes.iter().filter(|node| node["type"] == kind);
        nodes.any(|node| node["input"][0] == withheld || node["input"][0][0] == withheld)
    };
    assert!(given("step") && given("hook"), "{nodes:?}");
}
