//! OpenAI's Responses.

mod body;
mod named_items;
mod request;
mod show;
mod tools;

use super::chat::{RequestParameters, answer, leave_out_chat};
use super::input::{Id, JsonBody, OpenQuery, PathId};
use super::response_items::{ItemList, ItemListQuery, ItemReader};
use super::routes::{Routes, routes};
use super::sse::StreamCaller;
use super::{ApiCaller, ErrorBody, HttpError, rate_limits};
use crate::auth::rate_limits::PageBuild;
use crate::format::responses::{ResponseEvent, ResponseObject};
use ambit_runtime::chats::EntryRange;
use ambit_runtime::public_id::response_turn;
use ambit_runtime::{Error, ErrorCode, Result};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use body::ResponseBody;
use serde::{Deserialize, Serialize};
use show::StoredResponse;
use utoipa::{IntoParams, ToSchema};

/// The routes.
pub fn routes() -> Routes {
    routes![
        create_response,
        count_input,
        compact_response,
        show_response,
        delete_response,
        cancel_response,
        list_input_items
    ]
}

/// Asks an agent.
#[utoipa::path(post, path = "/responses", tag = "responses", request_body = ResponseBody,
    responses((status = 200, description = "The Response, or its stream; the schema of a stream is that of the `data` of its events",
        content((ResponseObject = "application/json"), (ResponseEvent = "text/event-stream"))),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn create_response(
    ApiCaller { server, who }: ApiCaller,
    given: RequestParameters,
    body: JsonBody<ResponseBody>,
) -> Result<Response, HttpError> {
    let asked = request::read(&server, who, &given, body).await?;
    let is_stored = asked.request.is_stored();
    let mut response = answer(&server, asked, &given).await?;
    if !is_stored {
        leave_out_chat(response.headers_mut());
    }
    Ok(response)
}

/// About how many tokens a request would give its agent's model.
#[derive(Serialize, ToSchema)]
struct InputCount {
    /// `response.input_tokens`.
    object: &'static str,
    /// Those of instructions, the conversation, the input and tools.
    input_tokens: u64,
}

/// Estimates the tokens of a request. No model is asked, and nothing is stored.
#[utoipa::path(post, path = "/responses/input_tokens", tag = "responses", request_body = ResponseBody,
    responses((status = 200, description = "How many", body = InputCount),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn count_input(
    ApiCaller { server, who }: ApiCaller,
    given: RequestParameters,
    body: JsonBody<ResponseBody>,
) -> Result<Json<InputCount>, HttpError> {
    let asked = request::read(&server, who, &given, body).await?;
    let input_tokens = server.runtime.estimate_input(asked.request).await?;
    Ok(Json(InputCount {
        object: "response.input_tokens",
        input_tokens,
    }))
}

/// Not supported: long conversations are made shorter by the agent's own settings.
#[utoipa::path(post, path = "/responses/compact", tag = "responses",
    responses((status = 200, description = "Never"), (status = 422, body = ErrorBody)))]
async fn compact_response(_: ApiCaller) -> Result<(), HttpError> {
    let message = "responses cannot be compacted: context.truncation of an agent's package makes long conversations shorter";
    Err(Error::new(ErrorCode::Unsupported, message).into())
}

/// How much of a Response.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ShownQuery {
    /// Whether the answer is the stream.
    stream: Option<bool>,
    /// Of the stream only what comes behind this event.
    starting_after: Option<u64>,
}

/// The Response as far as it is there, or its stream.
#[utoipa::path(get, path = "/responses/{response_id}", tag = "responses", params(("response_id" = Id, Path), ShownQuery),
    responses((status = 200, description = "The Response, or its stream; the schema of a stream is that of the `data` of its events",
        content((ResponseObject = "application/json"), (ResponseEvent = "text/event-stream"))),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 410, body = ErrorBody)))]
async fn show_response(
    caller: StreamCaller,
    PathId(response_id): PathId,
    given: RequestParameters,
    OpenQuery(query): OpenQuery<ShownQuery>,
) -> Result<Response, HttpError> {
    let stored = StoredResponse::find(&caller.server, &caller.who, &response_id.0).await?;
    if query.stream != Some(true) {
        return Ok(Json(stored.response().await?).into_response());
    }
    let stream = stored.stream(&given, query.starting_after).await?;
    let turn = turn_of(&response_id.0)?.to_owned();
    Ok(caller.guard_by(stream, move |server, who| {
        let turn = turn.clone();
        async move { server.runtime.turn(&who, &turn).await.map(drop) }
    }))
}

/// A Response that is gone.
#[derive(Serialize, ToSchema)]
struct DeletedResponse {
    id: String,
    /// `response.deleted`.
    object: &'static str,
    /// `true`.
    deleted: bool,
}

/// Erases the messages, the log and the trace of a turn.
#[utoipa::path(delete, path = "/responses/{response_id}", tag = "responses", params(("response_id" = Id, Path)),
    responses((status = 200, description = "It is gone", body = DeletedResponse), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn delete_response(
    ApiCaller { server, who }: ApiCaller,
    PathId(response_id): PathId,
) -> Result<Json<DeletedResponse>, HttpError> {
    let id = response_id.0;
    let turn = turn_of(&id)?;
    let erased = server.runtime.erase_turn(&who, turn).await;
    erased.map_err(|error| error.naming("response", &id))?;
    Ok(Json(DeletedResponse {
        id,
        object: "response.deleted",
        deleted: true,
    }))
}

/// Stops a turn. One that has ended stays as it is.
#[utoipa::path(post, path = "/responses/{response_id}/cancel", tag = "responses", params(("response_id" = Id, Path)),
    responses((status = 200, description = "The Response", body = ResponseObject), (status = 404, body = ErrorBody)))]
async fn cancel_response(
    ApiCaller { server, who }: ApiCaller,
    PathId(response_id): PathId,
) -> Result<Json<ResponseObject>, HttpError> {
    let stored = StoredResponse::find(&server, &who, &response_id.0).await?;
    Ok(Json(stored.cancel().await?))
}

/// The items of a Response's input.
#[utoipa::path(get, path = "/responses/{response_id}/input_items", tag = "responses", params(("response_id" = Id, Path), ItemListQuery),
    responses((status = 200, description = "A page of items", body = ItemList), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn list_input_items(
    ApiCaller { server, who }: ApiCaller,
    PathId(response_id): PathId,
    OpenQuery(query): OpenQuery<ItemListQuery>,
) -> Result<(Extension<PageBuild>, Json<ItemList>), HttpError> {
    let build = rate_limits::page_build(&server, &who).await;
    let turn = turn_of(&response_id.0)?;
    let mut range = EntryRange::END;
    loop {
        let chat = server.runtime.entries_around(&who, turn, range).await;
        let chat = chat.map_err(|error| error.naming("response", &response_id.0))?;
        let mut items = ItemReader::read(&chat).await?;
        items.retain(|stored| stored.turn.as_deref() == Some(turn));
        let has_turn = !items.is_empty() && items.iter().all(|stored| stored.is_settled);
        items.retain(|stored| stored.is_input);
        if (has_turn || chat.range == EntryRange::All)
            && let Some(page) = query.page(items, true)?
        {
            return Ok((build, Json(page)));
        }
        range = range.larger();
    }
}

/// The turn of a Response's id.
fn turn_of(id: &str) -> Result<&str> {
    response_turn(id).ok_or_else(|| Error::not_found("response", id))
}
