//! Agents as people choose them: what they are called and what they are for, in the caller's language. Prompts, scripts and
//! what connectors hold are not shown.

use super::chat::RequestParameters;
use super::paging::{PageParameters, PageResponse};
use super::{
    AuthorizedCaller, ErrorBody, HttpError, PathParameters, QueryParameters, ServerState,
    SharedState, visible_agents,
};
use ambit_runtime::app::locales::Translations;
use ambit_runtime::app::{App, AppAgent, Visibility};
use ambit_runtime::chats::ListPart;
use ambit_runtime::{Authorized, Error, Result};
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<SharedState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(tags))
        .routes(routes!(show))
        .routes(routes!(info))
}

/// An agent.
#[derive(Serialize, utoipa::ToSchema)]
struct Assistant {
    /// Its id.
    assistant_id: String,
    /// What it is called.
    name: String,
    /// What it is for.
    description: String,
    /// Its picture.
    avatar: String,
    /// `assistant`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The connector that answers for it, by its id or role.
    connector: String,
    /// What a client may choose: `{optional, connectors, filters}`.
    connector_options: Value,
    /// Its modes.
    modes: Vec<String>,
    /// The mode of requests that name none.
    default_mode: String,
    /// Whether everybody may use it.
    public: bool,
    /// `private` or `team`.
    share: &'static str,
    /// `tags`, `sort`, `placeholder`, `capabilities`, `readonly` … as the agent's maker wrote them.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    shown: Map<String, Value>,
}

/// What a client needs to show an agent before anybody has written to it.
#[derive(Serialize, utoipa::ToSchema)]
struct AssistantInfo {
    /// Its id.
    assistant_id: String,
    /// What it is called.
    name: String,
    /// What it is for.
    description: String,
    /// Its picture.
    avatar: String,
    /// What to suggest: `{title, description, prompts}`.
    placeholder: Value,
}

/// The agents that the caller may use, by `sort` and id.
#[utoipa::path(get, path = "/agent/assistants", tag = "agents",
    params(("tags" = Option<String>, Query), ("keywords" = Option<String>, Query), ("type" = Option<String>, Query),
        ("locale" = Option<String>, Query), ("page" = Option<u64>, Query), ("pagesize" = Option<u64>, Query)),
    responses((status = 200, body = PageResponse<Assistant>), (status = 400, body = ErrorBody)))]
async fn list(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    given: RequestParameters,
    mut conditions: QueryParameters,
) -> Result<Json<PageResponse<Assistant>>, HttpError> {
    let paging = PageParameters::take(&mut conditions)?;
    let filter = AssistantFilter::take(&mut conditions)?;
    conditions.text("locale")?;
    conditions.finish()?;
    let mut found = all(&server, &who, &given)?;
    found.retain(|agent| filter.takes(agent));
    found.sort_by(|one, other| {
        place(one)
            .total_cmp(&place(other))
            .then_with(|| one.assistant_id.cmp(&other.assistant_id))
    });
    let total = found.len() as u64;
    let window = paging.window();
    let items = found
        .into_iter()
        .skip(window.skip)
        .take(window.limit)
        .collect();
    Ok(Json(paging.listing(ListPart { items, total })))
}

/// All tags of these agents.
#[utoipa::path(get, path = "/agent/assistants/tags", tag = "agents", params(("locale" = Option<String>, Query)),
    responses((status = 200, body = Vec<String>)))]
async fn tags(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    given: RequestParameters,
    mut conditions: QueryParameters,
) -> Result<Json<BTreeSet<String>>, HttpError> {
    conditions.text("locale")?;
    conditions.finish()?;
    let all = all(&server, &who, &given)?;
    let tags = all
        .iter()
        .flat_map(|agent| own_tags(agent).map(str::to_owned));
    Ok(Json(tags.collect()))
}

/// One agent.
#[utoipa::path(get, path = "/agent/assistants/{id}", tag = "agents", params(("id" = String, Path), ("locale" = Option<String>, Query)),
    responses((status = 200, body = Assistant), (status = 404, body = ErrorBody)))]
async fn show(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    given: RequestParameters,
    conditions: QueryParameters,
) -> Result<Json<Assistant>, HttpError> {
    Ok(Json(one(&server, &who, &params, (&given, conditions))?))
}

/// What a client needs to show one agent.
#[utoipa::path(get, path = "/agent/assistants/{id}/info", tag = "agents", params(("id" = String, Path), ("locale" = Option<String>, Query)),
    responses((status = 200, body = AssistantInfo), (status = 404, body = ErrorBody)))]
async fn info(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    params: PathParameters,
    given: RequestParameters,
    conditions: QueryParameters,
) -> Result<Json<AssistantInfo>, HttpError> {
    let mut agent = one(&server, &who, &params, (&given, conditions))?;
    Ok(Json(AssistantInfo {
        placeholder: agent
            .shown
            .remove("placeholder")
            .unwrap_or_else(|| json!({})),
        assistant_id: agent.assistant_id,
        name: agent.name,
        description: agent.description,
        avatar: agent.avatar,
    }))
}

fn one(
    server: &ServerState,
    who: &Authorized,
    params: &PathParameters,
    (given, mut conditions): (&RequestParameters, QueryParameters),
) -> Result<Assistant> {
    conditions.text("locale")?;
    conditions.finish()?;
    let app = server.runtime.app();
    let agent = visible_agents::agent(server, &app, who, &params.id("id")?)?;
    Ok(shown(&app, &agent, &given.locale(None, &Map::new())?))
}

fn all(
    server: &ServerState,
    who: &Authorized,
    given: &RequestParameters,
) -> Result<Vec<Assistant>> {
    let app = server.runtime.app();
    let locale = given.locale(None, &Map::new())?;
    let agents = visible_agents::agents(server, &app, who);
    Ok(agents
        .iter()
        .map(|agent| shown(&app, agent, &locale))
        .collect())
}

/// An agent in a language.
fn shown(app: &App, agent: &Arc<AppAgent>, locale: &str) -> Assistant {
    let words = Translations {
        own: &agent.locales,
        global: &app.locales,
        locale,
    };
    let text = |text: &str| words.fill(text).into_owned();
    let shown = agent.package.display_only.iter();
    let package = &agent.package;
    let choice = &package.connector_options;
    let choice = match choice.optional {
        true => {
            json!({"optional": true, "connectors": choice.connectors, "filters": choice.filters})
        }
        false => json!({"optional": false}),
    };
    Assistant {
        assistant_id: agent.id.clone(),
        name: text(&package.name),
        description: text(&package.description),
        avatar: text(&package.avatar),
        kind: "assistant",
        connector: package.connector.clone(),
        connector_options: choice,
        modes: package.modes.clone(),
        default_mode: package.default_mode.clone(),
        public: package.seen_by() == Some(Visibility::Public),
        share: if package.seen_by() == Some(Visibility::Team) {
            "team"
        } else {
            "private"
        },
        shown: shown
            .map(|(name, value)| (name.clone(), words.fill_value(value)))
            .collect(),
    }
}

/// Where an agent stands in a list: `sort`, those without one at the end.
fn place(agent: &Assistant) -> f64 {
    agent
        .shown
        .get("sort")
        .and_then(Value::as_f64)
        .unwrap_or(f64::MAX)
}

fn own_tags(agent: &Assistant) -> impl Iterator<Item = &str> {
    let tags = agent.shown.get("tags").and_then(Value::as_array);
    tags.into_iter().flatten().filter_map(Value::as_str)
}

/// Which agents are listed.
struct AssistantFilter {
    tags: Vec<String>,
    keywords: Option<String>,
}

impl AssistantFilter {
    fn take(conditions: &mut QueryParameters) -> Result<Self> {
        let tags = conditions.text("tags")?.unwrap_or_default();
        // Workers are listed nowhere, so that there is one type to ask for.
        if let Some(kind) = conditions.text("type")?.filter(|kind| kind != "assistant") {
            let message = format!("type is \"{kind}\" and must be assistant");
            return Err(Error::invalid("type", message));
        }
        Ok(Self {
            tags: tags
                .split(',')
                .map(str::trim)
                .filter(|tag| !tag.is_empty())
                .map(str::to_owned)
                .collect(),
            keywords: conditions
                .text("keywords")?
                .map(|words| words.to_lowercase()),
        })
    }

    /// One of the tags, and the words in name or description.
    fn takes(&self, agent: &Assistant) -> bool {
        let is_tagged = self.tags.is_empty()
            || own_tags(agent).any(|tag| self.tags.iter().any(|wanted| wanted == tag));
        let is_named = self.keywords.as_ref().is_none_or(|words| {
            let texts = [&agent.name, &agent.description];
            texts
                .into_iter()
                .any(|text| text.to_lowercase().contains(words))
        });
        is_tagged && is_named
    }
}
