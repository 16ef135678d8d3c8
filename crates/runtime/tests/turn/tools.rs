//! Rounds of tools.

use crate::place::{
    Place, agent, ask, borrowed, end, history, mirror, model, place_of_tools, place_with,
    remembered, request, said, shown, traced,
};
use crate::toolbox::{Tools, outcome};
use ambit_runtime::Frame;
use ambit_runtime::chat::GenerationOptions;
use ambit_runtime::event::BeforeToolExecution;
use ambit_storage::event::Verdict;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

/// A model that calls these tools in its first round and then says what it was told last.
pub fn calling(calls: &Value) -> (String, String) {
    let rules = json!([
        {"match": {"has_tool_result": false, "tools": ["s__show"]}, "tool_calls": calls},
        {"reply": "told: {{last_tool_result}}"},
    ]);
    model("calling", &rules)
}

/// An agent with these options of tools, and a place for it.
async fn with_tools(options: &Value, calls: &Value, tools: &Tools) -> (Place, Vec<Frame>) {
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"], "options": options}});
    let hooks = "export function Next(ctx, payload) { return payload.error ? null : { data: { tools: payload.tools, messages: payload.messages } }; }";
    let mut files = agent(&package, hooks);
    files.extend([calling(calls), mirror()]);
    let place = place_of_tools(&borrowed(&files), tools.clone()).await;
    let frames = ask(&place, request("hello", "hi")).await;
    assert_eq!(end(&frames)["error"], Value::Null);
    (place, frames)
}

#[tokio::test]
async fn tools_run_and_the_model_is_called_again() {
    let calls = json!([{"id": "c1", "name": "s__show", "arguments": {"a": 1}}]);
    let (place, frames) = with_tools(&json!({}), &calls, &Tools::usual()).await;
    let next = &end(&frames)["next"];
    let tool = json!({
        "toolcall_id": "c1", "server": "s", "tool": "show", "arguments": {"a": 1}, "result": {"a": 1}, "error": null, "round": 0,
    });
    assert_eq!(next["tools"], json!([tool]));
    assert_eq!(
        said(&next["messages"]),
        [
            "system: Be kind.",
            "user: hi",
            "assistant: null",
            "tool: {\"a\":1}"
        ]
    );
    assert_eq!(
        remembered(&place, "hello").await,
        [
            "user: hi",
            "assistant: ",
            "tool: {\"a\":1}",
            "assistant: told: {\"a\":1}"
        ]
    );
    assert_eq!(shown(&frames).last().unwrap().1, "told: {\"a\":1}");
}

#[tokio::test]
async fn g130_what_goes_wrong_with_a_call_is_told_to_the_model() {
    let calls = json!([
        {"id": "c1", "name": "s__nothing"}, {"id": "c2", "name": "s__show", "arguments": "{no json"},
        {"id": "c3", "name": "s__fail"}, {"id": "c4", "name": "s__broken"}, {"id": "c5", "name": "s__hang"},
        {"id": "c6", "name": "s__show", "arguments": "7"},
    ]);
    let tools = Tools::usual();
    let (_, frames) = with_tools(&json!({"timeout": "50ms"}), &calls, &tools).await;
    let next = &end(&frames)["next"];
    let errors: Vec<&Value> = next["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["error"])
        .collect();
    let starts = [
        "there is no tool s__nothing",
        "the arguments of s__show are no JSON",
        "it does not work",
        "MCP server \"s\": gone",
        "s__hang has not answered within",
    ];
    for (error, start) in errors.iter().zip(starts) {
        assert!(
            error.as_str().unwrap().starts_with(start),
            "{error} {start}"
        );
    }
    let misfit =
        "the arguments of s__show are not as its schema says: at '': want object, but got number";
    assert_eq!(errors[5], misfit);
    assert_eq!(tools.names(), ["fail", "broken", "hang"]);
    assert_eq!(end(&frames)["status"], "completed");
    assert_eq!(shown(&frames).last().unwrap().1, format!("told: {misfit}"));
}

#[tokio::test]
async fn a_server_that_fails_may_fail_the_step() {
    let calls = json!([{"name": "s__broken"}]);
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"], "options": {"tool_error": "fail"}}});
    let mut files = agent(&package, "");
    files.push(calling(&calls));
    let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
    let ended = end(&ask(&place, request("hello", "hi")).await);
    assert_eq!(
        (&ended["status"], &ended["code"]),
        (&json!("error"), &json!("mcp_error"))
    );
}

/// A model that never stops asking.
async fn endless(options: &Value) -> (Place, Vec<Frame>, Tools) {
    let rules = json!([
        {"match": {"tools": ["s__show"]}, "reply": "again ", "tool_calls": [{"name": "s__show"}]},
        {"reply": "no tools left, {{message_count}} messages"},
    ]);
    let package = json!({"connector": "endless", "mcp": {"servers": ["s"], "options": options}});
    let mut files = agent(&package, "");
    files.push(model("endless", &rules));
    let tools = Tools::usual();
    let place = place_of_tools(&borrowed(&files), tools.clone()).await;
    let frames = ask(&place, request("hello", "hi")).await;
    (place, frames, tools)
}

#[tokio::test]
async fn g131_rounds_of_tools_have_a_limit_and_the_last_call_is_without_tools() {
    for (options, rounds) in [(json!({}), 5), (json!({"max_turn": 2}), 2)] {
        let (place, frames, tools) = endless(&options).await;
        assert_eq!(tools.names().len(), rounds);
        let last = format!("no tools left, {} messages", 2 + 2 * rounds);
        assert_eq!(shown(&frames).last().unwrap().1, last);
        assert_eq!(end(&frames)["finish_reason"], "stop");
        let trace = traced(&place, &frames).await;
        let warning = format!("the limit of {rounds} tool rounds is reached");
        assert!(trace.contains(&warning), "{trace}");
    }
}

#[tokio::test]
async fn without_the_loop_there_is_one_round_and_no_further_call() {
    let (_, frames, tools) = endless(&json!({"tool_loop": false})).await;
    assert_eq!(tools.names(), ["show"]);
    assert_eq!(end(&frames)["finish_reason"], "tool_calls");
    let texts: Vec<_> = shown(&frames)
        .into_iter()
        .filter(|(kind, _)| kind == "text")
        .collect();
    assert_eq!(texts.len(), 1);
}

/// Long enough for all that may begin to begin.
async fn breathe() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn calls_run_eight_at_a_time_or_one_after_another() {
    for (options, most) in [(json!({}), 8), (json!({"parallel": false}), 1)] {
        let (running, highest) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let seen = highest.clone();
        let tools = Tools::new(&["show"], move |_, arguments| {
            let (running, highest) = (running.clone(), seen.clone());
            async move {
                let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                highest.fetch_max(now, Ordering::SeqCst);
                breathe().await;
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(outcome(arguments))
            }
            .boxed()
        });
        let calls: Vec<Value> = (0..20)
            .map(|at| json!({"name": "s__show", "arguments": {"at": at}}))
            .collect();
        let (_, frames) = with_tools(&options, &calls.into(), &tools).await;
        assert_eq!(highest.load(Ordering::SeqCst), most, "{options}");
        let order = tools.called.lock().unwrap().len();
        assert_eq!((order, &end(&frames)["status"]), (20, &json!("completed")));
    }
}

#[tokio::test]
async fn g005_thirty_results_in_any_order_are_stored_once_and_shown_in_the_order_of_the_calls() {
    let gates: Arc<Vec<Notify>> = Arc::new((0..30).map(|_| Notify::new()).collect());
    let waiting = gates.clone();
    let tools = Tools::new(&["show"], move |_, arguments| {
        let gates = waiting.clone();
        async move {
            let at = usize::try_from(arguments["at"].as_u64().unwrap()).unwrap();
            gates[at].notified().await;
            // Whoever began before this one and is not done yet may go now.
            gates[(at * 7 + 3) % 30].notify_one();
            Ok(outcome(arguments))
        }
        .boxed()
    });
    // Seven steps of 7 are 1 of 48: each gate opens one other, in an order that looks like none.
    for at in (0..30).rev() {
        gates[at].notify_one();
    }
    let calls: Vec<Value> = (0..30)
        .map(|at| json!({"id": format!("c{at}"), "name": "s__show", "arguments": {"at": at}}))
        .collect();
    let (place, frames) = with_tools(&json!({}), &calls.into(), &tools).await;
    let expected: Vec<String> = (0..30).map(|at| format!("c{at}")).collect();
    let of_payload = end(&frames)["next"]["tools"].as_array().unwrap().clone();
    let ids: Vec<&str> = of_payload
        .iter()
        .map(|tool| tool["toolcall_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, expected);
    let stored = crate::place::session(&place, "hello")
        .await
        .history()
        .model_view()
        .await
        .unwrap();
    let results = stored
        .iter()
        .filter_map(|message| message.tool_result.as_ref());
    let results: Vec<(String, String)> = results
        .map(|result| {
            (
                result.call_id.clone(),
                result.content.as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let pairs: Vec<(String, String)> = (0..30)
        .map(|at| (format!("c{at}"), format!("{{\"at\":{at}}}")))
        .collect();
    assert_eq!(results, pairs);
    let raw = history(&place, "hello").await;
    assert_eq!(
        raw.iter()
            .filter(|message| message.tool_result.is_some())
            .count(),
        30
    );
}

fn vetoed(_: &mut BeforeToolExecution) -> BoxFuture<'_, ambit_storage::Result<Verdict>> {
    async { Ok(Verdict::veto("not this one")) }.boxed()
}

#[tokio::test]
async fn g036_calls_that_came_to_nothing_keep_a_marked_result_and_the_next_turn_goes_on() {
    let package =
        json!({"connector": "calling", "mcp": {"servers": ["s"], "options": {"timeout": "50ms"}}});
    for (tool, is_vetoed, part) in [
        ("fail", false, "it does not work"),
        ("broken", false, "gone"),
        ("hang", false, "has not answered"),
        ("show", true, "not this one"),
    ] {
        let mut files = agent(&package, "");
        let calls = json!([{"id": "c1", "name": format!("s__{tool}")}]);
        files.extend([calling(&calls), mirror()]);
        let place = place_with(&borrowed(&files), |settings| {
            settings.tools = Some(Arc::new(Tools::usual()));
            if is_vetoed {
                settings.listeners.before(vetoed);
            }
        })
        .await;
        let frames = ask(&place, request("hello", "hi")).await;
        assert_eq!(end(&frames)["error"], Value::Null, "{tool}");
        let stored = history(&place, "hello").await;
        let result = stored[2].tool_result.as_ref().unwrap();
        assert!(
            result.is_error && result.content.as_str().unwrap().contains(part),
            "{result:?}"
        );
        let mut again = request("hello", "again");
        again.call.generation = GenerationOptions::default();
        assert_eq!(end(&ask(&place, again).await)["status"], "completed");
    }
}

#[tokio::test]
async fn g039_a_call_id_that_comes_again_never_takes_an_earlier_result() {
    let rules = json!([
        {"match": {"round": 0}, "tool_calls": [{"id": "same", "name": "s__show", "arguments": {"n": 1}}]},
        {"match": {"round": 1}, "tool_calls": [{"id": "same", "name": "s__show", "arguments": {"n": 2}}]},
        {"reply": "done"},
    ]);
    let package = json!({"connector": "same", "mcp": {"servers": ["s"]}});
    let mut files = agent(&package, "");
    files.extend([model("same", &rules)]);
    let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
    for _ in 0..2 {
        ask(&place, request("hello", "hi")).await;
    }
    let view = crate::place::session(&place, "hello")
        .await
        .history()
        .model_view()
        .await
        .unwrap();
    let mut pairs = Vec::new();
    for pair in view.windows(2) {
        if let (Some(call), Some(result)) = (pair[0].tool_calls.first(), &pair[1].tool_result) {
            assert_eq!(call.id, result.call_id);
            pairs.push((
                call.arguments.as_str().unwrap().to_owned(),
                result.content.as_str().unwrap().to_owned(),
            ));
        }
    }
    let expected = ["{\"n\":1}", "{\"n\":2}", "{\"n\":1}", "{\"n\":2}"];
    assert_eq!(
        pairs,
        expected.map(|text| (text.to_owned(), text.to_owned()))
    );
}

#[tokio::test]
async fn more_tools_than_allowed_fail_the_building_of_the_request() {
    let package = json!({"mcp": {"servers": ["s"], "options": {"max_tools": 3}}});
    let place = place_of_tools(&borrowed(&agent(&package, "")), Tools::usual()).await;
    let ended = end(&ask(&place, request("hello", "hi")).await);
    assert_eq!(
        ended["error"],
        "hello offers 4 tools, but mcp.options.max_tools is 3"
    );
}

#[tokio::test]
async fn messages_changed_after_a_round_are_stored_as_they_were_shown() {
    let hooks = "export function Create(ctx) {
        ctx.memory.context.Set('ids', [ctx.Send({ type: 'loading', props: { message: 'one moment' } }), ctx.Send('old')]);
    }
    export function Next(ctx) {
        const [loading, text] = ctx.memory.context.Get('ids');
        ctx.Merge(loading, { done: true });
        ctx.Replace(text, 'new');
    }";
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let mut files = agent(&package, hooks);
    files.push(calling(
        &json!([{"id": "c1", "name": "s__show", "arguments": {"a": 1}}]),
    ));
    let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
    let frames = ask(&place, request("hello", "hi")).await;
    assert!(shown(&frames).contains(&("text".to_owned(), json!("new"))));
    let stored = history(&place, "hello").await;
    let loading = stored
        .iter()
        .find(|it| it.extras.get("type") == Some(&json!("loading")));
    let loading = &loading.unwrap().extras;
    assert_eq!(
        loading["props"],
        json!({"message": "one moment", "done": true})
    );
    assert_eq!(loading["amended"], true);
    assert_eq!(
        remembered(&place, "hello").await,
        [
            "user: hi",
            "assistant: ",
            "assistant: new",
            "assistant: ",
            "tool: {\"a\":1}",
            "assistant: told: {\"a\":1}"
        ]
    );
}
