//! What of a conversation goes: found in its whole archive, what was superseded included.

use super::EntrySelection;
use super::copies::ErasedOriginals;
use crate::access::{Authorized, DataAccess};
use crate::chats::details;
use crate::chats::find::ReachableChat;
use crate::chats::message_view;
use crate::error::Result;
use ambit_storage::Ambit;
use ambit_storage::storage::{Message, StorageSnapshot};
use std::collections::BTreeSet;

/// Messages read in one go.
const PAGE: usize = 100;

/// Which part of a conversation goes.
#[derive(Clone, Copy)]
pub(super) struct ErasedPart<'a> {
    /// What is erased of the conversation that it was said in.
    pub selection: EntrySelection<'a>,
    /// Its copies are what goes, in another conversation.
    pub originals: Option<&'a ErasedOriginals>,
}

impl<'a> ErasedPart<'a> {
    /// The turn that goes as a whole.
    pub fn whole_turn(self) -> Option<&'a str> {
        match (self.selection, self.originals) {
            (EntrySelection::Turn(turn), None) => Some(turn),
            _ => None,
        }
    }
}

/// What goes, and what was made of it.
pub(super) struct ErasedEntries<'a> {
    /// Which part that is.
    pub part: ErasedPart<'a>,
    /// The title that nobody gave.
    title: Option<String>,
    /// The messages that go, or of which a part does.
    pub messages: Vec<Message>,
    /// Their places in the archive, and those of what was erased before.
    pub sequences: BTreeSet<u64>,
    /// Their turns and all later ones.
    pub turns: Vec<TurnOfEntries>,
    /// The turn of the first message that the view still has, if there is one.
    first_in_view: Option<Option<String>>,
    /// The title begins one of the messages.
    has_title_text: bool,
    /// It begins one that goes.
    erases_title_text: bool,
    /// Something goes of a turn with which the conversation began: an agent may have written the title of it.
    erases_opening: bool,
}

/// A turn, and whether a message of it goes.
pub(super) struct TurnOfEntries {
    /// The turn.
    pub id: String,
    /// Whether a message of it goes, or a part of one.
    pub is_erased: bool,
}

impl<'a> ErasedEntries<'a> {
    /// Reads the archive of a conversation.
    pub async fn read(
        ambit: &Ambit,
        who: &Authorized,
        chat: &ReachableChat,
        part: ErasedPart<'a>,
    ) -> Result<Self> {
        let rights = DataAccess::of(who).system(ambit);
        let stored = StorageSnapshot::archive(&rights, &chat.row).await?;
        let mut found = Self {
            part,
            title: chat.about.title.clone(),
            messages: Vec::new(),
            sequences: BTreeSet::new(),
            turns: Vec::new(),
            first_in_view: None,
            has_title_text: false,
            erases_title_text: false,
            erases_opening: false,
        };
        if let Some(turn) = part.whole_turn() {
            found.note_turn(turn, true);
        }
        let mut position = 0;
        loop {
            let page = stored.after(position, PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(found);
            };
            position = last.position;
            for item in &page {
                let is_erased = match message_view::parse(item)? {
                    Some(message) => found.take(message, item.superseded_by.is_none()),
                    None => true,
                };
                if is_erased {
                    found.sequences.insert(item.position);
                }
            }
        }
    }

    /// Whether the title goes too.
    pub fn has_title(&self) -> bool {
        let is_written = self.title.is_some() && !self.has_title_text;
        self.erases_title_text || (is_written && self.erases_opening)
    }

    /// Takes a message in, and says whether it goes.
    fn take(&mut self, message: Message, is_in_view: bool) -> bool {
        if is_in_view && self.first_in_view.is_none() {
            self.first_in_view = Some(message.turn_id.clone());
        }
        let is_title = details::is_title(self.title.as_deref(), &message.text());
        self.has_title_text |= is_title;
        let is_erased = self.goes(&message);
        if !is_erased && self.messages.is_empty() {
            return false;
        }
        if let Some(turn) = &message.turn_id {
            self.note_turn(turn, is_erased);
        }
        if is_erased {
            let first = self.first_in_view.as_ref();
            self.erases_opening |= first.is_none_or(|turn| *turn == message.turn_id);
            self.erases_title_text |= is_title;
            self.messages.push(message);
        }
        is_erased
    }

    fn goes(&self, message: &Message) -> bool {
        let ErasedPart {
            selection,
            originals,
        } = self.part;
        let calling = self.messages.first();
        let is_wanted = match originals {
            Some(originals) => originals.has(message),
            None => {
                selection.is_in(message)
                    || calling.is_some_and(|calling| selection.is_result(message, calling))
            }
        };
        is_wanted && !selection.is_left_of(message)
    }

    fn note_turn(&mut self, id: &str, is_erased: bool) {
        match self.turns.iter_mut().find(|turn| turn.id == id) {
            Some(turn) => turn.is_erased |= is_erased,
            None => self.turns.push(TurnOfEntries {
                id: id.to_owned(),
                is_erased,
            }),
        }
    }
}
