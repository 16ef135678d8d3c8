//! One chat: found by the name that its person knows it by, or on its row, and shown.

use crate::access::{Authorized, DataAccess};
use crate::chats::details::{self, ChatDetails, ChatShare, ChatStatus};
use crate::chats::index_rows;
use crate::chats::list::ChatSource;
use crate::chats::{open, share, update};
use crate::error::{Error, ErrorCode, Result};
use ambit_storage::Ambit;
use ambit_storage::address::Space;
use ambit_storage::directory::{IndexRow, RowFilter};
use ambit_storage::driver::Driver;
use ambit_storage::storage::{ChatHistoryStorage, StorageKind};
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use utoipa::ToSchema;

/// A chat as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ChatInfo {
    /// Its name; empty for a person's one default conversation, which has none.
    pub chat_id: String,
    /// A person's words, or the beginning of the first message.
    pub title: String,
    /// The agent that was asked last.
    pub assistant_id: String,
    /// `responses` where a client of OpenAI's Responses has begun it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    /// The connector that answered last.
    pub last_connector: Option<String>,
    /// The mode of the last turn.
    pub last_mode: Option<String>,
    /// Whether it is in use.
    pub status: ChatStatus,
    /// Who else may use it.
    pub share: ChatShare,
    /// Its place among others, as the person wants it.
    pub sort: i64,
    /// Free data.
    pub metadata: Map<String, Value>,
    /// When the last turn left something, in milliseconds since 1970.
    pub last_message_at: i64,
    /// When it was begun, in milliseconds since 1970.
    pub created_at: i64,
    /// When something of it changed last, in milliseconds since 1970.
    pub updated_at: i64,
    /// The id of its history's row in the index, by which `context` names it.
    pub context: String,
    /// Whose it is.
    pub user_id: Option<String>,
    /// The team that it was begun in.
    pub team_id: Option<String>,
    /// The request that it is busy with.
    pub running: Option<String>,
}

/// A chat that the caller may use.
pub(crate) struct ReachableChat {
    pub row: IndexRow,
    pub space: Space,
    pub driver: Arc<dyn Driver>,
    pub(super) about: ChatDetails,
    /// The request that the chat is busy with.
    pub(super) running: Option<String>,
}

impl ReachableChat {
    /// What is kept of the chat of this row, which the caller was found to reach.
    pub async fn at(ambit: &Ambit, row: IndexRow) -> Result<Self> {
        let driver = ambit.stores().chain(&row.placement)?.driver().clone();
        let space = Space::of(&row.tenant, &row.identity);
        let about = details::read(driver.as_ref(), &space).await?;
        let running = None;
        Ok(Self {
            row,
            space,
            driver,
            about,
            running,
        })
    }

    /// The same with the request that the chat is busy with, as lists show it.
    pub async fn listed(ambit: &Ambit, row: IndexRow) -> Result<Self> {
        let mut found = Self::at(ambit, row).await?;
        found.read_running().await?;
        Ok(found)
    }

    /// Reads which request the chat is busy with.
    pub async fn read_running(&mut self) -> Result<()> {
        let open = update::open_turns(self.driver.as_ref(), &self.space, 1).await?;
        self.running = open.into_iter().next();
        Ok(())
    }

    /// The chat as it is shown.
    pub fn chat(&self) -> ChatInfo {
        let (row, own) = (&self.row, &self.about.own);
        let last = self.about.last.clone().unwrap_or_default();
        let active = row.last_activity_at;
        let title = own.title.clone().or_else(|| self.about.title.clone());
        let agent = Some(last.assistant_id).filter(|agent| !agent.is_empty());
        ChatInfo {
            chat_id: row.identity.chat_name().unwrap_or_default().to_owned(),
            title: title.unwrap_or_default(),
            assistant_id: agent.unwrap_or_else(|| row.identity.agent_name().to_owned()),
            source: (ChatSource::of(row) == ChatSource::Responses).then_some(ChatSource::RESPONSES),
            last_connector: last.connector,
            last_mode: last.mode,
            status: own.status,
            share: own.share,
            sort: own.sort,
            metadata: own.metadata.clone(),
            last_message_at: match last.at {
                0 => active,
                at => at,
            },
            created_at: row.created_at,
            updated_at: active.max(own.at),
            context: row.id.clone(),
            user_id: owner(row).map(str::to_owned),
            team_id: row.team.clone(),
            running: self.running.clone(),
        }
    }
}

/// The person whose conversation a row is of.
pub(crate) fn owner(row: &IndexRow) -> Option<&str> {
    row.identity.user_id().or(row.created_by.as_deref())
}

/// What stands for the name of a chat that `context` names.
pub const NAMELESS: &str = "-";

/// A name of a chat, and the agent where several have one of that name; or the row of its history.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatName<'a> {
    /// The chat's name; `-` beside a context.
    pub chat_id: &'a str,
    /// The agent.
    pub assistant_id: Option<&'a str>,
    /// The id of the index row of exactly this conversation's history.
    pub context: Option<&'a str>,
}

impl ChatName<'_> {
    /// Refuses a name beside a context, which could be another chat's.
    pub fn check(&self) -> Result<()> {
        if self.context.is_none() || self.chat_id == NAMELESS {
            return Ok(());
        }
        let chat = self.chat_id;
        let message = format!(
            "context names the conversation, so that the chat's name must be \"-\", not \"{chat}\""
        );
        Err(Error::invalid("context", message))
    }
}

/// One chat of the caller's.
pub async fn get(ambit: &Ambit, who: &Authorized, name: ChatName<'_>) -> Result<ChatInfo> {
    let row = row(ambit, who, name).await?;
    Ok(ReachableChat::listed(ambit, row).await?.chat())
}

/// The history's row of the caller's own chat of this name, else of one that they may use.
pub async fn row(ambit: &Ambit, who: &Authorized, name: ChatName<'_>) -> Result<IndexRow> {
    if let Some(id) = name.context {
        name.check()?;
        return row_of_context(ambit, who, id).await;
    }
    let unknown = || Error::not_found("chat", name.chat_id);
    if name.chat_id.is_empty() || name.chat_id.contains('\0') {
        return Err(unknown());
    }
    let access = DataAccess::of(who);
    let filter = RowFilter {
        agent: name.assistant_id.map(str::to_owned),
        chat: Some(name.chat_id.to_owned()),
        scope: Some(ChatHistoryStorage::PREFIX.to_owned()),
        ..access.filter()
    };
    let visible = index_rows::every(ambit, &filter).await?;
    let (own, mut others): (Vec<_>, Vec<_>) =
        visible.into_iter().partition(|row| open::is_own(row, who));
    if !own.is_empty() {
        return only(own, name);
    }
    let agent = |row: &IndexRow| {
        let mut touches = row.touches.iter();
        name.assistant_id
            .is_none_or(|agent| touches.any(|touch| touch.agent == agent))
    };
    let shared = share::rows(ambit, &access, Some(name.chat_id)).await?;
    others.extend(shared.into_iter().filter(agent));
    match others.is_empty() {
        true => Err(unknown()),
        false => only(others, name),
    }
}

/// The history's row with this id, if the caller may use its conversation.
async fn row_of_context(ambit: &Ambit, who: &Authorized, id: &str) -> Result<IndexRow> {
    let found = open::row_for(ambit, who, id).await;
    found.map_err(|error| match error.code {
        ErrorCode::NotFound => Error::not_found("context", id),
        _ => error,
    })
}

/// The one row, or a refusal that says how to name one.
fn only(mut rows: Vec<IndexRow>, name: ChatName<'_>) -> Result<IndexRow> {
    if rows.len() == 1
        && let Some(row) = rows.pop()
    {
        return Ok(row);
    }
    let mut agents: Vec<&str> = rows.iter().map(|row| row.identity.agent_name()).collect();
    agents.sort_unstable();
    agents.dedup();
    let chat = name.chat_id;
    let message = match agents.len() {
        1 => format!("several people have a chat \"{chat}\"; name one by its id in /contexts"),
        _ => format!(
            "several agents have a chat \"{chat}\" ({}); say which with assistant_id",
            agents.join(", ")
        ),
    };
    Err(Error::new(ErrorCode::Conflict, message).with_param("assistant_id"))
}
