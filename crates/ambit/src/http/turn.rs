//! Turns that are running or have run: what is known of them, their streams, and stopping them.

use super::chat::{RequestParameters, UserMessages, client_metadata};
use super::input::{BodyFields, Id, JsonBody, NoQuery, PathId, Query, Text, Time, filter};
use super::paging::{self, PageSize};
use super::routes::{Routes, routes};
use super::sse::{self, StreamCaller, StreamView};
use super::{ApiCaller, ErrorBody, HttpError, rate_limits};
use crate::format::{self, StreamPayload};
use ambit_runtime::inspect::turns::{TurnFilter, TurnSummary};
use ambit_runtime::{Error, Result};
use ambit_runtime::{InterruptEffect, TurnInfo, TurnInterrupt};
use ambit_storage::Page;
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

/// The routes.
pub fn routes() -> Routes {
    routes![
        list_turns,
        show_turn,
        delete_turn,
        stream_turn,
        cancel_turn,
        append_messages
    ]
}

/// How much of a turn's stream, and in which format.
#[derive(Deserialize, IntoParams)]
struct StreamQuery {
    /// Only what comes behind this entry.
    after: Option<u64>,
    /// The format.
    accept: Option<Text>,
    /// Whether OpenAI's format tells the usage at its end.
    include_usage: Option<bool>,
    /// The client's version of the AI SDK, from 7 on: `7` for the newest, or a whole one, as `7.0.91`.
    v: Option<Text>,
}

/// Which turns.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct TurnQuery {
    /// Of this chat.
    chat_id: Option<Id>,
    /// Of the conversation whose history has this index row; the chat is named `-` or not at all then.
    context: Option<Id>,
    /// Of this agent.
    assistant_id: Option<Id>,
    /// Of conversations of this person.
    user_id: Option<Id>,
    /// Of this status: `running`, `completed`, `error` or `cancelled`.
    status: Option<Text>,
    /// Begun at or after.
    from: Option<Time>,
    /// Begun before.
    to: Option<Time>,
    /// `next` of the page before.
    cursor: Option<Text>,
    /// At most so many; 20 where nobody says.
    limit: Option<PageSize>,
}

/// Turns of conversations that the caller may use, the newest first. A page may have fewer than `limit` before the last one, where
/// few match.
#[utoipa::path(get, path = "/chat/requests", tag = "chat", params(TurnQuery),
    responses((status = 200, description = "A page of turns", body = Page<TurnSummary>), (status = 400, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn list_turns(
    ApiCaller { server, who }: ApiCaller,
    Query(query): Query<TurnQuery>,
) -> Result<Json<Page<TurnSummary>>, HttpError> {
    let status = query.status.as_ref();
    let status = status.map(|name| TurnFilter::status(&name.0)).transpose()?;
    let filter = filter!(TurnFilter from query: chat_id context assistant_id user_id from to; status: status);
    let cursor = query.cursor.as_ref().map(|cursor| cursor.0.as_str());
    let limit = paging::limit(query.limit);
    let ambit = server.runtime.contexts(&who);
    Ok(Json(filter.list(&ambit, &who, cursor, limit).await?))
}

/// What is known of a turn.
#[utoipa::path(get, path = "/chat/requests/{request_id}", tag = "chat", params(("request_id" = Id, Path)),
    responses((status = 200, description = "The turn", body = TurnInfo), (status = 404, body = ErrorBody)))]
async fn show_turn(
    ApiCaller { server, who }: ApiCaller,
    PathId(request_id): PathId,
    _: NoQuery,
) -> Result<Json<TurnInfo>, HttpError> {
    let id = request_id.0;
    Ok(Json(server.runtime.turn(&who, &id).await?))
}

/// A turn's stream behind `Last-Event-ID`, or behind `after`.
#[utoipa::path(get, path = "/chat/requests/{request_id}/stream", tag = "chat", params(("request_id" = Id, Path), StreamQuery, ("Last-Event-ID" = Option<u64>, Header)),
    responses((status = 200, description = "The stream; the schema is that of the `data` of its events", body = StreamPayload, content_type = "text/event-stream"),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 410, body = ErrorBody)))]
async fn stream_turn(
    caller: StreamCaller,
    PathId(request_id): PathId,
    given: RequestParameters,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let (server, who) = (&caller.server, &caller.who);
    let id = request_id.0;
    let accept = query.accept.map(|accept| accept.0);
    let accept = accept.or(given.own_header("accept")?).unwrap_or_default();
    let by_header = last_event(&headers)?;
    let known = by_header.or(query.after).unwrap_or(0);
    let turn = server.runtime.turn(who, &id).await?;
    let row = format::find(&accept)?;
    let place = rate_limits::stream_place(server, who).await?;
    // Opened behind what the client knows, so that a number that was never given out is refused.
    let opened = server.runtime.stream(who, &id, known).await;
    let mut reader = opened.map_err(|error| match error.param.as_deref() {
        Some("after") if by_header.is_some() => error.with_param("last-event-id"),
        _ => error,
    })?;
    if row.needs_beginning && known > 0 {
        reader = server.runtime.stream(who, &id, 0).await?;
    }
    let options = format::FormatOptions {
        model: turn.assistant_id,
        created: turn.started_at / 1000,
        include_usage: query.include_usage.unwrap_or(false),
        request_id: id.clone(),
        ai_sdk: given.ai_sdk(query.v.as_ref())?,
        ..format::FormatOptions::default()
    };
    let view = StreamView {
        reader,
        first: Vec::new(),
        definition: row,
        format: (row.open)(&options),
        last_received: known,
        backlog_end: turn.last_event,
        leaving: None,
        place,
    };
    let stream = sse::answer(view, server, given.peer);
    Ok(caller.guard_by(stream, move |server, who| {
        let id = id.clone();
        async move { server.runtime.turn(&who, &id).await.map(drop) }
    }))
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
#[utoipa::path(post, path = "/chat/requests/{request_id}/cancel", tag = "chat", params(("request_id" = Id, Path)),
    responses((status = 202, description = "The turn ends within a second, or has ended"), (status = 404, body = ErrorBody)))]
async fn cancel_turn(
    ApiCaller { server, who }: ApiCaller,
    PathId(request_id): PathId,
    _: NoQuery,
) -> Result<StatusCode, HttpError> {
    let id = request_id.0;
    server.runtime.cancel(&who, &id).await?;
    Ok(StatusCode::ACCEPTED)
}

/// Stops a turn, as `POST …/cancel` does.
#[utoipa::path(delete, path = "/chat/requests/{request_id}", tag = "chat", params(("request_id" = Id, Path)),
    responses((status = 202, description = "The turn ends within a second, or has ended"), (status = 404, body = ErrorBody)))]
async fn delete_turn(
    caller: ApiCaller,
    request_id: PathId,
    query: NoQuery,
) -> Result<StatusCode, HttpError> {
    cancel_turn(caller, request_id, query).await
}

/// What is added to a running turn.
#[derive(Deserialize, ToSchema)]
struct NewInterrupt {
    #[serde(rename = "type")]
    kind: InterruptKind,
    /// What a person says; nothing else can be added.
    #[schema(value_type = Option<Vec<Object>>)]
    messages: Option<UserMessages>,
    /// Client-supplied data, at most 16 KiB.
    metadata: Option<Map<String, Value>>,
}

/// How a turn is interrupted.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
enum InterruptKind {
    /// At its next step.
    Graceful,
    /// At once.
    Force,
}

impl BodyFields for NewInterrupt {
    fn check(&self) -> Result<()> {
        let is_empty = match &self.messages {
            Some(UserMessages(Ok(messages))) => messages.is_empty(),
            Some(UserMessages(Err(error))) => return Err(error.clone()),
            None => true,
        };
        if is_empty && self.kind != InterruptKind::Force {
            let message = "messages must hold at least one message";
            return Err(Error::invalid("messages", message));
        }
        Ok(())
    }
}

impl TryFrom<NewInterrupt> for TurnInterrupt {
    type Error = Error;

    fn try_from(new: NewInterrupt) -> Result<Self> {
        let metadata = client_metadata(new.metadata.unwrap_or_default())?;
        Ok(Self {
            is_forced: new.kind == InterruptKind::Force,
            messages: new.messages.map_or(Ok(Vec::new()), |messages| messages.0)?,
            metadata,
        })
    }
}

/// What becomes of an interrupt.
#[derive(Serialize, utoipa::ToSchema)]
struct InterruptReceipt {
    /// `true`.
    accepted: bool,
    /// `next_step`, `restart` or `cancel`.
    applied: InterruptEffect,
}

/// Adds messages to a running turn, or stops it.
#[utoipa::path(post, path = "/chat/completions/{context_id}/append", tag = "chat", params(("context_id" = Id, Path)), request_body = NewInterrupt,
    responses((status = 202, body = InterruptReceipt), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn append_messages(
    ApiCaller { server, who }: ApiCaller,
    PathId(context_id): PathId,
    _: NoQuery,
    body: JsonBody<NewInterrupt>,
) -> Result<(StatusCode, Json<InterruptReceipt>), HttpError> {
    let id = context_id.0;
    let interrupt = body.value.try_into()?;
    let applied = server.runtime.interrupt(&who, &id, interrupt).await?;
    let accepted = true;
    Ok((
        StatusCode::ACCEPTED,
        Json(InterruptReceipt { accepted, applied }),
    ))
}

/// The failure that is stored of a turn, if it failed.
pub fn failure(turn: &TurnInfo) -> Option<Error> {
    turn.error.clone().map(Error::from)
}
