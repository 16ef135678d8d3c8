//! Agents as OpenAI's clients list them: as models.

use super::{Conditions, Failure, Params, Problem, Shared, Who, visible};
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
}

/// An agent.
#[derive(Serialize, utoipa::ToSchema)]
struct Model {
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
struct Models {
    /// `list`.
    object: &'static str,
    /// The agents.
    data: Vec<Model>,
}

fn model(id: &str) -> Model {
    Model {
        id: id.to_owned(),
        object: "model",
        created: 0,
        owned_by: "ambit",
    }
}

/// The agents that the caller may use.
#[utoipa::path(get, path = "/models", tag = "agents", responses((status = 200, body = Models)))]
async fn list(
    State(server): State<Shared>,
    Who(who): Who,
    conditions: Conditions,
) -> Result<Json<Models>, Failure> {
    conditions.finish()?;
    let app = server.runtime.app();
    let agents = visible::agents(&server, &app, &who);
    Ok(Json(Models {
        object: "list",
        data: agents.iter().map(|agent| model(&agent.id)).collect(),
    }))
}

/// One agent.
#[utoipa::path(get, path = "/models/{id}", tag = "agents", params(("id" = String, Path)),
    responses((status = 200, body = Model), (status = 404, body = Problem)))]
async fn show(
    State(server): State<Shared>,
    Who(who): Who,
    params: Params,
    conditions: Conditions,
) -> Result<Json<Model>, Failure> {
    conditions.finish()?;
    let agent = visible::agent(&server, &server.runtime.app(), &who, &params.id("id")?)?;
    Ok(Json(model(&agent.id)))
}
