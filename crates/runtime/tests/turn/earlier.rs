//! Turns that an earlier version has left.

use crate::place::{Place, agent, ann, borrowed, model, named, request, session};
use crate::toolbox::{Tools, outcome};
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::driver::{self, Driver, DriverOptions, LogRange};
use ambit_storage::json::Json;
use futures::FutureExt;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// A node over this store, whose agent calls another one that uses these tools.
async fn node(store: &Arc<dyn Driver>, tools: &Tools) -> Place {
    let hooks = "export function Create(ctx) {
        ctx.agent.Call('booker', [{ role: 'user', content: 'book' }], { skip: { output: true } });
    }";
    let tool = |round: u64, name: &str| json!({"match": {"round": round}, "tool_calls": [{"id": format!("c{round}"), "name": name}]});
    let rules = json!([tool(0, "s__show"), tool(1, "s__wait"), {"reply": "booked"}]);
    let mut list = agent(&json!({}), hooks);
    let package = json!({"connector": "booking", "mcp": {"servers": ["s"]}});
    list.extend(named("booker", &package, ""));
    list.push(model("booking", &rules));
    crate::place::node(&borrowed(&list), store, tools.clone()).await
}

#[tokio::test]
async fn what_only_an_earlier_version_knows_of_a_call_is_passed_over() {
    let store = driver::open("memory://", DriverOptions::default())
        .await
        .unwrap();
    let waits = Arc::new(Notify::new());
    let reached = waits.clone();
    let hanging = Tools::new(&["show", "wait"], move |name, arguments| {
        let reached = reached.clone();
        async move {
            if name == "wait" {
                reached.notify_one();
                std::future::pending::<()>().await;
            }
            Ok(outcome(arguments))
        }
        .boxed()
    });
    let first = node(&store, &hanging).await;
    let started = first.runtime.start(request("hello", "hi")).await.unwrap();
    waits.notified().await;
    let id = started.request_id.as_str();
    let (space, _) = session(&first, "hello").await.context().place();
    first.runtime.close(Duration::ZERO).await.unwrap();
    // As the earlier version noted what a model was called for.
    let log = space.log(format!("turn/{id}/calls"));
    let page = store.read(&log, LogRange::from(1, 100)).await.unwrap();
    let call = page.entries[0].body.to::<Value>().unwrap()["call"].clone();
    let number = page.entries.len();
    let used =
        json!({"record_id": "r1", "prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12});
    let old = NewEntry {
        id: format!("{}.{number:06}", call.as_str().unwrap()),
        body: Json::of(&json!({"call": call, "done": {"used": used}})).unwrap(),
    };
    let entries = vec![old];
    let append = Batch::of([BatchWrite::Append { log, entries }]);
    store.commit(append).await.unwrap();
    let tools = Tools::new(&["show", "wait"], |_, arguments| {
        async { Ok(outcome(arguments)) }.boxed()
    });
    let next = node(&store, &tools).await;
    let mut stream = next.runtime.stream(&ann(), id, 0).await.unwrap();
    let ended = async { while stream.next().await.unwrap().is_some() {} };
    timeout(Duration::from_secs(120), ended).await.unwrap();
    assert_eq!(tools.names(), ["wait"]);
}
