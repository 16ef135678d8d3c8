//! Tools and hooks of the app's agents that operators try.

use crate::auth::token;
use crate::site::{Answer, Site, TOKENS};
use reqwest::Method;
use serde_json::{Value, json};

/// Tools that are scripts: one that keeps what it is told, one that fails, and one that asks an agent.
const NOTES: &[(&str, &str)] = &[
    (
        "assistants/hello/package.yao",
        r#"{"name": "Hello", "public": true, "connector": "script", "mcp": {"servers": ["away", "notes"]}}"#,
    ),
    (
        "mcps/notes.mcp.yao",
        r#"{"transport": "process", "tools": {"add": "scripts.notes.Add", "lose": "scripts.notes.Lose", "ask": "scripts.notes.Ask"}}"#,
    ),
    (
        "mcps/mapping/notes/schemes/add.in.yao",
        r#"{"type": "object", "description": "Adds.", "required": ["text"], "x-process-args": ["$args.text", "$args.kind"],
            "properties": {"text": {"type": "string"}, "kind": {"type": "string", "default": "note"}}}"#,
    ),
    (
        "mcps/mapping/notes/schemes/lose.in.yao",
        r#"{"type": "object", "description": "Fails.", "x-process-args": []}"#,
    ),
    (
        "mcps/mapping/notes/schemes/ask.in.yao",
        r#"{"type": "object", "description": "Asks.", "x-process-args": []}"#,
    ),
    (
        "scripts/notes.ts",
        r#"
export function Add(text, kind, ctx) {
  ctx.memory.user.Set("last", text);
  return { text, kind, user: ctx.authorized.user_id, agent: ctx.assistant_id };
}
export function Lose() { throw new Error("there is no pencil"); }
export function Ask(ctx) { return ctx.agent.Call("hello", [{ role: "user", content: "hi" }]); }
"#,
    ),
];

const TOOLS: &str = "/v1/app/agents/hello/tools";

#[tokio::test]
async fn a_tool_is_really_called_in_the_callers_name() {
    let site = Site::of(NOTES).await;
    let asked = json!({"arguments": {"text": "milk"}});
    let answer = site.post(&format!("{TOOLS}/notes__add"), &asked).await;
    let told = answer.json();
    assert_eq!((answer.status, &told["isError"]), (200, &json!(false)));
    let expected = json!({"text": "milk", "kind": "note", "user": "dev", "agent": "hello"});
    assert_eq!(told["data"], expected);
    assert!(told["duration_ms"].is_u64() && told["content"].is_array());
    let kept = site.get("/v1/memory/user/keys/last").await.json();
    assert_eq!(kept["value"], json!("milk"));
    site.check_untouched().await;
}

#[tokio::test]
async fn what_a_tool_says_went_wrong_is_its_result() {
    let site = Site::of(NOTES).await;
    let lost = site.post(&format!("{TOOLS}/notes__lose"), &json!({})).await;
    assert_eq!((lost.status, &lost.json()["isError"]), (200, &json!(true)));
    assert!(lost.text.contains("there is no pencil"), "{}", lost.text);
    let asked = site.post(&format!("{TOOLS}/notes__ask"), &json!({})).await;
    assert_eq!(asked.json()["isError"], json!(true));
    let why = "agents and models cannot be called here";
    assert!(asked.text.contains(why), "{}", asked.text);
    site.check_untouched().await;
}

#[tokio::test]
async fn arguments_that_the_schema_refuses_are_told_with_their_place() {
    let site = Site::of(NOTES).await;
    let asked = json!({"arguments": {"text": 5}});
    let refused = site.post(&format!("{TOOLS}/notes__add"), &asked).await;
    let expected = (
        400,
        "invalid_argument".to_owned(),
        Some("arguments".to_owned()),
    );
    assert_eq!(refused.failure(), expected);
    assert!(refused.text.contains("at '/text'"), "{}", refused.text);
    let kept = site.get("/v1/memory/user/keys/last").await;
    assert_eq!(kept.status, 404);
    for path in [
        "/v1/app/agents/none/tools/notes__add",
        &format!("{TOOLS}/add"),
    ] {
        assert_eq!(site.post(path, &json!({})).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn g186_who_may_look_may_not_try() {
    let roles = (
        "openapi/roles.yml",
        "looks: {scopes: [\"app:read:all\"]}\ntries: {scopes: [\"app:try:all\"]}\n",
    );
    let site = Site::of(&[&[TOKENS, roles], NOTES].concat()).await;
    let (prompts, lose) = (
        "/v1/app/agents/hello/prompts",
        format!("{TOOLS}/notes__lose"),
    );
    for (role, tenant, looked, tried) in [
        ("looks", None, 200, 403),
        ("looks", Some("t1"), 403, 403),
        ("tries", None, 403, 200),
        ("tries", Some("t1"), 403, 403),
    ] {
        let who = token(&json!({"sub": "chief", "roles": [role], "tenant_id": tenant}));
        let status = async |method: Method, path: &str| {
            let request = site.request(method, path).bearer_auth(&who);
            Answer::of(request.json(&json!({}))).await.status
        };
        assert_eq!(status(Method::GET, TOOLS).await, looked, "{role}");
        assert_eq!(status(Method::POST, prompts).await, looked, "{role}");
        assert_eq!(status(Method::POST, &lose).await, tried, "{role}");
    }
}

const HOOKS: (&str, &str) = (
    "assistants/hello/src/index.ts",
    r#"
export function Create(ctx, messages, options) {
  const before = ctx.memory.user.Get("name");
  ctx.memory.user.Set("name", "Bo");
  ctx.memory.user.Del("old*");
  ctx.memory.chat.Push("said", messages[0].content);
  ctx.Send({ type: "text", props: { content: `hello ${before}` } });
  return { locale: "de", metadata: { before, mode: options.mode, tone: ctx.metadata.tone, chat: ctx.chat_id } };
}
export function Next(ctx, payload) {
  if (payload.ask) return { data: ctx.agent.Call("hello", [{ role: "user", content: "hi" }]) };
  if (payload.fail) throw new Error("no name");
}
"#,
);

const TRIALS: &str = "/v1/app/agents/hello/hooks";

async fn keep(site: &Site, key: &str, value: &Value) {
    let path = format!("/v1/memory/user/keys/{key}");
    let kept = site.request(Method::PUT, &path);
    let kept = Answer::of(kept.json(&json!({"value": value}))).await;
    assert_eq!(kept.status, 204, "{}", kept.text);
}

async fn kept(site: &Site, key: &str) -> Value {
    let found = site.get(&format!("/v1/memory/user/keys/{key}")).await;
    found.json()["value"].take()
}

#[tokio::test]
async fn a_hook_is_run_on_a_copy_of_the_memory() {
    let site = Site::of(&[HOOKS]).await;
    keep(&site, "name", &json!("Ann")).await;
    keep(&site, "old1", &json!(1)).await;
    let asked = json!({
        "messages": [{"role": "user", "content": "hi"}], "options": {"mode": "task", "metadata": {"tone": "kind"}},
    });
    let answer = site.post(&format!("{TRIALS}/Create"), &asked).await;
    let mut told = answer.json();
    assert_eq!((answer.status, &told["error"]), (200, &Value::Null));
    assert!(told["cpu_ms"].as_f64().unwrap() > 0.0);
    let result = told["result"].take();
    let metadata = &result["metadata"];
    assert_eq!(
        (&metadata["before"], &metadata["mode"], &metadata["tone"]),
        (&json!("Ann"), &json!("task"), &json!("kind"))
    );
    let message = &told["messages"][0];
    assert_eq!(
        (&message["type"], &message["props"]["content"]),
        (&json!("text"), &json!("hello Ann"))
    );
    let expected = json!([
        {"space": "user", "key": "name", "op": "Set"},
        {"space": "user", "key": "old*", "op": "Del"},
        {"space": "chat", "key": "said", "op": "Push"},
    ]);
    assert_eq!(told["memory"], expected);
    assert_eq!(told["trace_id"], Value::Null);
    assert_eq!(kept(&site, "name").await, json!("Ann"));
    assert_eq!(kept(&site, "old1").await, json!(1));
    site.check_untouched().await;
    let mut real = asked.clone();
    real["memory"] = json!("real");
    let answer = site.post(&format!("{TRIALS}/Create"), &real).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(kept(&site, "name").await, json!("Bo"));
    let gone = site.get("/v1/memory/user/keys/old1").await;
    assert_eq!(gone.status, 404);
    site.check_untouched().await;
}

#[tokio::test]
async fn a_hook_sees_the_memory_of_a_chat_that_is_named() {
    let site = Site::of(&[HOOKS]).await;
    let mut body = crate::turns::said("hi");
    body["chat_id"] = json!("c1");
    assert_eq!(site.post("/v1/chat/completions", &body).await.status, 200);
    let said = async || {
        let path = "/v1/memory/chat/c1/keys/said";
        site.get(path).await.json()["value"].take()
    };
    assert_eq!(said().await, json!(["hi"]));
    let mut asked = json!({"messages": [{"role": "user", "content": "again"}], "chat_id": "c1"});
    let told = site.post(&format!("{TRIALS}/Create"), &asked).await.json();
    assert_eq!(told["result"]["metadata"]["chat"], json!("c1"));
    assert_eq!(said().await, json!(["hi"]));
    asked["memory"] = json!("real");
    let told = site.post(&format!("{TRIALS}/Create"), &asked).await;
    assert_eq!(told.status, 200, "{}", told.text);
    assert_eq!(said().await, json!(["hi", "again"]));
    let messages = site.get("/v1/chat/sessions/c1/messages").await.text;
    assert!(!messages.contains("again"), "{messages}");
    asked["chat_id"] = json!("none");
    let none = site.post(&format!("{TRIALS}/Create"), &asked).await;
    assert_eq!(none.status, 404);
}

#[tokio::test]
async fn an_error_of_a_hook_has_its_file_and_line() {
    let site = Site::of(&[HOOKS]).await;
    let next = format!("{TRIALS}/Next");
    let told = site
        .post(&next, &json!({"payload": {"fail": true}}))
        .await
        .json();
    let error = &told["error"];
    assert_eq!(
        (&error["message"], &error["code"], &error["line"]),
        (&json!("no name"), &json!("hook_error"), &json!(12))
    );
    assert_eq!(error["file"], json!(HOOKS.0));
    assert!(error["stack"].as_str().unwrap().contains(HOOKS.0));
    let told = site.post(&next, &json!({"payload": {"ask": true}})).await;
    let told = told.json();
    let why = told["error"]["message"].as_str().unwrap();
    assert!(why.contains("cannot be called here"), "{why}");
    site.check_untouched().await;
}

#[tokio::test]
async fn what_no_hook_takes_is_refused() {
    let site = Site::of(&[HOOKS]).await;
    for (hook, body, status) in [
        ("Create", json!({"payload": {}}), 400),
        ("Next", json!({"messages": []}), 400),
        ("Create", json!({"messages": [{"role": "nobody"}]}), 400),
        ("Create", json!({"memory": "mine"}), 400),
        ("helper", json!({}), 404),
    ] {
        let answer = site.post(&format!("{TRIALS}/{hook}"), &body).await;
        assert_eq!(answer.status, status, "{hook} {body}: {}", answer.text);
    }
    let bare = Site::of(&[]).await;
    let none = bare.post(&format!("{TRIALS}/Create"), &json!({})).await;
    assert_eq!(none.status, 404);
}

#[tokio::test]
async fn a_memory_that_is_too_large_is_not_copied() {
    let site = Site::of(&[HOOKS]).await;
    let large = "x".repeat(1_000_000);
    for at in 0..17 {
        keep(&site, &format!("large{at}"), &json!(large)).await;
    }
    let asked = json!({"messages": [{"role": "user", "content": "hi"}]});
    let refused = site.post(&format!("{TRIALS}/Create"), &asked).await;
    assert_eq!(refused.failure().0, 413, "{}", refused.text);
}
