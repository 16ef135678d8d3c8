//! The turns of conversations that the caller may use, the newest first.
//!
//! They are found by the index: conversations come in the order of their last activity, which no turn of theirs has begun behind, so
//! that a page reads the rows that it needs. Within a conversation turns are in the order of their ids, which begin with their time.

mod conversation_turns;

use crate::access::{ActingCaller, Authorized, DataAccess};
use crate::chats::{self, ChatFilter, ChatName, ChatRows, NAMELESS};
use crate::error::{Error, ErrorCode, PublicError, Result};
use crate::llm::TokenUsage;
use crate::turn_info::{TurnInfo, TurnStatus};
use ambit_storage::address::Space;
use ambit_storage::clock::Millis;
use ambit_storage::directory::IndexRow;
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Ambit, Page, ids};
use conversation_turns::ConversationTurns;
use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Conversations read at the same time.
const AT_ONCE: usize = 16;
/// Turns looked at for one page, so that a filter that few match does not read everything at once.
const MOST: usize = 2_000;
/// How much later than it was asked for a turn may begin, where the conversation was busy.
const WAIT: Millis = 2 * 60_000;
/// A row's last activity may be this much older than what was written last.
const ACTIVITY_STEP: Millis = 1_000;
/// How much later than its first turn began a conversation's row may be made.
const FIRST_SAVE: Millis = 10 * 60_000;

/// A turn as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TurnSummary {
    /// The turn.
    pub request_id: String,
    /// Its trace, which may be off or gone.
    pub trace_id: String,
    /// The chat's name.
    pub chat_id: String,
    /// The id of the index row of its conversation's history.
    pub context: String,
    /// The agent that was asked.
    pub assistant_id: String,
    /// Who asked, else whose conversation it is.
    pub user_id: Option<String>,
    /// How far it is.
    pub status: TurnStatus,
    /// When it began, in milliseconds since 1970.
    pub started_at: i64,
    /// When it ended, in milliseconds since 1970.
    pub ended_at: Option<i64>,
    /// From its beginning to its end.
    pub duration_ms: Option<i64>,
    /// From its beginning to the first piece of a model's answer.
    pub ttft_ms: Option<i64>,
    /// Calls of models; known once it has ended.
    pub calls: Option<u64>,
    /// Calls of tools; known once it has ended.
    pub tools: Option<u64>,
    /// Tokens; known once it has ended.
    pub usage: Option<TokenUsage>,
    /// Millionths, by currency.
    pub cost: BTreeMap<String, i64>,
    /// The failure, if it failed.
    pub error: Option<PublicError>,
    /// Who acted as the person who asked.
    pub acted_by: Option<ActingCaller>,
}

impl TurnSummary {
    fn of(turn: TurnInfo, row: &IndexRow) -> Self {
        let owner = chats::owner(row).map(str::to_owned);
        let totals = turn.totals;
        Self {
            trace_id: turn.request_id.clone(),
            request_id: turn.request_id,
            chat_id: turn.chat_id,
            context: row.id.clone(),
            assistant_id: turn.assistant_id,
            user_id: turn.user_id.or(owner),
            status: turn.status,
            started_at: turn.started_at,
            ended_at: turn.ended_at,
            duration_ms: turn.ended_at.map(|end| (end - turn.started_at).max(0)),
            ttft_ms: totals.ttft_ms,
            calls: totals.calls,
            tools: totals.tools,
            usage: totals.usage,
            cost: totals.cost,
            error: turn.error,
            acted_by: turn.acted_by,
        }
    }
}

/// Which turns; every condition that is given holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnFilter {
    /// Of this chat.
    pub chat_id: Option<String>,
    /// Of the conversation whose history has this row.
    pub context: Option<String>,
    /// Of this agent.
    pub assistant_id: Option<String>,
    /// Of conversations of this person.
    pub user_id: Option<String>,
    /// Of this status.
    pub status: Option<TurnStatus>,
    /// Begun at or after.
    pub from: Option<Millis>,
    /// Begun before.
    pub to: Option<Millis>,
}

impl TurnFilter {
    /// The status with this name.
    pub fn status(name: &str) -> Result<TurnStatus> {
        let all = [
            TurnStatus::Running,
            TurnStatus::Completed,
            TurnStatus::Error,
            TurnStatus::Cancelled,
        ];
        chats::choose("status", name, &all.map(|status| (status.as_str(), status)))
    }

    /// One page of turns, the newest first. The cursor is the one that came with the page before. A page may have fewer than are
    /// wanted before the end, where few match.
    pub async fn list(
        &self,
        ambit: &Ambit,
        who: &Authorized,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<TurnSummary>> {
        let cursor = cursor.map(TurnCursor::read).transpose()?;
        let mut walk = self.walk(ambit, who, cursor).await?;
        let (mut items, mut last) = (Vec::new(), None);
        for _ in 0..MOST {
            let Some((turn, context)) = walk.next().await? else {
                return Ok(Page { items, next: None });
            };
            if self
                .from
                .is_some_and(|from| begun_at(&turn) < from.saturating_sub(WAIT))
            {
                // All others have begun before.
                return Ok(Page { items, next: None });
            }
            if self.wants(&turn) {
                if items.len() == limit {
                    break;
                }
                items.push(TurnSummary::of(turn.clone(), &context));
            }
            last = Some(TurnCursor::behind(&turn).to_string());
        }
        Ok(Page { items, next: last })
    }

    async fn walk<'a>(
        &self,
        ambit: &'a Ambit,
        who: &Authorized,
        cursor: Option<TurnCursor>,
    ) -> Result<TurnWalk<'a>> {
        let rows = match (&self.context, &self.chat_id) {
            (None, None) => {
                RowSource::Index(Box::new(self.rows(ambit, who, cursor.as_ref()).await?))
            }
            (context, chat_id) => {
                let name = ChatName {
                    chat_id: chat_id.as_deref().unwrap_or(NAMELESS),
                    assistant_id: self.assistant_id.as_deref(),
                    context: context.as_deref(),
                };
                match chats::row(ambit, who, name).await {
                    Ok(row) => RowSource::One(Some(Box::new(row))),
                    Err(error) if error.code == ErrorCode::NotFound => RowSource::One(None),
                    Err(error) => return Err(error),
                }
            }
        };
        Ok(TurnWalk {
            ambit,
            rows,
            bound: Some(Millis::MAX),
            after: cursor.map(|cursor| cursor.request_id),
            open: BTreeMap::new(),
        })
    }

    /// The rows of conversations that may have turns that are wanted, the last active first.
    async fn rows<'a>(
        &self,
        ambit: &'a Ambit,
        who: &Authorized,
        cursor: Option<&TurnCursor>,
    ) -> Result<ChatRows<'a>> {
        let before = match (self.to, cursor.map(|cursor| cursor.begun_at)) {
            (Some(to), Some(behind)) => Some(to.min(behind)),
            (to, behind) => to.or(behind),
        };
        let access = DataAccess::of(who);
        let from = self.from.map(|from| from.saturating_sub(ACTIVITY_STEP));
        let filter = ChatFilter {
            assistant_id: self.assistant_id.clone(),
            user_id: self.user_id.clone(),
            from: from.max(oldest(ambit, access.tenant()).await),
            created_before: before.map(|before| before.saturating_add(FIRST_SAVE)),
            ..ChatFilter::default()
        };
        match self.status {
            Some(TurnStatus::Running) => ChatRows::running(ambit, &access, &filter).await,
            _ => ChatRows::of(ambit, &access, &filter).await,
        }
    }

    fn wants(&self, turn: &TurnInfo) -> bool {
        let agent = self.assistant_id.as_ref();
        self.status.is_none_or(|status| status == turn.status)
            && agent.is_none_or(|agent| *agent == turn.assistant_id)
            && self.from.is_none_or(|from| from <= turn.started_at)
            && self.to.is_none_or(|to| turn.started_at < to)
    }
}

/// Nothing that was active before this has a turn that is known: what is known of one goes a month after its end, conversations stay.
/// There is no bound where an id says no time, or a store is away that may know older ones.
async fn oldest(ambit: &Ambit, tenant: &str) -> Option<Millis> {
    let space = Space::requests(tenant);
    let first = ValueScan::first(Pattern::all(), 1, ValuePart::Nothing);
    let mut oldest = Millis::MAX;
    for driver in ambit.stores().drivers().values() {
        let found = driver.scan(&space, &first).await.ok()?;
        if let Some((id, _)) = found.first() {
            oldest = oldest.min(ids::made_at(id)?);
        }
    }
    // Nodes and stores have clocks of their own.
    Some(oldest.saturating_sub(WAIT))
}

/// A place behind a turn.
struct TurnCursor {
    begun_at: Millis,
    request_id: String,
}

impl TurnCursor {
    fn behind(turn: &TurnInfo) -> Self {
        Self {
            begun_at: begun_at(turn),
            request_id: turn.request_id.clone(),
        }
    }

    fn read(text: &str) -> Result<Self> {
        let parts = text.split_once('.').and_then(|(at, id)| {
            let is_id = !id.is_empty() && !id.contains(['\0', '/']);
            Some((at.parse().ok()?, Some(id).filter(|_| is_id)?))
        });
        let unknown = || Error::invalid("cursor", "cursor must be `next` of a page of this list");
        let (begun_at, id) = parts.ok_or_else(unknown)?;
        Ok(Self {
            begun_at,
            request_id: id.to_owned(),
        })
    }
}

impl std::fmt::Display for TurnCursor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{}", self.begun_at, self.request_id)
    }
}

/// When a turn was asked for, as its id says: it may have waited before it began.
fn begun_at(turn: &TurnInfo) -> Millis {
    let made_at = ids::made_at(&turn.request_id);
    made_at.map_or(turn.started_at, |at| at.min(turn.started_at))
}

/// Where conversations come from.
enum RowSource<'a> {
    /// From the index, the last active first.
    Index(Box<ChatRows<'a>>),
    /// The one that is named.
    One(Option<Box<IndexRow>>),
}

/// Turns of several conversations in one order.
struct TurnWalk<'a> {
    ambit: &'a Ambit,
    rows: RowSource<'a>,
    /// No turn of a conversation that was not read yet has begun behind this; nothing where all are read.
    bound: Option<Millis>,
    /// Only turns whose ids come before this one.
    after: Option<String>,
    /// Conversations by their newest turn that was not given yet.
    open: BTreeMap<String, ConversationTurns>,
}

impl TurnWalk<'_> {
    /// The next turn, and the row of its conversation.
    async fn next(&mut self) -> Result<Option<(TurnInfo, IndexRow)>> {
        while let Some(bound) = self.bound {
            let newest = self.open.last_key_value();
            let first = newest.and_then(|(_, turns)| turns.first());
            if first.is_some_and(|turn| begun_at(turn) > bound) {
                break;
            }
            self.read_rows().await?;
        }
        let Some((_, mut turns)) = self.open.pop_last() else {
            return Ok(None);
        };
        let Some(turn) = turns.next().await? else {
            return Ok(None);
        };
        let row = turns.row.clone();
        self.keep(turns);
        Ok(Some((turn, row)))
    }

    async fn read_rows(&mut self) -> Result<()> {
        let rows = match &mut self.rows {
            RowSource::Index(rows) => rows.next().await?,
            RowSource::One(row) => row.take().map(|row| vec![*row]),
        };
        let Some(rows) = rows else {
            self.bound = None;
            return Ok(());
        };
        if let Some(last) = rows.last() {
            self.bound = Some(last.last_activity_at + ACTIVITY_STEP);
        }
        let (ambit, after) = (self.ambit, self.after.as_deref());
        let opened = stream::iter(rows).map(|row| ConversationTurns::open(ambit, row, after));
        let opened: Vec<_> = opened.buffered(AT_ONCE).try_collect().await?;
        opened.into_iter().for_each(|turns| self.keep(turns));
        Ok(())
    }

    fn keep(&mut self, turns: ConversationTurns) {
        let first = turns.first().map(|turn| turn.request_id.clone());
        if let Some(id) = first {
            self.open.insert(id, turns);
        }
    }
}
