//! Anthropic's Messages: stateless turns, whose request brings the whole conversation.

mod blocks;
mod body;
mod conversation;
mod credentials;
mod failure;
mod request;
mod tools;

pub use credentials::take_key;
pub use failure::write as write_failure;

use super::chat::{RequestParameters, answer, leave_out_chat};
use super::input::JsonBody;
use super::routes::{Routes, routes};
use super::{ApiCaller, HttpError};
use crate::format::anthropic::{AnthropicEvent, AnthropicFailure, AnthropicMessage};
use axum::Json;
use axum::response::Response;
use body::AnthropicBody;
use serde::Serialize;
use utoipa::ToSchema;

/// Where these routes are, below the base path.
const PATH: &str = "/messages";
/// The header in which Anthropic's clients look for the request's id.
const REQUEST_ID: &str = "request-id";

/// The routes.
pub fn routes() -> Routes {
    routes![create_message, count_tokens]
}

/// Whether a path below the base path is one of these routes, or would be.
pub fn has_path(path: &str) -> bool {
    let rest = path.strip_prefix(PATH);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Asks an agent. The messages are the whole conversation; nothing of it is stored.
#[utoipa::path(post, path = "/messages", tag = "messages", request_body = AnthropicBody,
    responses((status = 200, description = "The answer, or its stream; the schema of a stream is that of the `data` of its events",
            content((AnthropicMessage = "application/json"), (AnthropicEvent = "text/event-stream"))),
        (status = "default", description = "Why it failed", body = AnthropicFailure)))]
async fn create_message(
    ApiCaller { server, who }: ApiCaller,
    given: RequestParameters,
    body: JsonBody<AnthropicBody>,
) -> Result<Response, HttpError> {
    let asked = request::read(&server, who, &given, body)?;
    let mut response = answer(&server, asked, &given).await?;
    let headers = response.headers_mut();
    leave_out_chat(headers);
    if let Some(id) = headers.get(super::middleware::REQUEST).cloned() {
        headers.insert(REQUEST_ID, id);
    }
    Ok(response)
}

/// About how many tokens the request would give the agent's model.
#[utoipa::path(post, path = "/messages/count_tokens", tag = "messages", request_body = AnthropicBody,
    responses((status = 200, description = "How many", body = TokenCount),
        (status = "default", description = "Why it failed", body = AnthropicFailure)))]
async fn count_tokens(
    ApiCaller { server, who }: ApiCaller,
    given: RequestParameters,
    body: JsonBody<AnthropicBody>,
) -> Result<Json<TokenCount>, HttpError> {
    let asked = request::read(&server, who, &given, body)?;
    let input_tokens = server.runtime.estimate_input(asked.request).await?;
    Ok(Json(TokenCount { input_tokens }))
}

/// How many tokens a request has, about.
#[derive(Serialize, ToSchema)]
struct TokenCount {
    /// Those of prompts, messages and tools.
    input_tokens: u64,
}
