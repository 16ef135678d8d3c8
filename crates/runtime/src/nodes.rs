//! The nodes of an installation: each says every ten seconds that it is there, and takes it back when it stops; one that says nothing
//! is gone.

use crate::error::Result;
use crate::node_record::{self, NodeInfo};
use crate::runtime_core::RuntimeCore;
use std::sync::Weak;
use std::time::Duration;

/// How often a node says that it is there.
const INTERVAL: Duration = Duration::from_secs(10);

/// This node.
pub(crate) fn own(core: &RuntimeCore) -> NodeInfo {
    NodeInfo {
        turns: core.turns.all().len(),
        waiting: core.stores.lease_counts().waiting,
        ..core.making.node.info()
    }
}

/// The nodes that were heard of, this one first.
pub(crate) async fn all(core: &RuntimeCore) -> Result<Vec<NodeInfo>> {
    let own = own(core);
    let mut others = node_record::heard(&core.stores).await?;
    others.retain(|node| node.id != own.id);
    Ok([vec![own], others].concat())
}

/// Says that this node is there, for as long as it is. A node that has just been started says it later, unless it uses encrypted models:
/// most that end at once are never heard of.
pub(crate) async fn announce(core: Weak<RuntimeCore>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(core) = core.upgrade() else {
            return;
        };
        if let Err(error) = node_record::write(&core.stores, &own(&core)).await {
            tracing::debug!(%error, "this node could not say that it is there");
        }
    }
}

/// Takes back that this node is there, so that it is gone at once. Nothing announces it any more.
pub(crate) async fn leave(core: &RuntimeCore) {
    if let Err(error) = node_record::remove(&core.stores, &core.making.node.id).await {
        tracing::debug!(%error, "this node could not say that it is gone; it is forgotten in half a minute");
    }
}
