//! Erasing single messages, for good: from the archive, and from all that was made of them.

use super::ChatHistoryStorage;
use crate::address::{ERASURES, ITEMS, OVERLAYS};
use crate::batch::{Batch, BatchCheck, BatchWrite, LogEntry};
use crate::driver::LogPages;
use crate::erasure::forget_words;
use crate::items::{Overlay, ViewPiece, blob_name, load};
use crate::json::Json;
use crate::message::{ERASED, Message};
use crate::operation::Operation;
use crate::{Result, ids};
use serde_json::json;

/// Tells further bodies of one message apart in the archive.
const VERSION: char = '#';

/// What is added to a message's id for its next body.
pub(super) fn version() -> String {
    format!("{VERSION}{}", ids::unguessable())
}

/// The id of the message whose body this entry is.
fn message_id(entry_id: &str) -> &str {
    match entry_id.rsplit_once(VERSION) {
        Some((id, version)) if version.len() == ids::UNGUESSABLE as usize => id,
        _ => entry_id,
    }
}

/// What is erased of a history.
pub struct MessageErasure<'a, F> {
    /// The messages.
    pub message_ids: &'a [&'a str],
    /// What is left of one of them; of most nothing.
    pub remainder: F,
    /// What is written in the same commit.
    pub writes: Vec<BatchWrite>,
    /// What must hold for that.
    pub checks: Vec<BatchCheck>,
}

impl ChatHistoryStorage {
    /// Erases these messages from view and archive at once, leaving a mark in their place; also from every summary that
    /// was made of one of them. The answer is how many there were.
    pub async fn erase(&self, message_ids: &[&str]) -> Result<u64> {
        let erasure = MessageErasure {
            message_ids,
            remainder: |_: &Message| None,
            writes: Vec::new(),
            checks: Vec::new(),
        };
        self.erase_with(erasure).await
    }

    /// The same, where something of a message may be left, and other writes go along.
    pub async fn erase_with<F>(&self, erasure: MessageErasure<'_, F>) -> Result<u64>
    where
        F: Fn(&Message) -> Option<Message> + Send + Sync,
    {
        let MessageErasure {
            message_ids,
            remainder,
            writes: further,
            checks,
        } = erasure;
        let session = self.session()?;
        session.check_may_write()?;
        let (space, driver) = (self.cell.space(session.tenant()), self.cell.driver());
        let head = session.seen(self.cell.head(session.tenant()).await)?;
        let (mut bodies, mut writes) = (Vec::new(), further);
        let mut pages = LogPages::of(driver, space.log(ITEMS));
        while let Some(entries) = session.seen(pages.next().await)? {
            let is_named = |entry: &&LogEntry| message_ids.contains(&message_id(&entry.id));
            for entry in entries.iter().filter(is_named) {
                let id = message_id(&entry.id);
                if let Some(name) = blob_name(&entry.body) {
                    let op = Operation::Del;
                    writes.push(BatchWrite::apply(space.key(name), op, None));
                }
                let seq = entry.seq;
                let whole = load(driver, &space, entry.clone()).await?.body;
                // A mark of an earlier erasure is no message.
                let left = whole.to().ok().and_then(|message| remainder(&message));
                let body = match left {
                    Some(message) => Json::of(&message)?,
                    None => mark(id)?,
                };
                bodies.push((seq, body));
            }
        }
        let erased: Vec<u64> = bodies.iter().map(|(seq, _)| *seq).collect();
        writes.push(BatchWrite::redact(space.log(ITEMS), bodies));
        writes.push(BatchWrite::redact(
            space.log(OVERLAYS),
            session.seen(self.forget_summaries(&erased).await)?,
        ));
        // A redaction moves no head: this is what a summary in the making is refused by.
        writes.push(BatchWrite::apply(
            space.key(ERASURES),
            Operation::Incr(1.into()),
            None,
        ));
        writes.extend(forget_words(
            session.tenant(),
            self.identity(),
            self.placement().names(),
        ));
        let mut batch = Batch::of(writes).checking(BatchCheck::head(space.log(ITEMS), head));
        batch.checks.extend(checks);
        driver.commit(batch).await?;
        Ok(erased.len() as u64)
    }

    /// New bodies for the overlays that hold something made of one of these entries.
    async fn forget_summaries(&self, erased: &[u64]) -> Result<Vec<(u64, Json)>> {
        let session = self.session()?;
        let log = self.cell.space(session.tenant()).log(OVERLAYS);
        let mut bodies = Vec::new();
        let mut pages = LogPages::of(self.cell.driver(), log);
        while let Some(entries) = pages.next().await? {
            for entry in &entries {
                let mut overlay: Overlay = entry.body.to()?;
                let mut is_changed = false;
                for piece in &mut overlay.parts {
                    is_changed |= forget(piece, erased)?;
                }
                if is_changed {
                    bodies.push((entry.seq, Json::of(&overlay)?));
                }
            }
        }
        Ok(bodies)
    }
}

/// Puts a mark in the place of a summary that was made of an erased entry.
fn forget(piece: &mut ViewPiece, erased: &[u64]) -> Result<bool> {
    let ViewPiece::Made { id, body, from } = piece else {
        return Ok(false);
    };
    let is_made_of_one = erased
        .iter()
        .any(|seq| from.iter().any(|(first, last)| first <= seq && seq <= last));
    if is_made_of_one {
        *body = mark(id)?;
    }
    Ok(is_made_of_one)
}

/// What stands in the place of an erased message.
fn mark(id: &str) -> Result<Json> {
    Json::of(&json!({"id": id, "role": "user", ERASED: true}))
}
