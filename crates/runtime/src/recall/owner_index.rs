//! The index of an owner's conversations in one store. Beside its pages it has a cursor for each conversation, which says how
//! far the index has read it, and pointers from chunks to messages; a commit of the index moves them along.

use super::owner_note::OwnerNote;
use super::settings::RecallSettings;
use super::unindexed::{MessagePointer, UnindexedMessage};
use crate::error::{Result, StorageError};
use crate::index_vectors::IndexVectors;
use ambit_search::index::{PageCache, SearchIndex};
use ambit_search::manifest::{ChunkRange, ChunkTotals};
use ambit_search::terms::{ChunkTerms, TERMS_VERSION, TermCounts};
use ambit_storage::Json;
use ambit_storage::address::{ITEMS, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, Head, WriteOutcome};
use ambit_storage::directory::IndexRow;
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many messages, and bytes of their text, are added by one commit.
const MESSAGES: usize = 256;
const BYTES: usize = 256 << 10;
/// So many steps that keep the index small follow a commit.
const STEPS: usize = 16;
/// What is read for one search is kept for this long, so that nothing of it outlives an erasure.
const CACHE: u64 = 8 << 20;

/// How far the index has read a conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ChatCursor {
    /// Of the index.
    incarnation: u64,
    /// Of the conversation's log.
    generation: u64,
    /// The last entry that was read.
    pub seen: u64,
    /// Whose messages are in the index.
    roles: String,
    /// The chunks of its messages. Each range has its pointers.
    pub ranges: Vec<ChunkRange>,
}

struct StoredCursor {
    cursor: ChatCursor,
    version: u64,
}

/// An index as far as a search has brought it.
pub(super) struct OwnerIndex {
    pub index: SearchIndex,
    driver: Arc<dyn Driver>,
    space: Space,
    roles: String,
    /// By the ids of rows.
    cursors: BTreeMap<String, StoredCursor>,
    /// None where it was not begun.
    pub incarnation: Option<u64>,
    /// Its vectors, where it is to have some.
    pub vectors: Option<IndexVectors>,
}

/// What an index is opened for.
pub(super) struct OwnerIndexPlace<'a> {
    pub driver: Arc<dyn Driver>,
    pub space: Space,
    pub settings: &'a RecallSettings,
}

/// A conversation in which something was said, and the end of its log.
pub(super) struct SpokenRow<'a> {
    pub row: &'a IndexRow,
    pub head: Head,
}

/// Messages for the next commit, in the order of the rows.
#[derive(Default)]
pub(super) struct PendingMessages {
    pub messages: Vec<UnindexedMessage>,
    bytes: usize,
    /// How far each row is read with them, and the generation of its log.
    seen: BTreeMap<usize, Head>,
}

impl PendingMessages {
    /// Whether a message has no place in this commit. What one entry shows stays together.
    fn is_full_for(&self, next: &UnindexedMessage) -> bool {
        let Some(last) = self.messages.last() else {
            return false;
        };
        let is_same = (last.row, last.entry()) == (next.row, next.entry());
        !is_same && (self.messages.len() >= MESSAGES || self.bytes + next.bytes > BYTES)
    }

    /// Adds a message of a log of this generation. What has no place beside it is given back: another commit takes that.
    #[must_use]
    pub fn push(&mut self, message: UnindexedMessage, generation: u64) -> Self {
        let full = match self.is_full_for(&message) {
            true => std::mem::take(self),
            false => Self::default(),
        };
        self.read(message.row, Head::new(generation, message.entry()));
        self.bytes += message.bytes;
        self.messages.push(message);
        full
    }

    /// A row is read so far.
    pub fn read(&mut self, row: usize, head: Head) {
        self.seen.insert(row, head);
    }
}

impl OwnerIndex {
    /// The index in this space. One that was made for something else is dropped.
    pub async fn open(place: OwnerIndexPlace<'_>) -> Result<Self> {
        let OwnerIndexPlace {
            driver,
            space,
            settings,
        } = place;
        // Cursors are read before the manifest: chunks that come between count as not there yet.
        let cursors = cursors(driver.as_ref(), &space).await?;
        let index = SearchIndex::new(driver.clone(), space.clone(), PageCache::new(CACHE));
        let vectors = match &settings.embedding {
            Some(_) => Some(IndexVectors::of(&index, &driver, &space).await?),
            None => None,
        };
        let snapshot = index.snapshot().await?;
        let manifest = &snapshot.manifest;
        let opened = Self {
            incarnation: snapshot.is_stored().then_some(manifest.incarnation),
            roles: settings.names(),
            index,
            driver,
            space,
            cursors,
            vectors,
        };
        if manifest.terms_version != TERMS_VERSION || opened.is_made_otherwise(settings) {
            return Err(opened.start_over().await);
        }
        let mut cursors = opened.cursors.values().map(|stored| &stored.cursor);
        if cursors.any(|cursor| Some(cursor.incarnation) != opened.incarnation) {
            return Err(opened.has_changed());
        }
        Ok(opened)
    }

    /// Whether it has messages of other roles, or vectors of another connector.
    fn is_made_otherwise(&self, settings: &RecallSettings) -> bool {
        let connector = settings.embedding.as_ref().map(|it| &it.connector);
        let is_another = self.vectors.as_ref().zip(connector);
        let mut cursors = self.cursors.values().map(|stored| &stored.cursor);
        is_another.is_some_and(|(vectors, connector)| vectors.are_of_another(connector))
            || cursors.any(|cursor| cursor.roles != self.roles)
    }

    /// How many entries of a log it has read; others may have let it read further than to this head.
    pub async fn seen(&self, row: &IndexRow, head: Head) -> Result<u64> {
        let Some(StoredCursor { cursor, .. }) = self.cursors.get(&row.id) else {
            return Ok(0);
        };
        match cursor.generation.cmp(&head.generation) {
            Ordering::Equal => Ok(cursor.seen),
            Ordering::Greater => Err(self.has_changed()),
            Ordering::Less => Err(self.start_over().await),
        }
    }

    /// Drops the index; the answer is why the search has to begin again.
    pub async fn start_over(&self) -> crate::error::Error {
        let space = self.space.clone();
        let note = BatchWrite::apply(self.note_key(), Operation::Del, None);
        let dropped = Batch::of([BatchWrite::Remove { space }, note]);
        match self.driver.commit(dropped).await {
            Ok(_) => self.has_changed(),
            Err(error) => error.into(),
        }
    }

    /// Begins it where nobody has. From now on whoever has messages erased takes this beginning away, and with it what is
    /// about to be added. Where it is to have vectors it is noted, so that those who make them find it.
    pub async fn begin(&mut self, spoken: &SpokenRow<'_>) -> Result<()> {
        let lacks_note = self.lacks_note().await?;
        if self.incarnation.is_some() && !lacks_note {
            return Ok(());
        }
        let change = self.index.change().await?;
        let incarnation = change.manifest.incarnation;
        if self.incarnation.is_some_and(|own| own != incarnation) {
            return Err(self.has_changed());
        }
        self.incarnation = Some(incarnation);
        let mut batch = change.batch()?;
        if lacks_note {
            let SpokenRow { row, head } = spoken;
            batch
                .writes
                .push(set(self.note_key(), &OwnerNote::of(row))?);
            // Nobody is noted who has been erased meanwhile.
            batch
                .checks
                .push(BatchCheck::head(row.space().log(ITEMS), Some(*head)));
        }
        self.driver.commit(batch).await?;
        Ok(())
    }

    /// Whether those who make its vectors do not know of it.
    async fn lacks_note(&self) -> Result<bool> {
        match &self.vectors {
            Some(vectors) if vectors.are_unknown() => {
                let note = self
                    .driver
                    .get(&self.note_key(), ValuePart::Nothing)
                    .await?;
                Ok(note.is_none())
            }
            _ => Ok(false),
        }
    }

    fn note_key(&self) -> ValueKey {
        Space::recall_indexes().key(self.space.digest())
    }

    /// Adds messages of these rows.
    pub async fn add(&mut self, rows: &[IndexRow], pending: PendingMessages) -> Result<()> {
        if pending.seen.is_empty() {
            return Ok(());
        }
        let mut change = self.index.change().await?;
        if Some(change.manifest.incarnation) != self.incarnation {
            return Err(self.has_changed());
        }
        let terms = pending.messages.iter().map(|message| message.terms.clone());
        let terms: Vec<TermCounts> = terms.collect();
        let mut first = change.add(&ChunkTerms::of(&terms))?.first;
        let mut batch = change.batch()?;
        let mut moved = Vec::new();
        for (row, head) in &pending.seen {
            let id = rows[*row].id.clone();
            let messages = pending.messages.iter().filter(|it| it.row == *row);
            let messages: Vec<&UnindexedMessage> = messages.collect();
            let mut cursor = self.cursor(&id, *head);
            if !messages.is_empty() {
                let range = range_of(first, &messages);
                let pointers = messages.iter().map(|message| &message.pointer);
                let pointers: Vec<&MessagePointer> = pointers.collect();
                batch.writes.push(set(self.pointers(first), &pointers)?);
                cursor.ranges.push(range);
                first += range.totals.chunks;
            }
            let (key, before) = (self.cursor_key(&id), self.cursors.get(&id));
            let version = before.map(|stored| stored.version);
            batch.checks.push(BatchCheck::version(key.clone(), version));
            moved.push((batch.writes.len(), id, cursor.clone()));
            batch.writes.push(set(key, &cursor)?);
        }
        let outcomes = self.driver.commit(batch).await?;
        for (at, id, cursor) in moved {
            if let Some(WriteOutcome::Applied { version, .. }) = outcomes.get(at) {
                let version = version.unwrap_or_default();
                self.cursors.insert(id, StoredCursor { cursor, version });
            }
        }
        for _ in 0..STEPS {
            if !self.index.keep_up().await? {
                break;
            }
        }
        Ok(())
    }

    fn cursor(&self, id: &str, head: Head) -> ChatCursor {
        let before = self.cursors.get(id);
        ChatCursor {
            incarnation: self.incarnation.unwrap_or_default(),
            generation: head.generation,
            seen: head.last,
            roles: self.roles.clone(),
            ranges: before.map_or_else(Vec::new, |stored| stored.cursor.ranges.clone()),
        }
    }

    /// The chunks of a row's messages.
    pub fn ranges(&self, row: &IndexRow) -> &[ChunkRange] {
        let stored = self.cursors.get(&row.id);
        stored.map_or(&[], |stored| &stored.cursor.ranges)
    }

    /// The chunks from this one on of the messages of rows, each range with its row's id, in ascending order.
    pub fn ranges_from(&self, chunk: u32) -> Vec<(ChunkRange, &str)> {
        let stored = self.cursors.iter();
        let ranges = stored.flat_map(|(id, stored)| {
            let ranges = stored.cursor.ranges.iter();
            ranges.map(move |range| (*range, id.as_str()))
        });
        let mut ranges: Vec<(ChunkRange, &str)> = ranges
            .filter(|(range, _)| range.numbers().end > chunk)
            .collect();
        ranges.sort_by_key(|(range, _)| range.first);
        ranges
    }

    /// The messages of a range of chunks.
    pub async fn messages(&self, range: &ChunkRange) -> Result<Vec<MessagePointer>> {
        let key = self.pointers(range.first);
        let found = self.driver.get(&key, ValuePart::Whole).await?;
        let found = found.ok_or_else(|| self.has_changed())?;
        Ok(found.value.to()?)
    }

    /// The message of a chunk of this range.
    pub async fn message(&self, range: &ChunkRange, chunk: u32) -> Result<MessagePointer> {
        let at = (chunk - range.first) as usize;
        let mut pointers = self.messages(range).await?.into_iter();
        pointers.nth(at).ok_or_else(|| self.has_changed())
    }

    fn cursor_key(&self, id: &str) -> ValueKey {
        self.space.key(format!("{CURSOR}{id}"))
    }

    fn pointers(&self, first: u32) -> ValueKey {
        self.space.key(format!("at/{first:010}"))
    }

    /// Others have changed it during a search.
    pub fn has_changed(&self) -> crate::error::Error {
        let changed = StorageError::Conflict {
            what: "the index of an owner's conversations".to_owned(),
            expected: "what this search has seen".to_owned(),
            found: "what others have made of it".to_owned(),
        };
        changed.into()
    }
}

/// What the names of cursors begin with.
const CURSOR: &str = "chat/";

async fn cursors(driver: &dyn Driver, space: &Space) -> Result<BTreeMap<String, StoredCursor>> {
    let pattern = Pattern::parse(&format!("{CURSOR}*"));
    let mut pages = ValuePages::of(driver, space, pattern, ValuePart::Whole);
    let mut cursors = BTreeMap::new();
    while let Some(page) = pages.next().await? {
        for (name, entry) in page {
            let id = name[CURSOR.len()..].to_owned();
            let stored = StoredCursor {
                cursor: entry.value.to()?,
                version: entry.version,
            };
            cursors.insert(id, stored);
        }
    }
    Ok(cursors)
}

fn range_of(first: u32, messages: &[&UnindexedMessage]) -> ChunkRange {
    let lengths = messages.iter().flat_map(|message| message.terms.values());
    ChunkRange {
        first,
        totals: ChunkTotals {
            chunks: messages.len() as u32,
            length: lengths.map(|count| u64::from(*count)).sum(),
        },
    }
}

fn set<T: Serialize>(key: ValueKey, value: &T) -> Result<BatchWrite> {
    let set = Operation::Set(Json::of(value)?.into());
    Ok(BatchWrite::apply(key, set, None))
}
