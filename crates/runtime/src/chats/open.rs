//! Opening the conversation that a request names: the caller's own, else one shared with them, else a new own one.

use crate::access::{Authorized, DataAccess};
use crate::chats::index_rows;
use crate::chats::share;
use crate::error::{Error, Result};
use crate::request::{ConversationSource, TurnRequest, TurnStorage};
use ambit_storage::directory::{IndexRow, RowFilter};
use ambit_storage::storage::{ChatHistoryStorage, StorageKind, StorageState};
use ambit_storage::{AgentDefinition, Ambit, LiveAgent, SessionIdentity, ids};
use futures::future::BoxFuture;

/// Names that begin like this make temporary conversations.
const TEMPORARY: &str = "_temp";

/// Opens a conversation of this agent. Nothing is written: what is new becomes durable with its first save. The answer's
/// `chat_name` is the chat's id, random where none was named.
pub fn open<'a>(
    ambit: &'a Ambit,
    who: &'a Authorized,
    agent: &'a str,
    chat: Option<&'a str>,
) -> BoxFuture<'a, Result<LiveAgent>> {
    Box::pin(async move {
        let definition = ambit.acting_as(&who.caller()).agent(agent)?;
        let Some(user) = user(who) else {
            return nameless(ambit, &definition, chat).await;
        };
        let opening = definition.for_user_id(user);
        let Some(chat) = chat else {
            return Ok(opening.chat(ids::unguessable()).await?);
        };
        if !chat.starts_with(TEMPORARY)
            && let Some(row) = shared(ambit, who, agent, chat).await?
        {
            return as_its_owner(ambit, who, agent, &row).await;
        }
        opening.chat(chat).await.map_err(about_chat)
    })
}

/// Whether what a request's turn stores may end with the process: that is nothing, or its conversation is temporary.
pub fn is_short_lived(request: &TurnRequest) -> bool {
    let is_temporary = |chat: &String| chat.starts_with(TEMPORARY);
    let identity = request.identity.as_ref();
    !request.is_stored()
        || identity.is_some_and(SessionIdentity::is_temporary)
        || request.chat.as_ref().is_some_and(is_temporary)
}

/// Opens the conversation of a request to this agent: one in memory where the request stores nothing, the one that a program named
/// by its identity, the one that its source says, else as [`open`] does.
pub(crate) async fn open_for(
    ambit: &Ambit,
    request: &TurnRequest,
    agent: &str,
) -> Result<LiveAgent> {
    let who = &request.authorized;
    if request.storage == TurnStorage::None {
        return in_memory(ambit, who, agent).await;
    }
    let chat = request.chat.as_deref();
    match (&request.identity, &request.source) {
        (None, Some(ConversationSource::Row(id))) => {
            let row = row_for(ambit, who, id).await?;
            return as_its_owner(ambit, who, agent, &row).await;
        }
        (None, Some(ConversationSource::New)) => return open_new(ambit, who, agent, chat).await,
        _ => {}
    }
    let Some(identity) = &request.identity else {
        return open(ambit, who, agent, chat).await;
    };
    // The program opened it as whoever may.
    let caller = who.caller().as_system();
    let definition = ambit.acting_as(&caller).agent(agent)?;
    Ok(definition.for_identity(identity).await?)
}

/// A conversation of one turn over stores of its own, which end with it. It is temporary, so that whoever keeps what happens in
/// conversations leaves it out.
async fn in_memory(ambit: &Ambit, who: &Authorized, agent: &str) -> Result<LiveAgent> {
    let ambit = ambit.over(ambit.stores().in_memory());
    let definition = ambit.acting_as(&who.caller()).agent(agent)?;
    let chat = format!("{TEMPORARY}_{}", ids::unguessable());
    let opened = match user(who) {
        Some(user) => definition.for_user_id(user).chat(chat).await,
        None => definition.for_chat(chat).await,
    };
    Ok(opened?)
}

/// Opens what the usage of a turn without a conversation is booked with: the caller's session without a chat.
pub(crate) async fn open_without_chat(
    ambit: &Ambit,
    who: &Authorized,
    agent: &str,
) -> Result<LiveAgent> {
    let definition = ambit.acting_as(&who.caller()).agent(agent)?;
    let opened = match user(who) {
        Some(user) => definition.for_user_id(user).await,
        None => definition.for_nobody().await,
    };
    Ok(opened?)
}

fn user(who: &Authorized) -> Option<&str> {
    who.user_id.as_deref().filter(|user| !user.is_empty())
}

/// Opens a conversation that the server has named itself; without a name a random one.
pub(super) async fn open_new(
    ambit: &Ambit,
    who: &Authorized,
    agent: &str,
    chat: Option<&str>,
) -> Result<LiveAgent> {
    let definition = ambit.acting_as(&who.caller()).agent(agent)?;
    let chat = chat.map_or_else(ids::unguessable, str::to_owned);
    match user(who) {
        Some(user) => Ok(definition.for_user_id(user).chat(chat).await?),
        None => Ok(definition.for_chat(chat).await?),
    }
}

/// The history's row with this id, if the caller may use its conversation.
pub async fn row_for(ambit: &Ambit, who: &Authorized, id: &str) -> Result<IndexRow> {
    let access = DataAccess::of(who);
    let filter = RowFilter {
        id: Some(id.to_owned()),
        scope: Some(ChatHistoryStorage::PREFIX.to_owned()),
        ..RowFilter::tenant(access.tenant())
    };
    if !id.contains('\0')
        && let Some(row) = index_rows::first(ambit, &filter).await?
        && ((user(who).is_none() && is_nobodys(&row)) || access.sees(ambit, &row).await?)
    {
        return Ok(row);
    }
    Err(Error::not_found("conversation", id))
}

/// The conversation of this name that others share with the caller, unless the caller has one of their own.
async fn shared(
    ambit: &Ambit,
    who: &Authorized,
    agent: &str,
    chat: &str,
) -> Result<Option<IndexRow>> {
    let access = DataAccess::person(who);
    if access.team().is_none() || chat.is_empty() || chat.contains('\0') {
        return Ok(None);
    }
    let filter = RowFilter {
        agent: Some(agent.to_owned()),
        chat: Some(chat.to_owned()),
        scope: Some(ChatHistoryStorage::PREFIX.to_owned()),
        ..access.filter()
    };
    let visible = index_rows::every(ambit, &filter).await?;
    if visible.iter().any(|row| is_own(row, who)) {
        return Ok(None);
    }
    if let Some(row) = visible.into_iter().next() {
        return Ok(Some(row));
    }
    let rows = share::rows(ambit, &access, Some(chat)).await?;
    let touched = |row: &IndexRow| row.touches.iter().any(|touch| touch.agent == agent);
    Ok(rows.into_iter().find(touched))
}

/// Whether it is a conversation of the caller's.
pub(super) fn is_own(row: &IndexRow, who: &Authorized) -> bool {
    let user = user(who);
    user.is_some() && row.identity.user_id() == user
}

/// A conversation that the caller was found to reach, opened as its owner has it: identities and places that depend on a
/// user are the owner's, those that depend on a claim the caller's.
pub(super) async fn as_its_owner(
    ambit: &Ambit,
    who: &Authorized,
    agent: &str,
    row: &IndexRow,
) -> Result<LiveAgent> {
    let caller = match row.identity.user_id() {
        Some(owner) => {
            let as_owner = Authorized {
                user_id: Some(owner.to_owned()),
                team_id: row.team.clone(),
                ..who.clone()
            };
            as_owner.caller()
        }
        None => who.caller(),
    };
    let definition = ambit.acting_as(&caller).agent(agent)?;
    Ok(definition.from_identity(&row.identity).await?)
}

/// Nobody in particular: only names that the server made reach a conversation again.
async fn nameless(
    ambit: &Ambit,
    definition: &AgentDefinition,
    chat: Option<&str>,
) -> Result<LiveAgent> {
    let Some(chat) = chat else {
        return Ok(definition.make().await?);
    };
    if chat == TEMPORARY {
        let made = format!("{TEMPORARY}_{}", ids::unguessable());
        return Ok(definition.for_chat(made).await?);
    }
    let unknown = || Error::not_found("chat", chat);
    let temporary = chat.strip_prefix(TEMPORARY);
    let secret = temporary.map_or(chat, |rest| rest.trim_start_matches('_'));
    if !ids::is_unguessable(secret) {
        let message = "chat_id: only a caller with a user may name a chat; without one, leave it out and go on with the id that is answered";
        return Err(Error::invalid("chat_id", message));
    }
    let agent = definition.for_chat(chat).await?;
    match is_on_record(ambit, &agent).await? {
        true => Ok(agent),
        false => Err(unknown()),
    }
}

/// Whether nobody in particular was given this conversation before.
async fn is_on_record(ambit: &Ambit, agent: &LiveAgent) -> Result<bool> {
    if agent.context().is_temporary() {
        return Ok(agent.history().state().await? != StorageState::Absent);
    }
    let filter = RowFilter {
        storage_key: Some(agent.history().identity().storage_key()),
        ..RowFilter::tenant(agent.context().ambit().caller().tenant())
    };
    let row = index_rows::first(ambit, &filter).await?;
    Ok(row.is_some_and(|row| is_nobodys(&row)))
}

/// A conversation that nobody in particular began: whoever knows its name or one of its requests may use it.
pub(crate) fn is_nobodys(row: &IndexRow) -> bool {
    row.identity.user_id().is_none() && row.created_by.is_none() && row.team.is_none()
}

/// The same refusal, about the field that the client sent.
fn about_chat(error: ambit_storage::Error) -> Error {
    let is_name =
        matches!(&error, ambit_storage::Error::Invalid { field, .. } if field == "chat_name");
    let error = Error::from(error);
    match is_name {
        true => Error {
            param: Some("chat_id".to_owned()),
            ..error
        },
        false => error,
    }
}
