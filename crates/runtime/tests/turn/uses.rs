//! Parts of messages that a model cannot take, and whom `uses` names for them.

use crate::place::{
    agent, ask, borrowed, end, history, left, mirrored, model, named, place, place_of_tools,
    request, traced,
};
use crate::toolbox::{Tools, outcome};
use ambit_runtime::tool::ToolOutcome;
use ambit_runtime::{Frame, TurnRequest};
use futures::FutureExt;
use serde_json::{Value, json};

const CAT: &str = "data:image/png;base64,AAAA";

/// A connector that answers with the request it got, and takes no pictures and sounds unless it says so.
fn sighted(name: &str, vision: bool) -> (String, String) {
    let text = json!({"type": "scripted", "options": {"model": name, "rules": [{"reply": "{{request}}"}],
        "capabilities": {"vision": vision, "audio": vision, "tool_calls": true}}});
    (format!("connectors/{name}.conn.yao"), text.to_string())
}

pub fn picture() -> Value {
    json!({"type": "image_url", "image_url": {"url": CAT}})
}

fn sound() -> Value {
    json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}})
}

/// A request with this part behind a text.
pub fn with(part: &Value) -> TurnRequest {
    let message =
        json!({"role": "user", "content": [{"type": "text", "text": "What is it?"}, part]});
    TurnRequest {
        messages: vec![serde_json::from_value(message).unwrap()],
        ..request("hello", "")
    }
}

/// The agent `hello` with this package and these hooks, a blind model and one that sees, and further files.
pub fn app(package: &Value, hooks: &str, more: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut whole = json!({"connector": "blind"});
    for (key, value) in package.as_object().unwrap() {
        whole[key] = value.clone();
    }
    let mut files = agent(&whole, hooks);
    files.extend([sighted("blind", false), sighted("seeing", true)]);
    files.extend(more);
    files
}

/// An agent that answers with how many calls it has had, what it was sent, and this in `Next`.
pub fn reader(name: &str, next: &str) -> Vec<(String, String)> {
    let hooks = format!(
        "export function Create(ctx, messages) {{ ctx.memory.user.Incr('calls'); ctx.memory.user.Set('sent', messages); }}
         export function Next(ctx, payload) {{ {next} }}"
    );
    named(name, &json!({"connector": "words"}), &hooks)
}

/// What `hello`'s model was sent as the second part of the last message.
fn part(frames: &[Frame]) -> Value {
    let sent = mirrored(frames);
    sent["messages"].as_array().unwrap().last().unwrap()["content"][1].clone()
}

pub fn said(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub fn words() -> (String, String) {
    model("words", &json!([{"reply": "a cat"}]))
}

#[tokio::test]
async fn an_agent_puts_a_picture_in_words_once_and_what_is_stored_stays_as_it_was_sent() {
    let mut more = reader(
        "eyes",
        "return { data: 'I see: ' + payload.completion.content };",
    );
    more.push(words());
    let files = app(&json!({"uses": {"vision": "eyes"}}), "", more);
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, with(&picture())).await;
    assert_eq!(end(&frames)["error"], Value::Null);
    assert_eq!(part(&frames), said("I see: a cat"));
    assert_eq!(
        left(&place, "sent").await,
        json!([{"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture()]}])
    );
    let stored = history(&place, "hello").await;
    assert_eq!(
        stored.len(),
        2,
        "nothing of the agent that was asked is stored"
    );
    assert_eq!(stored[0].parts[1], picture());
    let trace = traced(&place, &frames).await;
    assert!(trace.contains("\"label\":\"vision\"") && trace.contains("agent:eyes"));
    // The next request brings the picture along, and nobody is asked again.
    let frames = ask(&place, request("hello", "And now?")).await;
    let sent = mirrored(&frames);
    assert_eq!(sent["messages"][1]["content"][1], said("I see: a cat"));
    assert_eq!(left(&place, "calls").await, json!(1));
    // The tokens of the agent that was asked count to the turn.
    let session = crate::place::session(&place, "hello").await;
    let records = session.context().usage().records().await.unwrap();
    assert_eq!(records.len(), 3);
}

#[tokio::test]
async fn words_for_what_lies_elsewhere_are_those_of_one_message() {
    let mut more = reader(
        "eyes",
        "return { data: 'seen ' + ctx.memory.user.Get('calls') };",
    );
    more.push(words());
    let files = app(&json!({"uses": {"vision": "eyes"}}), "", more);
    let place = place(&borrowed(&files)).await;
    let far = json!({"type": "image_url", "image_url": {"url": "https://far.test/live.png"}});
    // The same words about the same address, and something else in between.
    let asked = [with(&far), request("hello", "And now?"), with(&far)];
    let mut seen = Vec::new();
    for asked in asked.into_iter().chain([request("hello", "Sure?")]) {
        let sent = mirrored(&ask(&place, asked).await);
        let contents = sent["messages"].as_array().unwrap().iter();
        let parts = contents.filter_map(|message| message["content"].get(1)?["text"].as_str());
        seen.push(parts.map(str::to_owned).collect::<Vec<_>>().join(", "));
    }
    assert_eq!(
        seen,
        ["seen 1", "seen 1", "seen 1, seen 2", "seen 1, seen 2"]
    );
    assert_eq!(left(&place, "calls").await, json!(2));
}

#[tokio::test]
async fn later_levels_say_who_is_asked() {
    let nexts = "return { data: 'PACKAGE' };";
    let create = "export function Create() { return { uses: { vision: 'agent:third', audio: 'disabled' } }; }";
    let outer = "export function Create(ctx, messages) { return { delegate: { agent_id: 'inner', messages, options: { uses: { vision: 'third' } } } }; }";
    for (defaults, package, hooks, expected) in [
        (json!({"vision": "first"}), json!({}), "", "first"),
        (
            json!({"vision": "first"}),
            json!({"vision": "second"}),
            "",
            "second",
        ),
        (
            json!({"vision": "first"}),
            json!({"vision": ""}),
            "",
            "first",
        ),
        (
            json!({"vision": "first"}),
            json!({"vision": "second"}),
            create,
            "third",
        ),
        (
            json!({"vision": "first"}),
            json!({"vision": "second"}),
            outer,
            "third",
        ),
    ] {
        let mut more = vec![words()];
        for name in ["first", "second", "third"] {
            more.extend(reader(name, &nexts.replace("PACKAGE", name)));
        }
        more.push((
            "agent/agent.yml".to_owned(),
            json!({"uses": defaults}).to_string(),
        ));
        more.extend(named(
            "inner",
            &json!({"connector": "blind", "uses": package}),
            "",
        ));
        let files = app(&json!({"uses": package}), hooks, more);
        let place = place(&borrowed(&files)).await;
        let mut asked = with(&picture());
        // A client does not choose what the app runs.
        asked.further = json!({"uses": {"vision": "nobody"}})
            .as_object()
            .unwrap()
            .clone();
        let frames = ask(&place, asked).await;
        assert_eq!(
            part(&frames),
            said(expected),
            "{defaults} {package} {hooks}"
        );
    }
}

#[tokio::test]
async fn a_tool_is_given_the_message_and_its_text_is_put_in_the_place() {
    for (value, tools, expected) in [
        ("mcp:s.hear", &["see", "hear"][..], "hear"),
        ("mcp:s", &["only"][..], "only"),
        ("mcp:s", &["see", "audio"][..], "audio"),
    ] {
        let tools = Tools::new(tools, |name, _| {
            async move { Ok(outcome(json!({"text": format!("{name} was asked")}))) }.boxed()
        });
        let files = app(&json!({"uses": {"audio": value}}), "", Vec::new());
        let place = place_of_tools(&borrowed(&files), tools.clone()).await;
        let frames = ask(&place, with(&sound())).await;
        assert_eq!(part(&frames), said(&format!("{expected} was asked")));
        let message =
            json!({"role": "user", "content": [{"type": "text", "text": "What is it?"}, sound()]});
        let called = tools.called.lock().unwrap().clone();
        assert_eq!(called, [(expected.to_owned(), message)]);
    }
}

#[tokio::test]
async fn what_is_odd_about_the_call_of_a_tool_is_in_the_trace() {
    let tools = Tools::new(&["hear"], |_, _| {
        let heard = ToolOutcome {
            warnings: vec!["it was not checked".to_owned()],
            ..outcome(json!({"text": "a bell"}))
        };
        async move { Ok(heard) }.boxed()
    });
    let files = app(&json!({"uses": {"audio": "mcp:s"}}), "", Vec::new());
    let place = place_of_tools(&borrowed(&files), tools).await;
    let frames = ask(&place, with(&sound())).await;
    let trace = traced(&place, &frames).await;
    assert!(trace.contains("it was not checked"), "{trace}");
}

#[tokio::test]
async fn a_model_that_can_is_asked_itself_unless_others_are_to_be() {
    for (package, expected) in [
        (json!({"uses": {"vision": "eyes"}}), picture()),
        (
            json!({"uses": {"vision": "eyes"}, "force_uses": true}),
            said("words"),
        ),
        (
            json!({"uses": {"vision": "disabled"}, "force_uses": true}),
            picture(),
        ),
        (
            json!({"uses": {"vision": "broken"}, "force_uses": true}),
            picture(),
        ),
    ] {
        let mut package = package;
        package["connector"] = "seeing".into();
        let mut more = reader("eyes", "return { data: { text: 'words' } };");
        more.extend(reader("broken", "throw new Error('no');"));
        more.push(words());
        let place = place(&borrowed(&app(&package, "", more))).await;
        let frames = ask(&place, with(&picture())).await;
        assert_eq!(part(&frames), expected, "{package}");
    }
}

#[tokio::test]
async fn the_model_of_the_role_is_what_is_built_in() {
    let seen = model(
        "eye",
        &json!([{"reply": "{{message_count}} messages about {{last_user}}"}]),
    );
    let roles = json!({"system": {"vision": "eye"}}).to_string();
    let more = vec![seen, ("agent/agent.yml".to_owned(), roles)];
    let files = app(&json!({"uses": {"vision": "builtin"}}), "", more);
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, with(&picture())).await;
    assert_eq!(part(&frames), said("2 messages about What is it?"));
}

#[tokio::test]
async fn what_nobody_reads_is_refused_by_name() {
    let own = "messages[1].content[1] is an image";
    for (uses, expected, warning) in [
        (json!({}), own, ""),
        (json!({"vision": "disabled"}), own, ""),
        (
            json!({"vision": "eys"}),
            own,
            "uses.vision is skipped: there is no agent \\\"eys\\\"; did you mean \\\"eyes\\\"?",
        ),
        (
            json!({"vision": "mcp:gone.see"}),
            own,
            "uses.vision is skipped: unknown MCP server",
        ),
        (
            json!({"vision": "bad"}),
            "messages[1].content[1] was not read: uses.vision: ",
            "",
        ),
        (
            json!({"vision": "hello"}),
            "which is at work already (hello)",
            "",
        ),
    ] {
        let mut more = reader("eyes", "");
        more.extend(reader("bad", "throw new Error('blinded');"));
        more.push(words());
        let files = app(&json!({"uses": uses}), "", more);
        let place = place(&borrowed(&files)).await;
        let frames = ask(&place, with(&picture())).await;
        let error = end(&frames)["error"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(error.contains(expected), "{uses}: {error}");
        let trace = traced(&place, &frames).await;
        assert!(trace.contains(warning), "{uses}: {trace}");
    }
}

#[tokio::test]
async fn content_that_is_not_to_be_parsed_stays_as_it_is() {
    let mut more = reader("eyes", "return { data: 'words' };");
    more.push(words());
    let place = place(&borrowed(&app(
        &json!({"uses": {"vision": "eyes"}}),
        "",
        more,
    )))
    .await;
    let mut asked = with(&picture());
    asked.skip.content_parsing = true;
    let frames = ask(&place, asked).await;
    assert_eq!(part(&frames), picture());
    assert_eq!(left(&place, "calls").await, Value::Null);
}
