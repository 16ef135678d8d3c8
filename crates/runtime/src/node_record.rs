//! What nodes say of themselves in the stores that they share.

use crate::error::Result;
use ambit_storage::address::{Space, ValueKey};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::{Clock, Millis, to_millis};
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, Stores, ids};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;

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

/// A node, from its start to its end.
#[derive(Clone)]
pub(crate) struct NodeStart {
    /// Names it.
    pub id: String,
    /// When it was started.
    pub started_at: Millis,
}

impl NodeStart {
    /// One that is started now.
    pub fn now() -> Self {
        let clock = Clock::default();
        Self {
            id: ids::ordered(&clock),
            started_at: clock.now(),
        }
    }

    /// What it says before it does anything.
    pub fn info(&self) -> NodeInfo {
        NodeInfo {
            id: self.id.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: self.started_at,
            seen_at: Clock::default().now(),
            turns: 0,
            waiting: 0,
        }
    }

    /// Says that it is there, if it has not said so yet.
    pub async fn announce(&self, stores: &Stores) -> Result<()> {
        match is_heard(stores, &self.id).await? {
            true => Ok(()),
            false => write(stores, &self.info()).await,
        }
    }
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

/// Says that a node is there.
pub(crate) async fn write(stores: &Stores, node: &NodeInfo) -> Result<()> {
    let set = Operation::Set(Json::of(node)?.into());
    apply(stores, &node.id, set).await
}

/// Takes back that a node is there. One that was never heard of writes nothing.
pub(crate) async fn remove(stores: &Stores, id: &str) -> Result<()> {
    match is_heard(stores, id).await? {
        true => apply(stores, id, Operation::Del).await,
        false => Ok(()),
    }
}

async fn is_heard(stores: &Stores, id: &str) -> Result<bool> {
    let index = stores.index()?;
    let heard = index.driver().get(&key(id), ValuePart::Nothing).await?;
    Ok(heard.is_some())
}

async fn apply(stores: &Stores, id: &str, op: Operation) -> Result<()> {
    let write = BatchWrite::Apply {
        key: key(id),
        op,
        life: Some(to_millis(LIFE)),
    };
    let index = stores.index()?;
    index.driver().commit(Batch::of([write])).await?;
    Ok(())
}

fn key(id: &str) -> ValueKey {
    Space::nodes().key(id)
}
