//! Ranking the messages of conversations: those that indexes have and those that they do not have yet, in one ranking.

use super::owner_index::{OwnerIndex, OwnerIndexPlace, PendingMessages, SpokenRow};
use super::settings::RecallSettings;
use super::unindexed::{MessagePointer, UnindexedMessage, UnreadMessages};
use crate::chats::{ChatInfo, ChatMessageSearch, ChatMessageView, MessageFilter, ReachableChat};
use crate::error::Result;
use crate::index_vectors::{IndexVectors, SearchedVectors, hybrid_ranking};
use crate::text_terms::snippet_of;
use ambit_search::allowed::AllowedChunks;
use ambit_search::fusion::rank;
use ambit_search::manifest::ChunkRange;
use ambit_search::ranking::SearchScope;
use ambit_search::terms::{QueryTerm, Snippet, TermCounts};
use ambit_search::text_ranking::texts_scope;
use ambit_storage::Ambit;
use ambit_storage::address::{ITEMS, Space};
use ambit_storage::batch::Head;
use ambit_storage::directory::IndexRow;
use ambit_storage::driver::LogRange;
use ambit_storage::storage::StorageSnapshot;
use std::collections::BTreeMap;

/// Fewer entries are read again by the next search rather than written into an index.
pub(super) const FEW: u64 = 64;

/// What is looked for.
pub(super) struct HistorySearch<'a> {
    /// With all rights over the tenant: the rows are those that the caller may read.
    pub ambit: Ambit,
    pub settings: &'a RecallSettings,
    pub terms: Vec<QueryTerm>,
    pub vectors: SearchedVectors<'a>,
    /// How many messages are wanted.
    pub wanted: usize,
    /// Fewer entries are read again by the next search rather than written into an index.
    pub few: u64,
}

/// Conversations in which something was found, the best first.
pub(super) struct RankedHistory {
    rows: Vec<IndexRow>,
    owners: Vec<RankedOwner>,
    rest: Vec<UnindexedMessage>,
    pub chats: Vec<ChatHits>,
}

/// An owner's index, and which rows its chunks are of.
struct RankedOwner {
    index: OwnerIndex,
    /// By their first chunks.
    ranges: Vec<(ChunkRange, usize)>,
}

/// What was found in a conversation, the best first.
pub(super) struct ChatHits {
    pub row: usize,
    pub hits: Vec<MessageHit>,
}

#[derive(Clone, Copy)]
pub(super) struct MessageHit {
    place: HitPlace,
    /// From 0 to 1.
    score: f64,
}

/// In the order of the messages of one conversation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum HitPlace {
    Indexed { owner: usize, chunk: u32 },
    Unindexed(usize),
}

/// A message that was found, as it is shown now.
pub(super) struct FoundMessage {
    pub shown: ChatMessageView,
    pub score: f64,
    pub snippet: Snippet,
}

/// Which messages of a conversation are wanted.
pub(super) struct WantedHits<'a> {
    pub filter: &'a MessageFilter,
    pub limit: usize,
}

impl HistorySearch<'_> {
    /// Ranks the messages of these rows.
    pub async fn rank(&self, rows: Vec<IndexRow>) -> Result<RankedHistory> {
        let mut of_owners: BTreeMap<Space, Vec<usize>> = BTreeMap::new();
        for (at, row) in rows.iter().enumerate() {
            let space = Space::recall(&row.tenant, &row.identity, &row.placement);
            of_owners.entry(space).or_default().push(at);
        }
        let (mut owners, mut scopes, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for (space, of_owner) in of_owners {
            let index = self.follow(space, &rows, &of_owner, &mut rest).await?;
            if let Some((owner, scope)) = self.scope(index, &rows, &of_owner).await? {
                owners.push(owner);
                scopes.push(scope);
            }
        }
        let terms: Vec<TermCounts> = rest.iter().map(|message| message.terms.clone()).collect();
        scopes.push(texts_scope(&terms, self.terms.clone()).await?);
        let mut ranked = RankedHistory {
            rows,
            owners,
            rest,
            chats: Vec::new(),
        };
        ranked.chats = ranked.hits(&scopes, self.wanted).await?;
        Ok(ranked)
    }

    /// Brings an owner's index up to what these of their conversations hold; what it is not given is left in `rest`.
    pub async fn follow(
        &self,
        space: Space,
        rows: &[IndexRow],
        of_owner: &[usize],
        rest: &mut Vec<UnindexedMessage>,
    ) -> Result<OwnerIndex> {
        let placement = self.ambit.stores().chain(&rows[of_owner[0]].placement)?;
        let place = OwnerIndexPlace {
            driver: placement.driver().clone(),
            space,
            settings: self.settings,
        };
        let mut index = OwnerIndex::open(place).await?;
        let (mut behind, mut entries) = (Vec::new(), 0);
        let mut spoken = None;
        for at in of_owner {
            let head = self.head(&rows[*at]).await?;
            if head.last > 0 {
                spoken = spoken.or(Some(SpokenRow {
                    row: &rows[*at],
                    head,
                }));
            }
            let seen = index.seen(&rows[*at], head).await?;
            if seen < head.last {
                behind.push((*at, Head::new(head.generation, seen)));
                entries += head.last - seen;
            }
        }
        let is_followed = entries >= self.few;
        // Where there are to be vectors the index begins with the first message, and is noted.
        if let Some(spoken) = spoken.filter(|_| is_followed || index.vectors.is_some()) {
            index.begin(&spoken).await?;
        }
        let mut pending = PendingMessages::default();
        for (at, seen) in behind {
            let row = &rows[at];
            let unread = UnreadMessages::behind(&self.ambit, self.settings, at, row, seen.last);
            let mut unread = unread.await?;
            loop {
                let is_settled = unread.position() < unread.settled;
                let Some(messages) = unread.next().await? else {
                    break;
                };
                if !is_settled || !is_followed {
                    rest.extend(messages);
                    continue;
                }
                for message in messages {
                    let full = pending.push(message, seen.generation);
                    index.add(rows, full).await?;
                }
                pending.read(at, Head::new(seen.generation, unread.position()));
            }
        }
        index.add(rows, pending).await?;
        Ok(index)
    }

    /// The end of a row's log: a row says it itself where it is kept together with the log.
    async fn head(&self, row: &IndexRow) -> Result<Head> {
        let stores = self.ambit.stores();
        if stores.index()?.names() == row.placement {
            return Ok(Head::new(row.generation, row.items));
        }
        let driver = stores.chain(&row.placement)?.driver().clone();
        let log = row.space().log(ITEMS);
        let head = driver.read(&log, LogRange::head()).await?.head;
        Ok(head.unwrap_or(Head::new(0, 0)))
    }

    /// What of an index may be found.
    async fn scope(
        &self,
        index: OwnerIndex,
        rows: &[IndexRow],
        of_owner: &[usize],
    ) -> Result<Option<(RankedOwner, SearchScope)>> {
        if index.incarnation.is_none() {
            return Ok(None);
        }
        let snapshot = index.index.snapshot().await?;
        if Some(snapshot.manifest.incarnation) != index.incarnation {
            return Err(index.has_changed());
        }
        let mut ranges: Vec<(ChunkRange, usize)> = Vec::new();
        for at in of_owner {
            let of_row = index.ranges(&rows[*at]).iter();
            ranges.extend(of_row.map(|range| (*range, *at)));
        }
        ranges.sort_by_key(|(range, _)| range.first);
        let allowed = ranges.iter().map(|(range, _)| *range).collect();
        let allowed = AllowedChunks::of(&snapshot.manifest, allowed);
        let (searched, terms) = (index.index.clone(), self.terms.clone());
        let mut scope = SearchScope::of_words(searched, snapshot, terms, allowed);
        let vectors = index.vectors.as_ref();
        let space = vectors.and_then(IndexVectors::space);
        scope.vector = self.vectors.of(space).await;
        Ok(Some((RankedOwner { index, ranges }, scope)))
    }

    /// The best messages of a conversation that are there now, are wanted and say what they said when they were found; and
    /// the conversation.
    pub async fn messages(
        &self,
        ranked: &RankedHistory,
        chat: &ChatHits,
        wanted: &WantedHits<'_>,
    ) -> Result<(ChatInfo, Vec<FoundMessage>)> {
        let row = &ranked.rows[chat.row];
        let found = ReachableChat::listed(&self.ambit, row.clone()).await?;
        let stored = StorageSnapshot::archive(&self.ambit, row).await?;
        let reader = ChatMessageSearch {
            found: &found,
            stored: &stored,
            filter: wanted.filter,
        };
        let mut messages = Vec::new();
        for hit in &chat.hits {
            if messages.len() == wanted.limit {
                break;
            }
            let pointer = ranked.pointer(hit.place).await?;
            let Some(shown) = reader.at(pointer.sequence).await? else {
                continue;
            };
            let Some(text) = self.settings.text_of(&shown) else {
                continue;
            };
            if MessagePointer::of(shown.sequence, &text) == pointer {
                messages.push(FoundMessage {
                    snippet: snippet_of(&text, &self.terms),
                    score: hit.score,
                    shown,
                });
            }
        }
        Ok((found.chat(), messages))
    }
}

impl RankedHistory {
    async fn hits(&self, scopes: &[SearchScope], wanted: usize) -> Result<Vec<ChatHits>> {
        let counts = scopes.iter().map(|scope| scope.allowed.totals.chunks);
        let all = counts.map(|count| count as usize).sum();
        let ranking = rank(scopes, &hybrid_ranking(all, wanted)).await?;
        let mut chats: BTreeMap<usize, Vec<MessageHit>> = BTreeMap::new();
        for found in &ranking.chunks {
            let place = match found.scope < self.owners.len() {
                true => HitPlace::Indexed {
                    owner: found.scope,
                    chunk: found.chunk,
                },
                false => HitPlace::Unindexed(found.chunk as usize),
            };
            let row = match place {
                HitPlace::Indexed { owner, chunk } => self.owners[owner].range_of(chunk).1,
                HitPlace::Unindexed(at) => self.rest[at].row,
            };
            let score = found.score;
            chats
                .entry(row)
                .or_default()
                .push(MessageHit { place, score });
        }
        let mut chats: Vec<ChatHits> = chats
            .into_iter()
            .map(|(row, mut hits)| {
                hits.sort_by(|one, other| {
                    let by_score = other.score.total_cmp(&one.score);
                    by_score.then(one.place.cmp(&other.place))
                });
                ChatHits { row, hits }
            })
            .collect();
        // Of equal ones that comes first whose row does.
        chats.sort_by(|one, other| other.best().total_cmp(&one.best()));
        Ok(chats)
    }

    async fn pointer(&self, place: HitPlace) -> Result<MessagePointer> {
        match place {
            HitPlace::Unindexed(at) => Ok(self.rest[at].pointer.clone()),
            HitPlace::Indexed { owner, chunk } => {
                let owner = &self.owners[owner];
                owner.index.message(&owner.range_of(chunk).0, chunk).await
            }
        }
    }
}

impl RankedOwner {
    /// The range that a chunk is in, and its row. Only chunks of ranges are found.
    fn range_of(&self, chunk: u32) -> (ChunkRange, usize) {
        let behind = self
            .ranges
            .partition_point(|(range, _)| range.first <= chunk);
        self.ranges[behind.saturating_sub(1)]
    }
}

impl ChatHits {
    fn best(&self) -> f64 {
        self.hits.first().map_or(0.0, |hit| hit.score)
    }
}
