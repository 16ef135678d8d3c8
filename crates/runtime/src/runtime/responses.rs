//! What clients of OpenAI's Responses ask of turns and conversations.

use super::Runtime;
use crate::access::Authorized;
use crate::chats::{self, ChatEntries, EntryRange, EntrySelection, ReachableChat};
use crate::error::{Error, Result};
use crate::journal::TurnKeys;
use crate::turn_location;
use ambit_storage::Json;
use ambit_storage::driver::ValuePart;
use futures::future::BoxFuture;

impl Runtime {
    /// What the protocol of its client has to know of a turn; nothing of a turn of another protocol.
    pub fn protocol_record<'a>(
        &'a self,
        who: &'a Authorized,
        request_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Json>>> {
        Box::pin(async move {
            let found = turn_location::find(&self.contexts(who), who, request_id).await?;
            let key = TurnKeys::new(found.space, request_id).protocol_record();
            let entry = found.driver.get(&key, ValuePart::Whole).await?;
            Ok(entry.map(|entry| entry.value))
        })
    }

    /// Erases the messages of a turn, superseded ones included, and all that the turn has left.
    pub fn erase_turn<'a>(
        &'a self,
        who: &'a Authorized,
        request_id: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let ambit = self.contexts(who);
            let found = turn_location::find(&ambit, who, request_id).await?;
            let row = found
                .row
                .ok_or_else(|| Error::not_found("request", request_id))?;
            chats::erase(&ambit, who, &row.id, EntrySelection::Turn(request_id)).await
        })
    }

    /// The messages of the conversation that a turn belongs to.
    pub fn entries_around<'a>(
        &'a self,
        who: &'a Authorized,
        request_id: &'a str,
        range: EntryRange,
    ) -> BoxFuture<'a, Result<ChatEntries>> {
        Box::pin(async move {
            let ambit = self.contexts(who);
            let found = turn_location::find(&ambit, who, request_id).await?;
            let unknown = || Error::not_found("request", request_id);
            let row = found.row.ok_or_else(unknown)?;
            let found = ReachableChat::at(&ambit, row).await?;
            ChatEntries::of(&ambit, who, found, range).await
        })
    }
}
