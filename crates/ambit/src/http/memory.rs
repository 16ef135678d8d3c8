//! What users, teams and chats remember.

use super::list::{Listing, Paging};
use super::{Body, Conditions, Failure, Fields, Params, Problem, Server, Shared, Who};
use crate::id::check_id;
use ambit_runtime::inspect::memory::{Named, Open, Which};
use ambit_runtime::{Authorized, Code, Error, Result};
use ambit_storage::Json as Stored;
use ambit_storage::memory::Ttl;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(own))
        .routes(routes!(owned))
        .routes(routes!(get, put, delete))
        .routes(routes!(get_owned, put_owned, delete_owned))
}

/// A value.
#[derive(Serialize)]
struct Held {
    key: String,
    value: Stored,
}

/// The memory that a path names.
async fn open(
    server: &Server,
    who: &Authorized,
    params: &Params,
    conditions: &mut Conditions,
) -> Result<Open> {
    let agent = conditions.id("assistant_id")?;
    let owner = params.text("owner").ok();
    if let Some(owner) = owner {
        check_id("owner", owner)?;
    }
    let which = Which {
        space: params.text("space")?,
        owner,
        assistant_id: agent.as_deref(),
    };
    server.runtime.memory(who, which).await
}

/// The caller's own memory, or their team's.
#[utoipa::path(get, path = "/memory/{space}", tag = "memory",
    params(("space" = String, Path), ("pattern" = Option<String>, Query), ("page" = Option<u64>, Query), ("pagesize" = Option<u64>, Query)),
    responses((status = 200, description = "A page of names", body = Object), (status = 400, body = Problem)))]
async fn own(
    State(server): State<Shared>,
    Who(who): Who,
    params: Params,
    mut conditions: Conditions,
) -> Result<Json<Listing<Named>>, Failure> {
    let pattern = conditions.text("pattern")?;
    let paging = Paging::take(&mut conditions)?;
    let open = open(&server, &who, &params, &mut conditions).await?;
    conditions.finish()?;
    let part = open.list(pattern.as_deref(), paging.window()).await?;
    Ok(Json(paging.listing(part)))
}

/// The memory of a chat, or for callers without constraints that of a user or team.
#[utoipa::path(get, path = "/memory/{space}/{owner}", tag = "memory",
    params(("space" = String, Path), ("owner" = String, Path), ("assistant_id" = Option<String>, Query),
        ("pattern" = Option<String>, Query), ("page" = Option<u64>, Query), ("pagesize" = Option<u64>, Query)),
    responses((status = 200, description = "A page of names", body = Object), (status = 400, body = Problem), (status = 404, body = Problem)))]
async fn owned(
    server: State<Shared>,
    who: Who,
    params: Params,
    conditions: Conditions,
) -> Result<Json<Listing<Named>>, Failure> {
    own(server, who, params, conditions).await
}

/// A value of the caller's own memory.
#[utoipa::path(get, path = "/memory/{space}/keys/{key}", tag = "memory", params(("space" = String, Path), ("key" = String, Path)),
    responses((status = 200, description = "{key, value}", body = Object), (status = 404, body = Problem)))]
async fn get(
    State(server): State<Shared>,
    Who(who): Who,
    params: Params,
    mut conditions: Conditions,
) -> Result<Json<Held>, Failure> {
    let open = open(&server, &who, &params, &mut conditions).await?;
    conditions.finish()?;
    let key = params.text("key")?.to_owned();
    let value = open.get(&key).await?;
    Ok(Json(Held { key, value }))
}

/// Puts a value into the caller's own memory.
#[utoipa::path(put, path = "/memory/{space}/keys/{key}", tag = "memory", request_body = Object,
    params(("space" = String, Path), ("key" = String, Path)),
    responses((status = 204, description = "It is kept"), (status = 400, body = Problem)))]
async fn put(
    State(server): State<Shared>,
    Who(who): Who,
    params: Params,
    mut conditions: Conditions,
    Body(body): Body,
) -> Result<StatusCode, Failure> {
    let open = open(&server, &who, &params, &mut conditions).await?;
    conditions.finish()?;
    let mut fields = Fields::of(&body)?;
    let ttl = fields.value("ttl")?.unwrap_or_default();
    let value = fields.given("value")?;
    fields.finish()?;
    let missing = || Error::invalid("value", "value is missing; null is a value too");
    let value = Stored::of(&value.ok_or_else(missing)?)?;
    let ttl = Ttl::of(&ttl).map_err(|error| Error::invalid("ttl", error.to_string()))?;
    let set = open.set(params.text("key")?, &value, ttl).await;
    set.map_err(|error| match error.code {
        Code::LimitExceeded => {
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
    responses((status = 204, description = "It is gone"), (status = 400, body = Problem)))]
async fn delete(
    State(server): State<Shared>,
    Who(who): Who,
    params: Params,
    mut conditions: Conditions,
) -> Result<StatusCode, Failure> {
    let open = open(&server, &who, &params, &mut conditions).await?;
    conditions.finish()?;
    open.delete(params.text("key")?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A value of an owner's memory.
#[utoipa::path(get, path = "/memory/{space}/{owner}/keys/{key}", tag = "memory",
    params(("space" = String, Path), ("owner" = String, Path), ("key" = String, Path), ("assistant_id" = Option<String>, Query)),
    responses((status = 200, description = "{key, value}", body = Object), (status = 404, body = Problem)))]
async fn get_owned(
    server: State<Shared>,
    who: Who,
    params: Params,
    conditions: Conditions,
) -> Result<Json<Held>, Failure> {
    get(server, who, params, conditions).await
}

/// Puts a value into an owner's memory.
#[utoipa::path(put, path = "/memory/{space}/{owner}/keys/{key}", tag = "memory", request_body = Object,
    params(("space" = String, Path), ("owner" = String, Path), ("key" = String, Path), ("assistant_id" = Option<String>, Query)),
    responses((status = 204, description = "It is kept"), (status = 400, body = Problem), (status = 404, body = Problem)))]
async fn put_owned(
    server: State<Shared>,
    who: Who,
    params: Params,
    conditions: Conditions,
    body: Body,
) -> Result<StatusCode, Failure> {
    put(server, who, params, conditions, body).await
}

/// Deletes a value of an owner's memory; one that is not there is no error.
#[utoipa::path(delete, path = "/memory/{space}/{owner}/keys/{key}", tag = "memory",
    params(("space" = String, Path), ("owner" = String, Path), ("key" = String, Path), ("assistant_id" = Option<String>, Query)),
    responses((status = 204, description = "It is gone"), (status = 400, body = Problem), (status = 404, body = Problem)))]
async fn delete_owned(
    server: State<Shared>,
    who: Who,
    params: Params,
    conditions: Conditions,
) -> Result<StatusCode, Failure> {
    delete(server, who, params, conditions).await
}
