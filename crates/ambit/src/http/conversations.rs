//! OpenAI's Conversations.

mod items;
mod repeat;

use super::input::{BodyFields, Id, JsonBody, OpenQuery, Path, PathId};
use super::response_items::{ItemList, ItemListQuery, ItemReader, ListedItem, find_item};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError, ServerState, rate_limits};
use crate::auth::rate_limits::PageBuild;
use crate::http::chat::{RequestParameters, check_metadata};
use crate::http::idempotency::RepeatableRequest;
use ambit_runtime::chats::conversations::{self, ConversationInfo, NewConversation};
use ambit_runtime::chats::{self, ChatEntries, EntryRange, EntrySelection};
use ambit_runtime::public_id::{conversation_id, conversation_row};
use ambit_runtime::{Authorized, Error, Result};
use ambit_storage::address::digest;
use axum::{Extension, Json};
use items::{ConversationItems, NewConversationItems, add_items};
use repeat::{RepeatableConversation, create_once};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The routes.
pub fn routes() -> Routes {
    routes![
        create_conversation,
        show_conversation,
        change_conversation,
        delete_conversation,
        list_items,
        create_items,
        show_item,
        delete_item
    ]
}

/// A conversation.
#[derive(Serialize, ToSchema)]
struct ConversationObject {
    /// `conv_…`.
    id: String,
    /// `conversation`.
    object: &'static str,
    /// Seconds since 1970.
    created_at: i64,
    /// Client-supplied data.
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
}

impl From<ConversationInfo> for ConversationObject {
    fn from(info: ConversationInfo) -> Self {
        Self {
            id: conversation_id(&info.row),
            object: "conversation",
            created_at: info.created_at / 1000,
            metadata: info.metadata,
        }
    }
}

/// A conversation that is gone.
#[derive(Serialize, ToSchema)]
struct DeletedConversation {
    id: String,
    /// `conversation.deleted`.
    object: &'static str,
    /// `true`.
    deleted: bool,
}

/// What a conversation begins with, or has from now on.
#[derive(Default, Deserialize, ToSchema)]
struct ConversationBody {
    /// Items that it begins with, at most 20.
    #[schema(value_type = Option<Vec<Object>>)]
    items: Option<Vec<Value>>,
    /// Client-supplied data, at most 16 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
}

impl BodyFields for ConversationBody {
    const IGNORES_UNKNOWN: bool = true;
    const MAY_BE_ABSENT: bool = true;

    fn check(&self) -> Result<()> {
        self.metadata.iter().try_for_each(check_metadata)
    }
}

/// Items that are added to a conversation.
#[derive(Deserialize, ToSchema)]
struct NewItems {
    /// The items, at most 20.
    #[schema(value_type = Vec<Object>)]
    items: Vec<Value>,
}

impl BodyFields for NewItems {
    const IGNORES_UNKNOWN: bool = true;
}

/// The row of the conversation with this id.
fn row(id: &str) -> Result<&str> {
    conversation_row(id).ok_or_else(|| Error::not_found("conversation", id))
}

async fn entries(server: &ServerState, who: &Authorized, id: &str) -> Result<ChatEntries> {
    entries_in(server, who, id, EntryRange::All).await
}

async fn entries_in(
    server: &ServerState,
    who: &Authorized,
    id: &str,
    range: EntryRange,
) -> Result<ChatEntries> {
    let ambit = server.runtime.contexts(who);
    let found = ChatEntries::read(&ambit, who, row(id)?, range).await;
    found.map_err(|error| error.naming("conversation", id))
}

/// Makes a conversation. A request that is repeated with its idempotency key makes none, and gets the first one's.
#[utoipa::path(post, path = "/conversations", tag = "conversations", request_body = Option<ConversationBody>,
    responses((status = 200, description = "The conversation", body = ConversationObject), (status = 400, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn create_conversation(
    ApiCaller { server, who }: ApiCaller,
    given: RequestParameters,
    body: JsonBody<ConversationBody>,
) -> Result<Json<ConversationObject>, HttpError> {
    let ConversationBody { items, metadata } = body.value;
    let items = ConversationItems::read(items.unwrap_or_default())?;
    let metadata = metadata.unwrap_or_default();
    if let Some(key) = given.idempotency_key()? {
        let fingerprint = digest(&[&String::from_utf8_lossy(&body.text)]);
        let new = RepeatableConversation {
            request: RepeatableRequest::new(&key, &who, repeat::KIND, fingerprint),
            items,
            metadata,
        };
        return Ok(Json(create_once(&server, &who, new).await?.into()));
    }
    let ambit = server.runtime.contexts(&who);
    let new = NewConversation {
        chat: None,
        metadata,
        messages: items.new_messages(&[], None),
    };
    let made = conversations::create(&ambit, &who, new).await?;
    Ok(Json(made.into()))
}

/// One conversation.
#[utoipa::path(get, path = "/conversations/{conversation_id}", tag = "conversations", params(("conversation_id" = Id, Path)),
    responses((status = 200, description = "The conversation", body = ConversationObject), (status = 404, body = ErrorBody)))]
async fn show_conversation(
    ApiCaller { server, who }: ApiCaller,
    PathId(conversation_id): PathId,
) -> Result<Json<ConversationObject>, HttpError> {
    let id = conversation_id.0;
    let ambit = server.runtime.contexts(&who);
    let found = conversations::info(&ambit, &who, row(&id)?).await;
    let found = found.map_err(|error| error.naming("conversation", &id))?;
    Ok(Json(found.into()))
}

/// Changes the metadata of a conversation.
#[utoipa::path(post, path = "/conversations/{conversation_id}", tag = "conversations", params(("conversation_id" = Id, Path)), request_body = ConversationBody,
    responses((status = 200, description = "The conversation", body = ConversationObject), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn change_conversation(
    ApiCaller { server, who }: ApiCaller,
    PathId(conversation_id): PathId,
    body: JsonBody<ConversationBody>,
) -> Result<Json<ConversationObject>, HttpError> {
    let id = conversation_id.0;
    let metadata = body.value.metadata.unwrap_or_default();
    let ambit = server.runtime.contexts(&who);
    let changed = conversations::set_metadata(&ambit, &who, row(&id)?, metadata).await;
    let changed = changed.map_err(|error| error.naming("conversation", &id))?;
    Ok(Json(changed.into()))
}

/// Removes a conversation: messages, logs, traces and memory.
#[utoipa::path(delete, path = "/conversations/{conversation_id}", tag = "conversations", params(("conversation_id" = Id, Path)),
    responses((status = 200, description = "It is gone", body = DeletedConversation), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn delete_conversation(
    ApiCaller { server, who }: ApiCaller,
    PathId(conversation_id): PathId,
) -> Result<Json<DeletedConversation>, HttpError> {
    let id = conversation_id.0;
    let ambit = server.runtime.contexts(&who);
    let removed = conversations::remove(&ambit, &who, row(&id)?).await;
    removed.map_err(|error| error.naming("conversation", &id))?;
    Ok(Json(DeletedConversation {
        id,
        object: "conversation.deleted",
        deleted: true,
    }))
}

/// The items of a conversation.
#[utoipa::path(get, path = "/conversations/{conversation_id}/items", tag = "conversations", params(("conversation_id" = Id, Path), ItemListQuery),
    responses((status = 200, description = "A page of items", body = ItemList), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn list_items(
    ApiCaller { server, who }: ApiCaller,
    PathId(conversation_id): PathId,
    OpenQuery(query): OpenQuery<ItemListQuery>,
) -> Result<(Extension<PageBuild>, Json<ItemList>), HttpError> {
    let build = rate_limits::page_build(&server, &who).await;
    let mut range = query.first_range();
    loop {
        let chat = entries_in(&server, &who, &conversation_id.0, range).await?;
        let items = ItemReader::read(&chat).await?;
        if let Some(page) = query.page(items, chat.range == EntryRange::All)? {
            return Ok((build, Json(page)));
        }
        range = range.larger();
    }
}

/// Adds items behind all others, in one append.
#[utoipa::path(post, path = "/conversations/{conversation_id}/items", tag = "conversations", params(("conversation_id" = Id, Path)), request_body = NewItems,
    responses((status = 200, description = "The items", body = ItemList), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn create_items(
    ApiCaller { server, who }: ApiCaller,
    PathId(conversation_id): PathId,
    given: RequestParameters,
    body: JsonBody<NewItems>,
) -> Result<Json<ItemList>, HttpError> {
    let id = conversation_id.0;
    let items = ConversationItems::read(body.value.items)?;
    let repeatable = given.idempotency_key()?.map(|key| {
        let fingerprint = digest(&[&id, &String::from_utf8_lossy(&body.text)]);
        RepeatableRequest::new(&key, &who, items::KIND, fingerprint)
    });
    let new = NewConversationItems { items, repeatable };
    let added = add_items(&server, &who, &id, new).await?;
    Ok(Json(ItemList::of(added, false)))
}

/// Which item of which conversation.
#[derive(Deserialize)]
struct ItemPath {
    conversation_id: Id,
    item_id: Id,
}

/// One item.
#[utoipa::path(get, path = "/conversations/{conversation_id}/items/{item_id}", tag = "conversations", params(("conversation_id" = Id, Path), ("item_id" = Id, Path)),
    responses((status = 200, description = "The item", body = ListedItem), (status = 404, body = ErrorBody)))]
async fn show_item(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<ItemPath>,
) -> Result<Json<ListedItem>, HttpError> {
    let chat = entries(&server, &who, &path.conversation_id.0).await?;
    let items = ItemReader::read(&chat).await?;
    let found = find_item(&items, &path.item_id.0);
    let found = found.ok_or_else(|| Error::not_found("item", &path.item_id.0))?;
    Ok(Json(found.item.clone()))
}

/// Erases one item, archive included.
#[utoipa::path(delete, path = "/conversations/{conversation_id}/items/{item_id}", tag = "conversations", params(("conversation_id" = Id, Path), ("item_id" = Id, Path)),
    responses((status = 200, description = "The conversation", body = ConversationObject), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn delete_item(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<ItemPath>,
) -> Result<Json<ConversationObject>, HttpError> {
    let (id, item_id) = (path.conversation_id.0, path.item_id.0);
    let chat = entries(&server, &who, &id).await?;
    let items = ItemReader::read(&chat).await?;
    let found = find_item(&items, &item_id);
    let found = found.ok_or_else(|| Error::not_found("item", &item_id))?;
    let message = found.message_id.as_str();
    let selection = match found.part.as_deref() {
        Some(shown) => EntrySelection::Shown { message, shown },
        None => EntrySelection::Message(message),
    };
    let ambit = server.runtime.contexts(&who);
    chats::erase(&ambit, &who, row(&id)?, selection).await?;
    let left = conversations::info(&ambit, &who, row(&id)?).await?;
    Ok(Json(left.into()))
}
