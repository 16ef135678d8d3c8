//! Asking an agent.

mod agent;
mod answer;
mod given;
mod message;
mod options;
mod part;
mod repeat;
mod request;

pub use answer::{Asked, answer};
pub use given::Given;
pub use message::check_said;
pub use request::check_metadata;

use super::{Body, Failure, Params, Problem, Shared, Who};
use axum::extract::State;
use axum::response::Response;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(complete))
        .routes(routes!(complete_by))
}

/// Asks an agent. The body is OpenAI's, with further fields.
#[utoipa::path(post, path = "/chat/completions", tag = "chat", request_body = request::Body,
    responses((status = 200, description = "The answer, or its stream, in the format that was asked for", body = Object),
        (status = 400, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 413, body = Problem)))]
async fn complete(
    State(server): State<Shared>,
    Who(who): Who,
    given: Given,
    Body(body): Body,
) -> Result<Response, Failure> {
    let asked = request::read(&server, who, &given, &body)?;
    answer(&server, asked, &given).await
}

/// Asks the agent that the path names.
#[utoipa::path(post, path = "/agents/{assistant_id}/chat/completions", tag = "chat", request_body = request::Body,
    params(("assistant_id" = String, Path)),
    responses((status = 200, description = "The answer, or its stream, in the format that was asked for", body = Object),
        (status = 400, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 413, body = Problem)))]
async fn complete_by(
    State(server): State<Shared>,
    Who(who): Who,
    params: Params,
    mut given: Given,
    Body(body): Body,
) -> Result<Response, Failure> {
    given.assistant = Some(params.id("assistant_id")?);
    let asked = request::read(&server, who, &given, &body)?;
    answer(&server, asked, &given).await
}
