//! Agents and models that hooks call.

use crate::place::{
    Place, agent, ask, borrowed, end, history, model, named, place, remembered, request, shown,
    traced, tree,
};
use ambit_runtime::Frame;
use ambit_runtime::trace::TraceStatus;
use serde_json::{Value, json};

/// An agent with this `Next`, and three that it can call: `echo` answers, `slow` never does, `bad` fails.
async fn called(next: &str) -> (Place, Vec<Frame>) {
    called_with(next, &[]).await
}

/// The same with further files.
pub async fn called_with(next: &str, more: &[(String, String)]) -> (Place, Vec<Frame>) {
    let hooks = format!("export function Next(ctx, payload) {{ {next} }}");
    let mut files = agent(&json!({}), &hooks);
    files.extend(named("echo", &json!({}), ""));
    files.extend(named("slow", &json!({"connector": "slow"}), ""));
    files.extend(named("bad", &json!({"connector": "bad"}), ""));
    files.push(model(
        "bad",
        &json!([{"error": {"status": 400, "message": "no"}}]),
    ));
    let slow = json!([{"reply": "never to the end of it", "delay": "60s"}]);
    files.push(model("slow", &slow));
    files.extend_from_slice(more);
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, request("hello", "hi")).await;
    assert_eq!(end(&frames)["error"], Value::Null);
    (place, frames)
}

async fn data(next: &str) -> Value {
    end(&called(next).await.1)["next"].clone()
}

pub const USER: &str = "[{ role: 'user', content: 'there' }]";

#[tokio::test]
async fn an_agent_is_called_in_a_thread_of_its_own() {
    let (place, frames) = called(&format!(
        "return {{ data: ctx.agent.Call('echo', {USER}) }};"
    ))
    .await;
    let result = &end(&frames)["next"];
    assert_eq!(
        (&result["agent_id"], &result["content"], &result["error"]),
        (&json!("echo"), &json!("echo: there"), &Value::Null)
    );
    assert_eq!(result["response"]["completion"]["content"], "echo: there");
    assert_eq!(result.get("stopped"), None);
    let contents = frames.iter().filter(|frame| frame.kind == "text");
    let threads: Vec<Option<&str>> = contents.map(|frame| frame.thread_id.as_deref()).collect();
    assert!(
        threads.contains(&None) && threads.contains(&Some("T1")),
        "{threads:?}"
    );
    let events: Vec<&str> = frames.iter().filter_map(Frame::event_name).collect();
    assert_eq!(
        events
            .iter()
            .filter(|name| **name == "thread_start")
            .count(),
        1
    );
    assert_eq!(
        events.iter().filter(|name| **name == "thread_end").count(),
        1
    );
    // What was shown is stored, but the call's own messages are not.
    assert_eq!(
        remembered(&place, "hello").await,
        ["user: hi", "assistant: echo: hi", "assistant: echo: there"]
    );
    let stored = history(&place, "hello").await;
    assert_eq!(stored[2].extras["assistant_id"], "echo");
    assert!(traced(&place, &frames).await.contains("echo"));
}

#[tokio::test]
async fn the_thread_of_an_agent_begins_before_its_steps_with_its_name_in_the_turns_language() {
    let next =
        format!("export function Next(ctx) {{ ctx.agent.Call('inner', {USER}); return null; }}");
    let mut files = agent(&json!({}), &next);
    files.extend(named("inner", &json!({"name": "{{ title }}"}), ""));
    let file = "assistants/inner/locales/zh-cn.yml".to_owned();
    files.push((file, "title: 回声\n".to_owned()));
    let place = place(&borrowed(&files)).await;
    let mut asked = request("hello", "hi");
    asked.origin.locale = "zh-cn".to_owned();
    let frames = ask(&place, asked).await;
    let mut in_thread = frames.iter().filter_map(|frame| {
        let data = frame.event_data()?;
        let is_of_thread = *data.get("thread_id")? == "T1";
        is_of_thread.then(|| (frame.event_name(), data.get("label")))
    });
    let label = json!("回声");
    assert_eq!(in_thread.next(), Some((Some("thread_start"), Some(&label))));
    assert_eq!(in_thread.next(), Some((Some("step_start"), None)));
}

#[tokio::test]
async fn a_called_agent_sees_the_caller_and_its_own_metadata_and_changes_nothing_of_it() {
    let inner = "export function Create(ctx) {
        ctx.memory.context.Set('k', 1);
        ctx.memory.chat.Set('seen', { chat: ctx.chat_id, request: ctx.request_id, context: ctx.context_id, referer: ctx.referer,
            metadata: ctx.metadata, user: ctx.authorized.user_id, before: ctx.memory.context.Get('mine') });
        return { metadata: { created: true } };
    }";
    let outer = format!(
        "export function Create(ctx) {{
            ctx.memory.context.Set('mine', 1);
            ctx.agent.Call('inner', {USER}, {{ metadata: {{ more: 2 }}, skip: {{ output: true }} }});
        }}
        export function Next(ctx) {{
            return {{ data: {{ seen: ctx.memory.chat.Get('seen'), k: ctx.memory.context.Get('k'), metadata: ctx.metadata,
                own: [ctx.chat_id, ctx.request_id, ctx.context_id] }} }};
        }}"
    );
    let mut files = agent(&json!({}), &outer);
    files.extend(named("inner", &json!({}), inner));
    let place = place(&borrowed(&files)).await;
    let mut asked = request("hello", "hi");
    asked.metadata = json!({"m": 1}).as_object().unwrap().clone();
    let frames = ask(&place, asked).await;
    let next = &end(&frames)["next"];
    let (seen, own) = (&next["seen"], &next["own"]);
    assert_eq!((&seen["chat"], &seen["request"]), (&own[0], &own[1]));
    assert_ne!(seen["context"], own[2]);
    assert_eq!(
        (&seen["referer"], &seen["user"], &seen["before"]),
        (&json!("agent_fork"), &json!("ann"), &Value::Null)
    );
    assert_eq!(seen["metadata"], json!({"m": 1, "more": 2}));
    assert_eq!(
        (&next["k"], &next["metadata"]),
        (&Value::Null, &json!({"m": 1}))
    );
    // Silenced: the client sees the outer agent alone.
    assert_eq!(shown(&frames), [("text".to_owned(), json!("echo: hi"))]);
}

#[tokio::test]
async fn what_goes_wrong_with_a_call_is_in_its_result() {
    let next = format!(
        "return {{ data: [ctx.agent.Call('bad', {USER}), ctx.agent.Call('nobody', {USER}), ctx.llm.Stream('nothing', {USER}),
            ctx.llm.Stream('bad', {USER})] }};"
    );
    let results = data(&next).await;
    for (result, expected) in results
        .as_array()
        .unwrap()
        .iter()
        .zip(["no", "nobody", "nothing", "no"])
    {
        let error = result["error"].as_str().unwrap();
        assert!(error.contains(expected), "{error}");
        assert_eq!(
            (&result["response"], &result["content"]),
            (&Value::Null, &json!(""))
        );
    }
}

#[tokio::test]
async fn wrong_arguments_throw() {
    for (call, expected) in [
        (
            "ctx.agent.Call('echo')",
            "Call requires agent_id and messages arguments",
        ),
        (
            "ctx.llm.Stream('echo')",
            "Stream requires connector and messages arguments",
        ),
        ("ctx.agent.Call(1, [])", "agent_id must be a string"),
        ("ctx.agent.Call('echo', 1)", "messages must be an array"),
        ("ctx.agent.All(1)", "requests must be an array"),
        (
            "ctx.agent.All([{ messages: [] }])",
            "requests[0].agent is required",
        ),
        (
            "ctx.llm.Race([{ connector: 'echo', messages: [] }, { messages: [] }])",
            "requests[1].connector is required",
        ),
        (
            "ctx.agent.Any(Array(65).fill({ agent: 'echo', messages: [] }))",
            "at most 64 requests",
        ),
        ("ctx.llm.GenerateImage()", "GenerateImage is not supported"),
    ] {
        let next =
            format!("try {{ {call}; }} catch (error) {{ return {{ data: error.message }}; }}");
        assert_eq!(data(&next).await, expected, "{call}");
    }
}

#[tokio::test]
async fn a_model_takes_a_message_without_a_role_as_the_users() {
    let messages = "[{ content: 'there' }]";
    let next = format!(
        "return {{ data: [ctx.llm.Stream('echo', {messages}).content, ctx.agent.Call('echo', {messages}).error] }};"
    );
    let refused = "messages[0].role must be one of system, developer, user, assistant or tool";
    assert_eq!(data(&next).await, json!(["echo: there", refused]));
}

#[tokio::test]
async fn a_model_is_called_without_tools_being_run() {
    let next = format!(
        "const tools = [{{ type: 'function', function: {{ name: 'look', parameters: {{ type: 'object' }} }} }}];
         const calls = ctx.llm.Stream('calls', {USER}, {{ tools, skip: {{ output: true }} }});
         return {{ data: [ctx.llm.Stream('echo', {USER}), calls, ctx.llm.All([{{ connector: 'echo', messages: {USER} }}])] }};"
    );
    let hooks = format!("export function Next(ctx) {{ {next} }}");
    let mut files = agent(&json!({}), &hooks);
    let rules = json!([{"match": {"tools": ["look"]}, "tool_calls": [{"id": "k", "name": "look", "arguments": {"a": 1}}]}]);
    files.push(model("calls", &rules));
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let next = &end(&frames)["next"];
    assert_eq!(
        (&next[0]["connector"], &next[0]["content"]),
        (&json!("echo"), &json!("echo: there"))
    );
    assert_eq!(
        next[1]["response"]["tool_calls"][0]["function"]["name"],
        "look"
    );
    assert_eq!(next[2][0]["content"], "echo: there");
    let texts = [json!("echo: hi"), json!("echo: there")];
    assert_eq!(shown(&frames), texts.map(|text| ("text".to_owned(), text)));
    assert_eq!(
        remembered(&place, "hello").await,
        ["user: hi", "assistant: echo: hi", "assistant: echo: there"]
    );
}

#[tokio::test]
async fn on_chunk_gets_every_frame_and_may_stop_the_call() {
    for silent in ["false", "true"] {
        let next = format!(
            "const seen = [];
             const whole = ctx.agent.Call('echo', {USER}, {{ skip: {{ output: {silent} }}, onChunk: (chunk) => {{ seen.push(chunk); return 0; }} }});
             const text = seen.filter(it => it.type === 'text').map(it => it.props.content).join('');
             const ends = seen.filter(it => it.type === 'event' && it.props.event === 'message_end').length;
             const stopped = ctx.agent.Call('echo', {USER}, {{ skip: {{ output: {silent} }}, onChunk: () => 1 }});
             return {{ data: {{ text, ends, content: whole.content, stopped: stopped.stopped, response: stopped.response }} }};"
        );
        assert_eq!(
            data(&next).await,
            json!({"text": "echo: there", "ends": 1, "content": "echo: there", "stopped": true, "response": null}),
            "{silent}"
        );
    }
    let next = format!(
        "const seen = [];
         ctx.llm.All([{{ connector: 'echo', messages: {USER} }}], {{ onChunk: (name, index, chunk) => {{ seen.push([name, index, chunk.type]); }} }});
         return {{ data: seen.find(it => it[2] === 'text') }};"
    );
    assert_eq!(data(&next).await, json!(["echo", 0, "text"]));
    let next = format!(
        "try {{ ctx.agent.Call('echo', {USER}, {{ onChunk: () => {{ throw new RangeError('enough'); }} }}); }}
         catch (error) {{ return {{ data: [error instanceof RangeError, error.message] }}; }}"
    );
    assert_eq!(data(&next).await, json!([true, "enough"]));
}

#[tokio::test]
async fn a_stopped_call_has_what_its_listener_was_given() {
    let hooks = "export function Create(ctx) { ctx.Send('a'); ctx.Send('b'); ctx.Send('c'); }";
    let mut callee = named("many", &json!({}), hooks);
    callee.retain(|(file, _)| !file.ends_with("prompts.yml"));
    for silent in ["false", "true"] {
        let next = format!(
            "const onChunk = chunk => chunk.type === 'text' && chunk.props.content === 'b' ? 1 : 0;
             const called = ctx.agent.Call('many', {USER}, {{ skip: {{ output: {silent} }}, onChunk }});
             return {{ data: [called.content, called.stopped] }};"
        );
        let (_, frames) = called_with(&next, &callee).await;
        assert_eq!(end(&frames)["next"], json!(["a\nb", true]), "{silent}");
    }
}

#[tokio::test]
async fn what_runs_below_a_stopped_call_is_cancelled_with_it() {
    let hooks = "export function Create(ctx) { ctx.trace.Add({}, 'a step'); ctx.Send('on it'); time.Sleep(60000); }";
    let callee = named("busy", &json!({}), hooks);
    let next = format!(
        "ctx.agent.Call('busy', {USER}, {{ onChunk: chunk => chunk.type === 'text' ? 1 : 0 }});"
    );
    let (place, frames) = called_with(&next, &callee).await;
    let tree = tree(&place, &frames).await;
    let nodes = tree.nodes.iter();
    let nodes = nodes.map(|node| (node.label.as_str(), node.status));
    let labels = ["busy", "Create", "a step"];
    let found: Vec<(&str, TraceStatus)> =
        nodes.filter(|(label, _)| labels.contains(label)).collect();
    let expected = labels.map(|label| (label, TraceStatus::Cancelled));
    assert_eq!(found, expected);
}

#[tokio::test]
async fn g131_agents_that_call_each_other_meet_the_depth_limit() {
    let hooks = format!(
        "export function Next(ctx) {{
            const called = ctx.agent.Call('hello', {USER}, {{ skip: {{ output: true }} }});
            return {{ data: called.error ?? called.response.next }};
        }}"
    );
    let place = place(&borrowed(&agent(&json!({}), &hooks))).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let next = end(&frames)["next"].clone();
    let chain = ["hello"; 12].join(" → ");
    assert_eq!(next, format!("delegate depth limit 10 exceeded: {chain}"));
    let trace = traced(&place, &frames).await;
    assert!(
        trace.contains("agents go in a circle: hello → hello\""),
        "{trace}"
    );
}

#[tokio::test]
async fn the_tokens_of_calls_count_to_the_turn() {
    let plain = called("return null;").await;
    let (place, frames) = called(&format!(
        "ctx.agent.Call('echo', {USER}); ctx.llm.All([{{ connector: 'echo', messages: {USER} }}]);"
    ))
    .await;
    let tokens = |frames: &[Frame]| end(frames)["usage"]["completion_tokens"].as_i64().unwrap();
    let one = tokens(&plain.1);
    assert!(tokens(&frames) > 2 * one, "{} {one}", tokens(&frames));
    let session = crate::place::session(&place, "hello").await;
    let recorded = session.context().usage().records().await.unwrap();
    assert_eq!(recorded.len(), 3);
}
