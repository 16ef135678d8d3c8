//! Messages of one conversation, found by their words.

use super::history::{FEW, FoundMessage, HistorySearch, WantedHits};
use super::settings::RecallSettings;
use crate::access::{Authorized, DataAccess};
use crate::chats::{self, ChatMessageView, ChatName, MessageFilter};
use crate::error::Result;
use crate::index_vectors::SearchedVectors;
use crate::text_terms::{analyzer, is_to_repeat};
use ambit_storage::Ambit;
use ambit_storage::directory::IndexRow;
use serde::Serialize;
use utoipa::ToSchema;

/// A message that was found.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ChatMessageMatch {
    /// The message.
    #[serde(flatten)]
    pub message: ChatMessageView,
    /// How well it fits, from 0 to 1.
    pub score: f64,
    /// The stretch of its text that shows best what was found.
    pub snippet: String,
    /// Where that stands in the snippet: from this character up to, but not including, that one.
    pub ranges: Vec<[usize; 2]>,
}

/// What a conversation is searched for.
#[derive(Clone, Copy, Debug)]
pub struct MessageSearch<'a> {
    /// The conversation.
    pub chat: ChatName<'a>,
    /// The words.
    pub text: &'a str,
    /// Which messages. Those left out count for the scores of the others.
    pub filter: &'a MessageFilter,
}

/// Finds messages of a conversation that the caller may read, the best first.
pub async fn search_messages(
    ambit: &Ambit,
    who: &Authorized,
    settings: &RecallSettings,
    search: MessageSearch<'_>,
) -> Result<Vec<ChatMessageMatch>> {
    settings.check()?;
    search.filter.check()?;
    let history = HistorySearch {
        ambit: DataAccess::of(who).system(ambit),
        settings,
        terms: analyzer().query(search.text),
        vectors: SearchedVectors::new(settings.embedding.as_ref(), who.tenant(), search.text),
        wanted: search.filter.limit,
        few: FEW,
    };
    let mut tries = 0;
    loop {
        let row = chats::row(ambit, who, search.chat).await?;
        match once(&history, row, search.filter).await {
            Err(error) if is_to_repeat(&error, &mut tries) => {}
            done => return done,
        }
    }
}

async fn once(
    history: &HistorySearch<'_>,
    row: IndexRow,
    filter: &MessageFilter,
) -> Result<Vec<ChatMessageMatch>> {
    let ranked = history.rank(vec![row]).await?;
    let Some(hits) = ranked.chats.first() else {
        return Ok(Vec::new());
    };
    let limit = filter.limit;
    let wanted = WantedHits { filter, limit };
    let (_, found) = history.messages(&ranked, hits, &wanted).await?;
    Ok(found.into_iter().map(ChatMessageMatch::from).collect())
}

impl From<FoundMessage> for ChatMessageMatch {
    fn from(found: FoundMessage) -> Self {
        Self {
            message: found.shown,
            score: found.score,
            snippet: found.snippet.text,
            ranges: found.snippet.ranges,
        }
    }
}
