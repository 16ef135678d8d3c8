//! Stores that fail under a turn.

use crate::place::{Place, agent, ask, borrowed, end, files, model, remembered, request, settings};
use crate::toolbox::{Tools, outcome};
use ambit_runtime::Runtime;
use ambit_storage::Stores;
use ambit_storage::conformance::{Fault, Flaky};
use ambit_storage::driver::{self, Options};
use futures::FutureExt;
use serde_json::json;
use std::sync::Arc;

/// A turn with one tool, under which this many writes of its result fail.
async fn failing(times: u64) -> (Place, Tools, serde_json::Value) {
    let inner = driver::open("memory://", Options::default()).await.unwrap();
    let flaky = Arc::new(Flaky::new(inner));
    let store = flaky.clone();
    let tools = Tools::new(&["pay"], move |_, _| {
        let store = store.clone();
        async move {
            store.fail(Fault::Write, times);
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
    let stores = Stores::builder(Options::default())
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
