//! The agents of the app, for those who look after the installation: what they are made of, their files, prompts and tools.

use super::chat::RequestParameters;
use super::input::{BodyFields, Id, JsonBody, NoQuery, Path, PathId, Text};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError};
use ambit_runtime::inspect::agents::{
    AgentDetails, AgentDetailsList, AgentToolList, PromptOccasion, RenderedPrompts,
};
use axum::Json;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The routes.
pub fn routes() -> Routes {
    routes![
        list_app_agents,
        show_app_agent,
        show_agent_file,
        render_agent_prompts,
        list_agent_tools
    ]
}

/// The agents of the app, workers and those that cannot be used included.
#[utoipa::path(get, path = "/app/agents", tag = "app", responses((status = 200, body = AgentDetailsList)))]
async fn list_app_agents(
    ApiCaller { server, .. }: ApiCaller,
    _: NoQuery,
) -> Result<Json<AgentDetailsList>, HttpError> {
    Ok(Json(server.runtime.app_agents().await?))
}

/// What an agent is made of. No variable of the environment is shown: `$ENV.NAME` stays a name.
#[utoipa::path(get, path = "/app/agents/{id}", tag = "app", params(("id" = Id, Path)),
    responses((status = 200, body = AgentDetails), (status = 404, body = ErrorBody)))]
async fn show_app_agent(
    ApiCaller { server, .. }: ApiCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Json<AgentDetails>, HttpError> {
    Ok(Json(server.runtime.app_agent(&id.0).await?))
}

/// Which file of which agent.
#[derive(Deserialize)]
struct AgentFilePath {
    id: Id,
    path: Text,
}

/// The text of a file of an agent, as it is now. In `path`, which is below the agent's folder, slashes may stand as they are.
#[utoipa::path(get, path = "/app/agents/{id}/files/{*path}", tag = "app", params(("id" = Id, Path), ("path" = Text, Path)),
    responses((status = 200, description = "The text", content_type = "text/plain", body = String), (status = 404, body = ErrorBody),
        (status = 413, body = ErrorBody), (status = 422, body = ErrorBody)))]
async fn show_agent_file(
    ApiCaller { server, .. }: ApiCaller,
    Path(file): Path<AgentFilePath>,
    _: NoQuery,
) -> Result<String, HttpError> {
    let text = server.runtime.agent_file(&file.id.0, &file.path.0).await;
    Ok(text?)
}

/// For which request prompts are filled in.
#[derive(Deserialize, ToSchema)]
struct PromptFields {
    /// The mode; the agent's own where none is named.
    mode: Option<Text>,
    /// The preset, as `Create` names it.
    preset: Option<Text>,
    /// The language.
    locale: Option<Text>,
    /// What the request says beside its messages.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
}

impl BodyFields for PromptFields {
    const MAY_BE_ABSENT: bool = true;
}

/// What an agent's model would be told first for a request of the caller. Nothing is run or stored for it.
#[utoipa::path(post, path = "/app/agents/{id}/prompts", tag = "app", params(("id" = Id, Path)), request_body = PromptFields,
    responses((status = 200, description = "The prompts", body = RenderedPrompts), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn render_agent_prompts(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    given: RequestParameters,
    _: NoQuery,
    body: JsonBody<PromptFields>,
) -> Result<Json<RenderedPrompts>, HttpError> {
    let fields = body.value;
    let text = |text: Option<Text>| text.map(|text| text.0);
    let metadata = fields.metadata.unwrap_or_default();
    let occasion = PromptOccasion {
        mode: text(fields.mode),
        preset: text(fields.preset),
        locale: given.locale(None, text(fields.locale), &metadata)?,
        metadata,
        now: server.runtime.stores().options().clock.now(),
    };
    let rendered = server.runtime.agent_prompts(&who, &id.0, &occasion)?;
    Ok(Json(rendered))
}

/// What an agent's tool servers offer its model, and how the servers are. They are asked in the caller's name.
#[utoipa::path(get, path = "/app/agents/{id}/tools", tag = "app", params(("id" = Id, Path)),
    responses((status = 200, body = AgentToolList), (status = 404, body = ErrorBody)))]
async fn list_agent_tools(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Json<AgentToolList>, HttpError> {
    Ok(Json(server.runtime.agent_tools(&who, &id.0).await?))
}
