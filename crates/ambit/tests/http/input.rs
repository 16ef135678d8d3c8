//! Bad input of chat requests: 400 with the place of what is wrong, in the shape of errors.

use crate::site::{Answer, Site};
use reqwest::Method;
use serde_json::{Map, Value, json};

/// A good request, changed.
fn with(name: &str, value: Value) -> Value {
    let mut body = Map::from_iter([
        ("model".to_owned(), json!("hello")),
        (
            "messages".to_owned(),
            json!([{"role": "user", "content": "x"}]),
        ),
    ]);
    body.insert(name.to_owned(), value);
    Value::Object(body)
}

fn invalid(param: &str) -> (u16, String, Option<String>) {
    (400, "invalid_argument".to_owned(), Some(param.to_owned()))
}

/// Fields with a bad value, and what is to blame.
fn bad_messages() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("messages", json!([]), "messages"),
        ("messages", json!("x"), "messages"),
        ("messages", json!(["x"]), "messages[0]"),
        ("messages", json!([{"content": "x"}]), "messages[0].role"),
        (
            "messages",
            json!([{"role": 5, "content": "x"}]),
            "messages[0].role",
        ),
        ("messages", json!([{"role": "user"}]), "messages[0].content"),
        (
            "messages",
            json!([{"role": "user", "content": 5}]),
            "messages[0].content",
        ),
        (
            "messages",
            json!([{"role": "user", "content": [{"text": "x"}]}]),
            "messages[0].content[0].type",
        ),
        (
            "messages",
            json!([{"role": "user", "content": [{"type": "text"}]}]),
            "messages[0].content[0].text",
        ),
        (
            "messages",
            json!([{"role": "user", "content": "x", "name": 5}]),
            "messages[0].name",
        ),
        (
            "messages",
            json!([{"role": "tool", "content": "x"}]),
            "messages[0].tool_call_id",
        ),
        (
            "messages",
            json!([{"role": "assistant", "tool_calls": [{}]}]),
            "messages[0].tool_calls[0]",
        ),
        ("model", json!(5), "model"),
    ]
}

fn bad_options() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("temperature", json!("hot"), "temperature"),
        ("temperature", json!(3), "temperature"),
        ("top_p", json!(-0.1), "top_p"),
        ("max_tokens", json!(0), "max_tokens"),
        ("max_tokens", json!(1.5), "max_tokens"),
        ("n", json!(2), "n"),
        ("stop", json!([5]), "stop"),
        ("stream", json!("yes"), "stream"),
        (
            "stream_options",
            json!({"include_usage": 1}),
            "stream_options.include_usage",
        ),
        (
            "tools",
            json!([{"type": "function"}]),
            "tools[0].function.name",
        ),
        ("tool_choice", json!(5), "tool_choice"),
        ("response_format", json!("json"), "response_format"),
        ("metadata", json!([]), "metadata"),
        ("skip", json!({"history": "yes"}), "skip.history"),
        ("search", json!("all"), "search"),
        ("search", json!({"types": ["kb", "tables"]}), "search"),
        ("on_busy", json!("wait"), "on_busy"),
        ("supersede", json!(1), "supersede"),
        ("mode", json!("chat"), "mode"),
        ("options", json!({"connector": 5}), "options.connector"),
        ("options", json!({"search": 5}), "options.search"),
        (
            "options",
            json!({"search": {"search_types": ["dbs"]}}),
            "options.search",
        ),
        ("cancel_on_disconnect", json!("no"), "cancel_on_disconnect"),
        ("chat_id", json!(5), "chat_id"),
        ("accept", json!({}), "accept"),
    ]
}

#[tokio::test]
async fn g148_a_bad_field_is_named_by_its_path() {
    let site = Site::development().await;
    for (name, value, param) in bad_messages().into_iter().chain(bad_options()) {
        let body = with(name, value);
        let answer = site.post("/v1/chat/completions", &body).await;
        assert_eq!(answer.failure(), invalid(param), "{body}");
        let error = answer.json()["error"].take();
        assert_eq!(error["type"], json!("invalid_request_error"), "{body}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains(param) || name == "mode",
            "{body}: {message}"
        );
    }
}

#[tokio::test]
async fn g148_bad_messages_for_a_turn_that_runs_are_refused_before_they_reach_it() {
    let site = Site::development().await;
    for (message, param) in [
        (json!("x"), "messages[0]"),
        (json!({"content": "x"}), "messages[0].role"),
        (
            json!({"role": "system", "content": "x"}),
            "messages[0].role",
        ),
        (
            json!({"role": "user", "content": [5]}),
            "messages[0].content[0].type",
        ),
    ] {
        let body = json!({"type": "graceful", "messages": [message]});
        let answer = site.post("/v1/chat/completions/c/append", &body).await;
        assert_eq!(answer.failure(), invalid(param), "{body}");
    }
}

#[tokio::test]
async fn g148_what_is_no_json_object_is_refused() {
    let site = Site::development().await;
    for body in [
        "",
        "{",
        "[]",
        "null",
        "5",
        "{\"model\":}",
        "{\"a\":\"\\ud800\"",
        "\u{feff}{}",
    ] {
        let answer = site.chat(body).await;
        assert_eq!(answer.failure(), invalid("body"), "{body}");
    }
    let answer = site.chat(b"{\"model\":\"\xff\"}".to_vec()).await;
    assert_eq!(answer.failure(), invalid("body"));
}

#[tokio::test]
async fn g144_ids_that_are_none_are_refused_by_name() {
    let site = Site::development().await;
    let long = "x".repeat(201);
    for (chat, reason) in [
        ("", "is empty"),
        (long.as_str(), "is longer than 200 bytes"),
        ("a\0b", "contains U+0000"),
    ] {
        let answer = site
            .post("/v1/chat/completions", &with("chat_id", json!(chat)))
            .await;
        assert_eq!(answer.failure(), invalid("chat_id"), "{chat:?}");
        let expected = format!("chat_id {reason}; an id is 1 to 200 bytes of text");
        assert_eq!(answer.json()["error"]["message"], json!(expected));
    }
    for (path, param) in [
        ("/v1/chat/requests/%00", "request_id"),
        ("/v1/models/%00", "id"),
    ] {
        assert_eq!(site.get(path).await.failure(), invalid(param), "{path}");
    }
    assert_eq!(site.get("/v1/models/%ff").await.failure(), invalid("path"));
    let body = with("model", json!("hello"));
    let answer = site.post("/v1/chat/completions?chat_id=%ff", &body).await;
    assert_eq!(answer.failure(), invalid("chat_id"));
    let request = site
        .request(Method::POST, "/v1/chat/completions")
        .json(&body);
    let header = reqwest::header::HeaderValue::from_bytes(b"\xff").unwrap();
    let answer = Answer::of(request.header("x-ambit-chat", header)).await;
    assert_eq!(answer.failure(), invalid("x-ambit-chat"));
}

#[tokio::test]
async fn g146_an_unknown_condition_is_an_error_that_names_the_nearest() {
    let site = Site::development().await;
    let answer = site.get("/v1/chat/requests/r1/stream?aftre=5").await;
    assert_eq!(answer.failure(), invalid("aftre"));
    let expected = "aftre is not a condition of this route; did you mean \"after\"?";
    assert_eq!(answer.json()["error"]["message"], json!(expected));
    let body = json!({"type": "graceful", "message": []});
    let answer = site
        .post("/v1/chat/completions/c1/append?force=1", &body)
        .await;
    assert_eq!(answer.failure(), invalid("force"));
    let answer = site.post("/v1/chat/completions/c1/append", &body).await;
    assert_eq!(answer.failure(), invalid("messages"));
    let body = json!({"type": "force", "mesages": []});
    let answer = site.post("/v1/chat/completions/c1/append", &body).await;
    assert_eq!(answer.failure(), invalid("mesages"));
    let expected = "mesages is not a field of this request; did you mean \"messages\"?";
    assert_eq!(answer.json()["error"]["message"], json!(expected));
}

#[tokio::test]
async fn misspelt_messages_are_named_though_unknown_fields_are_passed_over() {
    let site = Site::development().await;
    let said = json!([{"role": "user", "content": "x"}]);
    for name in ["mesages", "message", "Messages"] {
        let body = json!({"model": "hello", name: said, "colour": 1});
        let answer = site.post("/v1/chat/completions", &body).await;
        assert_eq!(answer.failure(), invalid(name));
        let expected = format!("{name} is not a field of this request; did you mean \"messages\"?");
        assert_eq!(answer.json()["error"]["message"], json!(expected));
    }
    let body = json!({"model": "hello", "messages": said, "mesages": said});
    assert_eq!(site.post("/v1/chat/completions", &body).await.status, 200);
}

#[tokio::test]
async fn g151_roles_that_are_not_the_client_s_to_use_are_refused() {
    let open = (
        "assistants/open/package.yao",
        r#"{"name": "Open", "public": true, "client": {"roles": ["system"]}}"#,
    );
    let site = Site::of(&[open]).await;
    let messages = |role: &str| json!([{"role": "user", "content": "x"}, {"role": role, "content": "x", "tool_call_id": "t"}]);
    let lets = |roles: &str| {
        format!("; \"client\": {{ \"roles\": [{roles}] }} in its package.yao lets it")
    };
    for (agent, role, hint) in [
        ("hello", "system", lets(r#""assistant", "tool", "system""#)),
        (
            "hello",
            "developer",
            lets(r#""assistant", "tool", "developer""#),
        ),
        (
            "hello",
            "usr",
            "; did you mean \"user\"? There are user, assistant, tool".to_owned(),
        ),
        (
            "hello",
            "function",
            "; there are user, assistant, tool".to_owned(),
        ),
        ("hello", "", "; there are user, assistant, tool".to_owned()),
        ("open", "developer", lets(r#""system", "developer""#)),
        ("open", "tool", lets(r#""system", "tool""#)),
        ("open", "assistant", lets(r#""system", "assistant""#)),
    ] {
        let mut body = with("messages", messages(role));
        body["model"] = json!(agent);
        let answer = site.post("/v1/chat/completions", &body).await;
        assert_eq!(
            answer.failure(),
            invalid("messages[1].role"),
            "{agent} {role}"
        );
        let expected = format!(
            "messages[1].role: agent \"{agent}\" takes no {role} messages from clients{hint}"
        );
        assert_eq!(answer.json()["error"]["message"], json!(expected));
    }
    let instructed = json!({"model": "hello", "input": "x", "instructions": "Be brief."});
    let answer = site.post("/v1/responses", &instructed).await;
    assert_eq!(answer.failure(), invalid("instructions"));
    let hint = lets(r#""assistant", "tool", "system""#);
    let expected =
        format!("instructions: agent \"hello\" takes no instructions from clients{hint}");
    assert_eq!(answer.json()["error"]["message"], json!(expected));
    let body = json!({"type": "graceful", "messages": [{"role": "system", "content": "x"}]});
    let answer = site.post("/v1/chat/completions/c1/append", &body).await;
    assert_eq!(answer.failure(), invalid("messages[0].role"));
}

#[tokio::test]
async fn g063_a_connector_that_the_agent_does_not_offer_is_refused() {
    let site = Site::development().await;
    for (name, value, param) in [
        (
            "options",
            json!({"connector": "script"}),
            "options.connector",
        ),
        ("assistant_id", json!("hello"), "model"),
    ] {
        let mut body = with(name, value);
        if name == "assistant_id" {
            body["model"] = json!("script");
        }
        let answer = site.post("/v1/chat/completions", &body).await;
        let expected = (
            400,
            "connector_not_allowed".to_owned(),
            Some(param.to_owned()),
        );
        assert_eq!(answer.failure(), expected, "{body}");
    }
}

#[tokio::test]
async fn a_client_chooses_among_the_connectors_that_can_do_what_the_agent_asks_for() {
    let able = |able: &str| {
        format!(
            r#"{{"label": "X", "type": "scripted", "options": {{"model": "m", "rules": []{able}}}}}"#
        )
    };
    let (seeing, silent) = (able(r#", "capabilities": {"vision": true}"#), able(""));
    let (blind, wordy) = (
        able(r#", "capabilities": {"tool_calls": true}"#),
        able(r#", "capabilities": {"vision": true, "json": false}"#),
    );
    let choosy = r#"{"name": "Choosy", "public": true, "connector": "script",
        "connector_options": {"optional": true, "filters": ["vision", "json"]}}"#;
    let site = Site::of(&[
        ("assistants/choosy/package.yao", choosy),
        ("connectors/seeing.conn.yao", &seeing),
        ("connectors/silent.conn.yao", &silent),
        ("connectors/blind.conn.yao", &blind),
        ("connectors/wordy.conn.yao", &wordy),
    ])
    .await;
    for (connector, expected) in [
        ("seeing", 200),
        ("silent", 200),
        ("blind", 400),
        ("wordy", 400),
    ] {
        let mut body = with("assistant_id", json!("choosy"));
        body["model"] = json!(connector);
        let answer = site.post("/v1/chat/completions", &body).await;
        assert_eq!(answer.status, expected, "{connector}: {}", answer.text);
    }
}

#[tokio::test]
async fn a_request_that_names_no_agent_is_told_how_to() {
    let site = Site::development().await;
    for model in [json!(null), json!(""), json!("default")] {
        let answer = site
            .post("/v1/chat/completions", &with("model", model))
            .await;
        assert_eq!(answer.failure(), (404, "not_found".to_owned(), None));
        let expected =
            "no agent is named and the app has no default agent; name one in model or assistant_id";
        assert_eq!(answer.json()["error"]["message"], json!(expected));
    }
}

#[tokio::test]
async fn a_broken_agent_answers_with_what_is_wrong_with_it() {
    let broken = (
        "assistants/broken/package.yao",
        "{\n  \"name\": \"Broken\",\n  \"connector\": 1\n}",
    );
    let site = Site::of(&[broken]).await;
    let answer = site
        .post("/v1/chat/completions", &with("model", json!("broken")))
        .await;
    assert_eq!(answer.failure(), (500, "config_error".to_owned(), None));
    let message = answer.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        message.contains("assistants/broken/package.yao:3:"),
        "{message}"
    );
}
