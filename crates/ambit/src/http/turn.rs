//! Turns that are running or have run: what is known of them, their streams, and stopping them.

use super::chat::{RequestParameters, check_metadata, check_user_message};
use super::sse::{self, StreamView};
use super::{
    AuthorizedCaller, BodyBytes, ErrorBody, HttpError, JsonFields, PathParameters, QueryParameters,
    SharedState,
};
use crate::format;
use ambit_runtime::runtime::{InterruptEffect, TurnInfo, TurnInterrupt};
use ambit_runtime::{Error, Result};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<SharedState> {
    OpenApiRouter::new()
        .routes(routes!(show))
        .routes(routes!(stream))
        .routes(routes!(cancel))
        .routes(routes!(append))
}

/// What is known of a turn.
#[utoipa::path(get, path = "/chat/requests/{request_id}", tag = "chat", params(("request_id" = String, Path)),
    responses((status = 200, description = "The turn", body = Object), (status = 404, body = ErrorBody)))]
async fn show(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    conditions: QueryParameters,
) -> Result<Json<TurnInfo>, HttpError> {
    conditions.finish()?;
    let id = params.id("request_id")?;
    Ok(Json(server.runtime.turn(&who, &id).await?))
}

/// A turn's stream behind `Last-Event-ID`, or behind `after`.
#[utoipa::path(get, path = "/chat/requests/{request_id}/stream", tag = "chat",
    params(("request_id" = String, Path), ("after" = Option<u64>, Query), ("accept" = Option<String>, Query), ("Last-Event-ID" = Option<u64>, Header)),
    responses((status = 200, description = "The stream", content_type = "text/event-stream"),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 410, body = ErrorBody)))]
async fn stream(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    given: RequestParameters,
    (mut conditions, headers): (QueryParameters, HeaderMap),
) -> Result<Response, HttpError> {
    let id = params.id("request_id")?;
    let after: Option<u64> = conditions.parsed("after", "a whole number")?;
    let include_usage = conditions.parsed("include_usage", "true or false")?;
    let accept = conditions.text("accept")?;
    conditions.finish()?;
    let accept = accept.or(given.own_header("accept")?).unwrap_or_default();
    let known = last_event(&headers)?.or(after).unwrap_or(0);
    let turn = server.runtime.turn(&who, &id).await?;
    let row = format::find(&accept);
    // Opened behind what the client knows, so that a number that was never given out is refused.
    let mut reader = server.runtime.stream(&who, &id, known).await?;
    if row.needs_beginning && known > 0 {
        reader = server.runtime.stream(&who, &id, 0).await?;
    }
    let options = format::FormatOptions {
        model: turn.assistant_id,
        created: turn.started_at / 1000,
        include_usage: include_usage.unwrap_or(false),
        request_id: id.clone(),
        client_tools: Vec::new(),
    };
    let view = StreamView {
        reader,
        first: Vec::new(),
        format: (row.open)(&options),
        last_received: known,
        backlog_end: turn.last_event,
        leaving: None,
    };
    Ok(sse::answer(view, &server, given.peer))
}

pub(super) fn last_event(headers: &HeaderMap) -> Result<Option<u64>> {
    let Some(text) = headers.get("last-event-id").filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let number = text.to_str().ok().and_then(|text| text.trim().parse().ok());
    let refused = || Error::invalid("last-event-id", "Last-Event-ID must be a whole number");
    number.map(Some).ok_or_else(refused)
}

/// Stops a turn. One that has ended stays as it is.
#[utoipa::path(post, path = "/chat/requests/{request_id}/cancel", tag = "chat", params(("request_id" = String, Path)),
    responses((status = 202, description = "The turn ends within a second, or has ended"), (status = 404, body = ErrorBody)))]
async fn cancel(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    conditions: QueryParameters,
) -> Result<StatusCode, HttpError> {
    conditions.finish()?;
    let id = params.id("request_id")?;
    server.runtime.cancel(&who, &id).await?;
    Ok(StatusCode::ACCEPTED)
}

/// What becomes of an interrupt.
#[derive(Serialize, utoipa::ToSchema)]
struct InterruptReceipt {
    /// `true`.
    accepted: bool,
    /// `next_step`, `restart` or `cancel`.
    #[schema(value_type = String)]
    applied: InterruptEffect,
}

/// Adds messages to a running turn, or stops it.
#[utoipa::path(post, path = "/chat/completions/{context_id}/append", tag = "chat", params(("context_id" = String, Path)), request_body = Object,
    responses((status = 202, body = InterruptReceipt), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn append(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    BodyBytes(body): BodyBytes,
) -> Result<(StatusCode, Json<InterruptReceipt>), HttpError> {
    let id = params.id("context_id")?;
    let interrupt = interrupt(&body)?;
    let applied = server.runtime.interrupt(&who, &id, interrupt).await?;
    let accepted = true;
    Ok((
        StatusCode::ACCEPTED,
        Json(InterruptReceipt { accepted, applied }),
    ))
}

/// Only what a person says can be added.
fn interrupt(body: &[u8]) -> Result<TurnInterrupt, HttpError> {
    let mut fields = JsonFields::of(body)?;
    let is_forced = match fields.text("type")?.as_deref() {
        Some("graceful") => false,
        Some("force") => true,
        _ => return Err(Error::invalid("type", "type must be graceful or force").into()),
    };
    let messages = fields.list("messages")?.unwrap_or_default();
    for (at, message) in messages.iter().enumerate() {
        check_user_message(message, &format!("messages[{at}]"))?;
    }
    if messages.is_empty() && !is_forced {
        return Err(Error::invalid("messages", "messages must hold at least one message").into());
    }
    let mut metadata = fields.object("metadata")?.unwrap_or_default();
    metadata.retain(|name, _| !name.starts_with("__"));
    check_metadata(&metadata)?;
    fields.finish()?;
    Ok(TurnInterrupt {
        is_forced,
        messages,
        metadata,
    })
}

/// The failure that is stored of a turn, if it failed.
pub fn failure(turn: &TurnInfo) -> Option<Error> {
    turn.error.clone().map(Error::from)
}
