//! Agents as OpenAI's clients list them: as models.

use super::input::{Id, NoQuery, PathId};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError, visible_agents};
use axum::Json;
use serde::Serialize;

/// The routes.
pub fn routes() -> Routes {
    routes![list_models, show_model]
}

/// An agent.
#[derive(Serialize, utoipa::ToSchema)]
struct ModelObject {
    /// The agent's id.
    id: String,
    /// `model`.
    object: &'static str,
    /// Seconds since 1970; not known of an agent.
    created: i64,
    /// `ambit`.
    owned_by: &'static str,
}

/// Agents.
#[derive(Serialize, utoipa::ToSchema)]
struct ModelList {
    /// `list`.
    object: &'static str,
    /// The agents.
    data: Vec<ModelObject>,
}

fn model(id: &str) -> ModelObject {
    ModelObject {
        id: id.to_owned(),
        object: "model",
        created: 0,
        owned_by: "ambit",
    }
}

/// The agents that the caller may use.
#[utoipa::path(get, path = "/models", tag = "agents", responses((status = 200, body = ModelList)))]
async fn list_models(
    ApiCaller { server, who }: ApiCaller,
    _: NoQuery,
) -> Result<Json<ModelList>, HttpError> {
    let app = server.runtime.app();
    let agents = visible_agents::agents(&server, &app, &who);
    Ok(Json(ModelList {
        object: "list",
        data: agents.iter().map(|agent| model(&agent.id)).collect(),
    }))
}

/// One agent.
#[utoipa::path(get, path = "/models/{id}", tag = "agents", params(("id" = Id, Path)),
    responses((status = 200, body = ModelObject), (status = 404, body = ErrorBody)))]
async fn show_model(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Json<ModelObject>, HttpError> {
    let agent = visible_agents::agent(&server, &server.runtime.app(), &who, &id.0)?;
    Ok(Json(model(&agent.id)))
}
