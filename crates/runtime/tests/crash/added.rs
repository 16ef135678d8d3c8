//! Messages that are sent to a turn of another node.

use crate::app::{ann, peer, request};
use crate::points::{entry, said};
use crate::store::Fresh;
use crate::tools::marks;
use crate::turns::{ask, asked, end, frames, history, rest, results, stream, until};
use crate::worker::{self, Job, Order};
use ambit_runtime::ErrorCode;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::{InterruptEffect, TurnInterrupt};
use rustix::process::Signal;
use std::time::Duration;

use crate::nodes::{nodes, speaking, waiting};

crate::cases![
    messages_of_the_other_node_are_answered_next,
    forced_messages_of_the_other_node_begin_the_step_anew,
    forced_messages_cancel_the_tools_under_way,
    messages_for_an_ended_turn_are_too_late,
    g016_messages_taken_on_survive_the_node,
];

fn adding(text: &str, is_forced: bool) -> TurnInterrupt {
    TurnInterrupt {
        is_forced,
        messages: vec![ChatMessage::user(text)],
        ..TurnInterrupt::default()
    }
}

async fn messages_of_the_other_node_are_answered_next(fresh: Fresh) {
    let (mut here, there) = nodes(&fresh).await;
    let mut running = waiting(&mut here, "wait").await;
    for (node, text) in [(&there, "recall first"), (&here, "recall second")] {
        let id = format!("{}.c0", running.request_id);
        let applied = node
            .runtime
            .interrupt(&ann(), &id, adding(text, false))
            .await;
        assert_eq!(applied.unwrap(), InterruptEffect::NextStep);
    }
    here.gate.open();
    let entries = rest(&mut running.stream).await;
    assert_eq!(end(&entries)["status"], "completed");
    let text = said(&entries);
    for told in ["waited", "recall first", "recall second"] {
        assert!(text.contains(told), "{text}");
    }
    let stored = history(&there.runtime, "chat").await;
    assert_eq!(asked(&stored), ["wait", "recall first", "recall second"]);
    let interrupts = frames(&entries);
    let interrupts = interrupts
        .iter()
        .filter(|frame| frame.event_name() == Some("interrupt"));
    assert_eq!(interrupts.count(), 2);
}

async fn forced_messages_of_the_other_node_begin_the_step_anew(fresh: Fresh) {
    let (here, there) = nodes(&fresh).await;
    let mut started = speaking(&here, "recite").await;
    for (node, text) in [(&there, "recite again"), (&here, "recall")] {
        let applied = node
            .runtime
            .interrupt(&ann(), &started.request_id, adding(text, true))
            .await;
        assert_eq!(applied.unwrap(), InterruptEffect::Restart);
        until(&mut started.stream, |frame| {
            frame.event_name() == Some("interrupt")
        })
        .await;
    }
    let entries = stream(&there.runtime, &started.request_id, 0).await;
    assert_eq!(end(&entries)["status"], "completed");
    let text = said(&entries);
    assert_eq!(text.matches("on it").count(), 1, "Create runs once");
    assert!(
        text.starts_with("on it|verse ") && text.contains("recite again"),
        "{text}"
    );
    let stored = history(&there.runtime, "chat").await;
    assert_eq!(asked(&stored), ["recite", "recite again", "recall"]);
}

async fn forced_messages_cancel_the_tools_under_way(fresh: Fresh) {
    let (mut here, there) = nodes(&fresh).await;
    let mut running = waiting(&mut here, "mix").await;
    until(&mut running.stream, |frame| {
        frame.props.get("result").is_some()
    })
    .await;
    let applied = there
        .runtime
        .interrupt(&ann(), &running.request_id, adding("recall", true))
        .await;
    assert_eq!(applied.unwrap(), InterruptEffect::Restart);
    rest(&mut running.stream).await;
    let entries = stream(&there.runtime, &running.request_id, 0).await;
    assert_eq!(end(&entries)["status"], "completed");
    assert!(said(&entries).contains("cancelled"), "the model is told");
    let stored = history(&there.runtime, "chat").await;
    assert_eq!(asked(&stored), ["mix", "recall"]);
    let told: Vec<(String, bool)> = results(&stored)
        .into_iter()
        .map(|(_, text, failed)| (text, failed))
        .collect();
    assert_eq!(
        told,
        [
            ("marked one".to_owned(), false),
            ("cancelled".to_owned(), true)
        ]
    );
    assert_eq!(marks(&fresh.marks()), ["marked one"]);
}

async fn messages_for_an_ended_turn_are_too_late(fresh: Fresh) {
    let (here, there) = nodes(&fresh).await;
    let entries = ask(&here.runtime, request("chat", "count")).await;
    let request_id = end(&entries)["request_id"].as_str().unwrap().to_owned();
    for node in [&here, &there] {
        let late = node
            .runtime
            .interrupt(&ann(), &request_id, adding("more", false))
            .await;
        assert_eq!(late.unwrap_err().code, ErrorCode::TooLate);
    }
    assert_eq!(asked(&history(&there.runtime, "chat").await), ["count"]);
}

async fn g016_messages_taken_on_survive_the_node(fresh: Fresh) {
    let there = peer(&fresh, Duration::ZERO).await;
    let order = Order::new(&fresh, Job::ask("wait"));
    let (mut worker, said_so_far) = worker::until(order, |line| line == "waiting").await;
    let request_id = &said_so_far[0];
    let applied = there
        .runtime
        .interrupt(&ann(), request_id, adding("recall", false))
        .await;
    assert_eq!(applied.unwrap(), InterruptEffect::NextStep);
    worker.send(Signal::KILL);
    assert!(!worker.ended_well());
    there.runtime.close(Duration::ZERO).await.unwrap();
    let next = peer(&fresh, crate::points::LATER).await;
    next.gate.open();
    let entries = stream(&next.runtime, request_id, 0).await;
    let got: Vec<_> = said_so_far[1..]
        .iter()
        .filter_map(|line| entry(line))
        .collect();
    assert_eq!(entries[..got.len()], got);
    assert_eq!(end(&entries)["status"], "completed");
    assert!(said(&entries).contains("recall"));
    let stored = history(&next.runtime, "chat").await;
    assert_eq!(asked(&stored), ["wait", "recall"]);
    assert_eq!(results(&stored).len(), 1);
}
