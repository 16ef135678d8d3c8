//! A node to which more clients come than it may have files open.

use crate::Run;
use crate::place::{Node, Place, said};
use std::net::TcpStream;

pub const CASES: &[(&str, Run)] = &[(
    "a_full_node_says_so_at_once_and_goes_on_when_clients_leave",
    |place| Box::pin(crowded(place)),
)];

/// The status that a new client gets, which may also be cut without a word.
async fn status(node: &Node) -> Option<u16> {
    let answer = node.operation_request("/readyz").send().await;
    answer.ok().map(|answer| answer.status().as_u16())
}

async fn crowded(place: Place) {
    let node = place.node_with_open_files(256);
    let crowd: Vec<TcpStream> = (0..400).map(|_| node.connect()).collect();
    let refused = loop {
        if let Some(status) = status(&node).await {
            break status;
        }
    };
    assert_eq!(refused, 503);
    drop(crowd);
    while status(&node).await != Some(200) {}
    assert_eq!(node.chat(&said("hi")).await.status, 200);
}
