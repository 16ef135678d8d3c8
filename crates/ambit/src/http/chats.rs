//! Chats and their messages.

use super::paging::{self, PageParameters, PageResponse};
use super::{
    AuthorizedCaller, BodyBytes, ErrorBody, HttpError, JsonFields, PathParameters, QueryParameters,
    SharedState,
};
use ambit_runtime::chats::{
    self, ChatFilter, ChatInfo, ChatMessagePage, ChatName, ChatOrder, ChatStatus, MessageFilter,
};
use ambit_runtime::{Error, Result, turn_location};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<SharedState> {
    OpenApiRouter::new()
        .routes(routes!(index))
        .routes(routes!(show, change, remove))
        .routes(routes!(messages))
        .routes(routes!(references))
        .routes(routes!(reference))
}

/// The caller's chats, and those that others share with them.
#[utoipa::path(get, path = "/chat/sessions", tag = "chats",
    params(("assistant_id" = Option<String>, Query), ("status" = Option<String>, Query), ("keywords" = Option<String>, Query),
        ("from" = Option<String>, Query), ("to" = Option<String>, Query), ("order_by" = Option<String>, Query),
        ("page" = Option<u64>, Query), ("pagesize" = Option<u64>, Query)),
    responses((status = 200, description = "A page of chats", body = Object), (status = 400, body = ErrorBody)))]
async fn index(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    mut conditions: QueryParameters,
) -> Result<Json<PageResponse<ChatInfo>>, HttpError> {
    let status = conditions.text("status")?;
    let filter = ChatFilter {
        assistant_id: conditions.id("assistant_id")?,
        status: status.as_deref().map(ChatStatus::parse).transpose()?,
        keywords: conditions.text("keywords")?,
        from: conditions.time("from")?,
        to: conditions.time("to")?,
    };
    let order = conditions.text("order_by")?;
    let order = order
        .as_deref()
        .map_or(Ok(ChatOrder::default()), ChatOrder::parse)?;
    let paging = PageParameters::take(&mut conditions)?;
    conditions.finish()?;
    let ambit = server.runtime.contexts(&who);
    let part = chats::list(&ambit, &who, (&filter, order), paging.window()).await?;
    Ok(Json(paging.listing(part)))
}

/// A chat of the path and, where several have one of its name, the agent.
struct ChatPath {
    chat_id: String,
    assistant_id: Option<String>,
}

impl ChatPath {
    fn take(params: &PathParameters, conditions: &mut QueryParameters) -> Result<Self> {
        Ok(Self {
            chat_id: params.id("chat_id")?,
            assistant_id: conditions.id("assistant_id")?,
        })
    }

    fn name(&self) -> ChatName<'_> {
        ChatName {
            chat_id: &self.chat_id,
            assistant_id: self.assistant_id.as_deref(),
        }
    }
}

/// One chat.
#[utoipa::path(get, path = "/chat/sessions/{chat_id}", tag = "chats",
    params(("chat_id" = String, Path), ("assistant_id" = Option<String>, Query)),
    responses((status = 200, description = "The chat", body = Object), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn show(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    mut conditions: QueryParameters,
) -> Result<Json<ChatInfo>, HttpError> {
    let chat = ChatPath::take(&params, &mut conditions)?;
    conditions.finish()?;
    let ambit = server.runtime.contexts(&who);
    Ok(Json(chats::get(&ambit, &who, chat.name()).await?))
}

/// Changes `title`, `status`, `share`, `sort` or `metadata`.
#[utoipa::path(put, path = "/chat/sessions/{chat_id}", tag = "chats", request_body = Object,
    params(("chat_id" = String, Path), ("assistant_id" = Option<String>, Query)),
    responses((status = 200, description = "The chat", body = Object), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn change(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    mut conditions: QueryParameters,
    BodyBytes(body): BodyBytes,
) -> Result<Json<ChatInfo>, HttpError> {
    let chat = ChatPath::take(&params, &mut conditions)?;
    conditions.finish()?;
    let change = JsonFields::of(&body)?.rest()?;
    let ambit = server.runtime.contexts(&who);
    Ok(Json(
        chats::update(&ambit, &who, chat.name(), &change).await?,
    ))
}

/// Removes messages, logs, traces and memory of a chat.
#[utoipa::path(delete, path = "/chat/sessions/{chat_id}", tag = "chats",
    params(("chat_id" = String, Path), ("assistant_id" = Option<String>, Query)),
    responses((status = 204, description = "It is gone"), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn remove(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    mut conditions: QueryParameters,
) -> Result<StatusCode, HttpError> {
    let chat = ChatPath::take(&params, &mut conditions)?;
    conditions.finish()?;
    let ambit = server.runtime.contexts(&who);
    chats::remove(&ambit, &who, chat.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The messages of a chat, oldest first: the last ones, or those before or behind a `sequence`.
#[utoipa::path(get, path = "/chat/sessions/{chat_id}/messages", tag = "chats",
    params(("chat_id" = String, Path), ("assistant_id" = Option<String>, Query), ("before" = Option<u64>, Query),
        ("after" = Option<u64>, Query), ("limit" = Option<u64>, Query), ("role" = Option<String>, Query),
        ("type" = Option<String>, Query), ("request_id" = Option<String>, Query)),
    responses((status = 200, description = "{items, next}; next goes on in the same direction", body = Object),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn messages(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    mut conditions: QueryParameters,
) -> Result<Json<ChatMessagePage>, HttpError> {
    let chat = ChatPath::take(&params, &mut conditions)?;
    let number = "a message's sequence, a whole number";
    let filter = MessageFilter {
        before: conditions.parsed("before", number)?,
        after: conditions.parsed("after", number)?,
        limit: paging::limit(&mut conditions)?,
        role: conditions.text("role")?,
        kind: conditions.text("type")?,
        request_id: conditions.id("request_id")?,
    };
    conditions.finish()?;
    let ambit = server.runtime.contexts(&who);
    let found = chats::messages(&ambit, &who, chat.name(), &filter).await?;
    Ok(Json(found))
}

/// The references of a turn.
#[utoipa::path(get, path = "/chat/references/{request_id}", tag = "chats",
    params(("request_id" = String, Path), ("page" = Option<u64>, Query), ("pagesize" = Option<u64>, Query)),
    responses((status = 200, description = "A page of references", body = Object), (status = 404, body = ErrorBody)))]
async fn references(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    mut conditions: QueryParameters,
) -> Result<Json<PageResponse<Value>>, HttpError> {
    let request_id = params.id("request_id")?;
    let paging = PageParameters::take(&mut conditions)?;
    conditions.finish()?;
    turn_location::find(&server.runtime.contexts(&who), &who, &request_id).await?;
    let none = chats::ListPart {
        items: Vec::new(),
        total: 0,
    };
    Ok(Json(paging.listing(none)))
}

/// One reference of a turn, by its citation's id.
#[utoipa::path(get, path = "/chat/references/{request_id}/{index}", tag = "chats",
    params(("request_id" = String, Path), ("index" = String, Path)),
    responses((status = 404, body = ErrorBody)))]
async fn reference(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    conditions: QueryParameters,
) -> Result<Json<Value>, HttpError> {
    let (request_id, index) = (params.id("request_id")?, params.id("index")?);
    conditions.finish()?;
    turn_location::find(&server.runtime.contexts(&who), &who, &request_id).await?;
    Err(Error::not_found("reference", &index).into())
}
