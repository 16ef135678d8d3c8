//! Two nodes over one store: whose turn it is, and turns that are followed, stopped and added to from the other node.

use crate::app::{Node, VERSES, ann, peer, request};
use crate::points::{later, said};
use crate::store::Fresh;
use crate::tools::marks;
use crate::turns::{
    ask, asked, driver, end, frames, history, open_turns, rest, results, stream, until, wait_until,
};
use ambit_runtime::StartedTurn;
use ambit_runtime::frame::{Frame, MessageStatus};
use ambit_runtime::{ErrorCode, TurnRequest};
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::lease::OnBusy;
use ambit_storage::pattern::Pattern;
use serde_json::json;
use std::time::Duration;

crate::cases![
    g004_a_second_turn_is_rejected_on_the_other_node,
    g004_turns_queue_in_order_of_arrival,
    g004_a_turn_is_interrupted_from_the_other_node,
    g014_a_request_that_cannot_begin_holds_nothing,
    g026_a_reader_that_leaves_stops_nothing,
    g108_the_other_node_goes_on_from_any_number,
    g108_a_running_turn_is_followed_on_the_other_node,
    g109_stopped_from_another_node,
    g109_stopped_after_a_resume_on_this_node,
    g111_replay_stores_nothing,
];

pub async fn nodes(fresh: &Fresh) -> (Node, Node) {
    (
        peer(fresh, Duration::ZERO).await,
        peer(fresh, Duration::ZERO).await,
    )
}

fn on_busy(text: &str, on_busy: OnBusy) -> TurnRequest {
    TurnRequest {
        on_busy,
        ..request("chat", text)
    }
}

/// A turn of this node that waits in its tool.
pub async fn waiting(node: &mut Node, text: &str) -> StartedTurn {
    let started = node.runtime.start(request("chat", text)).await.unwrap();
    node.came.recv().await.unwrap();
    started
}

async fn g004_a_second_turn_is_rejected_on_the_other_node(fresh: Fresh) {
    let (mut here, there) = nodes(&fresh).await;
    let mut running = waiting(&mut here, "wait").await;
    let refused = there.runtime.start(request("chat", "count")).await;
    let error = refused.err().expect("it is running");
    assert_eq!(error.code, ErrorCode::ChatBusy);
    assert_eq!(
        error.details.unwrap()["request_id"],
        json!(running.request_id)
    );
    here.gate.open();
    assert_eq!(end(&rest(&mut running.stream).await)["status"], "completed");
    assert_eq!(marks(&fresh.marks()), ["waited"]);
    let after = ask(&there.runtime, request("chat", "count")).await;
    assert_eq!(end(&after)["status"], "completed");
    assert_eq!(
        asked(&history(&here.runtime, "chat").await),
        ["wait", "count"]
    );
}

/// How many wait for the chat of the only open turn.
async fn queued(node: &Node) -> usize {
    let driver = driver(&node.runtime);
    let open = open_turns(&driver).await;
    let scan = ValueScan::first(Pattern::parse("ticket/*"), 100, ValuePart::Whole);
    driver
        .scan(&open[0].space.lease().space, &scan)
        .await
        .unwrap()
        .len()
}

async fn g004_turns_queue_in_order_of_arrival(fresh: Fresh) {
    let (mut here, there) = nodes(&fresh).await;
    let mut running = waiting(&mut here, "wait").await;
    let mut later = Vec::new();
    for (at, node) in [&there, &here, &there].into_iter().enumerate() {
        let runtime = node.runtime.clone();
        let asking = on_busy(&format!("number {at}"), OnBusy::Queue);
        later.push(tokio::spawn(async move { ask(&runtime, asking).await }));
        wait_until(async || queued(&there).await == at + 1).await;
    }
    here.gate.open();
    assert_eq!(end(&rest(&mut running.stream).await)["status"], "completed");
    for turn in later {
        assert_eq!(end(&turn.await.unwrap())["status"], "completed");
    }
    let expected = ["wait", "number 0", "number 1", "number 2"];
    assert_eq!(asked(&history(&there.runtime, "chat").await), expected);
}

async fn g004_a_turn_is_interrupted_from_the_other_node(fresh: Fresh) {
    let (mut here, there) = nodes(&fresh).await;
    let mut running = waiting(&mut here, "mix").await;
    until(&mut running.stream, |frame| {
        frame.props.get("result").is_some()
    })
    .await;
    let next = ask(&there.runtime, on_busy("count", OnBusy::Interrupt)).await;
    assert_eq!(end(&next)["status"], "completed");
    let first = stream(&there.runtime, &running.request_id, 0).await;
    assert_eq!(end(&first)["status"], "cancelled");
    let stored = history(&there.runtime, "chat").await;
    assert_eq!(asked(&stored), ["mix", "count"]);
    let told: Vec<(String, bool)> = results(&stored)
        .into_iter()
        .map(|(_, text, failed)| (text, failed))
        .collect();
    let expected = [
        ("marked one", false),
        ("cancelled", true),
        ("marked one", false),
        ("marked two", false),
    ];
    assert_eq!(
        told,
        expected.map(|(text, failed)| (text.to_owned(), failed))
    );
}

async fn g014_a_request_that_cannot_begin_holds_nothing(fresh: Fresh) {
    let (here, there) = nodes(&fresh).await;
    let wrong = TurnRequest {
        messages: serde_json::from_value(json!([{"role": "user", "content": 7}])).unwrap(),
        ..request("chat", "")
    };
    assert!(here.runtime.start(wrong).await.is_err());
    // A conversation that is still held is refused at once, not waited for.
    let next = on_busy("count", OnBusy::Reject);
    let mut started = there.runtime.start(next).await.unwrap();
    assert_eq!(end(&rest(&mut started.stream).await)["status"], "completed");
}

async fn g026_a_reader_that_leaves_stops_nothing(fresh: Fresh) {
    let (here, there) = nodes(&fresh).await;
    let whole = ask(&here.runtime, request("chat", "count")).await;
    for leaves_after in [0, 1, 5, 9, whole.len() - 1] {
        let chat = format!("chat-{leaves_after}");
        let mut started = here.runtime.start(request(&chat, "count")).await.unwrap();
        let mut got = 0;
        while got < leaves_after {
            // How many pieces a text has is a matter of time.
            let Some(entries) = started.stream.next().await.unwrap() else {
                break;
            };
            got += entries.len();
        }
        let request_id = started.request_id.clone();
        drop(started);
        let entries = stream(&there.runtime, &request_id, 0).await;
        assert_eq!(end(&entries)["status"], "completed");
        let stored = history(&there.runtime, &chat).await;
        assert_eq!(asked(&stored), ["count"]);
        assert_eq!(results(&stored).len(), 2);
    }
}

async fn g108_the_other_node_goes_on_from_any_number(fresh: Fresh) {
    let (here, there) = nodes(&fresh).await;
    let whole = ask(&here.runtime, request("chat", "count")).await;
    let request_id = end(&whole)["request_id"].as_str().unwrap().to_owned();
    here.runtime.close(Duration::ZERO).await.unwrap();
    here.runtime.stores().close().await.unwrap();
    for after in 0..=whole.len() {
        let rest = stream(&there.runtime, &request_id, after as u64).await;
        assert_eq!(rest, whole[after..]);
    }
    let beyond = there
        .runtime
        .stream(&ann(), &request_id, whole.len() as u64 + 1)
        .await;
    assert_eq!(beyond.err().unwrap().code, ErrorCode::InvalidArgument);
    let restarted = peer(&fresh, Duration::ZERO).await;
    assert_eq!(stream(&restarted.runtime, &request_id, 3).await, whole[3..]);
}

async fn g108_a_running_turn_is_followed_on_the_other_node(fresh: Fresh) {
    let (here, there) = nodes(&fresh).await;
    let mut started = here.runtime.start(request("chat", "speak")).await.unwrap();
    let first = until(&mut started.stream, |frame| frame.delta).await;
    let last = first.last().unwrap().number;
    let follower = there
        .runtime
        .stream(&ann(), &started.request_id, last)
        .await;
    let mut follower = follower.unwrap();
    let (behind, there_behind) = tokio::join!(rest(&mut started.stream), rest(&mut follower));
    assert_eq!(there_behind, behind);
    frames(&[first, behind].concat());
}

/// A turn of the first node that speaks, and the entries up to its first words.
pub async fn speaking(here: &Node, text: &str) -> StartedTurn {
    let mut started = here.runtime.start(request("chat", text)).await.unwrap();
    let is_text = |frame: &Frame| frame.delta && frame.kind == "text";
    until(&mut started.stream, is_text).await;
    started
}

/// The recital ends long before its last word, and what was said stays as far as it was said.
async fn is_stopped(there: &Node, request_id: &str) {
    there.runtime.cancel(&ann(), request_id).await.unwrap();
    let entries = stream(&there.runtime, request_id, 0).await;
    let text = said(&entries);
    let text = text.strip_prefix("on it|").unwrap();
    assert!(
        text.starts_with("verse ") && text.matches("verse").count() < VERSES,
        "{text}"
    );
    let stored = history(&there.runtime, "chat").await;
    let last = stored.last().unwrap();
    assert_eq!(last.text(), text);
    assert_eq!(
        last.extras["status"],
        json!(MessageStatus::Partial.as_str())
    );
    assert_eq!(open_turns(&driver(&there.runtime)).await.len(), 0);
    // Once more changes nothing.
    there.runtime.cancel(&ann(), request_id).await.unwrap();
    assert_eq!(stream(&there.runtime, request_id, 0).await, entries);
}

async fn g109_stopped_from_another_node(fresh: Fresh) {
    let (here, there) = nodes(&fresh).await;
    let started = speaking(&here, "recite").await;
    is_stopped(&there, &started.request_id).await;
}

async fn g109_stopped_after_a_resume_on_this_node(fresh: Fresh) {
    let (here, there) = nodes(&fresh).await;
    let request_id = speaking(&here, "recite").await.request_id;
    let mut resumed = there.runtime.stream(&ann(), &request_id, 2).await.unwrap();
    resumed.next().await.unwrap().unwrap();
    is_stopped(&here, &request_id).await;
    assert_eq!(open_turns(&driver(&there.runtime)).await.len(), 0);
}

async fn g111_replay_stores_nothing(fresh: Fresh) {
    let (here, there) = nodes(&fresh).await;
    let entries = ask(&here.runtime, request("chat", "count")).await;
    let request_id = end(&entries)["request_id"].as_str().unwrap().to_owned();
    let before = history(&there.runtime, "chat").await;
    for node in [&here, &there] {
        for after in [0, 4] {
            let replayed = stream(&node.runtime, &request_id, after).await;
            assert_eq!(replayed, entries[usize::try_from(after).unwrap()..]);
        }
    }
    let node = later(&fresh).await;
    assert_eq!(stream(&node, &request_id, 0).await, entries);
    assert_eq!(history(&node, "chat").await, before);
    assert_eq!(marks(&fresh.marks()).len(), 2);
}
