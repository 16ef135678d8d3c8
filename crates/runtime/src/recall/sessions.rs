//! Conversations found by what was said in them.

use super::history::{FEW, FoundMessage, HistorySearch, RankedHistory, WantedHits};
use super::settings::RecallSettings;
use crate::access::{Authorized, DataAccess};
use crate::chats::{
    ChatFilter, ChatInfo, ChatOrder, ChatRows, MessageFilter, PageWindow, ReachableChat,
};
use crate::error::{Error, Result};
use crate::index_vectors::SearchedVectors;
use crate::text_terms::{analyzer, is_to_repeat};
use ambit_storage::Ambit;
use ambit_storage::clock::Millis;
use ambit_storage::directory::IndexRow;
use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use utoipa::ToSchema;

/// So many of the best messages of a conversation are shown.
const MATCHES: usize = 3;
/// Of a whole tenant the conversations of so many owners are searched, those active last.
const OWNERS: usize = 1_000;
/// Conversations read at the same time.
const AT_ONCE: usize = 16;

/// A message in which something was found.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct MessageMatch {
    /// Its id on the turn's stream.
    pub message_id: String,
    /// `user` or `assistant`.
    pub role: &'static str,
    /// The stretch of its text that shows best what was found.
    pub snippet: String,
    /// Where that stands in the snippet: from this character up to, but not including, that one.
    pub ranges: Vec<[usize; 2]>,
    /// In milliseconds since 1970.
    pub created_at: i64,
    /// How well it fits, from 0 to 1.
    pub score: f64,
}

/// A conversation in which something was found.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ChatMatch {
    /// The conversation.
    #[serde(flatten)]
    pub chat: ChatInfo,
    /// How well its best message fits, from 0 to 1.
    pub score: f64,
    /// Its best messages.
    pub matches: Vec<MessageMatch>,
}

/// Whose conversations were searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SearchedOwners {
    /// How many owners, those active last.
    pub owners: usize,
    /// How many were left out; `user_id` asks for one of them.
    pub left_out: usize,
}

/// Conversations in which something was found, the best first.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatMatches {
    /// Those of the page.
    pub items: Vec<ChatMatch>,
    /// How many there are.
    pub total: u64,
    /// Where a whole tenant was asked for.
    pub searched: Option<SearchedOwners>,
}

/// What conversations are searched for.
#[derive(Clone, Copy, Debug)]
pub struct SessionSearch<'a> {
    /// The words.
    pub text: &'a str,
    /// Which conversations.
    pub filter: &'a ChatFilter,
    /// Which part of the answer.
    pub window: PageWindow,
}

/// Finds conversations that the caller may read by the words of their messages.
pub async fn search_sessions(
    ambit: &Ambit,
    who: &Authorized,
    settings: &RecallSettings,
    search: SessionSearch<'_>,
) -> Result<ChatMatches> {
    settings.check()?;
    search.filter.check()?;
    let access = DataAccess::of(who);
    if let Some(user) = search.filter.user_id.as_deref()
        && access.memory(access.user(), Some(user)).is_none()
    {
        return Err(Error::not_found("user", user));
    }
    let PageWindow { skip, limit } = search.window;
    let history = HistorySearch {
        ambit: access.system(ambit),
        settings,
        terms: analyzer().query(search.text),
        vectors: SearchedVectors::new(settings.embedding.as_ref(), access.tenant(), search.text),
        wanted: skip.saturating_add(limit).saturating_mul(MATCHES),
        few: FEW,
    };
    let mut tries = 0;
    loop {
        match once(ambit, &access, &history, search).await {
            Err(error) if is_to_repeat(&error, &mut tries) => {}
            done => return done,
        }
    }
}

async fn once(
    ambit: &Ambit,
    access: &DataAccess,
    history: &HistorySearch<'_>,
    search: SessionSearch<'_>,
) -> Result<ChatMatches> {
    let SearchedRows { rows, searched } = SearchedRows::of(ambit, access, search.filter).await?;
    let ranked = history.rank(rows).await?;
    let PageWindow { skip, limit } = search.window;
    let wanted = skip.saturating_add(limit);
    let (mut found, mut next, mut gone) = (Vec::new(), 0, 0);
    while found.len() < wanted && next < ranked.chats.len() {
        let end = ranked
            .chats
            .len()
            .min(next.saturating_add(wanted - found.len()));
        let matches = stream::iter(next..end).map(|at| matches_of(history, &ranked, at));
        let matches: Vec<Option<ChatMatch>> = matches.buffered(AT_ONCE).try_collect().await?;
        gone += matches.iter().filter(|found| found.is_none()).count();
        found.extend(matches.into_iter().flatten());
        next = end;
    }
    Ok(ChatMatches {
        items: found.into_iter().skip(skip).collect(),
        total: (ranked.chats.len() - gone) as u64,
        searched,
    })
}

/// The conversation at this place of the ranking with its best messages; `None` where those that were found are not there any more.
async fn matches_of(
    history: &HistorySearch<'_>,
    ranked: &RankedHistory,
    at: usize,
) -> Result<Option<ChatMatch>> {
    let wanted = WantedHits {
        filter: &MessageFilter::default(),
        limit: MATCHES,
    };
    let (chat, messages) = history.messages(ranked, &ranked.chats[at], &wanted).await?;
    let Some(score) = messages.first().map(|found| found.score) else {
        return Ok(None);
    };
    Ok(Some(ChatMatch {
        chat,
        score,
        matches: messages.into_iter().map(MessageMatch::from).collect(),
    }))
}

impl From<FoundMessage> for MessageMatch {
    fn from(found: FoundMessage) -> Self {
        Self {
            message_id: found.shown.message_id,
            role: found.shown.role,
            snippet: found.snippet.text,
            ranges: found.snippet.ranges,
            created_at: found.shown.created_at,
            score: found.score,
        }
    }
}

/// The rows of the conversations that are searched, the last begun first.
struct SearchedRows {
    rows: Vec<IndexRow>,
    searched: Option<SearchedOwners>,
}

impl SearchedRows {
    async fn of(ambit: &Ambit, access: &DataAccess, filter: &ChatFilter) -> Result<Self> {
        let filter = &ChatFilter {
            // Rows keep their places in it while conversations go on.
            order: ChatOrder::Created,
            ..filter.clone()
        };
        let is_limited = access.is_whole() && filter.user_id.is_none();
        let most = if is_limited { OWNERS } else { usize::MAX };
        let mut owners: HashMap<String, Millis> = HashMap::new();
        let mut rows = Vec::new();
        let mut walk = ChatRows::of(ambit, access, filter).await?;
        while let Some(page) = walk.next().await? {
            for row in page {
                let last = owners.entry(owner_of(&row)).or_default();
                *last = row.last_activity_at.max(*last);
                rows.push(row);
            }
            if owners.len() > most {
                rows.clear();
            }
        }
        let all = owners.len();
        if all > most {
            let recent = last_active(owners, most);
            rows = rows_of(ambit, access, filter, &recent).await?;
        }
        if filter.looks_inside() {
            rows = wanted(ambit, filter, rows).await?;
        }
        let searched = is_limited.then(|| SearchedOwners {
            owners: all.min(most),
            left_out: all.saturating_sub(most),
        });
        Ok(Self { rows, searched })
    }
}

/// A person, or a conversation that belongs to nobody in particular.
fn owner_of(row: &IndexRow) -> String {
    let storage = || row.identity.storage_key();
    row.identity.user_id().map_or_else(storage, str::to_owned)
}

fn last_active(owners: HashMap<String, Millis>, most: usize) -> HashSet<String> {
    let mut owners: Vec<(Millis, String)> = owners.into_iter().map(|(id, at)| (at, id)).collect();
    owners.sort_unstable_by(|one, other| other.cmp(one));
    owners.truncate(most);
    owners.into_iter().map(|(_, id)| id).collect()
}

async fn rows_of(
    ambit: &Ambit,
    access: &DataAccess,
    filter: &ChatFilter,
    owners: &HashSet<String>,
) -> Result<Vec<IndexRow>> {
    let mut rows = Vec::new();
    let mut walk = ChatRows::of(ambit, access, filter).await?;
    while let Some(page) = walk.next().await? {
        let chosen = page.into_iter();
        rows.extend(chosen.filter(|row| owners.contains(&owner_of(row))));
    }
    Ok(rows)
}

/// The rows of chats that are wanted by what is kept of them.
async fn wanted(ambit: &Ambit, filter: &ChatFilter, rows: Vec<IndexRow>) -> Result<Vec<IndexRow>> {
    let chats = stream::iter(rows).map(|row| ReachableChat::listed(ambit, row));
    let mut chats = chats.buffered(AT_ONCE);
    let mut rows = Vec::new();
    while let Some(chat) = chats.try_next().await? {
        if filter.wants(&chat.chat()) {
            rows.push(chat.row);
        }
    }
    Ok(rows)
}
