//! The copies of what is erased: other conversations begin with what was said in this one until one of its turns had ended, and others
//! again with what was said in those.

use super::entries::{ErasedEntries, ErasedPart};
use super::{EntrySelection, forget};
use crate::access::Authorized;
use crate::chats::find::ReachableChat;
use crate::chats::index_rows;
use crate::chats::update::{check_none_open, give_back};
use crate::error::{Error, ErrorCode, Result};
use ambit_storage::directory::{IndexRow, RowFilter};
use ambit_storage::lease::{Lease, OnBusy};
use ambit_storage::storage::Message;
use ambit_storage::truncation::{STANDS_FOR, made_from};
use ambit_storage::{Ambit, copies};
use std::collections::{BTreeSet, HashMap, HashSet};

/// What is erased, wherever there are copies of it.
pub(super) struct ErasedOriginals {
    /// The row of the conversation that it is erased of.
    row: String,
    /// The turn that goes as a whole.
    turn: Option<String>,
    /// The ids of the messages, by the rows of the conversations that they were said in.
    messages: HashMap<String, HashSet<String>>,
    /// Which entries of conversations are erased, by their rows; none where nobody can tell any more.
    sequences: HashMap<String, Option<BTreeSet<u64>>>,
}

impl ErasedOriginals {
    fn of(row: &str, erased: &ErasedEntries<'_>) -> Self {
        let mut messages: HashMap<String, HashSet<String>> = HashMap::new();
        for message in &erased.messages {
            let origin = copies::origin(message).unwrap_or(row);
            let ids = messages.entry(origin.to_owned()).or_default();
            ids.insert(message.id.clone());
        }
        let sequences = Some(erased.sequences.clone());
        Self {
            row: row.to_owned(),
            turn: erased.part.whole_turn().map(str::to_owned),
            messages,
            sequences: HashMap::from([(row.to_owned(), sequences)]),
        }
    }

    /// Whether a message is a copy of what is erased, or a summary that was made of it.
    pub fn has(&self, message: &Message) -> bool {
        let Some(origin) = copies::origin(message) else {
            return false;
        };
        let ids = self.messages.get(origin);
        let is_of_turn = self.turn.is_some() && self.turn == message.turn_id;
        ids.is_some_and(|ids| ids.contains(&message.id))
            || (is_of_turn && self.row == origin)
            || self.is_made_of_erased(message, origin)
    }

    /// Whether a message is a summary of erased entries of this row's.
    fn is_made_of_erased(&self, message: &Message, row: &str) -> bool {
        let Some(record) = message.extras.get(STANDS_FOR) else {
            return false;
        };
        let has_any = |erased: &BTreeSet<u64>| {
            let mut ranges = made_from(record).into_iter();
            ranges.any(|(first, last)| first <= last && erased.range(first..=last).next().is_some())
        };
        let erased = self.sequences.get(row);
        erased.is_some_and(|erased| erased.as_ref().is_none_or(has_any))
    }
}

/// The erasure of all copies.
pub(super) struct CopyErasure<'a> {
    ambit: &'a Ambit,
    who: &'a Authorized,
    selection: EntrySelection<'a>,
    originals: ErasedOriginals,
}

impl<'a> CopyErasure<'a> {
    /// That of what was found in the conversation of this row.
    pub fn of(
        ambit: &'a Ambit,
        who: &'a Authorized,
        row: &str,
        erased: &ErasedEntries<'a>,
    ) -> Self {
        Self {
            ambit,
            who,
            selection: erased.part.selection,
            originals: ErasedOriginals::of(row, erased),
        }
    }

    /// Notes in all stores whether the originals are being erased: meanwhile no copies of them are made.
    pub async fn note(&self, is_running: bool) -> Result<()> {
        let (tenant, row) = (self.who.tenant(), self.originals.row.as_str());
        for driver in self.ambit.stores().drivers().values() {
            copies::note_erasure(driver.as_ref(), tenant, row, is_running).await?;
        }
        Ok(())
    }

    /// Erases the copies. Where a turn runs beside one of them, that is refused before anything is erased.
    pub async fn erase(&mut self) -> Result<()> {
        let mut found = Vec::new();
        for row in self.copied().await? {
            let chat = ReachableChat::at(self.ambit, row).await?;
            if !self.look(&chat).await? {
                continue;
            }
            let idle = check_none_open(&chat.driver, &chat.space).await;
            idle.map_err(in_copy)?;
            found.push(chat.row);
        }
        for row in found {
            self.erase_in(row).await?;
        }
        Ok(())
    }

    /// The conversations with copies, a copy of a copy behind the one that it was made of.
    async fn copied(&self) -> Result<Vec<IndexRow>> {
        let (tenant, origin) = (self.who.tenant(), self.originals.row.as_str());
        let mut rows: Vec<IndexRow> = Vec::new();
        for driver in self.ambit.stores().drivers().values() {
            for space in copies::copies_of_row(driver.as_ref(), tenant, origin).await? {
                let row = index_rows::first(self.ambit, &RowFilter::space(&space)).await?;
                rows.extend(row);
            }
        }
        rows.sort_by_key(|row| row.ordinal);
        // A chain has the note in each of its stores.
        rows.dedup_by(|one, other| one.id == other.id);
        Ok(rows)
    }

    /// Looks whether a conversation has copies of what is erased.
    async fn look(&mut self, chat: &ReachableChat) -> Result<bool> {
        let sources = copies::source_rows(chat.driver.as_ref(), &chat.space).await?;
        let sequences = &mut self.originals.sequences;
        let origin = &self.originals.row;
        for row in sources.into_iter().take_while(|row| row != origin) {
            // It was removed: which of its entries were copies, nobody knows any more.
            sequences.entry(row).or_insert(None);
        }
        let (has_any, erased) = {
            let erased = self.entries(chat).await?;
            (!erased.messages.is_empty(), erased.sequences)
        };
        let row = chat.row.id.clone();
        self.originals.sequences.insert(row, Some(erased));
        Ok(has_any)
    }

    async fn entries(&self, chat: &ReachableChat) -> Result<ErasedEntries<'_>> {
        let part = ErasedPart {
            selection: self.selection,
            originals: Some(&self.originals),
        };
        ErasedEntries::read(self.ambit, self.who, chat, part).await
    }

    async fn erase_in(&self, row: IndexRow) -> Result<()> {
        let driver = self.ambit.stores().chain(&row.placement)?.driver().clone();
        let lease = Lease::take(driver, row.space().lease(), OnBusy::Reject).await;
        let lease = lease.map_err(|error| in_copy(error.into()))?;
        let erased = self.erase_held(row, &lease).await;
        give_back(lease).await;
        erased
    }

    async fn erase_held(&self, row: IndexRow, lease: &Lease) -> Result<()> {
        let chat = ReachableChat::at(self.ambit, row).await?;
        let idle = check_none_open(&chat.driver, &chat.space).await;
        idle.map_err(in_copy)?;
        let erased = self.entries(&chat).await?;
        match erased.messages.is_empty() {
            true => Ok(()),
            false => forget(self.ambit, self.who, &chat, vec![lease.check()], &erased).await,
        }
    }
}

/// A refusal because of a turn that runs elsewhere, which may be somebody else's.
fn in_copy(error: Error) -> Error {
    let message = "a turn is running in a conversation that begins with a copy of this one; wait for its end, then repeat the request";
    match error.code {
        ErrorCode::ChatBusy => Error::new(ErrorCode::ChatBusy, message),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn g167_a_copied_summary_goes_with_what_it_was_made_of() {
        let originals = ErasedOriginals {
            row: "row".to_owned(),
            turn: None,
            messages: HashMap::new(),
            sequences: HashMap::from([
                ("row".to_owned(), Some(BTreeSet::from([3]))),
                ("removed".to_owned(), None),
            ]),
        };
        for (row, first, last, expected) in [
            ("row", 1, 4, true),
            ("row", 4, 9, false),
            ("removed", 4, 9, true),
            ("other", 1, 4, false),
        ] {
            let mut summary = Message::user("Earlier in this conversation");
            let record = json!({"strategy": "summarise", "made_from": [[first, last]]});
            summary.extras.insert(STANDS_FOR.to_owned(), record);
            copies::mark(&mut summary, row);
            assert_eq!(originals.has(&summary), expected, "{row} {first}");
        }
    }
}
