//! What users, teams and chats remember.

use super::paging::{PageParameters, PageResponse};
use super::{
    AuthorizedCaller, BodyBytes, ErrorBody, HttpError, JsonFields, PathParameters, QueryParameters,
    ServerState, SharedState,
};
use crate::id::check_id;
use ambit_runtime::inspect::memory::{MemoryKeyInfo, MemorySelector, OpenMemory};
use ambit_runtime::{Authorized, Error, ErrorCode, Result};
use ambit_storage::Json as Stored;
use ambit_storage::memory::Ttl;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<SharedState> {
    OpenApiRouter::new()
        .routes(routes!(own))
        .routes(routes!(owned))
        .routes(routes!(get, put, delete))
        .routes(routes!(get_owned, put_owned, delete_owned))
}

/// A value.
#[derive(Serialize)]
struct MemoryValue {
    key: String,
    value: Stored,
}

/// The memory that a path names.
async fn open(
    server: &ServerState,
    who: &Authorized,
    params: &PathParameters,
    conditions: &mut QueryParameters,
) -> Result<OpenMemory> {
    let agent = conditions.id("assistant_id")?;
    let owner = params.text("owner").ok();
    if let Some(owner) = owner {
        check_id("owner", owner)?;
    }
    let which = MemorySelector {
        space: params.text("space")?,
        owner,
        assistant_id: agent.as_deref(),
    };
    server.runtime.memory(who, which).await
}

/// The caller's own memory, or their team's.
#[utoipa::path(get, path = "/memory/{space}", tag = "memory",
    params(("space" = String, Path), ("pattern" = Option<String>, Query), ("page" = Option<u64>, Query), ("pagesize" = Option<u64>, Query)),
    responses((status = 200, description = "A page of names", body = Object), (status = 400, body = ErrorBody)))]
async fn own(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    mut conditions: QueryParameters,
) -> Result<Json<PageResponse<MemoryKeyInfo>>, HttpError> {
    let pattern = conditions.text("pattern")?;
    let paging = PageParameters::take(&mut conditions)?;
    let open = open(&server, &who, &params, &mut conditions).await?;
    conditions.finish()?;
    let part = open.list(pattern.as_deref(), paging.window()).await?;
    Ok(Json(paging.listing(part)))
}

/// The memory of a chat, or for callers without constraints that of a user or team.
#[utoipa::path(get, path = "/memory/{space}/{owner}", tag = "memory",
    params(("space" = String, Path), ("owner" = String, Path), ("assistant_id" = Option<String>, Query),
        ("pattern" = Option<String>, Query), ("page" = Option<u64>, Query), ("pagesize" = Option<u64>, Query)),
    responses((status = 200, description = "A page of names", body = Object), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn owned(
    server: State<SharedState>,
    who: AuthorizedCaller,
    params: PathParameters,
    conditions: QueryParameters,
) -> Result<Json<PageResponse<MemoryKeyInfo>>, HttpError> {
    own(server, who, params, conditions).await
}

/// A value of the caller's own memory.
#[utoipa::path(get, path = "/memory/{space}/keys/{key}", tag = "memory", params(("space" = String, Path), ("key" = String, Path)),
    responses((status = 200, description = "{key, value}", body = Object), (status = 404, body = ErrorBody)))]
async fn get(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    mut conditions: QueryParameters,
) -> Result<Json<MemoryValue>, HttpError> {
    let open = open(&server, &who, &params, &mut conditions).await?;
    conditions.finish()?;
    let key = params.text("key")?.to_owned();
    let value = open.get(&key).await?;
    Ok(Json(MemoryValue { key, value }))
}

/// Puts a value into the caller's own memory.
#[utoipa::path(put, path = "/memory/{space}/keys/{key}", tag = "memory", request_body = Object,
    params(("space" = String, Path), ("key" = String, Path)),
    responses((status = 204, description = "It is kept"), (status = 400, body = ErrorBody)))]
async fn put(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    mut conditions: QueryParameters,
    BodyBytes(body): BodyBytes,
) -> Result<StatusCode, HttpError> {
    let open = open(&server, &who, &params, &mut conditions).await?;
    conditions.finish()?;
    let mut fields = JsonFields::of(&body)?;
    let ttl = fields.value("ttl")?.unwrap_or_default();
    let value = fields.non_null_value("value")?;
    fields.finish()?;
    let missing = || Error::invalid("value", "value is missing; null is a value too");
    let value = Stored::of(&value.ok_or_else(missing)?)?;
    let ttl = Ttl::of(&ttl).map_err(|error| Error::invalid("ttl", error.to_string()))?;
    let set = open.set(params.text("key")?, &value, ttl).await;
    set.map_err(|error| match error.code {
        ErrorCode::LimitExceeded => {
            let place = match error.message.starts_with("key ") {
                true => "key",
                false => "value",
            };
            let param = Some(place.to_owned());
            Error { param, ..error }
        }
        _ => error,
    })?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes a value of the caller's own memory; one that is not there is no error.
#[utoipa::path(delete, path = "/memory/{space}/keys/{key}", tag = "memory", params(("space" = String, Path), ("key" = String, Path)),
    responses((status = 204, description = "It is gone"), (status = 400, body = ErrorBody)))]
async fn delete(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    mut conditions: QueryParameters,
) -> Result<StatusCode, HttpError> {
    let open = open(&server, &who, &params, &mut conditions).await?;
    conditions.finish()?;
    open.delete(params.text("key")?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A value of an owner's memory.
#[utoipa::path(get, path = "/memory/{space}/{owner}/keys/{key}", tag = "memory",
    params(("space" = String, Path), ("owner" = String, Path), ("key" = String, Path), ("assistant_id" = Option<String>, Query)),
    responses((status = 200, description = "{key, value}", body = Object), (status = 404, body = ErrorBody)))]
async fn get_owned(
    server: State<SharedState>,
    who: AuthorizedCaller,
    params: PathParameters,
    conditions: QueryParameters,
) -> Result<Json<MemoryValue>, HttpError> {
    get(server, who, params, conditions).await
}

/// Puts a value into an owner's memory.
#[utoipa::path(put, path = "/memory/{space}/{owner}/keys/{key}", tag = "memory", request_body = Object,
    params(("space" = String, Path), ("owner" = String, Path), ("key" = String, Path), ("assistant_id" = Option<String>, Query)),
    responses((status = 204, description = "It is kept"), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn put_owned(
    server: State<SharedState>,
    who: AuthorizedCaller,
    params: PathParameters,
    conditions: QueryParameters,
    body: BodyBytes,
) -> Result<StatusCode, HttpError> {
    put(server, who, params, conditions, body).await
}

/// Deletes a value of an owner's memory; one that is not there is no error.
#[utoipa::path(delete, path = "/memory/{space}/{owner}/keys/{key}", tag = "memory",
    params(("space" = String, Path), ("owner" = String, Path), ("key" = String, Path), ("assistant_id" = Option<String>, Query)),
    responses((status = 204, description = "It is gone"), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn delete_owned(
    server: State<SharedState>,
    who: AuthorizedCaller,
    params: PathParameters,
    conditions: QueryParameters,
) -> Result<StatusCode, HttpError> {
    delete(server, who, params, conditions).await
}
