//! Rows of the index and what they stand for.

use super::input::{BodyFields, Id, JsonBody, NoQuery, PathId, Query, Text, Time, filter};
use super::paging::{ItemPosition, PageSize};
use super::{ApiCaller, ErrorBody, HttpError, ServerState, SharedState, paging};
use ambit_runtime::inspect::contexts::{
    self, ContextAction, ContextActionReport, ContextItemFilter, ContextItemPage, ContextRow,
    ContextRowFilter,
};
use ambit_runtime::{Authorized, Error};
use ambit_storage::Page;
use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<SharedState> {
    OpenApiRouter::new()
        .routes(routes!(list_contexts))
        .routes(routes!(clear_contexts))
        .routes(routes!(remove_contexts))
        .routes(routes!(show_context, remove_context))
        .routes(routes!(list_context_items))
        .routes(routes!(clear_context))
}

/// Which rows.
#[derive(Deserialize, IntoParams)]
struct RowQuery {
    /// Those that this agent touched.
    agent: Option<Id>,
    /// The user's.
    user: Option<Id>,
    /// The chat's.
    chat: Option<Id>,
    /// The group's.
    group: Option<Id>,
    /// Storages of this scope.
    scope: Option<Id>,
    /// Those last active before.
    active_before: Option<Time>,
    /// `next` of the page before.
    cursor: Option<Text>,
    /// At most so many; 20 where nobody says.
    limit: Option<PageSize>,
}

/// Rows that the caller may see, oldest first.
#[utoipa::path(get, path = "/contexts", tag = "contexts", params(RowQuery),
    responses((status = 200, description = "A page of rows", body = Page<ContextRow>), (status = 400, body = ErrorBody)))]
async fn list_contexts(
    ApiCaller { server, who }: ApiCaller,
    Query(query): Query<RowQuery>,
) -> Result<Json<Page<ContextRow>>, HttpError> {
    let filter = filter!(ContextRowFilter from query: agent user chat group scope active_before);
    let cursor = query.cursor.as_ref().map(|cursor| cursor.0.as_str());
    let limit = paging::limit(query.limit);
    let ambit = server.runtime.contexts(&who);
    let page = filter.list(&ambit, &who, cursor, limit).await?;
    Ok(Json(page))
}

/// One row.
#[utoipa::path(get, path = "/contexts/{id}", tag = "contexts", params(("id" = Id, Path)),
    responses((status = 200, description = "The row", body = ContextRow), (status = 404, body = ErrorBody)))]
async fn show_context(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Json<ContextRow>, HttpError> {
    let ambit = server.runtime.contexts(&who);
    Ok(Json(contexts::get(&ambit, &who, &id.0).await?))
}

/// Which items of a row.
#[derive(Deserialize, IntoParams)]
struct ItemQuery {
    /// Only those before this position.
    before: Option<ItemPosition>,
    /// At most so many, the last ones; 20 where nobody says.
    limit: Option<PageSize>,
    /// Those too that are no longer part of the conversation.
    archive: Option<bool>,
}

/// What a row holds: messages, usage records, or items of an app's own storage.
#[utoipa::path(get, path = "/contexts/{id}/items", tag = "contexts", params(("id" = Id, Path), ItemQuery),
    responses((status = 200, description = "The items, and where those before them are", body = ContextItemPage), (status = 404, body = ErrorBody)))]
async fn list_context_items(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    Query(query): Query<ItemQuery>,
) -> Result<Json<ContextItemPage>, HttpError> {
    let filter = ContextItemFilter {
        before: query.before.map(|before| before.0),
        limit: paging::limit(query.limit),
        archive: query.archive.unwrap_or(false),
    };
    let ambit = server.runtime.contexts(&who);
    let found = contexts::items(&ambit, &who, &id.0, filter).await?;
    Ok(Json(found))
}

/// Empties one context; it stays tracked.
#[utoipa::path(post, path = "/contexts/{id}/clear", tag = "contexts", params(("id" = Id, Path)),
    responses((status = 204, description = "It is empty"), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn clear_context(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<StatusCode, HttpError> {
    act(&server, &who, &id, ContextAction::Clear).await
}

/// Removes the data and the row of one context.
#[utoipa::path(delete, path = "/contexts/{id}", tag = "contexts", params(("id" = Id, Path)),
    responses((status = 204, description = "It is gone"), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn remove_context(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<StatusCode, HttpError> {
    act(&server, &who, &id, ContextAction::Remove).await
}

async fn act(
    server: &ServerState,
    who: &Authorized,
    id: &Id,
    action: ContextAction,
) -> Result<StatusCode, HttpError> {
    let ambit = server.runtime.contexts(who);
    contexts::act(&ambit, who, &id.0, action).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which contexts. A condition is needed, or `all`; but not for a dry run.
#[derive(Deserialize, ToSchema)]
struct RowSelection {
    /// Those that this agent touched.
    #[schema(inline)]
    agent: Option<Id>,
    /// The user's.
    #[schema(inline)]
    user: Option<Id>,
    /// The chat's.
    #[schema(inline)]
    chat: Option<Id>,
    /// The group's.
    #[schema(inline)]
    group: Option<Id>,
    /// Storages of this scope.
    #[schema(inline)]
    scope: Option<Id>,
    /// Those last active before.
    #[schema(inline)]
    active_before: Option<Time>,
    /// Without any condition, all that the caller may change.
    all: Option<bool>,
    /// Nothing is changed, and the answer says what would be.
    dry_run: Option<bool>,
}

impl BodyFields for RowSelection {}

/// Empties all contexts that match.
#[utoipa::path(post, path = "/contexts/clear", tag = "contexts", request_body = RowSelection,
    responses((status = 200, description = "What was done", body = ContextActionReport), (status = 400, body = ErrorBody)))]
async fn clear_contexts(
    ApiCaller { server, who }: ApiCaller,
    _: NoQuery,
    body: JsonBody<RowSelection>,
) -> Result<Json<ContextActionReport>, HttpError> {
    act_on_all(&server, &who, body.value, ContextAction::Clear).await
}

/// Removes all contexts that match.
#[utoipa::path(post, path = "/contexts/remove", tag = "contexts", request_body = RowSelection,
    responses((status = 200, description = "What was done", body = ContextActionReport), (status = 400, body = ErrorBody)))]
async fn remove_contexts(
    ApiCaller { server, who }: ApiCaller,
    _: NoQuery,
    body: JsonBody<RowSelection>,
) -> Result<Json<ContextActionReport>, HttpError> {
    act_on_all(&server, &who, body.value, ContextAction::Remove).await
}

async fn act_on_all(
    server: &ServerState,
    who: &Authorized,
    selection: RowSelection,
    action: ContextAction,
) -> Result<Json<ContextActionReport>, HttpError> {
    let is_dry = selection.dry_run.unwrap_or(false);
    let is_all = selection.all.unwrap_or(false);
    let filter =
        filter!(ContextRowFilter from selection: agent user chat group scope active_before);
    check_selection(&filter, is_all || is_dry)?;
    let ambit = server.runtime.contexts(who);
    let report = filter.act(&ambit, who, action, is_dry).await?;
    Ok(Json(report))
}

/// Refuses to act on everything where nobody says so: a condition may have been forgotten.
fn check_selection(filter: &ContextRowFilter, may_be_all: bool) -> Result<(), Error> {
    if may_be_all || *filter != ContextRowFilter::default() {
        return Ok(());
    }
    Err(Error::invalid(
        "all",
        "without a condition all contexts are meant: name a condition (agent, user, chat, group, scope, active_before), or send \"all\": true",
    ))
}
