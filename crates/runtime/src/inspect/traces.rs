//! Turns that were traced, and the logs of their traces.

use crate::access::{Authorized, DataAccess};
use crate::chats::{self, ChatFilter, ChatName, ChatRows, ListPart, NAMELESS, PageWindow};
use crate::error::{Error, ErrorCode, Result};
use crate::journal::TurnKeys;
use crate::turn_info::{TurnInfo, TurnStatus};
use crate::turn_location::{self, TurnLocation};
use ambit_storage::Ambit;
use ambit_storage::address::{LogKey, Space};
use ambit_storage::batch::LogEntry;
use ambit_storage::directory::IndexRow;
use ambit_storage::driver::{Driver, LogRange, LogWatch, ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;
use utoipa::ToSchema;

/// A trace in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TraceSummary {
    /// The trace: the id of its turn.
    pub trace_id: String,
    /// The turn.
    pub request_id: String,
    /// The chat's name.
    pub chat_id: String,
    /// The agent that was asked.
    pub assistant_id: String,
    /// `running`, `completed`, `failed` or `cancelled`.
    pub status: &'static str,
    /// From its beginning to its end, if it has ended.
    pub duration_ms: Option<i64>,
    /// When it began, in milliseconds since 1970.
    pub created_at: i64,
}

/// The status of a trace, as its own log has it.
fn status(status: TurnStatus) -> &'static str {
    match status {
        TurnStatus::Running => "running",
        TurnStatus::Completed => "completed",
        TurnStatus::Error => "failed",
        TurnStatus::Cancelled => "cancelled",
    }
}

impl From<TurnInfo> for TraceSummary {
    fn from(turn: TurnInfo) -> Self {
        Self {
            trace_id: turn.request_id.clone(),
            request_id: turn.request_id,
            chat_id: turn.chat_id,
            assistant_id: turn.assistant_id,
            status: status(turn.status),
            duration_ms: turn.ended_at.map(|end| (end - turn.started_at).max(0)),
            created_at: turn.started_at,
        }
    }
}

/// Which traces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFilter {
    /// Of this chat.
    pub chat_id: Option<String>,
    /// Of the conversation whose history has this row.
    pub context: Option<String>,
    /// The chat's agent, where several have one of this name.
    pub assistant_id: Option<String>,
    /// Of this turn.
    pub request_id: Option<String>,
    /// Of this status.
    pub status: Option<&'static str>,
}

impl TraceFilter {
    /// The status with this name.
    pub fn status(name: &str) -> Result<&'static str> {
        let known = ["running", "completed", "failed", "cancelled"].map(|name| (name, name));
        chats::choose("status", name, &known)
    }

    /// The chat that is asked for, if one is.
    fn chat(&self) -> Option<ChatName<'_>> {
        let (chat_id, context) = (self.chat_id.as_deref(), self.context.as_deref());
        (chat_id.is_some() || context.is_some()).then(|| ChatName {
            chat_id: chat_id.unwrap_or(NAMELESS),
            assistant_id: self.assistant_id.as_deref(),
            context,
        })
    }

    fn wants(&self, row: &TraceSummary) -> bool {
        self.status.is_none_or(|status| status == row.status)
            && self
                .request_id
                .as_ref()
                .is_none_or(|id| *id == row.request_id)
            && (self.context.is_some() || self.chat_id.as_ref().is_none_or(|id| *id == row.chat_id))
            && self
                .assistant_id
                .as_ref()
                .is_none_or(|id| *id == row.assistant_id)
    }
}

/// The traces of conversations that the caller may use, the last begun first.
pub async fn list(
    ambit: &Ambit,
    who: &Authorized,
    filter: &TraceFilter,
    window: PageWindow,
) -> Result<ListPart<TraceSummary>> {
    let mut found = match (&filter.request_id, filter.chat()) {
        (Some(id), _) => of_request(ambit, who, id).await?,
        (None, Some(name)) => of_chat(ambit, who, name).await?,
        (None, None) => of_all(ambit, who, filter).await?,
    };
    found.retain(|row| filter.wants(row));
    found.sort_by(|one, other| {
        let by_time = other.created_at.cmp(&one.created_at);
        by_time.then_with(|| other.request_id.cmp(&one.request_id))
    });
    let total = found.len() as u64;
    let items = found.into_iter().skip(window.skip).take(window.limit);
    Ok(ListPart {
        items: items.collect(),
        total,
    })
}

async fn of_request(ambit: &Ambit, who: &Authorized, id: &str) -> Result<Vec<TraceSummary>> {
    match info(ambit, who, id).await {
        Ok((turn, _)) => Ok(vec![turn.into()]),
        Err(error) if error.code == ErrorCode::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

async fn of_chat(ambit: &Ambit, who: &Authorized, name: ChatName<'_>) -> Result<Vec<TraceSummary>> {
    match chats::row(ambit, who, name).await {
        Ok(row) => turns(ambit, &row).await,
        Err(error) if error.code == ErrorCode::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

async fn of_all(
    ambit: &Ambit,
    who: &Authorized,
    filter: &TraceFilter,
) -> Result<Vec<TraceSummary>> {
    let chats = ChatFilter {
        assistant_id: filter.assistant_id.clone(),
        ..ChatFilter::default()
    };
    let mut rows = ChatRows::of(ambit, &DataAccess::of(who), &chats).await?;
    let mut found = Vec::new();
    while let Some(page) = rows.next().await? {
        for row in page {
            found.extend(turns(ambit, &row).await?);
        }
    }
    Ok(found)
}

/// Entries read in one go.
const BATCH: usize = 500;

/// The turns of a conversation whose traces are kept. One that runs may have nothing stored of it yet.
async fn turns(ambit: &Ambit, row: &IndexRow) -> Result<Vec<TraceSummary>> {
    let driver = ambit.stores().chain(&row.placement)?.driver().clone();
    let space = Space::of(&row.tenant, &row.identity);
    let logs: BTreeSet<String> = driver.logs(&space).await?.into_iter().collect();
    let pattern = Pattern::parse(&TurnKeys::new(space.clone(), "*").info().name);
    let mut values = ValuePages::of(driver.as_ref(), &space, pattern, ValuePart::Whole);
    let mut rows = Vec::new();
    while let Some(page) = values.next().await? {
        for (found, entry) in page {
            // Deeper names are what the turn itself keeps.
            if found.matches('/').count() == 1 {
                let turn: TurnInfo = entry.value.to()?;
                let is_kept =
                    logs.contains(&TurnKeys::new(space.clone(), &turn.request_id).trace().name);
                rows.extend((is_kept || turn.status == TurnStatus::Running).then(|| turn.into()));
            }
        }
    }
    Ok(rows)
}

/// What is known of a turn whose trace is kept, and where.
async fn info(ambit: &Ambit, who: &Authorized, id: &str) -> Result<(TurnInfo, TurnLocation)> {
    let unknown = || Error::not_found("trace", id);
    let location = turn_location::find(ambit, who, id).await.map_err(|error| {
        match error.code == ErrorCode::NotFound {
            true => unknown(),
            false => error,
        }
    })?;
    let names = TurnKeys::new(location.space.clone(), id);
    let entry = location.driver.get(&names.info(), ValuePart::Whole).await?;
    let turn: TurnInfo = entry.ok_or_else(unknown)?.value.to()?;
    let head = location
        .driver
        .read(&names.trace(), LogRange::head())
        .await?
        .head;
    match head.is_some() || turn.status == TurnStatus::Running {
        true => Ok((turn, location)),
        false => Err(unknown()),
    }
}

/// The log of one trace.
pub struct StoredTrace {
    /// The trace in one line.
    pub row: TraceSummary,
    /// Whether the caller may know what the memory of the person who asked has.
    pub shows_user_memory: bool,
    driver: Arc<dyn Driver>,
    log: LogKey,
}

/// The log of the trace with this id. One that the caller may not see is one that does not exist.
pub async fn open(ambit: &Ambit, who: &Authorized, id: &str) -> Result<StoredTrace> {
    let (turn, location) = info(ambit, who, id).await?;
    let access = DataAccess::of(who);
    let shows_user_memory = match turn.user_id.as_deref() {
        Some(user) => access.memory(access.user(), Some(user)).is_some(),
        None => access.is_whole(),
    };
    Ok(StoredTrace {
        row: turn.into(),
        shows_user_memory,
        driver: location.driver,
        log: TurnKeys::new(location.space, id).trace(),
    })
}

impl StoredTrace {
    /// Entries behind this number, in order; none at the end of what there is.
    pub async fn after(&self, number: u64, limit: usize) -> Result<Vec<LogEntry>> {
        let range = LogRange::from(number.saturating_add(1), limit);
        Ok(self.driver.read(&self.log, range).await?.entries)
    }

    /// All entries there are.
    pub async fn all(&self) -> Result<Vec<LogEntry>> {
        let mut all: Vec<LogEntry> = Vec::new();
        loop {
            let last = all.last().map_or(0, |entry| entry.seq);
            let found = self.after(last, BATCH).await?;
            if found.is_empty() {
                return Ok(all);
            }
            all.extend(found);
        }
    }

    /// Wakes when the log grows.
    pub async fn watch(&self) -> Result<LogWatch> {
        Ok(self.driver.watch(&self.log).await?)
    }
}
