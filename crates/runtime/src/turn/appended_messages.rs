//! Messages that others append to the conversation while a turn has it: the next model call sees them.

use super::Turn;
use crate::chat_message;
use crate::error::Result;
use crate::journal::JournalStep;
use ambit_storage::storage::{Message, for_model};
use serde_json::Value;
use std::collections::HashSet;

/// How far back is looked, as long as the message that was seen last is not found.
const LOOKS: [usize; 4] = [4, 32, 256, 8_192];

impl Turn {
    /// Takes in what others have appended since the last look, for this round.
    pub(super) async fn take_appended(&mut self, leg: usize, round: usize) -> Result<Vec<Value>> {
        if self.request.skip.history {
            return Ok(Vec::new());
        }
        let appended = self.appended().await?;
        if appended.is_empty() {
            return Ok(Vec::new());
        }
        let ids = appended.iter().map(|message| message.id.clone()).collect();
        let paired = for_model(&appended);
        let messages: Vec<Value> = paired.iter().filter_map(chat_message::to_chat).collect();
        self.record(JournalStep::Added {
            leg,
            round,
            messages: messages.clone(),
            ids,
            inbox: self.inbox,
        })
        .await?;
        Ok(messages)
    }

    async fn appended(&mut self) -> Result<Vec<Message>> {
        let taken: HashSet<String> = self.replay.taken().map(str::to_owned).collect();
        for look in LOOKS {
            let mut failures = 0;
            let mut stored = loop {
                match self.session.history().tail(look).await {
                    Ok(stored) => break stored,
                    Err(error) => self.wait_before_retry(error.into(), &mut failures).await?,
                }
            };
            let is_whole = stored.len() < look;
            let seen = |message: &Message| Some(&message.id) == self.last_seen_message.as_ref();
            let from = match stored.iter().rposition(seen) {
                Some(at) => at + 1,
                None if is_whole && self.last_seen_message.is_none() => 0,
                None if is_whole => stored.len(),
                None => continue,
            };
            let own = self.ids.request_id.as_str();
            let last = stored.last().map(|message| message.id.clone());
            let mut new = stored.split_off(from);
            new.retain(|message| {
                message.turn_id.as_deref() != Some(own) && !taken.contains(&message.id)
            });
            self.last_seen_message = last.or(self.last_seen_message.take());
            return Ok(new);
        }
        Ok(Vec::new())
    }
}
