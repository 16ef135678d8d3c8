//! Several processes that want the same conversation, one of them paused or killed.

use crate::app::{ann, peer, request};
use crate::points::LATER;
use crate::stopwatch::Stopwatch;
use crate::store::Fresh;
use crate::turns::{asked, driver, end, history, open_turns, rest, stream};
use crate::worker::{self, Job, Order, done};
use ambit_runtime::TurnRequest;
use ambit_runtime::TurnStatus;
use ambit_storage::lease::OnBusy;
use rustix::process::Signal;
use std::time::Duration;

crate::cases![
    g001_forty_turns_of_two_processes_are_stored_in_order,
    g001_turns_that_are_refused_leave_nothing,
    g002_a_node_paused_beyond_its_lease_commits_nothing,
    g003_the_next_turn_starts_when_its_holder_is_killed,
];

/// What two processes say of their turns in one chat.
async fn both(fresh: &Fresh, queue: bool) -> [Vec<String>; 2] {
    let turns = |name: &str| {
        let name = name.to_owned();
        let job = Job::Turns {
            name,
            count: 20,
            queue,
        };
        done(Order::new(fresh, job))
    };
    let (a, b) = tokio::join!(turns("a"), turns("b"));
    [a, b]
}

/// What was said to be done is what is stored, and each process's turns in their order.
async fn is_stored(fresh: &Fresh, said: &[Vec<String>; 2]) -> usize {
    let node = peer(fresh, Duration::ZERO).await.runtime;
    let stored = history(&node, "chat").await;
    let asked = asked(&stored);
    for (said, name) in said.iter().zip(["a", "b"]) {
        let done: Vec<&str> = said
            .iter()
            .filter_map(|line| line.strip_prefix("done "))
            .collect();
        let of_this: Vec<&String> = asked.iter().filter(|text| text.ends_with(name)).collect();
        assert_eq!(of_this, done);
    }
    let answers: Vec<String> = stored.iter().map(|message| message.text()).collect();
    let answers = answers.iter().filter(|text| text.starts_with("echo: "));
    let answers: Vec<&str> = answers.map(|text| &text["echo: ".len()..]).collect();
    assert_eq!(
        answers, asked,
        "each is answered before the next one begins"
    );
    asked.len()
}

async fn g001_forty_turns_of_two_processes_are_stored_in_order(fresh: Fresh) {
    let said = both(&fresh, true).await;
    assert_eq!(is_stored(&fresh, &said).await, 40);
}

async fn g001_turns_that_are_refused_leave_nothing(fresh: Fresh) {
    let said = both(&fresh, false).await;
    let refused = said
        .iter()
        .flatten()
        .filter(|line| line.starts_with("chat_busy "))
        .count();
    assert_eq!(is_stored(&fresh, &said).await + refused, 40);
}

async fn g002_a_node_paused_beyond_its_lease_commits_nothing(fresh: Fresh) {
    let order = Order::new(&fresh, Job::ask("wait"));
    let (mut worker, said) = worker::until(order, |line| line == "waiting").await;
    let request_id = said[0].clone();
    worker.send(Signal::STOP);
    let node = peer(&fresh, LATER).await;
    node.gate.open();
    let entries = stream(&node.runtime, &request_id, 0).await;
    assert_eq!(end(&entries)["status"], "completed");
    let before = history(&node.runtime, "chat").await;
    let log = crate::turns::everything(&node.runtime, "chat").await;
    worker.send(Signal::CONT);
    worker.say("go on");
    let told = worker::up_to_end(worker).await;
    // Its reader goes on with what the other node has stored.
    let told: Vec<_> = said[1..]
        .iter()
        .chain(&told)
        .filter_map(|line| crate::points::entry(line))
        .collect();
    assert_eq!(told, entries);
    assert_eq!(history(&node.runtime, "chat").await, before);
    assert_eq!(crate::turns::everything(&node.runtime, "chat").await, log);
    assert_eq!(open_turns(&driver(&node.runtime)).await.len(), 0);
}

async fn g003_the_next_turn_starts_when_its_holder_is_killed(fresh: Fresh) {
    let node = peer(&fresh, Duration::ZERO).await;
    let order = Order::new(&fresh, Job::ask("wait"));
    let (mut worker, said) = worker::until(order, |line| line == "waiting").await;
    worker.send(Signal::KILL);
    assert!(!worker.ended_well());
    let since = Stopwatch::start(&[]);
    let next = TurnRequest {
        on_busy: OnBusy::Queue,
        ..request("chat", "count")
    };
    let mut started = node.runtime.start(next).await.unwrap();
    assert!(
        since.elapsed() < Duration::from_secs(10),
        "{:?}",
        since.elapsed()
    );
    assert_eq!(end(&rest(&mut started.stream).await)["status"], "completed");
    let left = node.runtime.turn(&ann(), &said[0]).await.unwrap();
    assert_eq!(left.status, TurnStatus::Error);
    assert_eq!(
        end(&stream(&node.runtime, &said[0], 0).await)["code"],
        "internal"
    );
    assert_eq!(
        asked(&history(&node.runtime, "chat").await),
        ["wait", "count"]
    );
    assert_eq!(open_turns(&driver(&node.runtime)).await.len(), 0);
}
