//! What models have used in a turn whose process is killed: booked once, and told at the turn's end.

use crate::app::{ann, request, write_files};
use crate::points::later;
use crate::store::Fresh;
use crate::turns::{end, stream};
use crate::worker::{self, Job, Order, killed};
use ambit_runtime::Runtime;
use ambit_runtime::SkipOptions;
use ambit_runtime::TurnRequest;
use ambit_storage::Usage;
use rustix::process::Signal;

crate::cases![
    what_create_has_asked_of_a_model_counts_where_the_process_dies_behind_it,
    what_a_called_agents_create_has_asked_counts_with_what_is_kept_of_the_call,
    what_a_called_agent_used_counts_once_where_it_was_saved_before,
    what_a_model_used_counts_once_where_its_answer_is_not_stored,
];

/// How many calls of models were booked for the turn once it is finished. What is booked is what its end tells, and what the
/// sums say.
async fn counted(node: &Runtime, agent: &str, request_id: &str) -> usize {
    let end = end(&stream(node, request_id, 0).await);
    assert_eq!(end["status"], "completed", "{end}");
    let ambit = node.contexts(&ann());
    let of_agent = ambit.agent(agent).unwrap();
    let session = of_agent.for_user_id("ann").chat("chat").await.unwrap();
    let records = session.context().usage().records().await.unwrap();
    let total: i64 = records.iter().filter_map(|it| it.total_tokens).sum();
    assert_eq!(end["usage"]["total_tokens"], total);
    let sums = Usage::of(&ambit, agent).aggregate().await.unwrap().unwrap();
    assert_eq!(
        (sums.total_tokens, sums.records),
        (total, records.len() as i64)
    );
    records.len()
}

async fn what_create_has_asked_of_a_model_counts_where_the_process_dies_behind_it(fresh: Fresh) {
    let asked = Job::Ask(Box::new(TurnRequest {
        agent: "asker".to_owned(),
        ..request("chat", "recite")
    }));
    let order = Order::new(&fresh, asked);
    let (mut worker, lines) = worker::until(order, |line| line.contains("\"text\"")).await;
    worker.send(Signal::KILL);
    assert!(!worker.ended_well());
    // The node that goes on has fewer words to recite.
    write_files(fresh.folder.path(), 5);
    let node = later(&fresh).await;
    assert_eq!(counted(&node, "asker", &lines[0]).await, 2);
}

async fn what_a_called_agents_create_has_asked_counts_with_what_is_kept_of_the_call(fresh: Fresh) {
    let order = Order::new(&fresh, Job::ask_agent("outer", "count")).dying_at("turn.settled", 1);
    let request_id = killed(order).await.remove(0);
    let node = later(&fresh).await;
    assert_eq!(counted(&node, "outer", &request_id).await, 4);
}

async fn what_a_called_agent_used_counts_once_where_it_was_saved_before(mut fresh: Fresh) {
    fresh.has_servers = true;
    let order = Order::new(&fresh, Job::ask_agent("busy", "act")).dying_at("turn.settled", 1);
    let request_id = killed(order).await.remove(0);
    let node = later(&fresh).await;
    assert_eq!(counted(&node, "busy", &request_id).await, 4);
}

async fn what_a_model_used_counts_once_where_its_answer_is_not_stored(fresh: Fresh) {
    let asked = Job::Ask(Box::new(TurnRequest {
        agent: "first".to_owned(),
        skip: SkipOptions {
            history: true,
            ..SkipOptions::default()
        },
        ..request("chat", "count")
    }));
    let order = Order::new(&fresh, asked).dying_at("turn.settled", 2);
    let request_id = killed(order).await.remove(0);
    let node = later(&fresh).await;
    assert_eq!(counted(&node, "first", &request_id).await, 3);
}
