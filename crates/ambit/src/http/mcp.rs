//! The app as a tool server for other programs' agents (the Model Context Protocol): its agents, memory, chats and knowledge are
//! tools, for exactly those who may reach them over the other routes.

mod agent_answer;
mod agent_tool;
mod answer;
mod arguments;
mod call_limit;
mod chat_tools;
mod context;
mod cursor;
mod knowledge_tool;
mod memory_tools;
mod message;
mod open_calls;
mod protocol;
mod resources;
mod results;
mod rpc_error;
mod source;
mod tasks;
mod tool_answer;
mod tools;

pub use source::check_source;

use super::chat::RequestParameters;
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, body, rate_limits};
use crate::auth::CallerAccess;
use crate::status::status;
use ambit_runtime::{Authorized, Error};
use ambit_storage::ids;
use answer::{CallEvent, RunningCall};
use axum::Extension;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use call_limit::{CallLimit, CallPermit};
use context::McpContext;
use cursor::Cursor;
use futures::future::ready;
use futures::stream::{BoxStream, once};
use futures::{FutureExt, StreamExt};
use message::{IncomingMessage, RpcNotification, respond};
use open_calls::OpenCall;
use protocol::{HANDSHAKE, ProtocolEra, ProtocolRequest, SESSION_HEADER, notification_era};
use rpc_error::{RpcError, RpcErrorKind};
use serde_json::{Map, Value};
use std::future::Future;
use std::sync::Arc;
use tool_answer::{ToolAnswer, ToolFailure};
use tools::OfferedTool;

/// Tools of one part of the list.
const PAGE: usize = 100;

/// The routes.
pub fn routes() -> Routes {
    routes![serve_tools].map_router(|router| router.layer(Extension(CallLimit::default())))
}

/// Takes a message of the Model Context Protocol, of version 2026-07-28, 2025-11-25 or 2025-06-18.
#[utoipa::path(post, path = "/mcp", tag = "tools", request_body = Object,
    responses((status = 200, description = "The answer, or its stream; the schema of a stream is that of the `data` of its events",
            content((Value = "application/json"), (Value = "text/event-stream"))),
        (status = 202, description = "A notification was taken"),
        (status = 400, description = "The message is none", body = Object),
        (status = 404, description = "There is no such method", body = Object),
        (status = 413, description = "The message is too large", body = Object),
        (status = 429, description = "The caller has too many calls running, or streams open", body = Object),
        (status = 401, body = ErrorBody), (status = 403, body = ErrorBody)))]
async fn serve_tools(
    ApiCaller { server, who }: ApiCaller,
    access: CallerAccess,
    Extension(limit): Extension<CallLimit>,
    given: RequestParameters,
    request: Request,
) -> Response {
    let headers = request.headers().clone();
    let body = body::read(request, &server).await.map_err(of_body);
    let message = body.and_then(|body| IncomingMessage::read(&body));
    let context = Arc::new(McpContext {
        app: server.runtime.app(),
        server,
        access,
        given,
    });
    match message {
        Ok(IncomingMessage::Request(request)) => {
            let id = request.id.clone();
            match ProtocolRequest::of(&headers, request) {
                Ok(request) => answer(context, &who, &limit, request).await,
                Err(error) => refuse(id, error),
            }
        }
        Ok(IncomingMessage::Notification(notification)) => {
            notified(&context, &who, &headers, notification).await
        }
        Ok(IncomingMessage::Answer) => StatusCode::ACCEPTED.into_response(),
        Err(error) => refuse(Value::Null, error),
    }
}

/// The answer to what is no message of an era: what such a failure is called is the same in both.
fn refuse(id: Value, error: RpcError) -> Response {
    respond(id, ProtocolEra::Handshake, Err(error))
}

/// A body that cannot be read is no message.
fn of_body(error: Error) -> RpcError {
    let kind = match status(&error) {
        StatusCode::PAYLOAD_TOO_LARGE => RpcErrorKind::TooLarge,
        _ => RpcErrorKind::InvalidRequest,
    };
    RpcError::new(kind, error.message)
}

/// Takes a notification: one stops a call of the era with a handshake, of the others nothing comes.
async fn notified(
    context: &McpContext,
    who: &Authorized,
    headers: &HeaderMap,
    notification: RpcNotification,
) -> Response {
    let era = match notification_era(headers, &notification) {
        Ok(era) => era,
        Err(error) => return refuse(Value::Null, error),
    };
    let stops = era == ProtocolEra::Handshake && notification.method == "notifications/cancelled";
    let id = notification.params.get("requestId");
    if let Some(id) = id.filter(|_| stops) {
        let session = headers.get(SESSION_HEADER);
        let session = session.and_then(|session| session.to_str().ok());
        let call = OpenCall::of(who, session.unwrap_or_default(), id);
        if let Some(call) = call
            && let Err(error) = call.stop(&context.server).await
        {
            tracing::warn!(error.code = %error.code, "a call that its client has cancelled goes on: {error}");
        }
    }
    StatusCode::ACCEPTED.into_response()
}

/// Answers a request.
async fn answer(
    context: Arc<McpContext>,
    who: &Authorized,
    limit: &CallLimit,
    request: ProtocolRequest,
) -> Response {
    let (id, era) = (request.id.clone(), request.era);
    if request.method == "tools/call" {
        return match call(context, who, limit, request).await {
            Ok(call) => answer::answer(call).await,
            Err(error) => respond(id, era, Err(error)),
        };
    }
    let is_beginning = request.method == "initialize";
    let outcome = dispatch(&context, &request).await;
    let has_begun = is_beginning && outcome.is_ok();
    let mut response = respond(id, era, outcome);
    if let Ok(session) = HeaderValue::from_str(&ids::unguessable())
        && has_begun
    {
        let headers = response.headers_mut();
        headers.insert(HeaderName::from_static(SESSION_HEADER), session);
    }
    response
}

/// What comes of a request that is no call.
async fn dispatch(context: &McpContext, request: &ProtocolRequest) -> Result<Value, RpcError> {
    let era = request.era;
    match (era, request.method.as_str()) {
        (ProtocolEra::Stateless, "server/discover") => {
            Ok(results::cacheable(era, results::discovered(&context.app)))
        }
        (ProtocolEra::Handshake, "initialize") => Ok(begin(context, request)),
        (ProtocolEra::Handshake, "ping") => Ok(results::complete(era, Map::new())),
        (_, "tools/list") => list_tools(context, request),
        (_, "resources/list") => resources::list(context, request).await,
        (_, "resources/templates/list") => Ok(resources::templates(context, request)),
        (_, "resources/read") => resources::read(context, request).await,
        (ProtocolEra::Stateless, "tasks/get") => tasks::get(context, request).await,
        (ProtocolEra::Stateless, "tasks/cancel") => tasks::cancel(context, request).await,
        (ProtocolEra::Stateless, "tasks/update") => tasks::update(context, request).await,
        (_, method) => {
            let message = format!("there is no method \"{method}\" here");
            Err(RpcError::new(RpcErrorKind::MethodNotFound, message))
        }
    }
}

/// `initialize`: the version that the client would like, where it is spoken here.
fn begin(context: &McpContext, request: &ProtocolRequest) -> Value {
    let wanted = request.params.get("protocolVersion");
    let wanted = wanted.and_then(Value::as_str);
    let known = HANDSHAKE.iter().find(|version| Some(**version) == wanted);
    let version = known.unwrap_or(&HANDSHAKE[0]);
    let told = results::initialized(&context.app, version);
    results::complete(request.era, told)
}

/// `tools/list`: a part of the tools, by name.
fn list_tools(context: &McpContext, request: &ProtocolRequest) -> Result<Value, RpcError> {
    let skip = Cursor::TOOLS.position(&request.params)?;
    let tools = tools::list(context)?;
    let end = skip.saturating_add(PAGE).min(tools.len());
    let part = tools.iter().skip(skip).take(PAGE);
    let items = part.filter_map(|tool| serde_json::to_value(tool).ok());
    let next = (end < tools.len()).then(|| Cursor::TOOLS.at(end));
    let page = results::page("tools", items.collect(), next);
    Ok(results::cacheable(request.era, page))
}

/// `tools/call`: begins a call.
async fn call(
    context: Arc<McpContext>,
    who: &Authorized,
    limit: &CallLimit,
    request: ProtocolRequest,
) -> Result<RunningCall, RpcError> {
    let name = request.text("name")?;
    let tool = tools::find(&context, name).ok_or_else(|| RpcError::unknown_tool(name))?;
    let permit = Arc::new(limit.acquire(who)?);
    let place = match matches!(tool, OfferedTool::Agent(_)) {
        true => Some(rate_limits::stream_place(&context.server, who).await?),
        false => None,
    };
    let ping = context.server.settings.ping;
    Ok(RunningCall {
        events: begin_call(context, tool, &request, permit.clone()).await,
        _permit: permit,
        place,
        era: request.era,
        id: request.id,
        progress_token: request.progress_token,
        ping,
    })
}

/// What happens to a call until it has ended.
async fn begin_call(
    context: Arc<McpContext>,
    tool: OfferedTool,
    request: &ProtocolRequest,
    permit: Arc<CallPermit>,
) -> BoxStream<'static, CallEvent> {
    let name = request.text("name").unwrap_or_default().to_owned();
    let given = match request.params.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(given)) => given.clone(),
        Some(_) => {
            let wrong = Error::invalid("arguments", "arguments must be an object");
            return ended(ready(Err(wrong.into())), name);
        }
    };
    match tool {
        OfferedTool::Row(row) => ended((row.call)(context, given), name),
        OfferedTool::Agent(tool) => {
            match agent_tool::call(context, *tool, request, given, permit).await {
                Ok(events) => events,
                Err(failure) => ended(ready(Err(failure)), name),
            }
        }
    }
}

/// What happens to a call that makes no progress before it ends.
fn ended(
    answer: impl Future<Output = ToolAnswer> + Send + 'static,
    name: String,
) -> BoxStream<'static, CallEvent> {
    let ended = answer.map(move |answer| {
        CallEvent::Ended(match answer {
            Ok(value) => Ok(tool_answer::success(value)),
            Err(ToolFailure::Failed(error)) => Ok(tool_answer::failure(&error)),
            Err(ToolFailure::Unknown) => Err(RpcError::unknown_tool(&name)),
        })
    });
    once(ended).boxed()
}
