//! The same with a tool server in a process of its own: the effects of its tools are in the world, and happen once.

use crate::points::{ONCE, finished, goes_on, killed, later};
use crate::store::Fresh;
use crate::tools::marks;
use crate::turns::{driver, end, open_turns, stream};

crate::cases![
    g016_a_server_with_an_open_call,
    g016_a_server_whose_answer_is_not_stored,
    g016_a_server_between_its_result_and_the_next_call_of_the_model,
    g016_a_server_with_a_second_open_call,
    g016_a_server_between_the_last_result_and_the_answer,
    g016_a_server_before_the_last_commit,
    g016_a_server_after_the_last_commit,
];

/// The marks of a turn that was killed at this point and finished by another node.
async fn left(mut fresh: Fresh, point: &str, times: u64) -> Vec<String> {
    fresh.has_servers = true;
    finished(fresh, "served", point, times).await
}

async fn g016_a_server_with_an_open_call(fresh: Fresh) {
    assert_eq!(left(fresh, "turn.answered", 1).await, ONCE);
}

async fn g016_a_server_whose_answer_is_not_stored(fresh: Fresh) {
    // Nobody can know that the tool had its effect: the one call that was open runs again, and no other.
    let marks = left(fresh, "turn.tool_done", 2).await;
    assert_eq!(marks, ["marked one", "marked two", "marked two"]);
}

async fn g016_a_server_between_its_result_and_the_next_call_of_the_model(fresh: Fresh) {
    assert_eq!(left(fresh, "turn.settled", 1).await, ONCE);
}

async fn g016_a_server_with_a_second_open_call(fresh: Fresh) {
    assert_eq!(left(fresh, "turn.answered", 2).await, ONCE);
}

async fn g016_a_server_between_the_last_result_and_the_answer(fresh: Fresh) {
    assert_eq!(left(fresh, "turn.settled", 2).await, ONCE);
}

async fn g016_a_server_before_the_last_commit(fresh: Fresh) {
    assert_eq!(left(fresh, "turn.before_close", 1).await, ONCE);
}

async fn g016_a_server_after_the_last_commit(mut fresh: Fresh) {
    fresh.has_servers = true;
    let (request_id, _) = killed(&fresh, "served", "turn.closed", 1).await;
    let node = later(&fresh).await;
    assert_eq!(open_turns(&driver(&node)).await.len(), 0);
    let entries = stream(&node, &request_id.unwrap(), 0).await;
    assert_eq!(end(&entries)["status"], "completed");
    assert_eq!(marks(&fresh.marks()), ONCE);
    goes_on(&node, "served").await;
}
