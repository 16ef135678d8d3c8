//! Trying tools and hooks of the app's agents by hand.

use super::chat::RequestParameters;
use super::input::{BodyFields, Id, JsonBody, NoQuery, Path};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError};
use ambit_runtime::{HookTrial, HookTrialRequest, ToolTrial, ToolTrialRequest};
use axum::Json;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The routes.
pub fn routes() -> Routes {
    routes![try_agent_tool, try_agent_hook]
}

/// Which tool of which agent.
#[derive(Deserialize)]
struct AgentToolPath {
    id: Id,
    name: Id,
}

/// What a tool is called with.
#[derive(Deserialize, ToSchema)]
struct ToolTrialFields {
    /// The arguments, as the tool's schema describes them.
    #[schema(value_type = Option<Object>)]
    arguments: Option<Map<String, Value>>,
}

impl BodyFields for ToolTrialFields {
    const MAY_BE_ABSENT: bool = true;
}

/// Calls a tool of an agent, by the name that its model knows, in the caller's name. This is a real call: what the tool changes is
/// changed. Scripts that are tools cannot call agents and models from there.
#[utoipa::path(post, path = "/app/agents/{id}/tools/{name}", tag = "app", params(("id" = Id, Path), ("name" = Id, Path)),
    request_body = ToolTrialFields,
    responses((status = 200, description = "What the tool says", body = ToolTrial), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 502, body = ErrorBody), (status = 504, body = ErrorBody)))]
async fn try_agent_tool(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<AgentToolPath>,
    given: RequestParameters,
    _: NoQuery,
    body: JsonBody<ToolTrialFields>,
) -> Result<Json<ToolTrial>, HttpError> {
    let wanted = ToolTrialRequest {
        authorized: who,
        agent: path.id.0,
        tool: path.name.0,
        arguments: body.value.arguments.unwrap_or_default(),
        locale: given.locale(None, None, &Map::new())?,
    };
    Ok(Json(server.runtime.try_tool(wanted).await?))
}

/// Which hook of which agent.
#[derive(Deserialize)]
struct AgentHookPath {
    id: Id,
    hook: Id,
}

/// What a hook is run with.
#[derive(Deserialize, ToSchema)]
struct HookTrialFields {
    /// What `Create` gets.
    #[schema(value_type = Option<Vec<Object>>)]
    messages: Option<Vec<Value>>,
    /// What `Next` gets.
    payload: Option<Value>,
    /// Options of the call, over those that a request without any has.
    #[schema(value_type = Option<Object>)]
    options: Option<Map<String, Value>>,
    /// The conversation whose memory the hook sees.
    chat_id: Option<Id>,
    /// Whether it works on a copy of the memory, as it does where nothing is said, or on the real one.
    memory: Option<TrialMemory>,
}

/// Which memory a hook that is tried sees.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum TrialMemory {
    /// A copy, which is thrown away.
    Scratch,
    /// That of the user, the team and the chat.
    Real,
}

impl BodyFields for HookTrialFields {
    const MAY_BE_ABSENT: bool = true;
}

/// Runs `Create` or `Next` of an agent in the caller's name. HTTP requests, tools, rows of models and stores are real; no agent and no
/// model is called, no history is written, and memory is a copy unless the real one is asked for. An error of the hook is part of the
/// answer.
#[utoipa::path(post, path = "/app/agents/{id}/hooks/{hook}", tag = "app", params(("id" = Id, Path), ("hook" = Id, Path)),
    request_body = HookTrialFields,
    responses((status = 200, description = "What came of it", body = HookTrial), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 413, body = ErrorBody)))]
async fn try_agent_hook(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<AgentHookPath>,
    given: RequestParameters,
    _: NoQuery,
    body: JsonBody<HookTrialFields>,
) -> Result<Json<HookTrial>, HttpError> {
    let fields = body.value;
    let wanted = HookTrialRequest {
        authorized: who,
        agent: path.id.0,
        hook: path.hook.0,
        messages: fields.messages,
        payload: fields.payload,
        options: fields.options.unwrap_or_default(),
        chat_id: fields.chat_id.map(|id| id.0),
        is_memory_real: fields.memory == Some(TrialMemory::Real),
        locale: given.locale(None, None, &Map::new())?,
    };
    Ok(Json(server.runtime.try_hook(wanted).await?))
}
