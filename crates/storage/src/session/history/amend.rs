//! Amending messages of a turn that goes on: until it ends, they are in the making.

use super::ChatHistoryStorage;
use crate::address::{ERASURES, ITEMS};
use crate::batch::{Batch, BatchCheck, BatchWrite, LogEntry};
use crate::driver::{LogRange, ValuePart};
use crate::items::{CHUNK, INLINE, blob_name, load, new_entry, off_loaded};
use crate::json::Json;
use crate::message::Message;
use crate::operation::Operation;
use crate::session::state::Session;
use crate::{Error, Result};

/// How often messages may be erased while others are being amended.
const ATTEMPTS: usize = 10;

impl ChatHistoryStorage {
    /// Gives stored messages of this turn the content that `change` makes of them, at once and in the archive as well; where it
    /// makes none, they stay as they are, and so do erased ones. The answer is how many have changed.
    pub async fn amend(
        &self,
        turn_id: &str,
        change: impl Fn(&Message) -> Option<Message>,
    ) -> Result<u64> {
        let session = self.session()?;
        session.check_may_write()?;
        let mut left = ATTEMPTS;
        loop {
            left -= 1;
            match self.try_amend(session, turn_id, &change).await {
                Err(Error::Conflict { .. }) if left > 0 => {}
                done => return done,
            }
        }
    }

    async fn try_amend(
        &self,
        session: &Session,
        turn_id: &str,
        change: &impl Fn(&Message) -> Option<Message>,
    ) -> Result<u64> {
        let (space, driver) = (self.cell().space(session.tenant()), self.cell().driver());
        let erasures = driver.get(&space.key(ERASURES), ValuePart::Nothing).await;
        let version = session.seen(erasures)?.map(|entry| entry.version);
        let (mut bodies, mut writes, mut from) = (Vec::new(), Vec::new(), u64::MAX);
        loop {
            let range = LogRange::back_from(from, CHUNK);
            let page = session.seen(driver.read(&space.log(ITEMS), range).await)?;
            let (mut is_turns, first) = (false, page.entries.last().map(|entry| entry.seq));
            for entry in page.entries {
                let message = session.seen(load(driver, &space, entry.clone()).await)?;
                let message: Message = message.body.to()?;
                if message.turn_id.as_deref() != Some(turn_id) {
                    continue;
                }
                is_turns = true;
                if let Some(changed) = change(&message) {
                    bodies.push(self.rewrite(&entry, changed, &mut writes)?);
                }
            }
            match first {
                Some(first) if is_turns && first > 1 => from = first - 1,
                _ => break,
            }
        }
        if bodies.is_empty() {
            return Ok(0);
        }
        let count = bodies.len() as u64;
        let log = space.log(ITEMS);
        writes.push(BatchWrite::Redact { log, bodies });
        let key = space.key(ERASURES);
        let mut batch = Batch::of(writes).checking(BatchCheck::Version { key, version });
        batch.checks.extend(session.fence());
        driver.commit(batch).await?;
        Ok(count)
    }

    /// The new body of an entry; a large one stands beside the log.
    fn rewrite(
        &self,
        entry: &LogEntry,
        message: Message,
        writes: &mut Vec<BatchWrite>,
    ) -> Result<(u64, Json)> {
        let session = self.session()?;
        let space = self.cell().space(session.tenant());
        let limit = session.ambit.stores().options().limits.value;
        let (_, body) = self.complete(message)?;
        let body = new_entry(entry.id.clone(), body, limit)?.body;
        let mut apply = |name: String, op| {
            let key = space.key(name);
            writes.push(BatchWrite::apply(key, op, None));
        };
        if body.as_str().len() > INLINE {
            let (mark, name) = off_loaded(&entry.id, &body)?;
            apply(name, Operation::Set(body.into()));
            return Ok((entry.seq, mark));
        }
        if let Some(name) = blob_name(&entry.body) {
            apply(name, Operation::Del);
        }
        Ok((entry.seq, body))
    }
}
