//! What agents and models are called with, several at once, and what comes of it.

use crate::nested::{USER, called_with};
use crate::place::{end, mirror, model, named, said, shown, traced};
use serde_json::json;

#[tokio::test]
async fn g133_all_any_and_race_keep_the_order_are_silent_and_leave_the_losers_empty() {
    for (object, kind) in [("agent", "agent"), ("llm", "connector")] {
        let of = |name: &str| format!("{{ {kind}: '{name}', messages: {USER} }}");
        let (echo, bad, slow) = (of("echo"), of("bad"), of("slow"));
        for (call, expected) in [
            (
                format!("All([{bad}, {echo}])"),
                json!([["bad", true], ["echo", false]]),
            ),
            // Two run at once, so that the good one begins when the bad one has ended.
            (
                format!("Any([{slow}, {bad}, {echo}])"),
                json!([null, ["bad", true], ["echo", false]]),
            ),
            (
                format!("Any([{bad}, {bad}])"),
                json!([["bad", true], ["bad", true]]),
            ),
            (
                format!("Race([{slow}, {echo}])"),
                json!([null, ["echo", false]]),
            ),
            (
                format!("Race([{bad}, {slow}])"),
                json!([["bad", true], null]),
            ),
        ] {
            let name = if object == "agent" { "agent_id" } else { kind };
            let next = format!(
                "return {{ data: ctx.{object}.{call}.map(it => it && [it.{name}, !!it.error]) }};"
            );
            let (_, frames) = called_with(&next, &[two_at_once()]).await;
            assert_eq!(end(&frames)["next"], expected, "ctx.{object}.{call}");
            assert_eq!(shown(&frames), [("text".to_owned(), json!("echo: hi"))]);
        }
    }
}

/// An app of which three calls may be made and two run at once.
fn two_at_once() -> (String, String) {
    let limits = json!({"calls": 3, "calls_at_once": 2});
    let app = json!({"name": "Test", "version": "1.0.0", "ambit": {"limits": limits}});
    ("app.yao".to_owned(), app.to_string())
}

#[tokio::test]
async fn the_limits_of_the_app_bound_how_many_are_called() {
    let agents = format!("Array(4).fill({{ agent: 'echo', messages: {USER} }})");
    let models = format!("Array(4).fill({{ connector: 'echo', messages: {USER} }})");
    let tools = "Array(4).fill({ mcp: 'gone', tool: 'gone' })";
    for call in [
        format!("ctx.agent.All({agents})"),
        format!("ctx.llm.Race({models})"),
        format!("ctx.mcp.Any({tools})"),
        "ctx.mcp.CallToolsParallel('gone', Array(4).fill({ name: 'gone' }))".to_owned(),
        "All(Array(4).fill({ process: 'utils.str.UUID' }))".to_owned(),
    ] {
        let next = format!(
            "try {{ {call}; }} catch (error) {{ return {{ data: [error.code, error.message] }}; }}"
        );
        let (_, frames) = called_with(&next, &[two_at_once()]).await;
        let told = json!(["limit_exceeded", "at most 3 requests"]);
        assert_eq!(end(&frames)["next"], told, "{call}");
    }
}

#[tokio::test]
async fn a_called_agent_gets_its_connector_mode_and_further_options() {
    let inner = "export function Create(ctx, messages, options) { ctx.memory.chat.Set('options', options); }";
    let mut more = named("inner", &json!({"modes": ["brief"]}), inner);
    more.extend([
        (
            "assistants/inner/prompts/brief.yml".to_owned(),
            "- role: system\n  content: Be brief.\n".to_owned(),
        ),
        mirror(),
    ]);
    let options = "{ connector: 'mirror', mode: 'brief', mine: [1], skip: { output: true } }";
    let next = format!(
        "const called = ctx.agent.Call('inner', {USER}, {options});
         return {{ data: [ctx.memory.chat.Get('options'), JSON.parse(called.content).messages] }};"
    );
    let (_, frames) = called_with(&next, &more).await;
    let next = &end(&frames)["next"];
    let seen = &next[0];
    assert_eq!(
        (&seen["connector"], &seen["mode"], &seen["mine"]),
        (&json!("mirror"), &json!("brief"), &json!([1]))
    );
    assert_eq!(said(&next[1]), ["system: Be brief.", "user: there"]);
}

#[tokio::test]
async fn a_called_agent_leaves_no_trace_where_it_is_to_skip_it() {
    for (skip, is_traced) in [("false", true), ("true", false)] {
        let next = format!("ctx.agent.Call('inner', {USER}, {{ skip: {{ trace: {skip} }} }});");
        let hooks = "export function Create(ctx) { ctx.trace.Add({}, 'a step of its own'); }";
        let (place, frames) = called_with(&next, &named("inner", &json!({}), hooks)).await;
        let trace = traced(&place, &frames).await;
        assert_eq!(trace.contains("a step of its own"), is_traced, "{trace}");
    }
}

#[tokio::test]
async fn a_called_agent_takes_media_as_they_are_where_they_are_not_to_be_parsed() {
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let asked = json!([{"role": "user", "content": [picture]}]);
    let eyes = "export function Next() { return { data: 'a cat' }; }";
    let forced = json!({"connector": "mirror", "uses": {"vision": "eyes"}, "force_uses": true});
    let mut more = named("eyes", &json!({}), eyes);
    more.extend(named("inner", &forced, ""));
    more.push(mirror());
    for (skip, is_kept) in [("false", false), ("true", true)] {
        let options = format!("{{ skip: {{ output: true, content_parsing: {skip} }} }}");
        let next = format!(
            "const called = ctx.agent.Call('inner', {asked}, {options});
             return {{ data: JSON.parse(called.content).messages.at(-1).content }};"
        );
        let (_, frames) = called_with(&next, &more).await;
        let content = &end(&frames)["next"];
        let kept = json!([picture]);
        assert_eq!(*content == kept, is_kept, "{content}");
        assert_eq!(content.to_string().contains("a cat"), !is_kept, "{content}");
    }
}

#[tokio::test]
async fn the_content_of_a_call_is_what_next_returned_or_else_what_was_said() {
    let mut more = Vec::new();
    for (name, hooks) in [
        (
            "text",
            "export function Next() { return { data: 'of next' }; }",
        ),
        (
            "object",
            "export function Next() { return { data: { a: 1 } }; }",
        ),
        ("both", "export function Create(ctx) { ctx.Send('sent'); }"),
    ] {
        more.extend(named(name, &json!({}), hooks));
    }
    for (name, hooks) in [
        (
            "sent",
            "export function Create(ctx) { ctx.Send('one'); ctx.Send('two'); }",
        ),
        ("mute", "export function Create() {}"),
    ] {
        let mut files = named(name, &json!({}), hooks);
        files.retain(|(file, _)| !file.ends_with("prompts.yml"));
        more.extend(files);
    }
    let next = format!(
        "const names = ['text', 'object', 'both', 'sent', 'mute'];
         return {{ data: names.map(name => ctx.agent.Call(name, {USER}, {{ skip: {{ output: true }} }}).content) }};"
    );
    let (_, frames) = called_with(&next, &more).await;
    let expected = json!(["of next", "{\"a\":1}", "echo: there", "one\ntwo", ""]);
    assert_eq!(end(&frames)["next"], expected);
}

#[tokio::test]
async fn on_chunk_of_several_calls_stops_one_or_by_throwing_all() {
    for (object, kind) in [("agent", "agent"), ("llm", "connector")] {
        let of = |name: &str| format!("{{ {kind}: '{name}', messages: {USER} }}");
        let (echo, chatty) = (of("echo"), of("chatty"));
        for method in ["All", "Race"] {
            let requests = match method {
                "All" => format!("[{chatty}, {echo}]"),
                _ => format!("[{chatty}]"),
            };
            let next = format!(
                "const seen = [];
                 const onChunk = (name, index, chunk) => {{
                     if (chunk.type === 'text') seen.push(name + index);
                     return name === 'chatty' && chunk.type === 'text' ? 1 : 0;
                 }};
                 const all = ctx.{object}.{method}({requests}, {{ onChunk }});
                 return {{ data: {{ seen: [...new Set(seen)].sort(), all: all.map(it => [it.stopped ?? null, it.content.slice(0, 2), it.response && 1, it.error]) }} }};"
            );
            let stopped = json!([true, "on", null, null]);
            let expected = match method {
                "All" => {
                    json!({"seen": ["chatty0", "echo1"], "all": [stopped, [null, "ec", 1, null]]})
                }
                _ => json!({"seen": ["chatty0"], "all": [stopped]}),
            };
            let (_, frames) = called_with(&next, &chatty_one()).await;
            assert_eq!(end(&frames)["next"], expected, "ctx.{object}.{method}");
        }
        let next = format!(
            "try {{ ctx.{object}.All([{chatty}, {}], {{ onChunk: (name) => {{ if (name === 'chatty') throw new RangeError('enough'); }} }}); }}
             catch (error) {{ return {{ data: [error instanceof RangeError, error.message] }}; }}",
            of("slow")
        );
        let (_, frames) = called_with(&next, &chatty_one()).await;
        assert_eq!(end(&frames)["next"], json!([true, "enough"]), "{object}");
    }
}

/// An agent and its model, which say more than one word.
fn chatty_one() -> Vec<(String, String)> {
    let mut files = named("chatty", &json!({"connector": "chatty"}), "");
    files.push(model("chatty", &json!([{"reply": "on and on"}])));
    files
}
