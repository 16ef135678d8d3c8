//! Stores that have grown, made in large batches from what a turn has left.

use crate::Result;
use crate::node::Node;
use ambit_storage::address::{ITEMS, Space};
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::clock::Clock;
use ambit_storage::directory::{IndexRow, PageRequest, RowFilter, TrackRequest};
use ambit_storage::driver::{Driver, LogRange};
use ambit_storage::storage::{ChatHistoryStorage, StorageKind};
use ambit_storage::{Json, SessionIdentity, ids};

/// Entries or rows of one batch.
const BATCH: usize = 5_000;
/// Messages of the chats that fill a store.
const EACH: usize = 1_000;
/// Chats of one of the people that fill a store.
const CHATS: usize = 100;

/// Appends copies of a chat's last messages until it has so many.
pub async fn lengthen(node: &Node, chat: &str, size: usize) -> Result<()> {
    let row = history(node, chat).await?;
    let log = Space::of(&row.tenant, &row.identity).log(ITEMS);
    let page = node.driver.read(&log, LogRange::last(2)).await?;
    let mut bodies = page.entries.iter().map(|entry| &entry.body).cycle();
    let missing = size.saturating_sub(page.head.map_or(0, |head| head.last as usize));
    let mut left = missing;
    while left > 0 {
        let some = left.min(BATCH);
        left -= some;
        let entries = bodies.by_ref().take(some).map(copy).collect();
        let log = log.clone();
        let append = BatchWrite::Append { log, entries };
        node.driver.commit(Batch::of([append])).await?;
    }
    Ok(())
}

fn copy(body: &Json) -> NewEntry {
    NewEntry::new(ids::ordered(&Clock::default()), body.clone())
}

/// Registers chats like the one that this person has until there are so many.
pub async fn chats(node: &Node, user: &str, size: usize) -> Result<()> {
    let filter = RowFilter {
        user: Some(user.to_owned()),
        ..RowFilter::default()
    };
    let rows = find(node, filter).await?;
    let names: Vec<String> = (1..size).map(|number| format!("chat{number}")).collect();
    for names in names.chunks(BATCH) {
        let mut tracks = Vec::new();
        for name in names {
            for row in &rows {
                tracks.push(track(row, user, name)?);
            }
        }
        node.driver.commit(Batch::of(tracks)).await?;
    }
    Ok(())
}

/// Fills the store with conversations of other people until it has so many entries.
pub async fn entries(node: &Node, size: usize) -> Result<()> {
    let row = history(node, "chat").await?;
    for number in 0..size / EACH {
        let (user, chat) = (format!("u{}", number / CHATS), format!("c{number}"));
        let log = Space::of(&row.tenant, &named(&row.identity, &user, &chat)?).log(ITEMS);
        let body = Json::parse(r#"{"role":"user","content":"What is the state of my order?"}"#)?;
        let entries = (0..EACH).map(|_| copy(&body)).collect();
        let writes = [
            track(&row, &user, &chat)?,
            BatchWrite::Append { log, entries },
        ];
        node.driver.commit(Batch::of(writes)).await?;
    }
    Ok(())
}

/// The row of a chat's history.
pub async fn history(node: &Node, chat: &str) -> Result<IndexRow> {
    let filter = RowFilter {
        chat: Some(chat.to_owned()),
        scope: Some(ChatHistoryStorage::PREFIX.to_owned()),
        ..RowFilter::default()
    };
    let rows = find(node, filter).await?;
    Ok(rows.into_iter().next().ok_or("the turn has left no chat")?)
}

async fn find(node: &Node, filter: RowFilter) -> Result<Vec<IndexRow>> {
    let driver: &dyn Driver = node.driver.as_ref();
    Ok(driver
        .identities(&filter, &PageRequest::first(BATCH))
        .await?)
}

/// The identity of another person's chat.
fn named(like: &SessionIdentity, user: &str, chat: &str) -> Result<SessionIdentity> {
    let base = SessionIdentity::builder(like.agent_name())
        .user_id(user)
        .chat_name(chat)
        .build()?;
    Ok(match like.scope() {
        Some(scope) => base.with_scope(scope)?,
        None => base,
    })
}

fn track(like: &IndexRow, user: &str, chat: &str) -> Result<BatchWrite> {
    let identity = match like.identity.chat_name() {
        Some(_) => named(&like.identity, user, chat)?,
        None => like.identity.clone(),
    };
    Ok(BatchWrite::Track(Box::new(TrackRequest {
        id: ids::ordered(&Clock::default()),
        tenant: like.tenant.clone(),
        base: identity.base(),
        identity,
        agent: like.identity.agent_name().to_owned(),
        placement: like.placement.clone(),
        created_by: like.created_by.clone(),
        team: None,
        labels: like.labels.clone(),
    })))
}
