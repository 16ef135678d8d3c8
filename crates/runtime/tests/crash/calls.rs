//! Agents that hooks call, where the hook's process is killed.

use crate::points::later;
use crate::store::Fresh;
use crate::tools::marks;
use crate::turns::{driver, end, open_turns, stream};
use crate::worker::{self, Job, Order, killed};
use ambit_runtime::Runtime;
use rustix::process::Signal;
use serde_json::json;

crate::cases![
    g016_agents_that_had_answered_a_hook_are_not_asked_again,
    g016_a_called_agents_settled_tools_do_not_run_again,
];

/// The killed turn is finished, and its agents' tools have left these marks.
async fn finished(fresh: &Fresh, node: &Runtime, request_id: &str) -> Vec<String> {
    let entries = stream(node, request_id, 0).await;
    let end = end(&entries);
    assert_eq!(end["status"], "completed", "{end}");
    assert_eq!(
        end["next"],
        json!(["I have counted.", "I have counted.", "I have counted."])
    );
    // Three calls with two rounds each, and the caller's own.
    assert_eq!(end["usage"]["prompt_tokens"], 70);
    assert_eq!(open_turns(&driver(node)).await.len(), 0);
    // Nothing is left of what was kept for this.
    let ambit = node.contexts(&crate::app::ann());
    let agent = ambit.agent("caller").unwrap();
    let session = agent.for_user_id("ann").chat("chat").await.unwrap();
    let (space, driver) = session.context().place();
    let logs = driver.logs(&space).await.unwrap();
    let kept = logs.iter().filter(|name| name.ends_with("/calls"));
    assert_eq!(kept.count(), 0, "{logs:?}");
    let records = session.context().usage().records().await.unwrap();
    assert_eq!(records.len(), 7);
    let mut marks = marks(&fresh.marks());
    marks.sort();
    marks
}

/// Each call once.
fn all() -> Vec<String> {
    let marks = ["marked one", "marked two"];
    let mut all: Vec<String> = marks.repeat(3).into_iter().map(str::to_owned).collect();
    all.sort();
    all
}

async fn g016_agents_that_had_answered_a_hook_are_not_asked_again(fresh: Fresh) {
    let order = Order::new(&fresh, Job::ask_agent("caller", "hang"));
    let (mut worker, lines) = worker::until(order, |line| line.contains("almost")).await;
    worker.send(Signal::KILL);
    assert!(!worker.ended_well());
    assert_eq!(marks(&fresh.marks()).len(), 6);
    let node = later(&fresh).await;
    assert_eq!(finished(&fresh, &node, &lines[0]).await, all());
}

async fn g016_a_called_agents_settled_tools_do_not_run_again(fresh: Fresh) {
    // In the second of the three calls, with both results.
    let order = Order::new(&fresh, Job::ask_agent("caller", "go")).dying_at("turn.settled", 4);
    let request_id = killed(order).await.remove(0);
    assert_eq!(marks(&fresh.marks()).len(), 4);
    let node = later(&fresh).await;
    assert_eq!(finished(&fresh, &node, &request_id).await, all());
}
