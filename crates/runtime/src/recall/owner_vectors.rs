//! The indexes of conversations follow these, and get the vectors that they lack.

use super::history::HistorySearch;
use super::owner_index::OwnerIndex;
use super::owner_note::OwnerNote;
use super::settings::RecallSettings;
use super::unindexed::MessagePointer;
use crate::chats::{ChatMessageSearch, MessageFilter, ReachableChat};
use crate::error::{ErrorCode, Result};
use crate::index_vectors::{
    ChunkText, DueTexts, IndexJob, SearchedVectors, TEXT_BYTES, TEXTS, UpkeepTask, VectorBooking,
    VectorPayer, work_under,
};
use ambit_search::manifest::ChunkRange;
use ambit_storage::address::Space;
use ambit_storage::directory::IndexRow;
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::StorageSnapshot;
use ambit_storage::{Ambit, Caller};
use std::sync::Arc;

/// So often an index is looked at again that others change meanwhile, before it is left for the next time.
const TRIES: usize = 4;

/// Makes the vectors that indexes of conversations lack, in each store in which no other node is at it. An embedder that is
/// down is the failure that this returns; what else fails is told, and tried again the next time.
pub async fn embed_messages(
    ambit: &Ambit,
    settings: &RecallSettings,
    book: &VectorBooking,
) -> Result<()> {
    let Some(embedding) = &settings.embedding else {
        return Ok(());
    };
    let mut done = Ok(());
    for (name, driver) in ambit.stores().drivers() {
        let lease = match UpkeepTask::EmbedMessages.take(driver).await {
            Ok(Some(lease)) => lease,
            Ok(None) => continue,
            // Another store may be there.
            Err(error) => {
                done = Err(error);
                continue;
            }
        };
        let work = OwnerVectors {
            ambit,
            settings,
            store: name,
            job: IndexJob {
                embedding,
                book,
                lease: &lease,
            },
        };
        done = done.and(work_under(lease.clone(), work.embed_all(driver)).await);
    }
    done
}

/// The work in one store.
struct OwnerVectors<'a> {
    ambit: &'a Ambit,
    settings: &'a RecallSettings,
    store: &'a str,
    job: IndexJob<'a>,
}

impl OwnerVectors<'_> {
    async fn embed_all(&self, driver: &Arc<dyn Driver>) -> Result<()> {
        let notes = Space::recall_indexes();
        let mut pages = ValuePages::of(driver.as_ref(), &notes, Pattern::all(), ValuePart::Whole);
        while let Some(page) = pages.next().await? {
            for (digest, entry) in page {
                let note: OwnerNote = entry.value.to()?;
                match self.embed_noted(&digest, &note).await {
                    Err(error) if error.code == ErrorCode::Unavailable => return Err(error),
                    Err(error) => {
                        tracing::warn!(store.name = self.store, %error, "an index of conversations gets no vectors for now");
                    }
                    Ok(()) => {}
                }
            }
        }
        Ok(())
    }

    async fn embed_noted(&self, digest: &str, note: &OwnerNote) -> Result<()> {
        let placement = self.ambit.stores().chain(&note.drivers)?;
        // Elsewhere it is a copy of the one in another store.
        if placement.names().first().is_none_or(|it| it != self.store) {
            return Ok(());
        }
        let mut tries = 0;
        loop {
            match self.embed_owner(digest, note).await {
                Err(error) if error.code == ErrorCode::Conflict && tries < TRIES => tries += 1,
                Err(error) if error.code == ErrorCode::Conflict => return Ok(()),
                done => return done,
            }
        }
    }

    async fn embed_owner(&self, digest: &str, note: &OwnerNote) -> Result<()> {
        let ambit = self.ambit.acting_as(&Caller::system(&note.tenant));
        let rows = note.rows(&ambit, digest).await?;
        let Some(first) = rows.first() else {
            return Ok(());
        };
        let space = Space::recall(&first.tenant, &first.identity, &first.placement);
        let history = HistorySearch {
            ambit,
            settings: self.settings,
            terms: Vec::new(),
            vectors: SearchedVectors::new(None, &note.tenant, ""),
            wanted: 0,
            few: 1,
        };
        let all: Vec<usize> = (0..rows.len()).collect();
        let mut index = history.follow(space, &rows, &all, &mut Vec::new()).await?;
        let payer = VectorPayer {
            tenant: note.tenant.clone(),
            user: note.user.clone(),
        };
        let (Some(incarnation), Some(mut vectors)) = (index.incarnation, index.vectors.take())
        else {
            return Ok(());
        };
        loop {
            let due = due_texts(&history, &index, &rows, vectors.next()).await?;
            if due.next == vectors.next() {
                return Ok(());
            }
            let fits = self.job.add(&mut vectors, incarnation, due, &payer).await?;
            if !fits {
                return Err(index.start_over().await);
            }
        }
    }
}

/// The next texts of an index without vectors.
async fn due_texts(
    history: &HistorySearch<'_>,
    index: &OwnerIndex,
    rows: &[IndexRow],
    next: u32,
) -> Result<DueTexts> {
    let mut due = DueTexts {
        next,
        ..DueTexts::default()
    };
    let mut bytes = 0;
    for (range, id) in index.ranges_from(next) {
        // Cursors are not read at one moment: what one of them lacks is there the next time.
        if range.first > due.next {
            break;
        }
        let row = rows.iter().find(|row| row.id == id);
        let texts = RangeTexts::of(history, row, index.messages(&range).await?, range);
        let texts = texts.await?;
        while due.next < range.numbers().end {
            if due.texts.len() == TEXTS || bytes >= TEXT_BYTES {
                return Ok(due);
            }
            let chunk = due.next;
            due.next += 1;
            if let Some(text) = texts.text(chunk).await? {
                bytes += text.len();
                due.texts.push(ChunkText { chunk, text });
            }
        }
    }
    Ok(due)
}

/// The messages of a range of chunks, as they are now.
struct RangeTexts<'a> {
    settings: &'a RecallSettings,
    range: ChunkRange,
    pointers: Vec<MessagePointer>,
    /// None where the conversation is gone.
    chat: Option<(ReachableChat, StorageSnapshot)>,
}

impl<'a> RangeTexts<'a> {
    async fn of(
        history: &HistorySearch<'a>,
        row: Option<&IndexRow>,
        pointers: Vec<MessagePointer>,
        range: ChunkRange,
    ) -> Result<Self> {
        let chat = match row {
            None => None,
            Some(row) => {
                let found = ReachableChat::at(&history.ambit, row.clone()).await?;
                let stored = StorageSnapshot::archive(&history.ambit, row).await?;
                Some((found, stored))
            }
        };
        Ok(Self {
            settings: history.settings,
            range,
            pointers,
            chat,
        })
    }

    /// The text of a chunk; nothing where its message says something else by now, or is gone.
    async fn text(&self, chunk: u32) -> Result<Option<String>> {
        let pointer = self.pointers.get((chunk - self.range.first) as usize);
        let (Some(pointer), Some((found, stored))) = (pointer, &self.chat) else {
            return Ok(None);
        };
        // What was superseded may be shown again.
        let filter = &MessageFilter {
            superseded: true,
            ..MessageFilter::default()
        };
        let reader = ChatMessageSearch {
            found,
            stored,
            filter,
        };
        let shown = reader.at(pointer.sequence).await?;
        let text = shown.and_then(|shown| self.settings.text_of(&shown));
        Ok(text.filter(|text| MessagePointer::of(pointer.sequence, text) == *pointer))
    }
}
