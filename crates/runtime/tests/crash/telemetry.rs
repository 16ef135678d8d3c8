//! The traces of turns whose process is killed, as a collector gets them from the nodes that are left.

use crate::app::{COLLECTOR, peer};
use crate::collector::{SentSpan, TestCollector};
use crate::points::LATER;
use crate::store::Fresh;
use crate::turns::{end, stream};
use crate::worker::{Job, Order, killed};
use std::collections::BTreeSet;

crate::cases![
    g174_a_turn_killed_behind_an_answer_is_one_trace,
    g174_a_turn_killed_behind_a_tool_is_one_trace,
    g174_a_turn_killed_before_its_last_commit_is_one_trace,
    g174_a_turn_killed_behind_its_last_commit_is_one_trace,
    g174_a_turn_killed_in_the_delegates_part_is_one_trace,
];

/// Kills a turn of this agent at the point; two other nodes are left, of which one goes on with it, and either may send it.
async fn is_one_trace(fresh: &Fresh, agent: &str, point: &str, times: u64) {
    let collector = TestCollector::start().await;
    std::fs::write(fresh.folder.path().join(COLLECTOR), &collector.url).unwrap();
    let order = Order::new(fresh, Job::ask_agent(agent, "count")).dying_at(point, times);
    let request_id = killed(order).await.remove(0);
    let nodes = [peer(fresh, LATER).await, peer(fresh, LATER).await];
    let spans = collector.turns(1).await;
    let traces: BTreeSet<&str> = spans.iter().map(|span| span.trace_id.as_str()).collect();
    assert_eq!(traces.len(), 1, "{spans:?}");
    let ids: BTreeSet<&str> = spans.iter().map(|span| span.id.as_str()).collect();
    assert_eq!(ids.len(), spans.len(), "two nodes have sent it");
    let is_placed = |span: &SentSpan| span.is_root() || ids.contains(span.parent_id.as_str());
    assert!(spans.iter().all(is_placed), "{spans:?}");
    let told = end(&stream(&nodes[0].runtime, &request_id, 0).await);
    assert_eq!(told["status"], "completed");
    let root = spans.iter().find(|span| span.is_root()).unwrap();
    assert_eq!(root.attributes["ambit.request_id"], request_id.as_str());
    let chats = spans.iter().filter(|span| span.whole["kind"] == 3);
    let chats: Vec<&SentSpan> = chats.collect();
    for (attribute, name) in [
        ("gen_ai.usage.input_tokens", "prompt_tokens"),
        ("gen_ai.usage.output_tokens", "completion_tokens"),
    ] {
        let sum: i64 = chats.iter().map(|span| span.number(attribute)).sum();
        assert_eq!(told["usage"][name], sum, "{attribute} of {chats:?}");
        assert_eq!(root.number(attribute), sum, "{attribute}");
    }
}

async fn g174_a_turn_killed_behind_an_answer_is_one_trace(fresh: Fresh) {
    is_one_trace(&fresh, "hello", "turn.answered", 1).await;
}

async fn g174_a_turn_killed_behind_a_tool_is_one_trace(fresh: Fresh) {
    is_one_trace(&fresh, "hello", "turn.settled", 1).await;
}

async fn g174_a_turn_killed_before_its_last_commit_is_one_trace(fresh: Fresh) {
    is_one_trace(&fresh, "hello", "turn.before_close", 1).await;
}

async fn g174_a_turn_killed_behind_its_last_commit_is_one_trace(fresh: Fresh) {
    is_one_trace(&fresh, "hello", "turn.closed", 1).await;
}

async fn g174_a_turn_killed_in_the_delegates_part_is_one_trace(fresh: Fresh) {
    is_one_trace(&fresh, "first", "turn.settled", 1).await;
}
