//! Which nodes of an installation are there.

use crate::place::{Place, node_with};
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::driver::{Driver, DriverOptions};
use std::sync::Arc;
use std::time::Duration;

/// The ids of the nodes that this one knows, itself first.
async fn known(node: &Place) -> Vec<String> {
    let nodes = node.runtime.nodes().await.unwrap();
    nodes.into_iter().map(|node| node.id).collect()
}

#[tokio::test(start_paused = true)]
async fn a_node_that_has_stopped_is_gone_at_once() {
    let store: Arc<dyn Driver> = Arc::new(MemoryDriver::new(DriverOptions::default()));
    let here = node_with(&[], &store, |_| {}).await;
    let there = node_with(&[], &store, |_| {}).await;
    let (own, other) = (there.runtime.node().id, here.runtime.node().id);
    while known(&there).await.len() < 2 {
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    assert_eq!(known(&there).await, [own.clone(), other]);
    here.runtime.close(Duration::ZERO).await.unwrap();
    assert_eq!(known(&there).await, [own]);
}
