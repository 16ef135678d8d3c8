//! Turns that are taken up again and again, and turns that are nobody's business.

use crate::app::{peer, request};
use crate::points::{LATER, said};
use crate::store::Fresh;
use crate::tools::marks;
use crate::turns::{asked, driver, end, history, open_turns, rest, stream};
use crate::worker::{Job, Order, killed};
use ambit_runtime::{ErrorCode, Runtime, TurnRequest};
use ambit_storage::Json;
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::driver::LogRange;
use ambit_storage::lease::OnBusy;
use ambit_storage::operation::Operation;
use ambit_storage::storage::Role;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

crate::cases![
    g018_ten_restarts_of_a_turn_that_goes_on,
    g018_a_turn_that_gets_no_further_is_closed,
    g018_two_restarts_without_progress_are_forgiven,
    g019_live_and_finished_turns_are_left_alone,
    g019_an_orphan_is_taken_up_once,
    an_orphan_whose_agent_is_gone_waits_for_it,
    g162_a_repetition_does_not_close_the_turn_that_it_repeats,
];

/// A node that takes up what is there, as long after the first one as it is the so-manyth, and dies at this point.
fn successor(fresh: &Fresh, number: u32, point: &str) -> Order {
    Order {
        ahead: (LATER * number).as_secs(),
        ..Order::new(fresh, Job::Serve).dying_at(point, 1)
    }
}

/// The last node: it finishes what the others, so many, have left.
async fn last(fresh: &Fresh, number: u32) -> Runtime {
    peer(fresh, LATER * number).await.runtime
}

async fn g018_ten_restarts_of_a_turn_that_goes_on(fresh: Fresh) {
    let first = Order::new(&fresh, Job::ask("rounds")).dying_at("turn.settled", 1);
    let request_id = killed(first).await.remove(0);
    for number in 1..10 {
        killed(successor(&fresh, number, "turn.settled")).await;
    }
    let node = last(&fresh, 10).await;
    let entries = stream(&node, &request_id, 0).await;
    assert_eq!(end(&entries)["status"], "completed");
    assert!(said(&entries).ends_with("Ten rounds."));
    assert_eq!(marks(&fresh.marks()), ["marked round"; 10]);
    assert_eq!(asked(&history(&node, "chat").await), ["rounds"]);
}

/// A turn that was killed at its beginning, and so many times more before it had got further.
async fn fruitless(fresh: &Fresh, times: u32) -> (Runtime, Value) {
    let first = Order::new(fresh, Job::ask("count")).dying_at("turn.created", 1);
    let request_id = killed(first).await.remove(0);
    for number in 1..=times {
        killed(successor(fresh, number, "turn.created")).await;
    }
    let node = last(fresh, times + 1).await;
    let end = end(&stream(&node, &request_id, 0).await);
    assert_eq!(open_turns(&driver(&node)).await.len(), 0);
    (node, end)
}

async fn g018_a_turn_that_gets_no_further_is_closed(fresh: Fresh) {
    let (node, end) = fruitless(&fresh, 3).await;
    assert_eq!(
        (&end["status"], &end["code"]),
        (&"error".into(), &"internal".into())
    );
    assert_eq!(asked(&history(&node, "chat").await), ["count"]);
    assert_eq!(marks(&fresh.marks()), Vec::<String>::new());
}

async fn g018_two_restarts_without_progress_are_forgiven(fresh: Fresh) {
    let (_, end) = fruitless(&fresh, 2).await;
    assert_eq!(end["status"], "completed");
}

/// How often each kind of step stands in a turn's journal.
async fn steps(node: &Runtime, space: &Space, request_id: &str) -> BTreeMap<String, usize> {
    let log = space.log(format!("turn/{request_id}/journal"));
    let range = LogRange::from(1, 1_000);
    let page = driver(node).read(&log, range).await.unwrap();
    let mut count = BTreeMap::new();
    for entry in page.entries {
        let step = entry.body.to::<Value>().unwrap()["step"].clone();
        *count.entry(step.as_str().unwrap().to_owned()).or_default() += 1;
    }
    count
}

/// The id of a turn that another process begins, and is killed in at once: a node whose clock is ahead takes that process's lease
/// for expired, and a process that hears of it leaves the turn and lives on.
async fn killed_turn(fresh: &Fresh, node: &Runtime, text: &str) -> String {
    killed(Order::new(fresh, Job::ask(text)).dying_at("turn.begun", 1)).await;
    let stored = history(node, "chat").await;
    let question = stored.iter().rfind(|message| message.role == Role::User);
    question.unwrap().turn_id.clone().unwrap()
}

/// A turn of another process that is killed in its beginning, as this node takes it up and finishes it.
async fn orphan(fresh: &Fresh, node: &Runtime) {
    let request_id = killed_turn(fresh, node, "count").await;
    let entries = stream(node, &request_id, 0).await;
    assert_eq!(end(&entries)["status"], "completed");
}

async fn g019_live_and_finished_turns_are_left_alone(fresh: Fresh) {
    let (mut here, there) = (peer(&fresh, LATER).await, peer(&fresh, LATER).await);
    let finished = crate::turns::ask(&here.runtime, request("over", "count")).await;
    let mut running = Vec::new();
    for number in 0..8 {
        let chat = format!("chat-{number}");
        running.push(here.runtime.start(request(&chat, "wait")).await.unwrap());
        here.came.recv().await.unwrap();
    }
    let open = open_turns(&driver(&here.runtime)).await;
    assert_eq!(open.len(), 8);
    // Whoever finishes the second orphan has looked at every open turn since the first one was there.
    orphan(&fresh, &there.runtime).await;
    orphan(&fresh, &there.runtime).await;
    for turn in &open {
        let steps = steps(&there.runtime, &turn.space, &turn.request_id).await;
        assert_eq!((steps["begin"], steps.get("attempt")), (1, None));
    }
    running.iter().for_each(|_| here.gate.open());
    for turn in &mut running {
        let entries = rest(&mut turn.stream).await;
        assert_eq!(end(&entries)["status"], "completed");
        assert_eq!(stream(&there.runtime, &turn.request_id, 0).await, entries);
    }
    let waited = marks(&fresh.marks());
    let waited = waited.iter().filter(|mark| *mark == "waited").count();
    assert_eq!(waited, 8);
    let request_id = end(&finished)["request_id"].as_str().unwrap().to_owned();
    assert_eq!(stream(&there.runtime, &request_id, 0).await, finished);
}

async fn g019_an_orphan_is_taken_up_once(fresh: Fresh) {
    let (mut here, mut there) = (peer(&fresh, LATER).await, peer(&fresh, LATER).await);
    let mut over = Vec::new();
    for _ in 0..3 {
        let request_id = killed_turn(&fresh, &here.runtime, "wait").await;
        let taker = tokio::select! {
            _ = here.came.recv() => &here,
            _ = there.came.recv() => &there,
        };
        let open = open_turns(&driver(&taker.runtime)).await.remove(0);
        assert_eq!(
            steps(&here.runtime, &open.space, &request_id).await["attempt"],
            1
        );
        taker.gate.open();
        let entries = stream(&here.runtime, &request_id, 0).await;
        assert_eq!(end(&entries)["status"], "completed");
        over.push((open.space, request_id));
    }
    // One that ended and is taken up again would have a journal again.
    for (space, request_id) in over {
        assert_eq!(
            steps(&here.runtime, &space, &request_id).await,
            BTreeMap::new()
        );
    }
    assert_eq!(marks(&fresh.marks()), ["waited"; 3]);
    tokio::time::timeout(Duration::from_secs(60), here.runtime.close(Duration::ZERO))
        .await
        .unwrap()
        .unwrap();
}

async fn an_orphan_whose_agent_is_gone_waits_for_it(fresh: Fresh) {
    let order = Order::new(&fresh, Job::ask_agent("first", "count"));
    let request_id = killed(order.dying_at("turn.created", 1)).await.remove(0);
    let agent = fresh.folder.path().join("assistants/first");
    let aside = fresh.folder.path().join("first");
    std::fs::rename(&agent, &aside).unwrap();
    let node = peer(&fresh, LATER).await.runtime;
    // Whoever finishes the second orphan has looked at every open turn since the first one was there.
    orphan(&fresh, &node).await;
    orphan(&fresh, &node).await;
    let open = open_turns(&driver(&node)).await;
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].request_id, request_id);
    std::fs::rename(&aside, &agent).unwrap();
    let node = peer(&fresh, LATER * 2).await.runtime;
    let entries = stream(&node, &request_id, 0).await;
    assert_eq!(end(&entries)["status"], "completed");
}

async fn g162_a_repetition_does_not_close_the_turn_that_it_repeats(fresh: Fresh) {
    let order = Order::new(&fresh, Job::ask("count")).dying_at("turn.created", 1);
    let request_id = killed(order).await.remove(0);
    // The lease of the dead node lives on: whoever waited for it would have it before recovery looks again.
    let node = peer(&fresh, LATER.saturating_sub(Duration::from_secs(3)))
        .await
        .runtime;
    let begun = Space::repeats(DEFAULT_TENANT).key(format!("begun/{request_id}"));
    let set = Operation::Set(Json::of(&true).unwrap().into());
    let note = BatchWrite::apply(begun, set, None);
    driver(&node).commit(Batch::of([note])).await.unwrap();
    let repeated = TurnRequest {
        id: Some(request_id.clone()),
        reserves_id_for: Some(LATER),
        on_busy: OnBusy::Queue,
        ..request("chat", "count")
    };
    let refused = node.start(repeated).await.err();
    assert_eq!(refused.unwrap().code, ErrorCode::Conflict);
    let entries = stream(&node, &request_id, 0).await;
    assert_eq!(end(&entries)["status"], "completed");
}
