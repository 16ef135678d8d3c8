//! Chats and their messages.

use super::chat_search::{self, ChatListResponse, MessageListResponse};
use super::input::{
    BodyFields, Id, JsonBody, NoQuery, PagedQuery, Path, PathId, Query, Text, Time, filter,
};
use super::paging::{self, PageParameters, PageSize};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError, rate_limits};
use crate::auth::rate_limits::PageBuild;
use ambit_runtime::chats::{
    self, ChatFilter, ChatInfo, ChatName, ChatOrder, ChatShare, ChatSource, ChatStatus,
    MessageFilter,
};
use ambit_runtime::recall::{MessageSearch, SessionSearch};
use ambit_runtime::{Error, ReferenceList, ReferenceView};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};

/// The routes.
pub fn routes() -> Routes {
    routes![
        list_chats,
        show_chat,
        change_chat,
        remove_chat,
        list_chat_messages,
        list_references,
        show_reference
    ]
}

/// Which chats.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ChatQuery {
    /// Those that this agent worked on.
    assistant_id: Option<Id>,
    /// Those of this status, `active` or `archived`.
    #[param(value_type = Option<String>)]
    status: Option<ChatStatus>,
    /// Those whose title has all of these words, whatever their case.
    keywords: Option<Text>,
    /// Those active at or after.
    from: Option<Time>,
    /// Those active before.
    to: Option<Time>,
    /// What comes first: `last_message_at`, `updated_at`, `created_at` or `sort`; with `q` it is `score`.
    order_by: Option<Text>,
    /// Those in which one of these words was said, the best first.
    q: Option<Text>,
    /// `responses`: those that clients of OpenAI's Responses have begun, which are left out else.
    source: Option<Text>,
    /// Only those of this person, as far as the caller may use them.
    user_id: Option<Id>,
    /// `true`: those that a turn works on; `false`: those that none does.
    running: Option<bool>,
}

/// The caller's chats, and those that others share with them.
#[utoipa::path(get, path = "/chat/sessions", tag = "chats", params(ChatQuery, PageParameters),
    responses((status = 200, description = "A page of chats", body = ChatListResponse), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn list_chats(
    ApiCaller { server, who }: ApiCaller,
    listed: PagedQuery<ChatQuery>,
) -> Result<Json<ChatListResponse>, HttpError> {
    let PagedQuery { query, paging } = listed;
    let order = chat_order(&query)?;
    let source = match &query.source {
        Some(Text(name)) => ChatSource::parse(name)?,
        None => ChatSource::Chat,
    };
    let text = query.q;
    let filter = filter!(ChatFilter from query: assistant_id keywords from to user_id;
        order: order,
        source: Some(source),
        running: query.running,
        created_before: None,
        status: query.status);
    let window = paging.window();
    if let Some(Text(text)) = &text {
        let filter = &filter;
        let search = SessionSearch {
            text,
            filter,
            window,
        };
        let found = chat_search::chats(&server, &who, search, paging).await?;
        return Ok(Json(found));
    }
    let ambit = server.runtime.contexts(&who);
    let part = chats::list(&ambit, &who, &filter, window).await?;
    Ok(Json(ChatListResponse::listed(part, paging)))
}

/// The order that is asked for. What was searched for comes by its score.
fn chat_order(query: &ChatQuery) -> Result<ChatOrder, Error> {
    let name = query.order_by.as_ref().map(|name| name.0.as_str());
    match (name, &query.q) {
        (None | Some("score"), Some(_)) => Ok(ChatOrder::default()),
        (Some(name), Some(_)) => {
            let message = format!("order_by cannot be {name:?} with q, whose order is score");
            Err(Error::invalid("order_by", message))
        }
        (Some("score"), None) => {
            let message = "order_by cannot be \"score\" without q, the words to look for";
            Err(Error::invalid("order_by", message))
        }
        (Some(name), None) => ChatOrder::parse(name),
        (None, None) => Ok(ChatOrder::default()),
    }
}

/// Which of the chats with one name.
#[derive(Deserialize, IntoParams)]
pub(super) struct AgentQuery {
    /// The agent, where several have a chat of this name.
    pub assistant_id: Option<Id>,
    /// The id of the index row of exactly this conversation's history; the chat is named `-` then.
    pub context: Option<Id>,
}

impl AgentQuery {
    fn name<'a>(&'a self, chat_id: &'a Id) -> ChatName<'a> {
        ChatName {
            chat_id: &chat_id.0,
            assistant_id: text(self.assistant_id.as_ref()),
            context: text(self.context.as_ref()),
        }
    }
}

/// The text of an id, if there is one.
pub(super) fn text(id: Option<&Id>) -> Option<&str> {
    id.map(|id| id.0.as_str())
}

/// One chat.
#[utoipa::path(get, path = "/chat/sessions/{chat_id}", tag = "chats", params(("chat_id" = Id, Path), AgentQuery),
    responses((status = 200, description = "The chat", body = ChatInfo), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn show_chat(
    ApiCaller { server, who }: ApiCaller,
    PathId(chat_id): PathId,
    Query(query): Query<AgentQuery>,
) -> Result<Json<ChatInfo>, HttpError> {
    let ambit = server.runtime.contexts(&who);
    let name = query.name(&chat_id);
    Ok(Json(chats::get(&ambit, &who, name).await?))
}

/// What is changed of a chat. Its fields are checked where they are applied.
#[derive(Deserialize)]
#[serde(transparent)]
struct ChatChange(Map<String, Value>);

impl BodyFields for ChatChange {}

impl PartialSchema for ChatChange {
    fn schema() -> RefOr<Schema> {
        let metadata = SchemaType::from_iter([Type::Object, Type::Null]);
        let object = ObjectBuilder::new()
            .property("title", Option::<String>::schema())
            .property("status", ChatStatus::schema())
            .property("share", ChatShare::schema())
            .property("sort", i64::schema())
            .property("metadata", ObjectBuilder::new().schema_type(metadata));
        object.into()
    }
}

impl ToSchema for ChatChange {}

/// Changes `title`, `status`, `share`, `sort` or `metadata`.
#[utoipa::path(put, path = "/chat/sessions/{chat_id}", tag = "chats", params(("chat_id" = Id, Path), AgentQuery), request_body = ChatChange,
    responses((status = 200, description = "The chat", body = ChatInfo), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn change_chat(
    ApiCaller { server, who }: ApiCaller,
    PathId(chat_id): PathId,
    Query(query): Query<AgentQuery>,
    body: JsonBody<ChatChange>,
) -> Result<Json<ChatInfo>, HttpError> {
    let ambit = server.runtime.contexts(&who);
    let name = query.name(&chat_id);
    let ChatChange(change) = body.value;
    Ok(Json(chats::update(&ambit, &who, name, &change).await?))
}

/// Removes messages, logs, traces and memory of a chat.
#[utoipa::path(delete, path = "/chat/sessions/{chat_id}", tag = "chats", params(("chat_id" = Id, Path), AgentQuery),
    responses((status = 204, description = "It is gone"), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn remove_chat(
    ApiCaller { server, who }: ApiCaller,
    PathId(chat_id): PathId,
    Query(query): Query<AgentQuery>,
) -> Result<StatusCode, HttpError> {
    let ambit = server.runtime.contexts(&who);
    let name = query.name(&chat_id);
    chats::remove(&ambit, &who, name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which messages of a chat.
#[derive(Deserialize, IntoParams)]
struct MessageQuery {
    /// The agent, where several have a chat of this name.
    assistant_id: Option<Id>,
    /// Only those before this sequence.
    before: Option<u64>,
    /// Only those behind this sequence; the first of them are given instead of the last.
    after: Option<u64>,
    /// At most so many; 20 where nobody says.
    limit: Option<PageSize>,
    /// Only those of this role, `user` or `assistant`.
    role: Option<Text>,
    /// Only those of this type.
    #[serde(rename = "type")]
    kind: Option<Text>,
    /// Only those of this turn.
    request_id: Option<Id>,
    /// The id of the index row of exactly this conversation's history; the chat is named `-` then.
    context: Option<Id>,
    /// Those too whose place a later turn has taken.
    superseded: Option<bool>,
    /// Only those that have one of these words, the best first.
    q: Option<Text>,
}

/// The messages of a chat, oldest first: the last ones, or those before or behind a `sequence`.
#[utoipa::path(get, path = "/chat/sessions/{chat_id}/messages", tag = "chats", params(("chat_id" = Id, Path), MessageQuery),
    responses((status = 200, description = "The messages, and where those behind them are", body = MessageListResponse),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn list_chat_messages(
    ApiCaller { server, who }: ApiCaller,
    PathId(chat_id): PathId,
    Query(query): Query<MessageQuery>,
) -> Result<(Extension<PageBuild>, Json<MessageListResponse>), HttpError> {
    let build = rate_limits::page_build(&server, &who).await;
    let filter = MessageFilter {
        before: query.before,
        after: query.after,
        limit: paging::limit(query.limit),
        role: query.role.map(|role| role.0),
        kind: query.kind.map(|kind| kind.0),
        request_id: query.request_id.map(|id| id.0),
        superseded: query.superseded.unwrap_or(false),
    };
    let name = ChatName {
        chat_id: &chat_id.0,
        assistant_id: text(query.assistant_id.as_ref()),
        context: text(query.context.as_ref()),
    };
    if let Some(Text(words)) = &query.q {
        let search = MessageSearch {
            chat: name,
            text: words,
            filter: &filter,
        };
        let found = chat_search::messages(&server, &who, search).await?;
        return Ok((build, Json(found)));
    }
    let ambit = server.runtime.contexts(&who);
    let found = chats::messages(&ambit, &who, name, &filter).await?;
    Ok((build, Json(found.into())))
}

/// What the searches of a turn have found, as the caller may see it now.
#[utoipa::path(get, path = "/chat/references/{request_id}", tag = "chats", params(("request_id" = Id, Path)),
    responses((status = 200, description = "The references", body = ReferenceList), (status = 404, body = ErrorBody)))]
async fn list_references(
    ApiCaller { server, who }: ApiCaller,
    PathId(request_id): PathId,
    _: NoQuery,
) -> Result<Json<ReferenceList>, HttpError> {
    Ok(Json(server.runtime.references(&who, &request_id.0).await?))
}

/// A reference of a turn.
#[derive(Deserialize, IntoParams)]
struct ReferencePath {
    /// The turn.
    request_id: Id,
    /// The citation's id.
    index: Id,
}

/// One reference of a turn, by its citation's id.
#[utoipa::path(get, path = "/chat/references/{request_id}/{index}", tag = "chats", params(ReferencePath),
    responses((status = 200, description = "The reference", body = ReferenceView), (status = 404, body = ErrorBody)))]
async fn show_reference(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<ReferencePath>,
    _: NoQuery,
) -> Result<Json<ReferenceView>, HttpError> {
    let ReferencePath { request_id, index } = path;
    let reference = server.runtime.reference(&who, &request_id.0, &index.0);
    Ok(Json(reference.await?))
}
