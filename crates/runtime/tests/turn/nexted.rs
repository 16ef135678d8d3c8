//! What `Next` is told, and what its return decides.

use crate::place::{
    Place, agent, ask, borrowed, end, model, place, place_of_tools, request, shown, traced,
};
use crate::toolbox::Tools;
use ambit_runtime::Frame;
use serde_json::{Value, json};

const FAILING: &str = r#"[{"error": {"status": 400, "message": "no such luck"}}]"#;

async fn asked(connector: &str, hooks: &str) -> (Place, Vec<Frame>) {
    let mut files = agent(&json!({"connector": connector}), hooks);
    files.push(model("failing", &serde_json::from_str(FAILING).unwrap()));
    files.extend(crate::place::named("other", &json!({}), ""));
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, request("hello", "hi")).await;
    (place, frames)
}

#[tokio::test]
async fn g119_what_next_returns_decides_with_and_without_a_failure() {
    let delegate = "{delegate: {agent_id: 'other', messages: [{role: 'user', content: 'over'}]}}";
    let both =
        "{data: 1, delegate: {agent_id: 'other', messages: [{role: 'user', content: 'over'}]}}";
    // What Next returns; then `(status, next)` without a failure and with one.
    let cases = [
        ("null", ("completed", json!(null)), ("error", json!(null))),
        (
            "undefined",
            ("completed", json!(null)),
            ("error", json!(null)),
        ),
        (
            "{data: {a: 1}}",
            ("completed", json!({"a": 1})),
            ("completed", json!({"a": 1})),
        ),
        (
            "{data: 'text'}",
            ("completed", json!("text")),
            ("completed", json!("text")),
        ),
        (
            "{data: null}",
            ("completed", json!({"data": null})),
            ("error", json!(null)),
        ),
        ("{}", ("completed", json!({})), ("error", json!(null))),
        (
            "{metadata: {m: 1}}",
            ("completed", json!({"metadata": {"m": 1}})),
            ("error", json!(null)),
        ),
        (
            delegate,
            ("completed", json!(null)),
            ("completed", json!(null)),
        ),
        (both, ("completed", json!(null)), ("completed", json!(null))),
        ("7", ("error", json!(null)), ("error", json!(null))),
    ];
    for (returned, good, bad) in cases {
        let hooks = format!("export function Next() {{ return {returned}; }}");
        for (connector, (status, next)) in [("echo", good), ("failing", bad)] {
            let (_, frames) = asked(connector, &hooks).await;
            let ended = end(&frames);
            assert_eq!(
                (&ended["status"], &ended["next"]),
                (&json!(status), &next),
                "{connector} {returned}"
            );
            let is_delegated = shown(&frames).contains(&("text".to_owned(), json!("echo: over")));
            assert_eq!(
                is_delegated,
                returned.contains("over"),
                "{connector} {returned}"
            );
        }
    }
}

#[tokio::test]
async fn g119_next_is_told_of_failures_of_each_stage() {
    let hooks = "export function Next(ctx, payload) { return { data: payload }; }";
    let tools = json!({"servers": ["s"], "options": {"tool_error": "fail"}});
    let calling = model("calling", &json!([{"tool_calls": [{"name": "s__broken"}]}]));
    let failing = model("failing", &serde_json::from_str(FAILING).unwrap());
    let cases = [
        (
            json!({"connector": "nowhere"}),
            "build",
            "config_error",
            "nowhere",
        ),
        (
            json!({"connector": "failing"}),
            "llm",
            "llm_error",
            "no such luck",
        ),
        (
            json!({"connector": "calling", "mcp": tools}),
            "tool",
            "mcp_error",
            "gone",
        ),
    ];
    for (package, stage, code, part) in cases {
        let mut files = agent(&package, hooks);
        files.extend([calling.clone(), failing.clone()]);
        let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
        let frames = ask(&place, request("hello", "hi")).await;
        let payload = end(&frames)["next"].clone();
        assert_eq!(payload["error_stage"], stage, "{payload}");
        assert_eq!(payload["error_code"], code, "{payload}");
        assert!(
            payload["error"].as_str().unwrap().contains(part),
            "{payload}"
        );
        assert_eq!(
            payload["completion"].is_null(),
            stage != "tool",
            "{payload}"
        );
        assert_eq!(payload["messages"][0]["content"], "Be kind.");
        let trace = traced(&place, &frames).await;
        assert!(
            trace.contains("the turn goes on after a failure"),
            "{trace}"
        );
    }
}

#[tokio::test]
async fn without_a_next_a_failure_fails_the_turn() {
    let (_, frames) = asked("failing", "").await;
    let ended = end(&frames);
    assert_eq!(
        (&ended["status"], &ended["code"]),
        (&json!("error"), &json!("llm_error"))
    );
    assert_eq!(shown(&frames).last().unwrap().0, "error");
}

#[tokio::test]
async fn next_sees_the_answer_and_may_amend_it() {
    let hooks = "export function Next(ctx, payload) {
        ctx.Append(payload.completion.message_id, '!');
        const { id, message_id, usage, ...rest } = payload.completion;
        return { data: { rest, tokens: usage.total_tokens > 0, search: payload.search, tools: payload.tools } };
    }";
    let (place, frames) = asked("echo", hooks).await;
    let rest = json!({
        "model": "echo", "role": "assistant", "content": "echo: hi", "tool_calls": null, "refusal": null,
        "reasoning_content": null, "finish_reason": "stop",
    });
    assert_eq!(
        end(&frames)["next"],
        json!({"rest": rest, "tokens": true, "search": null, "tools": []})
    );
    assert_eq!(shown(&frames), [("text".to_owned(), json!("echo: hi!"))]);
    let stored = crate::place::history(&place, "hello").await;
    assert_eq!(
        stored[1].extras["shown"][0]["props"]["content"],
        "echo: hi!"
    );
}

#[tokio::test]
async fn next_does_not_run_after_a_create_that_threw_or_handed_over() {
    for returned in [
        "(() => { throw new Error('no'); })()",
        "{ delegate: { agent_id: 'other', messages: [] } }",
    ] {
        let hooks = format!(
            "export function Create() {{ return {returned}; }}\n\
             export function Next(ctx) {{ ctx.Send('next ran'); }}"
        );
        let (_, frames) = asked("echo", &hooks).await;
        assert!(
            !shown(&frames).iter().any(|(_, text)| text == "next ran"),
            "{returned}"
        );
    }
}

#[tokio::test]
async fn the_response_tells_the_whole_turn() {
    let hooks = "export function Create() { return { temperature: 0.5, metadata: { c: 1 } }; }
        export function Next() { return { data: 1, metadata: { n: 1 } }; }";
    let (place, frames) = asked("echo", hooks).await;
    let ended = end(&frames);
    let id = ended["request_id"].as_str().unwrap();
    let info = place.runtime.turn(&crate::place::ann(), id).await.unwrap();
    let response = info.response.unwrap();
    assert_eq!(
        response["create"],
        json!({"temperature": 0.5, "metadata": {"c": 1}})
    );
    assert_eq!(
        (&response["next"], &response["metadata"]),
        (&json!(1), &json!({"n": 1}))
    );
    assert_eq!(response["completion"]["content"], "echo: hi");
    let keys: Vec<&String> = response.as_object().unwrap().keys().collect();
    let mut keys: Vec<&str> = keys.into_iter().map(String::as_str).collect();
    keys.sort_unstable();
    let expected = [
        "assistant_id",
        "chat_id",
        "completion",
        "context_id",
        "create",
        "metadata",
        "next",
        "request_id",
        "tools",
        "trace_id",
    ];
    assert_eq!(keys, expected);
    let none: Value = asked("echo", "").await.1.last().unwrap().props["data"]["next"].clone();
    assert_eq!(none, Value::Null);
}
