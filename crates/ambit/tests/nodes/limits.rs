//! Limits of what callers do within a minute.

use crate::Run;
use crate::place::{Node, Place, said};
use reqwest::Method;
use std::time::Duration;
use tokio::time::timeout;

/// How long it is waited for what nodes say to each other.
const LONGEST: Duration = Duration::from_secs(60);

pub const CASES: &[(&str, Run)] = &[
    (
        "turns_of_a_user_are_counted_by_all_nodes_that_share_a_server",
        |place| Box::pin(turns(place)),
    ),
    (
        "tokens_of_a_tenant_are_counted_by_all_nodes_that_share_a_server",
        |place| Box::pin(tokens(place)),
    ),
    (
        "streams_of_a_user_are_counted_by_all_nodes_that_share_a_server",
        |place| Box::pin(streams(place)),
    ),
];

async fn status(node: &Node) -> u16 {
    node.chat(&said("hi")).await.status
}

async fn turns(place: Place) {
    place.write(
        "openapi/openapi.yao",
        r#"{"limits": {"user": {"turns": 2}}}"#,
    );
    let (first, second) = (place.node(), place.node());
    assert_eq!((status(&first).await, status(&second).await), (200, 200));
    // Nodes over one file count by themselves.
    let expected = if place.is_sqlite() { 200 } else { 429 };
    let found = (status(&first).await, status(&second).await);
    assert_eq!(found, (expected, expected));
    let refused = (status(&first).await, status(&second).await);
    assert_eq!(refused, (429, 429));
}

async fn tokens(place: Place) {
    place.write(
        "openapi/openapi.yao",
        r#"{"limits": {"tenant": {"tokens": 30}}}"#,
    );
    let (first, second) = (place.node(), place.node());
    // What a turn has used may be counted a moment behind its end.
    let is_counted = async { while status(&first).await != 429 {} };
    timeout(LONGEST, is_counted).await.unwrap();
    let expected = if place.is_sqlite() { 200 } else { 429 };
    assert_eq!(status(&second).await, expected);
}

async fn streams(place: Place) {
    place.write(
        "openapi/openapi.yao",
        r#"{"limits": {"user": {"streams": 1}}}"#,
    );
    let (first, second) = (place.node(), place.node());
    let open = first.stream("never ends").await;
    let feed = async || {
        let asked = second.request(Method::GET, "/events").send().await;
        asked.unwrap().status().as_u16()
    };
    let expected = if place.is_sqlite() { 200 } else { 429 };
    assert_eq!(feed().await, expected);
    drop(open);
    let is_free = async { while feed().await != 200 {} };
    timeout(LONGEST, is_free).await.unwrap();
}
