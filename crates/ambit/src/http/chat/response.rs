//! From a request to its answer: a stream, or one body at the end.

use super::{RequestParameters, idempotency};
use crate::auth::rate_limits::StreamPlace;
use crate::format;
use crate::http::idempotency::{IdempotencyKey, RepeatableRequest};
use crate::http::sse::{self, CancelOnDisconnect, StreamView};
use crate::http::{HttpError, ServerState, SharedState, rate_limits, turn};
use ambit_runtime::StartedTurn;
use ambit_runtime::stream::{StreamEntry, StreamReader};
use ambit_runtime::{Authorized, Error, Result, TurnRequest};
use ambit_storage::address;
use axum::Json;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;
use tracing::Instrument;

/// The headers that name the chat of a turn.
const CHAT_HEADERS: [&str; 2] = ["x-ambit-chat", "x-yao-chat"];

/// A request, and how its answer is wanted.
pub struct ChatRequest {
    /// What is asked.
    pub request: TurnRequest,
    /// How the answer is wanted.
    pub view: AnswerView,
    /// What names the request if it is sent again.
    pub key: Option<IdempotencyKey>,
    /// Equal for equal requests. Empty without a key: nothing is compared then.
    pub fingerprint: String,
}

/// How an answer is wanted.
pub struct AnswerView {
    /// Whether it is a stream.
    pub is_streaming: bool,
    /// Whether an answer that is no stream says only how far the turn is.
    pub is_background: bool,
    /// What it looks like.
    pub format: &'static format::FormatDefinition,
    /// What the format must know; the turn's id and its time are filled in.
    pub options: format::FormatOptions,
}

impl ChatRequest {
    /// A request that came as this body.
    pub fn new(
        request: TurnRequest,
        view: AnswerView,
        key: Option<IdempotencyKey>,
        body: &[u8],
    ) -> Self {
        let fingerprint = key.as_ref().map(|_| fingerprint(&request, body));
        Self {
            request,
            view,
            key,
            fingerprint: fingerprint.unwrap_or_default(),
        }
    }
}

/// Of what is asked of whom, wherever the request says it. How the answer is wanted and where the request comes from may differ:
/// a client that sends it again may be another program, or in another format, language or page.
fn fingerprint(request: &TurnRequest, body: &[u8]) -> String {
    let text = |text: &Option<String>| Value::from(text.clone()).to_string();
    address::digest(&[
        &request.agent,
        &String::from_utf8_lossy(body),
        &text(&request.chat),
        &text(&request.call.mode),
        &text(&request.call.connector),
        &Value::Object(request.metadata.clone()).to_string(),
    ])
}

/// A turn that answers a request: its own, or that of the request that it repeats.
pub struct AnsweringTurn {
    /// The turn.
    pub started: StartedTurn,
    /// Entries of its stream that are there already.
    pub backlog_end: u64,
    /// Ends the turn when its client leaves, where the client wants that.
    pub leaving: Option<CancelOnDisconnect>,
}

/// Asks, and answers in the format that is wanted.
pub async fn answer(
    server: &SharedState,
    mut asked: ChatRequest,
    given: &RequestParameters,
) -> Result<Response, HttpError> {
    // The log knows the turn by the id of its request.
    let id = asked.request.id.take();
    asked.request.id = id.or_else(|| given.request_id.clone());
    let who = asked.request.authorized.clone();
    let repeatable = asked
        .key
        .map(|key| RepeatableRequest::new(&key, &who, idempotency::KIND, asked.fingerprint));
    let place = stream_place(server, &who, asked.view.is_streaming).await?;
    let begun = start(server, asked.request, repeatable).await?;
    let receiver = AnswerReceiver {
        server,
        who: &who,
        given,
        place,
    };
    receiver.answer(begun, asked.view).await
}

/// A request that came as this body with a key.
pub fn repeatable(key: &IdempotencyKey, request: &TurnRequest, body: &[u8]) -> RepeatableRequest {
    let fingerprint = fingerprint(request, body);
    RepeatableRequest::new(key, &request.authorized, idempotency::KIND, fingerprint)
}

/// Starts the turn of a request, or joins that of the request that it repeats.
pub async fn start(
    server: &SharedState,
    request: TurnRequest,
    repeatable: Option<RepeatableRequest>,
) -> Result<AnsweringTurn> {
    if !request.cancel_on_disconnect {
        return begin(server, request, repeatable).await;
    }
    let server = server.clone();
    let begin = async move {
        let who = request.authorized.clone();
        let mut begun = begin(&server, request, repeatable).await?;
        let leaving = CancelOnDisconnect::of(&server, &who, &begun.started.request_id);
        begun.leaving = Some(leaving);
        Ok(begun)
    };
    // A task of its own: the turn ends also where its client has left before it began.
    let begun = tokio::spawn(begin.in_current_span()).await;
    begun.map_err(|_| Error::internal("starting the turn failed"))?
}

async fn begin(
    server: &SharedState,
    request: TurnRequest,
    repeatable: Option<RepeatableRequest>,
) -> Result<AnsweringTurn> {
    let begun = match repeatable {
        // Boxed: most requests have no key, and their futures are smaller so.
        Some(repeatable) => Box::pin(idempotency::start(server, request, repeatable)).await?,
        None => {
            rate_limits::count_turn(server, &request.authorized).await?;
            AnsweringTurn {
                started: server.runtime.start(request).await?,
                backlog_end: 0,
                leaving: None,
            }
        }
    };
    note_turn(&begun.started);
    Ok(begun)
}

/// Has the log say which agent answers the request, and in which chat.
fn note_turn(started: &StartedTurn) {
    let span = tracing::Span::current();
    span.record("agent.id", started.assistant_id.as_str());
    span.record("chat.id", started.chat_id.as_str());
}

/// Answers with a turn that began when the same request was sent before.
pub async fn answer_joined(
    server: &SharedState,
    asked: ChatRequest,
    request_id: &str,
    given: &RequestParameters,
) -> Result<Response, HttpError> {
    let who = &asked.request.authorized;
    let place = stream_place(server, who, asked.view.is_streaming).await?;
    let joined = join(server, who, request_id).await?;
    let receiver = AnswerReceiver {
        server,
        who,
        given,
        place,
    };
    receiver.answer(joined, asked.view).await
}

/// A turn that began before.
pub async fn join(
    server: &ServerState,
    who: &Authorized,
    request_id: &str,
) -> Result<AnsweringTurn> {
    let known = server.runtime.turn(who, request_id).await?;
    let stream = server.runtime.stream(who, request_id, 0).await?;
    Ok(AnsweringTurn {
        backlog_end: known.last_event,
        leaving: None,
        started: StartedTurn {
            trace_id: known.request_id.clone(),
            request_id: known.request_id,
            context_id: known.context_id,
            chat_id: known.chat_id,
            assistant_id: known.assistant_id,
            started_at: known.started_at,
            stream,
        },
    })
}

/// Who gets an answer.
struct AnswerReceiver<'a> {
    server: &'a SharedState,
    who: &'a Authorized,
    given: &'a RequestParameters,
    /// Held as long as the stream is read.
    place: StreamPlace,
}

/// The place of a stream, where the answer is one.
async fn stream_place(
    server: &ServerState,
    who: &Authorized,
    is_streaming: bool,
) -> Result<StreamPlace> {
    match is_streaming {
        true => rate_limits::stream_place(server, who).await,
        false => Ok(StreamPlace::default()),
    }
}

impl AnswerReceiver<'_> {
    async fn answer(self, turn: AnsweringTurn, view: AnswerView) -> Result<Response, HttpError> {
        let Self { server, who, .. } = self;
        let AnsweringTurn {
            mut started,
            backlog_end,
            leaving,
        } = turn;
        let headers = turn_headers(&started);
        let AnswerView {
            is_streaming,
            is_background,
            format,
            mut options,
        } = view;
        options.request_id = started.request_id.clone();
        options.created = started.started_at / 1000;
        if is_background && !is_streaming {
            return Ok((headers, Json((format.body)(&[], &options))).into_response());
        }
        if !is_streaming {
            let entries = all(&mut started.stream).await?;
            leaving.into_iter().for_each(CancelOnDisconnect::disarm);
            if let Some(failed) = format::failure(&entries) {
                return Ok(refuse(server, who, &started, failed).await);
            }
            return Ok((headers, Json((format.body)(&entries, &options))).into_response());
        }
        let mut first = Vec::new();
        if format.has_status {
            first = beginning(&mut started.stream, server.settings.status_wait).await?;
            if let Some(failed) = format::failure(&first).filter(|_| !first.iter().any(is_shown)) {
                return Ok(refuse(server, who, &started, failed).await);
            }
        }
        let view = StreamView {
            reader: started.stream,
            first,
            definition: format,
            format: (format.open)(&options),
            last_received: 0,
            backlog_end,
            leaving,
            place: self.place,
        };
        let stream = sse::answer(view, server, self.given.peer.clone());
        Ok((headers, stream).into_response())
    }
}

/// The whole log of a turn, when it has ended.
async fn all(reader: &mut StreamReader) -> Result<Vec<StreamEntry>> {
    let mut entries = Vec::new();
    while let Some(more) = reader.next().await? {
        entries.extend(more);
    }
    Ok(entries)
}

/// The log up to the first thing that a client would be shown, or as far as it comes in this time. A turn that fails within
/// it can still be answered with a status; whose model takes longer, the client must have the turn's id to stop it by.
async fn beginning(reader: &mut StreamReader, wait: Duration) -> Result<Vec<StreamEntry>> {
    let mut entries = Vec::new();
    let reading = async {
        while let Some(more) = reader.next().await? {
            let is_shown = more.iter().any(is_shown);
            entries.extend(more);
            if is_shown {
                break;
            }
        }
        Ok::<_, Error>(())
    };
    timeout(wait, reading).await.unwrap_or(Ok(()))?;
    Ok(entries)
}

/// Events show nothing, and a failed turn's error is told by its status.
fn is_shown(entry: &StreamEntry) -> bool {
    format::kind(entry).is_some_and(|kind| kind != "event" && kind != "error")
}

/// The answer to a request whose turn failed before anything was sent.
async fn refuse(
    server: &ServerState,
    who: &Authorized,
    started: &StartedTurn,
    failed: Error,
) -> Response {
    let known = server.runtime.turn(who, &started.request_id).await;
    let told = known.ok().and_then(|known| turn::failure(&known));
    let failure = HttpError::from(told.unwrap_or(failed));
    (turn_headers(started), failure).into_response()
}

/// Leaves out of an answer's headers the chat of a turn that has none.
pub fn leave_out_chat(headers: &mut HeaderMap) {
    for chat in CHAT_HEADERS {
        headers.remove(chat);
    }
}

/// What the answer's headers say of the turn.
pub fn turn_headers(started: &StartedTurn) -> HeaderMap {
    let ids = [
        ("x-ambit-request", &started.request_id),
        ("x-ambit-context", &started.context_id),
        (CHAT_HEADERS[0], &started.chat_id),
        (CHAT_HEADERS[1], &started.chat_id),
        ("x-ambit-trace", &started.trace_id),
    ];
    // A chat's name may hold what no header can: such a name is in the stream alone.
    let ids = ids.into_iter().filter_map(|(name, id)| {
        let id = HeaderValue::from_bytes(id.as_bytes()).ok()?;
        Some((HeaderName::from_static(name), id))
    });
    ids.collect()
}
