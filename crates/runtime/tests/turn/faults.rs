//! Stores that fail under a turn.

use crate::place::{
    Place, agent, ann, ask, borrowed, end, files, frames, model, remembered, request, settings,
};
use crate::toolbox::{Tools, outcome};
use ambit_runtime::{Runtime, TurnStatus};
use ambit_storage::Stores;
use ambit_storage::conformance::{FaultKind, FlakyDriver};
use ambit_storage::driver::{self, DriverOptions, FaultPoints};
use futures::FutureExt;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Notify;

/// A turn with one tool, under which this many writes of its result fail.
async fn failing(times: u64) -> (Place, Tools, serde_json::Value) {
    failing_with(FaultKind::Write, times).await
}

/// The same with calls of another kind.
async fn failing_with(fault: FaultKind, times: u64) -> (Place, Tools, serde_json::Value) {
    let inner = driver::open("memory://", DriverOptions::default())
        .await
        .unwrap();
    let flaky = Arc::new(FlakyDriver::new(inner));
    let store = flaky.clone();
    let tools = Tools::new(&["pay"], move |_, _| {
        let store = store.clone();
        async move {
            store.fail(fault, times);
            Ok(outcome(json!("paid")))
        }
        .boxed()
    });
    let rules = json!([{"match": {"has_tool_result": false}, "tool_calls": [{"name": "s__pay"}]}, {"reply": "done"}]);
    let mut list = agent(
        &json!({"connector": "calling", "mcp": {"servers": ["s"]}}),
        "",
    );
    list.push(model("calling", &rules));
    let app = files(&borrowed(&list));
    let stores = Stores::builder(DriverOptions::default())
        .driver("flaky", flaky.clone())
        .build()
        .unwrap();
    let mut settings = settings(app.path(), stores);
    settings.tools = Some(Arc::new(tools.clone()));
    let runtime = Runtime::open(settings).await.unwrap();
    let place = Place { runtime, app };
    let ended = end(&ask(&place, request("hello", "hi")).await);
    (place, tools, ended)
}

#[tokio::test]
async fn g017_a_result_that_cannot_be_stored_at_once_is_stored_before_the_next_model_call() {
    let (place, tools, ended) = failing(3).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(tools.names(), ["pay"]);
    let expected = [
        "user: hi",
        "assistant: ",
        "tool: \"paid\"",
        "assistant: done",
    ];
    assert_eq!(remembered(&place, "hello").await, expected);
}

#[tokio::test]
async fn g017_a_result_that_stays_unstored_fails_the_turn_and_is_not_forgotten() {
    let (place, tools, ended) = failing(30).await;
    assert_eq!(
        (&ended["status"], &ended["code"]),
        (&json!("error"), &json!("unavailable"))
    );
    assert_eq!(tools.names(), ["pay"]);
    let expected = ["user: hi", "assistant: ", "tool: \"paid\""];
    assert_eq!(remembered(&place, "hello").await, expected);
}

#[tokio::test]
async fn g023_reads_that_fail_for_a_while_are_waited_for_and_the_turn_ends() {
    let (place, tools, ended) = failing_with(FaultKind::Read, 4).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(tools.names(), ["pay"]);
    assert_eq!(remembered(&place, "hello").await.len(), 4);
    // Nothing holds the conversation.
    assert_eq!(
        end(&ask(&place, request("hello", "more")).await)["status"],
        "completed"
    );
}

#[tokio::test]
async fn a_turn_is_not_told_to_have_ended_before_its_last_commit() {
    let inner = driver::open("memory://", DriverOptions::default())
        .await
        .unwrap();
    let flaky = Arc::new(FlakyDriver::new(inner));
    let (store, told) = (flaky.clone(), Arc::new(Notify::new()));
    let tell = told.clone();
    let options = DriverOptions {
        fault_points: FaultPoints::new(move |point| {
            if point == "turn.before_close" {
                store.fail(FaultKind::Write, u64::MAX);
                tell.notify_one();
            }
        }),
        ..DriverOptions::default()
    };
    let app = files(&borrowed(&agent(&json!({}), "")));
    let stores = Stores::builder(options)
        .driver("flaky", flaky.clone())
        .build()
        .unwrap();
    let runtime = Runtime::open(settings(app.path(), stores)).await.unwrap();
    let started = runtime.start(request("hello", "hi")).await.unwrap();
    let id = started.request_id.clone();
    let status = async || runtime.turn(&ann(), &id).await.unwrap().status;
    told.notified().await;
    assert_eq!(status().await, TurnStatus::Running);
    flaky.heal();
    assert_eq!(end(&frames(started).await)["status"], "completed");
    assert_eq!(status().await, TurnStatus::Completed);
}
