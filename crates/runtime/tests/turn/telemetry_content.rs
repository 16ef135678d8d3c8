//! What was said leaves with traces only where an app wants it.

use crate::collector::TestCollector;
use crate::place::{agent, ask, end, model, named, request};
use crate::telemetry::{app, calling, openai, plain, sending, sending_with};
use crate::toolbox::{Tools, outcome};
use futures::FutureExt;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// An agent that is told, says, remembers, searches, calls and fails with canaries.
fn with_canaries(content: &str) -> Vec<(String, String)> {
    let hooks = "
        export function Create(ctx) {
            ctx.memory.user.Set('canary-key', 'canary-memory');
            ctx.memory.user.Get('canary-key');
            ctx.trace.Add({ text: 'canary-step-input' }, { label: 'a step', metadata: { provider: 'canary-metadata' } }).Info('canary-log').Fail('canary-step-error');
            console.error('canary-console');
            ctx.search.Web('canary-query');
            ctx.agent.Call('failing', [{ role: 'user', content: 'canary-inner' }]);
        }";
    let search = json!({"provider": "scripted", "results": [{"items": [{"title": "canary-title", "url": "https://canary.test", "content": "canary-found"}]}]});
    let package =
        json!({"connector": "calling", "mcp": {"servers": ["s"]}, "search": {"web": search}});
    let mut files = agent(&package, hooks);
    files.push((
        "assistants/hello/prompts.yml".to_owned(),
        "- role: system\n  content: canary-prompt\n".to_owned(),
    ));
    files.extend(named(
        "failing",
        &json!({}),
        "export function Create() { throw new Exception('canary-error', 'canary-code'); }",
    ));
    let arguments = json!({"secret": "canary-argument"});
    files.push(model("calling", &json!([
        {"match": {"has_tool_result": false}, "reply": "canary-thinking",
         "tool_calls": [{"name": "s__show", "arguments": arguments}, {"name": "s__fail"}, {"name": "canary-tool"}]},
        {"reply": "canary-answer"},
    ])));
    files.push(openai("https://unused.test"));
    files.push(app(&json!({"content": content})));
    files
}

/// The canaries that have left, in what was sent of a turn.
async fn canaries(content: &str) -> BTreeSet<String> {
    let collector = TestCollector::start().await;
    let tools = Tools::new(&["show", "fail"], |name, _| {
        async move {
            match name.as_str() {
                "fail" => Err(ambit_runtime::Error::internal("canary-tool-error")),
                _ => Ok(outcome(json!({"result": "canary-result provider-secret"}))),
            }
        }
        .boxed()
    });
    let place = sending_with(&with_canaries(content), &collector, |settings| {
        settings.tools = Some(Arc::new(tools));
    })
    .await;
    let mut asked = request("hello", "canary-question");
    asked.authorized.user_id = Some("canary-user".to_owned());
    ask(&place, asked).await;
    collector.turns(1).await;
    let received = collector.until(|it| !it.metrics().is_empty()).await;
    let text = String::from_utf8_lossy(&received.bytes).into_owned();
    assert!(!text.contains("provider-secret") && !text.contains("collector-key"));
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let found = words.filter_map(|word| word.find("canary-").map(|at| &word[at..]));
    found.map(str::to_owned).collect()
}

#[tokio::test]
async fn g175_what_was_said_does_not_leave() {
    assert_eq!(canaries("none").await, BTreeSet::new());
}

#[tokio::test]
async fn g175_what_was_said_leaves_where_the_app_wants_it_and_no_secret_does() {
    let expected = [
        "canary-answer",
        "canary-argument",
        "canary-prompt",
        "canary-question",
        "canary-result",
        "canary-thinking",
        "canary-tool",
        "canary-tool-error",
    ];
    let expected = BTreeSet::from(expected.map(str::to_owned));
    assert_eq!(canaries("full").await, expected);
}

#[tokio::test]
async fn contents_are_in_the_shape_of_the_conventions() {
    let collector = TestCollector::start().await;
    let mut files = agent(
        &json!({"connector": "calling", "mcp": {"servers": ["s"]}}),
        "",
    );
    files.push(calling());
    files.push(app(&json!({"content": "full", "user": "plain"})));
    let place = sending(&files, &collector).await;
    ask(&place, request("hello", "hi")).await;
    let spans = collector.turns(1).await;
    let last = spans
        .iter()
        .rfind(|span| span.name == "chat calling")
        .unwrap();
    let json = |name: &str| -> Value {
        serde_json::from_str(last.attributes[name].as_str().unwrap()).unwrap()
    };
    assert_eq!(json("gen_ai.system_instructions")[0]["content"], "Be kind.");
    let input = json("gen_ai.input.messages");
    assert_eq!(
        input[0],
        json!({"role": "user", "parts": [{"type": "text", "content": "hi"}]})
    );
    assert_eq!(input[1]["parts"][0]["type"], "tool_call");
    assert_eq!(
        input[2]["parts"][0],
        json!({"type": "tool_call_response", "id": "call-1", "response": "{\"a\":1}"})
    );
    let answer = json!([{"role": "assistant", "parts": [{"type": "text", "content": "done"}], "finish_reason": "stop"}]);
    assert_eq!(json("gen_ai.output.messages"), answer);
    assert_eq!(last.attributes["user.id"], "ann");
    let tool = spans
        .iter()
        .find(|span| span.name == "execute_tool show")
        .unwrap();
    assert_eq!(tool.attributes["gen_ai.tool.call.arguments"], r#"{"a":1}"#);
    assert_eq!(tool.attributes["gen_ai.tool.call.result"], r#"{"a":1}"#);
}

#[tokio::test]
async fn what_was_said_is_cut_at_64_kib_an_attribute() {
    let collector = TestCollector::start().await;
    // Three bytes each, so that a cut falls into one.
    let long = "€".repeat(22_000);
    let called = json!([{"name": "s__show", "arguments": {"a": long}}]);
    let rules = json!([
        {"match": {"has_tool_result": false}, "tool_calls": called},
        {"reply": long},
    ]);
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let mut files = agent(&package, "");
    let prompt = format!("- role: system\n  content: {long}\n");
    files.push(("assistants/hello/prompts.yml".to_owned(), prompt));
    files.push(model("calling", &rules));
    // The trace itself has all of it.
    let settings = json!({"telemetry": {"content": "full"}, "limits": {"trace_field": "1MiB"}});
    let file = json!({"name": "Test", "version": "1.0.0", "ambit": settings});
    files.push(("app.yao".to_owned(), file.to_string()));
    let place = sending(&files, &collector).await;
    let frames = ask(&place, request("hello", &long)).await;
    assert_eq!(end(&frames)["status"], "completed", "{}", end(&frames));
    let spans = collector.turns(1).await;
    let mut cut = BTreeSet::new();
    for (name, value) in spans.iter().flat_map(|span| &span.attributes) {
        let Some(text) = value.as_str().filter(|text| text.contains('€')) else {
            continue;
        };
        let length = text.len();
        assert!((65_534..=65_536).contains(&length), "{name}: {length}");
        cut.insert(name.as_str());
    }
    let expected = [
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
    ];
    assert_eq!(cut, BTreeSet::from(expected));
}

#[tokio::test]
async fn users_are_named_as_the_app_says() {
    for (user, expected) in [
        ("plain", Some("ann")),
        // The first half of the digest that `printf ann | sha256sum` prints.
        ("hashed", Some("49915e0d7d4b402e3017d010bc1c0e83")),
        ("none", None),
    ] {
        let collector = TestCollector::start().await;
        let place = sending(&plain(&json!({"user": user})), &collector).await;
        ask(&place, request("hello", "hi")).await;
        let spans = collector.turns(1).await;
        let named = spans[0].attributes.get("user.id").and_then(Value::as_str);
        assert_eq!(named, expected, "{user}");
        assert_eq!(
            spans[0].attributes.contains_key("ambit.tenant"),
            expected.is_some()
        );
    }
}
