//! Changing what a chat shows, and removing chats.

use crate::access::{Authorized, DataAccess};
use crate::chats::details::{self, ChatEdits, ChatShare, ChatStatus};
use crate::chats::find::{self, ChatInfo, ChatName, ReachableChat};
use crate::chats::share;
use crate::error::StorageError;
use crate::error::{Error, ErrorCode, Result};
use crate::journal::OpenTurn;
use ambit_storage::address::{CHAT, ITEMS, Space};
use ambit_storage::batch::{Batch, BatchCheck};
use ambit_storage::directory::IndexRow;
use ambit_storage::driver::{Driver, LogRange, ValuePart, ValueScan};
use ambit_storage::lease::{Lease, OnBusy};
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::ChatHistoryStorage;
use ambit_storage::{Ambit, BulkReport, SessionQuery, suggestion};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What may be changed.
const FIELDS: [&str; 5] = ["title", "status", "share", "sort", "metadata"];
/// Bytes of a title, and of metadata.
const TITLE_LIMIT: usize = 1_000;
const METADATA_LIMIT: usize = 16 << 10;
/// A change is tried again so often when turns write at the same time.
const TRIES: usize = 16;

/// Changes `title`, `status`, `share`, `sort` or `metadata` of a chat; `null` takes a title or metadata back.
pub async fn update(
    ambit: &Ambit,
    who: &Authorized,
    name: ChatName<'_>,
    change: &Map<String, Value>,
) -> Result<ChatInfo> {
    apply(ChatEdits::default(), change)?;
    let row = find::row(ambit, who, name).await?;
    change_row(ambit, &row, change).await
}

/// The same for the chat of a row that the caller was found to reach.
pub(super) async fn change_row(
    ambit: &Ambit,
    row: &IndexRow,
    change: &Map<String, Value>,
) -> Result<ChatInfo> {
    apply(ChatEdits::default(), change)?;
    let mut tries = 0;
    loop {
        tries += 1;
        match once(ambit, ReachableChat::at(ambit, row.clone()).await?, change).await {
            Err(error) if error.code == ErrorCode::Conflict && tries < TRIES => {}
            done => return done,
        }
    }
}

/// Changes the chat as it was seen. What was removed meanwhile is not made anew.
async fn once(
    ambit: &Ambit,
    mut found: ReachableChat,
    change: &Map<String, Value>,
) -> Result<ChatInfo> {
    let before = found.about.own.share;
    found.about.own = apply(found.about.own, change)?;
    found.about.own.at = ambit.stores().options().clock.now();
    let after = found.about.own.share;
    let team = match (after, found.row.team.as_deref()) {
        (ChatShare::Team, None) => return Err(teamless()),
        (_, team) => team.unwrap_or_default().to_owned(),
    };
    // Also where it is private already, so that to take it back once more helps.
    let is_taken_back = after == ChatShare::Private
        && found.row.team.is_some()
        && (before == ChatShare::Team || change.contains_key("share"));
    if is_taken_back {
        share::set(ambit, &found.row, &team, false).await?;
    }
    let log = found.space.log(ITEMS);
    let head = found.driver.read(&log, LogRange::head()).await?.head;
    let batch = Batch {
        checks: vec![
            BatchCheck::Version {
                key: found.space.key(CHAT),
                version: found.about.version,
            },
            BatchCheck::Head { log, head },
        ],
        writes: vec![details::keep(&found.space, &found.about.own)?],
    };
    found.driver.commit(batch).await?;
    if after == ChatShare::Team || is_taken_back {
        list_as_said(ambit, &found.row, &team).await?;
    }
    found.read_running().await?;
    Ok(found.chat())
}

/// Lists a chat as shared or takes it off the list, as its details say, also where they are changed at the same moment.
async fn list_as_said(ambit: &Ambit, row: &IndexRow, team: &str) -> Result<()> {
    let mut listed = None;
    loop {
        let chat = ReachableChat::at(ambit, row.clone()).await?;
        let said = chat.about.own.share;
        if listed == Some(said) {
            return Ok(());
        }
        share::set(ambit, row, team, said == ChatShare::Team).await?;
        listed = Some(said);
    }
}

fn teamless() -> Error {
    let message = "share cannot be team: the chat was begun outside of any team";
    Error::invalid("share", message)
}

/// What a person wants, applied to what is there.
fn apply(mut own: ChatEdits, change: &Map<String, Value>) -> Result<ChatEdits> {
    for (field, value) in change {
        match (field.as_str(), value) {
            ("title", Value::Null) => own.title = None,
            ("title", Value::String(title)) => own.title = Some(checked_title(title)?),
            ("status", Value::String(status)) => own.status = ChatStatus::parse(status)?,
            ("share", Value::String(share)) => own.share = ChatShare::parse(share)?,
            ("sort", Value::Number(sort)) if sort.is_i64() => {
                own.sort = sort.as_i64().unwrap_or_default();
            }
            ("metadata", Value::Null) => own.metadata = Map::new(),
            ("metadata", Value::Object(metadata)) => {
                own.metadata = checked_metadata(metadata, value)?;
            }
            (field, value) => return Err(refused(field, value)),
        }
    }
    Ok(own)
}

fn checked_title(title: &str) -> Result<String> {
    if title.is_empty() || title.len() > TITLE_LIMIT {
        let message = format!("title must have 1 to {TITLE_LIMIT} bytes, or be null");
        return Err(Error::invalid("title", message));
    }
    Ok(title.to_owned())
}

fn checked_metadata(metadata: &Map<String, Value>, value: &Value) -> Result<Map<String, Value>> {
    if value.to_string().len() > METADATA_LIMIT {
        let message = format!("metadata is larger than {METADATA_LIMIT} bytes");
        return Err(Error {
            status: Some(413),
            ..Error::new(ErrorCode::LimitExceeded, message).with_param("metadata")
        });
    }
    Ok(metadata.clone())
}

fn refused(field: &str, value: &Value) -> Error {
    let wants = match field {
        "title" => "a text or null",
        "status" => "\"active\" or \"archived\"",
        "share" => "\"private\" or \"team\"",
        "sort" => "a whole number",
        "metadata" => "an object or null",
        _ => {
            let hint = suggestion::hint(field, FIELDS);
            let message = format!(
                "\"{field}\" cannot be changed; title, status, share, sort and metadata can{hint}"
            );
            return Error::invalid(field, message);
        }
    };
    let found = match value {
        Value::Object(_) | Value::Array(_) => "something else".to_owned(),
        plain => plain.to_string(),
    };
    Error::invalid(field, format!("{field} must be {wants}, not {found}"))
}

/// Removes a chat: messages, logs, traces, memory, usage records, and its rows in the index. A turn that is running makes
/// it fail `chat_busy`.
pub async fn remove(ambit: &Ambit, who: &Authorized, name: ChatName<'_>) -> Result<()> {
    let row = find::row(ambit, who, name).await?;
    remove_row(ambit, who, &row).await
}

/// The same for the chat of a row that the caller was found to reach.
pub(super) async fn remove_row(ambit: &Ambit, who: &Authorized, row: &IndexRow) -> Result<()> {
    check_idle(ambit, row).await?;
    let rights = DataAccess::of(who).ambit_for(ambit, row);
    let all = of_conversation(&rights, row);
    // The history goes first: where a turn has begun meanwhile, nothing is removed.
    let history = all.for_storage::<ChatHistoryStorage>().remove().await?;
    match finished(&history) {
        Err(error) if error.code == ErrorCode::ChatBusy => {
            let found = ReachableChat::listed(ambit, row.clone()).await?;
            return Err(busy(error, found.running));
        }
        removed => removed?,
    }
    finished(&all.remove().await?)?;
    match &row.team {
        Some(team) => share::set(ambit, row, team, false).await,
        None => Ok(()),
    }
}

/// Refuses while a turn runs or waits.
pub(crate) async fn check_idle(ambit: &Ambit, row: &IndexRow) -> Result<()> {
    let lease = hold_idle(ambit, row).await?;
    Ok(lease.release().await?)
}

/// Lets turns begin again.
pub(super) async fn give_back(lease: Lease) {
    if let Err(error) = lease.release().await {
        tracing::warn!(%error, "a conversation was not given back; its lease will expire");
    }
}

/// Holds a conversation, so that no turn begins. Refuses while one runs or waits.
pub(super) async fn hold_idle(ambit: &Ambit, row: &IndexRow) -> Result<Lease> {
    let driver = ambit.stores().chain(&row.placement)?.driver().clone();
    let space = Space::of(&row.tenant, &row.identity);
    match Lease::take(driver.clone(), space.lease(), OnBusy::Reject).await {
        Err(error @ StorageError::Busy { .. }) => {
            let running = running(&driver, &space).await?;
            Err(busy(error.into(), running))
        }
        taken => Ok(taken?),
    }
}

/// Refuses what a turn has left open whose node is gone: whoever takes it up writes more of what was said.
pub(super) async fn check_none_open(driver: &Arc<dyn Driver>, space: &Space) -> Result<()> {
    match running(driver, space).await? {
        None => Ok(()),
        open => Err(busy(Error::new(ErrorCode::ChatBusy, ""), open)),
    }
}

fn busy(mut error: Error, running: Option<String>) -> Error {
    error.message =
        "a turn of this chat is running; cancel it or wait for its end, then repeat the request"
            .to_owned();
    error.details = running.map(|id| Box::new(json!({"request_id": id})));
    error
}

/// The turn that is open in this conversation.
async fn running(driver: &Arc<dyn Driver>, space: &Space) -> Result<Option<String>> {
    Ok(open_turns(driver.as_ref(), space, 1).await?.pop())
}

/// The requests whose turns are open in this conversation, at most so many.
pub(crate) async fn open_turns(
    driver: &dyn Driver,
    space: &Space,
    limit: usize,
) -> Result<Vec<String>> {
    let scan = ValueScan::first(
        Pattern::parse(&format!("{}/*", space.digest())),
        limit,
        ValuePart::Whole,
    );
    let found = driver.scan(&Space::turns(), &scan).await?.into_iter();
    let open = found.map(|(_, entry)| Ok(entry.value.to::<OpenTurn>()?.request_id));
    open.collect()
}

/// All rows of the conversation.
fn of_conversation(ambit: &Ambit, row: &IndexRow) -> SessionQuery {
    let identity = row.identity.clone();
    let mut query = SessionQuery::every(ambit);
    if let Some(chat) = identity.chat_name() {
        query = query.for_chat(chat);
    }
    if let Some(user) = identity.user_id() {
        query = query.for_user(user);
    }
    if let Some(group) = identity.group() {
        query = query.for_group(group);
    }
    query.filter(move |row| row.identity.base().same_storage(&identity.base()))
}

/// Fails where something is left: as half done where another part is gone, else as the first of it does.
pub(crate) fn finished(report: &BulkReport) -> Result<()> {
    let Some((_, first)) = report.failed.first() else {
        return Ok(());
    };
    if report.done.is_empty() {
        return Err(first.clone().into());
    }
    let done = report.done.iter().map(|identity| identity.key());
    let failed = report.failed.iter();
    let failed = failed.map(|(identity, why)| (identity.key(), why.to_string()));
    Err(StorageError::Partial {
        done: done.collect(),
        failed: failed.collect(),
    }
    .into())
}
