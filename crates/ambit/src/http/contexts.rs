//! Rows of the index and what they stand for.

use super::parameters::{PathParameters, QueryParameters, time};
use super::{
    AuthorizedCaller, BodyBytes, ErrorBody, HttpError, JsonFields, ServerState, SharedState, paging,
};
use crate::id::check_id;
use ambit_runtime::inspect::contexts::{
    self, ContextAction, ContextActionReport, ContextItemFilter, ContextItemPage, ContextRow,
    ContextRowFilter,
};
use ambit_runtime::{Authorized, Error};
use ambit_storage::Page;
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
        .routes(routes!(clear_all))
        .routes(routes!(remove_all))
        .routes(routes!(show, remove))
        .routes(routes!(items))
        .routes(routes!(clear))
}

/// Rows that the caller may see, oldest first.
#[utoipa::path(get, path = "/contexts", tag = "contexts",
    params(("agent" = Option<String>, Query), ("user" = Option<String>, Query), ("chat" = Option<String>, Query),
        ("group" = Option<String>, Query), ("scope" = Option<String>, Query), ("active_before" = Option<String>, Query),
        ("cursor" = Option<String>, Query), ("limit" = Option<u64>, Query)),
    responses((status = 200, description = "{items, next}", body = Object), (status = 400, body = ErrorBody)))]
async fn index(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    mut conditions: QueryParameters,
) -> Result<Json<Page<ContextRow>>, HttpError> {
    let filter = ContextRowFilter {
        agent: conditions.id("agent")?,
        user: conditions.id("user")?,
        chat: conditions.id("chat")?,
        group: conditions.id("group")?,
        scope: conditions.id("scope")?,
        active_before: conditions.time("active_before")?,
    };
    let cursor = conditions.text("cursor")?;
    let limit = paging::limit(&mut conditions)?;
    conditions.finish()?;
    let ambit = server.runtime.contexts(&who);
    let page = contexts::list(&ambit, &who, &filter, (cursor.as_deref(), limit)).await?;
    Ok(Json(page))
}

/// One row.
#[utoipa::path(get, path = "/contexts/{id}", tag = "contexts", params(("id" = String, Path)),
    responses((status = 200, description = "The row", body = Object), (status = 404, body = ErrorBody)))]
async fn show(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    conditions: QueryParameters,
) -> Result<Json<ContextRow>, HttpError> {
    conditions.finish()?;
    let (id, ambit) = (params.id("id")?, server.runtime.contexts(&who));
    Ok(Json(contexts::get(&ambit, &who, &id).await?))
}

/// What a row holds: messages, usage records, or items of an app's own storage.
#[utoipa::path(get, path = "/contexts/{id}/items", tag = "contexts",
    params(("id" = String, Path), ("before" = Option<u64>, Query), ("limit" = Option<u64>, Query), ("archive" = Option<bool>, Query)),
    responses((status = 200, description = "{items, next}; next is before of the page before", body = Object), (status = 404, body = ErrorBody)))]
async fn items(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    mut conditions: QueryParameters,
) -> Result<Json<ContextItemPage>, HttpError> {
    let id = params.id("id")?;
    let filter = ContextItemFilter {
        before: conditions.within("before", 1, u64::MAX)?,
        limit: paging::limit(&mut conditions)?,
        archive: conditions
            .parsed("archive", "true or false")?
            .unwrap_or(false),
    };
    conditions.finish()?;
    let ambit = server.runtime.contexts(&who);
    let found = contexts::items(&ambit, &who, &id, filter).await?;
    Ok(Json(found))
}

/// Empties one context; it stays tracked.
#[utoipa::path(post, path = "/contexts/{id}/clear", tag = "contexts", params(("id" = String, Path)),
    responses((status = 204, description = "It is empty"), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn clear(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    conditions: QueryParameters,
) -> Result<StatusCode, HttpError> {
    act(&server, &who, (&params, conditions), ContextAction::Clear).await
}

/// Removes the data and the row of one context.
#[utoipa::path(delete, path = "/contexts/{id}", tag = "contexts", params(("id" = String, Path)),
    responses((status = 204, description = "It is gone"), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn remove(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    conditions: QueryParameters,
) -> Result<StatusCode, HttpError> {
    act(&server, &who, (&params, conditions), ContextAction::Remove).await
}

async fn act(
    server: &ServerState,
    who: &Authorized,
    (params, conditions): (&PathParameters, QueryParameters),
    action: ContextAction,
) -> Result<StatusCode, HttpError> {
    conditions.finish()?;
    let (id, ambit) = (params.id("id")?, server.runtime.contexts(who));
    contexts::act(&ambit, who, &id, action).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Empties all contexts that match.
#[utoipa::path(post, path = "/contexts/clear", tag = "contexts", request_body = Object,
    responses((status = 200, description = "{done, unchanged, skipped, failed}", body = Object), (status = 400, body = ErrorBody)))]
async fn clear_all(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    conditions: QueryParameters,
    BodyBytes(body): BodyBytes,
) -> Result<Json<ContextActionReport>, HttpError> {
    act_on_all(&server, &who, (conditions, &body), ContextAction::Clear).await
}

/// Removes all contexts that match.
#[utoipa::path(post, path = "/contexts/remove", tag = "contexts", request_body = Object,
    responses((status = 200, description = "{done, unchanged, skipped, failed}", body = Object), (status = 400, body = ErrorBody)))]
async fn remove_all(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    conditions: QueryParameters,
    BodyBytes(body): BodyBytes,
) -> Result<Json<ContextActionReport>, HttpError> {
    act_on_all(&server, &who, (conditions, &body), ContextAction::Remove).await
}

async fn act_on_all(
    server: &ServerState,
    who: &Authorized,
    (conditions, body): (QueryParameters, &[u8]),
    action: ContextAction,
) -> Result<Json<ContextActionReport>, HttpError> {
    conditions.finish()?;
    let (filter, is_dry) = read_filter(body)?;
    let ambit = server.runtime.contexts(who);
    let report = contexts::act_on_all(&ambit, who, (&filter, is_dry), action).await?;
    Ok(Json(report))
}

/// Which contexts, and whether nothing is to be changed. A body without any condition means all, and has to be an object.
fn read_filter(body: &[u8]) -> Result<(ContextRowFilter, bool), HttpError> {
    let mut fields = JsonFields::of(body)?;
    let active_before = fields.value("active_before")?;
    let active_before = active_before.map(|at| match at {
        Value::String(text) => time("active_before", &text),
        other => time("active_before", &other.to_string()),
    });
    let active_before = active_before.transpose()?;
    let mut id = |name| {
        let text = fields.text(name)?;
        text.iter().try_for_each(|text| check_id(name, text))?;
        Ok::<_, Error>(text)
    };
    let filter = ContextRowFilter {
        agent: id("agent")?,
        user: id("user")?,
        chat: id("chat")?,
        group: id("group")?,
        scope: id("scope")?,
        active_before,
    };
    let is_dry = fields.flag("dry_run")?.unwrap_or(false);
    fields.finish()?;
    Ok((filter, is_dry))
}
