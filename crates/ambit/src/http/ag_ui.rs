//! AG-UI 1.0: runs of agents, as CopilotKit and other frontends ask for them.

mod body;
mod message;
mod request;

use super::chat::{RequestParameters, answer};
use super::input::{Id, JsonBody, PathId};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError};
use crate::format::ag_ui::AgUiEvent;
use axum::response::Response;
use body::RunAgentBody;

/// The routes.
pub fn routes() -> Routes {
    routes![run, run_by]
}

/// Runs the app's default agent for a client of AG-UI.
#[utoipa::path(post, path = "/ag-ui", tag = "ag-ui", params(("assistant_id" = Option<String>, Query, description = "The agent")), request_body = RunAgentBody,
    responses((status = 200, description = "The run's events; the schema is that of their `data`", body = AgUiEvent, content_type = "text/event-stream"),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn run(
    ApiCaller { server, who }: ApiCaller,
    given: RequestParameters,
    body: JsonBody<RunAgentBody>,
) -> Result<Response, HttpError> {
    let asked = request::read(&server, who, &given, body)?;
    answer(&server, asked, &given).await
}

/// Runs the agent that the path names.
#[utoipa::path(post, path = "/ag-ui/{assistant_id}", tag = "ag-ui", params(("assistant_id" = Id, Path)), request_body = RunAgentBody,
    responses((status = 200, description = "The run's events; the schema is that of their `data`", body = AgUiEvent, content_type = "text/event-stream"),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn run_by(
    ApiCaller { server, who }: ApiCaller,
    PathId(assistant_id): PathId,
    mut given: RequestParameters,
    body: JsonBody<RunAgentBody>,
) -> Result<Response, HttpError> {
    given.assistant = Some(assistant_id.0);
    let asked = request::read(&server, who, &given, body)?;
    answer(&server, asked, &given).await
}
