//! The nodes of an installation: each says every ten seconds that it is there, and takes it back when it stops; one that says nothing
//! is gone.

use crate::error::Result;
use crate::runtime_core::RuntimeCore;
use ambit_storage::address::{Space, ValueKey};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::{Clock, to_millis};
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, Stores};
use serde::{Deserialize, Serialize};
use std::sync::Weak;
use std::time::Duration;
use utoipa::ToSchema;

/// How often a node says that it is there.
const INTERVAL: Duration = Duration::from_secs(10);
/// A node that has said nothing for this long is gone.
const LIFE: Duration = Duration::from_secs(30);

/// A node as it says what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeInfo {
    /// Its id, which is another one after each start.
    pub id: String,
    /// The program's version.
    pub version: String,
    /// When it was started, in milliseconds since 1970.
    pub started_at: i64,
    /// When it was last heard of.
    pub seen_at: i64,
    /// How many turns run there.
    pub turns: usize,
    /// How many requests there wait for their conversations.
    #[serde(default)]
    pub waiting: u64,
}

/// This node.
pub(crate) fn own(core: &RuntimeCore) -> NodeInfo {
    NodeInfo {
        id: core.node_id.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: core.started_at,
        seen_at: Clock::default().now(),
        turns: core.turns.all().len(),
        waiting: core.stores.lease_counts().waiting,
    }
}

/// The nodes that were heard of, this one first.
pub(crate) async fn all(core: &RuntimeCore) -> Result<Vec<NodeInfo>> {
    let own = own(core);
    let mut others = heard(&core.stores).await?;
    others.retain(|node| node.id != own.id);
    Ok([vec![own], others].concat())
}

/// The nodes that were heard of in these stores.
pub(crate) async fn heard(stores: &Stores) -> Result<Vec<NodeInfo>> {
    let index = stores.index()?;
    let space = Space::nodes();
    let mut pages = ValuePages::of(
        index.driver().as_ref(),
        &space,
        Pattern::all(),
        ValuePart::Whole,
    );
    let mut nodes = Vec::new();
    while let Some(page) = pages.next().await? {
        for (_, entry) in page {
            nodes.push(entry.value.to()?);
        }
    }
    Ok(nodes)
}

/// Says that this node is there, for as long as it is. A node that has just been started says it later: most that end at once
/// are never heard of.
pub(crate) async fn announce(core: Weak<RuntimeCore>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(core) = core.upgrade() else {
            return;
        };
        if let Err(error) = write(&core).await {
            tracing::debug!(%error, "this node could not say that it is there");
        }
    }
}

/// Takes back that this node is there, so that it is gone at once. Nothing announces it any more.
pub(crate) async fn leave(core: &RuntimeCore) {
    if let Err(error) = remove(core).await {
        tracing::debug!(%error, "this node could not say that it is gone; it is forgotten in half a minute");
    }
}

async fn write(core: &RuntimeCore) -> Result<()> {
    let own = own(core);
    let set = Operation::Set(Json::of(&own)?.into());
    apply(core, set).await
}

/// One that was never heard of writes nothing.
async fn remove(core: &RuntimeCore) -> Result<()> {
    let index = core.stores.index()?;
    let heard = index.driver().get(&key(core), ValuePart::Nothing).await?;
    match heard {
        Some(_) => apply(core, Operation::Del).await,
        None => Ok(()),
    }
}

async fn apply(core: &RuntimeCore, op: Operation) -> Result<()> {
    let write = BatchWrite::Apply {
        key: key(core),
        op,
        life: Some(to_millis(LIFE)),
    };
    let index = core.stores.index()?;
    index.driver().commit(Batch::of([write])).await?;
    Ok(())
}

fn key(core: &RuntimeCore) -> ValueKey {
    Space::nodes().key(core.node_id.as_str())
}
