//! When traces are sent to a collector, however it behaves.

use crate::collector::{Received, Reply, SentSpan, TestCollector};
use crate::metrics::all_are_over;
use crate::place::{Place, ask, borrowed, end, node_with, request, tree};
use crate::telemetry::{plain, sending, sending_with};
use ambit_runtime::TurnStorage;
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::driver::{Driver, DriverOptions};
use futures::future::join_all;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Asks so many times at once, each in a chat of its own; the ids of the turns.
async fn ask_many(place: &Place, count: usize) -> Vec<String> {
    ask_storing(place, TurnStorage::Conversation, count).await
}

/// The same of turns that are kept there.
async fn ask_storing(place: &Place, storage: TurnStorage, count: usize) -> Vec<String> {
    let turns = (0..count).map(|number| async move {
        let mut asked = request("hello", "hi");
        asked.storage = storage;
        asked.chat = Some(format!("chat-{number}"));
        let frames = ask(place, asked).await;
        end(&frames)["request_id"].as_str().unwrap().to_owned()
    });
    join_all(turns).await
}

/// Waits until there are spans of which this has become.
async fn counted(place: &Place, result: &str) {
    let line = format!("ambit_telemetry_spans_total{{result=\"{result}\"}}");
    while !place.runtime.metrics_text().contains(&line) {
        tokio::task::yield_now().await;
    }
}

/// The turns whose spans have come, as often as they have.
fn sent(spans: &[SentSpan]) -> Vec<String> {
    let roots = spans.iter().filter(|span| span.is_root());
    let ids = roots.map(|root| root.attributes["ambit.request_id"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

#[tokio::test]
async fn g174_a_collector_that_fails_has_every_span_once_it_is_back() {
    let collector = TestCollector::replying([
        Reply::Status(500, ""),
        Reply::Cut,
        Reply::Status(429, "retry-after: 1\r\n"),
        Reply::Status(503, ""),
        Reply::Status(404, ""),
    ])
    .await;
    let place = sending(&plain(&json!({})), &collector).await;
    let mut asked = ask_many(&place, 5).await;
    let mut sent = sent(&collector.turns(5).await);
    asked.sort();
    sent.sort();
    assert_eq!(sent, asked);
    counted(&place, "failed").await;
    counted(&place, "sent").await;
}

/// The requests for traces that have come, taken or not.
fn trace_requests(received: &Received) -> usize {
    let heads = received.heads.iter();
    heads.filter(|head| head.contains("/v1/traces")).count()
}

#[tokio::test]
async fn g174_turns_end_while_a_collector_does_not_answer() {
    let told = Arc::new(Notify::new());
    let collector = TestCollector::replying([Reply::When(told.clone())]).await;
    let place = sending_with(&plain(&json!({})), &collector, |settings| {
        // The request is not given up: what waited for its end would wait for ever.
        let traces = settings.telemetry.traces.as_mut().unwrap();
        traces.timeout = Duration::from_secs(3_600);
    })
    .await;
    let mut asked = ask_many(&place, 1).await;
    collector
        .until(|received| trace_requests(received) == 1)
        .await;
    // The second time each chat is free, and nothing is left of the turn before.
    for storage in [
        TurnStorage::Conversation,
        TurnStorage::Conversation,
        TurnStorage::None,
    ] {
        all_are_over(&place.runtime).await;
        asked.extend(ask_storing(&place, storage, 20).await);
    }
    all_are_over(&place.runtime).await;
    // The exporter still holds its one request, and no other was begun.
    assert_eq!(trace_requests(&collector.received()), 1);
    assert_eq!(collector.spans(), []);
    told.notify_one();
    let sent: BTreeSet<String> = sent(&collector.turns(61).await).into_iter().collect();
    let asked: BTreeSet<String> = asked.into_iter().collect();
    assert_eq!(sent, asked);
}

#[tokio::test]
async fn g174_a_collector_that_is_not_there_changes_no_turn() {
    let collector = TestCollector::start().await;
    let place = sending_with(&plain(&json!({})), &collector, |settings| {
        let traces = settings.telemetry.traces.as_mut().unwrap();
        // Nothing listens there: no system gives port 1 to whoever asks for any port.
        traces.url = "http://127.0.0.1:1/v1/traces".to_owned();
    })
    .await;
    assert_eq!(ask_many(&place, 10).await.len(), 10);
    assert_eq!(collector.spans(), []);
}

#[tokio::test]
async fn g174_two_nodes_make_one_export() {
    let driver: Arc<dyn Driver> = Arc::new(MemoryDriver::new(DriverOptions::default()));
    let collector = TestCollector::start().await;
    let files = plain(&json!({}));
    let files = borrowed(&files);
    let open = || {
        node_with(&files, &driver, |settings| {
            settings.telemetry = collector.settings();
        })
    };
    let nodes = [open().await, open().await];
    let mut asked = Vec::new();
    for round in 0..10 {
        let mut question = request("hello", "hi");
        question.chat = Some(format!("chat-{round}"));
        let frames = ask(&nodes[round % 2], question).await;
        asked.push(end(&frames)["request_id"].as_str().unwrap().to_owned());
    }
    // One after the other, so that the order of their commits is known.
    assert_eq!(sent(&collector.turns(10).await), asked);
}

#[tokio::test]
async fn what_a_collector_refuses_takes_nothing_else_along() {
    let held = Arc::new(Notify::new());
    let collector = TestCollector::replying([
        Reply::When(held.clone()),
        Reply::Status(400, ""),
        Reply::Status(400, ""),
        Reply::Take,
        Reply::TakeBut(1),
    ])
    .await;
    let place = sending(&plain(&json!({})), &collector).await;
    ask_many(&place, 1).await;
    collector
        .until(|received| trace_requests(received) == 1)
        .await;
    // Four turns go into one request, which is refused, as is the first of them.
    ask_many(&place, 4).await;
    all_are_over(&place.runtime).await;
    held.notify_one();
    assert_eq!(sent(&collector.turns(4).await).len(), 4);
    counted(&place, "refused").await;
}

#[tokio::test]
async fn a_turn_that_is_not_traced_is_not_sent() {
    let collector = TestCollector::start().await;
    let place = sending(&plain(&json!({})), &collector).await;
    let mut asked = request("hello", "hi");
    asked.skip.trace = true;
    ask(&place, asked).await;
    let frames = ask(&place, request("hello", "again")).await;
    let expected = end(&frames)["request_id"].as_str().unwrap().to_owned();
    assert_eq!(sent(&collector.turns(1).await), [expected]);
    let tree = tree(&place, &frames).await;
    assert_eq!(tree.origin.user_id.as_deref(), Some("ann"));
}
