//! Calls of models: which a turn has made, of what their requests were made, and those requests again. The turn's trace is read
//! whole for each answer, which is built as a large page is.

use super::input::{Id, NoQuery, Path, PathId, Whole};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError, rate_limits};
use crate::auth::CallerAccess;
use ambit_runtime::inspect::calls::{self, CallList, ContentView};
use ambit_runtime::manifest::ModelCallManifest;
use ambit_runtime::{RenderedRequest, Result};
use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

/// The routes.
pub fn routes() -> Routes {
    routes![
        list_calls,
        show_manifest,
        show_block,
        show_tool,
        show_request
    ]
}

/// A call.
#[derive(Deserialize, IntoParams)]
struct CallPath {
    /// The call.
    id: Id,
}

/// A block or a tool of a call.
#[derive(Deserialize, IntoParams)]
struct PartPath {
    /// The call.
    id: Id,
    /// Which one, from 0.
    n: Whole<0, { u64::MAX }>,
}

/// The calls of models that a turn has made. They are in its trace, and nowhere else.
#[utoipa::path(get, path = "/chat/requests/{request_id}/calls", tag = "calls", params(("request_id" = Id, Path)),
    responses((status = 200, description = "The calls", body = CallList), (status = 404, body = ErrorBody)))]
async fn list_calls(
    ApiCaller { server, who }: ApiCaller,
    PathId(request_id): PathId,
    _: NoQuery,
) -> Result<Json<CallList>, HttpError> {
    let _build = rate_limits::page_build(&server, &who).await;
    let ambit = server.runtime.contexts(&who);
    let calls = calls::of_request(&ambit, &who, &request_id.0).await?;
    Ok(Json(calls.list()))
}

/// Of what the request of a call was made, and what came of it. Contents are named by their hashes, and so are texts, lists and objects
/// among the options for callers who may not see the request.
#[utoipa::path(get, path = "/calls/{id}/manifest", tag = "calls", params(CallPath),
    responses((status = 200, description = "The manifest", body = ModelCallManifest), (status = 404, body = ErrorBody)))]
async fn show_manifest(
    ApiCaller { server, who }: ApiCaller,
    access: CallerAccess,
    Path(path): Path<CallPath>,
    _: NoQuery,
) -> Result<Json<ModelCallManifest>, HttpError> {
    let _build = rate_limits::page_build(&server, &who).await;
    let id = path.id.0;
    let ambit = server.runtime.contexts(&who);
    let mut calls = calls::of_call(&ambit, &who, &id).await?;
    calls.name_messages(&ambit, &who, &id).await?;
    let manifest = calls.find(&id)?.clone();
    Ok(Json(
        match access.may("GET", &format!("/calls/{id}/request")) {
            true => manifest,
            false => manifest.without_texts(),
        },
    ))
}

/// What a block of a call says.
#[utoipa::path(get, path = "/calls/{id}/blocks/{n}", tag = "calls", params(PartPath),
    responses((status = 200, description = "The message, or why it is gone", body = ContentView), (status = 404, body = ErrorBody)))]
async fn show_block(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<PartPath>,
    _: NoQuery,
) -> Result<Json<ContentView>, HttpError> {
    let _build = rate_limits::page_build(&server, &who).await;
    let id = path.id.0;
    let ambit = server.runtime.contexts(&who);
    let mut calls = calls::of_call(&ambit, &who, &id).await?;
    let n = path.n.0;
    calls.read_messages(&ambit, &who, &id, Some(n)).await?;
    Ok(Json(calls.block(calls.find(&id)?, n)?))
}

/// How a tool of a call is defined.
#[utoipa::path(get, path = "/calls/{id}/tools/{n}", tag = "calls", params(PartPath),
    responses((status = 200, description = "The definition, or why it is gone", body = ContentView), (status = 404, body = ErrorBody)))]
async fn show_tool(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<PartPath>,
    _: NoQuery,
) -> Result<Json<ContentView>, HttpError> {
    let _build = rate_limits::page_build(&server, &who).await;
    let id = path.id.0;
    let ambit = server.runtime.contexts(&who);
    let calls = calls::of_call(&ambit, &who, &id).await?;
    Ok(Json(calls.tool(calls.find(&id)?, path.n.0)?))
}

/// The request of a call, encoded again from its manifest; `exact` says whether these are the bytes that were sent.
#[utoipa::path(get, path = "/calls/{id}/request", tag = "calls", params(CallPath),
    responses((status = 200, description = "The request", body = RenderedRequest), (status = 404, body = ErrorBody)))]
async fn show_request(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<CallPath>,
    _: NoQuery,
) -> Result<Json<RenderedRequest>, HttpError> {
    let _build = rate_limits::page_build(&server, &who).await;
    Ok(Json(
        server.runtime.model_call_request(&who, &path.id.0).await?,
    ))
}
