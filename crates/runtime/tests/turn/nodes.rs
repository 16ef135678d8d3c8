//! Nodes of one installation: which are there, and what one sends to the turns of another.

use crate::place::{Place, agent, ann, borrowed, end, files, frames, node_with, remembered};
use crate::place::{request, settings};
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::{InterruptEffect, Runtime, TurnInterrupt, TurnRequest};
use ambit_storage::Stores;
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::driver::{Driver, DriverOptions, FaultPoints};
use futures::executor::block_on;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The ids of the nodes that this one knows, itself first.
async fn known(node: &Place) -> Vec<String> {
    let nodes = node.runtime.nodes().await.unwrap();
    nodes.into_iter().map(|node| node.id).collect()
}

#[tokio::test(start_paused = true)]
async fn a_node_that_has_stopped_is_gone_at_once() {
    let store: Arc<dyn Driver> = Arc::new(MemoryDriver::new(DriverOptions::default()));
    let here = node_with(&[], &store, |_| {}).await;
    let there = node_with(&[], &store, |_| {}).await;
    let (own, other) = (there.runtime.node().id, here.runtime.node().id);
    while known(&there).await.len() < 2 {
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    assert_eq!(known(&there).await, [own.clone(), other]);
    here.runtime.close(Duration::ZERO).await.unwrap();
    assert_eq!(known(&there).await, [own]);
}

/// What the other node sends just before the last commit of a turn is taken on, and must not wait for another commit: behind the
/// last one nobody would find it.
#[tokio::test]
async fn g016_what_is_taken_on_before_the_last_commit_is_stored_with_it() {
    let store: Arc<dyn Driver> = Arc::new(MemoryDriver::new(DriverOptions::default()));
    let list = agent(&json!({}), "");
    let there = node_with(&borrowed(&list), &store, |_| {}).await;
    let stored = Arc::new(Mutex::new(Vec::new()));
    let at_end = stored.clone();
    let points = move |point: &str| match point {
        "turn.before_close" => {
            let more = TurnInterrupt {
                messages: vec![ChatMessage::user("one more")],
                ..TurnInterrupt::default()
            };
            let who = ann();
            let sent = block_on(there.runtime.interrupt(&who, "the-turn", more));
            assert_eq!(sent.unwrap(), InterruptEffect::NextStep);
        }
        "turn.closed" => *at_end.lock().unwrap() = block_on(remembered(&there, "hello")),
        _ => {}
    };
    let options = DriverOptions {
        fault_points: FaultPoints::new(points),
        ..DriverOptions::default()
    };
    let stores = Stores::builder(options).driver("shared", store);
    let app = files(&borrowed(&list));
    let runtime = Runtime::open(settings(app.path(), stores.build().unwrap()));
    let here = runtime.await.unwrap();
    let asked = TurnRequest {
        id: Some("the-turn".to_owned()),
        ..request("hello", "hi")
    };
    let told = frames(here.start(asked).await.unwrap()).await;
    assert_eq!(end(&told)["status"], "completed");
    let expected = ["user: hi", "assistant: echo: hi", "user: one more"];
    assert_eq!(*stored.lock().unwrap(), expected);
}
