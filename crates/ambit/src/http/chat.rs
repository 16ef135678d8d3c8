//! Asking an agent.

mod agent;
mod body;
mod content_parts;
mod idempotency;
mod messages;
mod options;
mod parameters;
mod request;
mod response;

pub use agent::{AgentSelection, find_agent};
pub use body::{Between, BusyChoice, ChatCompletionBody};
pub use messages::{UserMessages, check_role, role_refused};
pub use options::names as tool_names;
pub use parameters::{BodyOrigin, CompletionQuery, RequestParameters};
pub use request::{AgentRequest, check_metadata, client_metadata, read_agent, supersede};
pub use response::{
    AnswerView, AnsweringTurn, ChatRequest, answer, answer_joined, join, leave_out_chat,
    repeatable, start, turn_headers,
};

use super::input::{Id, JsonBody, PathId};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError};
use crate::format::{FormatBody, StreamPayload};
use axum::response::Response;

/// The routes.
pub fn routes() -> Routes {
    routes![complete, complete_by]
}

/// Asks an agent. The body is OpenAI's, with further fields.
#[utoipa::path(post, path = "/chat/completions", tag = "chat", params(CompletionQuery), request_body = ChatCompletionBody,
    responses((status = 200, description = "The answer, or its stream, in the format that was asked for; the schema of a stream is that of the `data` of its events",
        content((FormatBody = "application/json"), (StreamPayload = "text/event-stream"))),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody)))]
async fn complete(
    ApiCaller { server, who }: ApiCaller,
    given: RequestParameters,
    body: JsonBody<ChatCompletionBody>,
) -> Result<Response, HttpError> {
    let asked = request::read(&server, who, &given, body)?;
    answer(&server, asked, &given).await
}

/// Asks the agent that the path names.
#[utoipa::path(post, path = "/agents/{assistant_id}/chat/completions", tag = "chat", params(("assistant_id" = Id, Path), CompletionQuery), request_body = ChatCompletionBody,
    responses((status = 200, description = "The answer, or its stream, in the format that was asked for; the schema of a stream is that of the `data` of its events",
        content((FormatBody = "application/json"), (StreamPayload = "text/event-stream"))),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody)))]
async fn complete_by(
    ApiCaller { server, who }: ApiCaller,
    PathId(assistant_id): PathId,
    mut given: RequestParameters,
    body: JsonBody<ChatCompletionBody>,
) -> Result<Response, HttpError> {
    given.assistant = Some(assistant_id.0);
    let asked = request::read(&server, who, &given, body)?;
    answer(&server, asked, &given).await
}
