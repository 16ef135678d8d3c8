//! Waiting until what the app's files say of collections is found.

use super::file_sync::{SyncRemainder, compare_all, keep};
use crate::access::{Authorized, CallerReach};
use crate::error::{Error, ErrorCode, Result};
use crate::runtime_core::RuntimeCore;
use ambit_knowledge::{CollectionFilter, CollectionStatus, KnowledgeBase};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// At most so long.
const WAIT: Duration = Duration::from_secs(600);
/// From one look to the next.
const LOOK: Duration = Duration::from_millis(50);

/// Brings the collections of files to what their files say, and waits until nothing is left to be read. Vectors follow later: who
/// makes them may be down.
pub(crate) async fn settle(core: &RuntimeCore, base: &KnowledgeBase) -> Result<()> {
    let loaded = core.loaded();
    if loaded.app.collections.is_empty() {
        return Ok(());
    }
    let reach = CallerReach::of(&Authorized {
        user_id: Some("dev".to_owned()),
        ..Authorized::default()
    });
    let settled = async {
        while !keep(&loaded.app, base).await {
            sleep(LOOK).await;
        }
        let compare = || compare_all(&loaded, base, core.is_development);
        while compare().await == SyncRemainder::Collections {
            sleep(LOOK).await;
        }
        // What waits is read by the runtime's own worker, or on another node.
        while has_unread(base, &reach).await? {
            sleep(LOOK).await;
        }
        Ok(())
    };
    let late = || {
        let message =
            "the documents of the app's collections are not all read yet; try again later";
        Error::new(ErrorCode::Timeout, message)
    };
    timeout(WAIT, settled).await.map_err(|_| late())?
}

async fn has_unread(base: &KnowledgeBase, reach: &CallerReach) -> Result<bool> {
    let busy = CollectionFilter {
        status: Some(CollectionStatus::Indexing),
        ..CollectionFilter::default()
    };
    for collection in base.collections(reach, &busy).await? {
        let id = &collection.collection_id;
        if base.unread_documents(reach, id).await? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}
