//! Turns that begin anew while an agent that a hook has called is at work.

use crate::finished::states;
use crate::place::{
    agent, ann, borrowed, end, frames, model, named, node, node_with, place_of_tools, place_with,
    request, shown,
};
use crate::toolbox::{Tools, outcome, patient};
use ambit_runtime::TurnInterrupt;
use ambit_runtime::chat::ChatMessage;
use ambit_storage::driver::{self, DriverOptions};
use ambit_storage::event::EventBus;
use futures::FutureExt;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};

/// An agent whose hook calls another one, which has tools and a model with these rules.
fn calling(rules: &Value, options: &str) -> Vec<(String, String)> {
    let hooks = format!(
        "export function Create(ctx) {{
            ctx.agent.Call('booker', [{{ role: 'user', content: 'book' }}], {options});
        }}"
    );
    let mut files = agent(&json!({}), &hooks);
    files.extend(named(
        "booker",
        &json!({"connector": "booking", "mcp": {"servers": ["s"]}}),
        "",
    ));
    files.push(model("booking", rules));
    files
}

fn force() -> TurnInterrupt {
    TurnInterrupt {
        messages: vec![ChatMessage::user("and be quick")],
        is_forced: true,
        ..TurnInterrupt::default()
    }
}

#[tokio::test]
async fn g017_a_forced_interrupt_does_not_run_tools_of_a_called_agent_again() {
    let tool = |round: u64, name: &str| json!({"match": {"round": round}, "tool_calls": [{"id": format!("c{round}"), "name": name}]});
    let rules = json!([tool(0, "s__show"), tool(1, "s__hang"), {"reply": "booked"}]);
    let files = calling(&rules, "{ skip: { output: true } }");
    let (hung, is_second) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
    let reached = hung.clone();
    let tools = Tools::new(&["show", "hang"], move |name, arguments| {
        let hangs = name == "hang" && !is_second.swap(true, Ordering::SeqCst);
        let reached = reached.clone();
        Box::pin(async move {
            if hangs {
                reached.notify_one();
                std::future::pending::<()>().await;
            }
            Ok(outcome(arguments))
        })
    });
    let place = place_of_tools(&borrowed(&files), tools.clone()).await;
    let started = place.runtime.start(request("hello", "hi")).await.unwrap();
    hung.notified().await;
    let id = started.request_id.clone();
    place.runtime.interrupt(&ann(), &id, force()).await.unwrap();
    assert_eq!(end(&frames(started).await)["status"], "completed");
    assert_eq!(tools.names(), ["show", "hang", "hang"]);
}

/// A model that calls both tools of `pair`, and says what it was told then.
fn two() -> Value {
    let call = |id: &str, name: &str| json!({"id": id, "name": name, "arguments": {"n": id}});
    let calls = [call("c1", "s__first"), call("c2", "s__second")];
    json!([
        {"match": {"round": 0}, "tool_calls": calls},
        {"reply": "told: {{request}}"},
    ])
}

/// Two calls at once, of which the second does not end before it may.
fn pair(may_end: &Arc<Semaphore>) -> Tools {
    let (begun, may_end) = (Arc::new(Semaphore::new(0)), may_end.clone());
    Tools::new(&["first", "second"], move |name, arguments| {
        let (begun, may_end) = (begun.clone(), may_end.clone());
        async move {
            if name == "second" {
                begun.add_permits(1);
                drop(may_end.acquire().await);
            }
            drop(begun.acquire().await);
            Ok(outcome(arguments))
        }
        .boxed()
    })
}

/// A listener that holds the first result that it hears of for good, and says so.
fn holding(settling: &Arc<Notify>) -> impl Fn(&EventBus) + Send + Sync + 'static {
    let (settling, is_held) = (settling.clone(), Arc::new(AtomicBool::new(false)));
    patient(move |_| {
        if is_held.swap(true, Ordering::SeqCst) {
            return async { Ok(()) }.boxed();
        }
        settling.notify_one();
        std::future::pending().boxed()
    })
}

#[tokio::test]
async fn g017_results_that_a_called_agent_had_at_a_forced_interrupt_are_what_its_model_is_told() {
    let rules = two();
    let (may_end, settling) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
    let tools = pair(&may_end);
    let place = place_with(&borrowed(&calling(&rules, "{}")), |settings| {
        settings.tools = Some(Arc::new(tools.clone()));
        holding(&settling)(&settings.listeners);
    })
    .await;
    let started = place.runtime.start(request("hello", "hi")).await.unwrap();
    settling.notified().await;
    may_end.add_permits(1);
    let id = started.request_id.clone();
    place.runtime.interrupt(&ann(), &id, force()).await.unwrap();
    let all = frames(started).await;
    assert_eq!(end(&all)["status"], "completed");
    assert_eq!(tools.names(), ["first", "second"]);
    assert_eq!(states(&all), ["completed", "completed"]);
    let said = shown(&all);
    let mut texts = said.iter().filter_map(|(_, text)| text.as_str());
    let told = texts.find_map(|text| text.strip_prefix("told: ")).unwrap();
    let request: Value = serde_json::from_str(told).unwrap();
    let messages = request["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    let results: Vec<&Value> = results.map(|message| &message["content"]).collect();
    assert_eq!(results, ["{\"n\":\"c1\"}", "{\"n\":\"c2\"}"]);
}

#[tokio::test]
async fn g017_tools_of_a_called_agent_that_had_ended_when_a_node_closed_do_not_run_on_the_next() {
    let store = driver::open("memory://", DriverOptions::default())
        .await
        .unwrap();
    let (may_end, settling) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
    let tools = pair(&may_end);
    let list = calling(&two(), "{}");
    let first = node_with(&borrowed(&list), &store, |settings| {
        settings.tools = Some(Arc::new(tools.clone()));
        holding(&settling)(&settings.listeners);
    })
    .await;
    let started = first.runtime.start(request("hello", "hi")).await.unwrap();
    settling.notified().await;
    may_end.add_permits(1);
    first.runtime.close(Duration::ZERO).await.unwrap();
    let second = node(&borrowed(&list), &store, tools.clone()).await;
    let id = started.request_id.as_str();
    let mut stream = second.runtime.stream(&ann(), id, 0).await.unwrap();
    while stream.next().await.unwrap().is_some() {}
    let info = second.runtime.turn(&ann(), id).await.unwrap();
    assert_eq!(serde_json::to_value(info.status).unwrap(), "completed");
    assert_eq!(tools.names(), ["first", "second"]);
}
