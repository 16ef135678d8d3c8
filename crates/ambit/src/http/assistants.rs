//! Agents as people choose them: what they are called and what they are for, in the caller's language. Prompts, scripts and
//! what connectors hold are not shown.

use super::chat::RequestParameters;
use super::input::{Id, PagedQuery, PathId, Query, Text};
use super::paging::{PageParameters, PageResponse};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError, ServerState, visible_agents};
use ambit_runtime::app::locales::Translations;
use ambit_runtime::app::{App, AppAgent, ConnectorChoice, Visibility};
use ambit_runtime::chats::ListPart;
use ambit_runtime::{Authorized, Result};
use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use utoipa::IntoParams;

/// The routes.
pub fn routes() -> Routes {
    routes![
        list_assistants,
        list_assistant_tags,
        show_assistant,
        show_assistant_info
    ]
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
    /// What a client may choose.
    connector_options: ConnectorOptions,
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
    shown: Map<String, Value>,
}

/// Which connectors a client may choose for an agent.
#[derive(Serialize, utoipa::ToSchema)]
struct ConnectorOptions {
    /// Whether it may choose at all.
    optional: bool,
    /// Those that it may choose; without any of them all that can do what `filters` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    connectors: Option<Vec<String>>,
    /// What a connector must be able to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    filters: Option<Vec<String>>,
}

impl From<&ConnectorChoice> for ConnectorOptions {
    fn from(choice: &ConnectorChoice) -> Self {
        let shown = |names: &[String]| choice.optional.then(|| names.to_vec());
        Self {
            optional: choice.optional,
            connectors: shown(&choice.connectors),
            filters: shown(&choice.filters),
        }
    }
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

/// Which agents.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AssistantQuery {
    /// Those with one of these tags, which have commas between them.
    tags: Option<Text>,
    /// Those with this in their name or description, whatever its case.
    keywords: Option<Text>,
    /// `assistant`, which is what all are that are listed; of the type `worker` there are none.
    #[serde(rename = "type")]
    #[param(inline)]
    kind: Option<AssistantKind>,
    /// The language.
    locale: Option<Text>,
}

/// What an agent is for.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
enum AssistantKind {
    /// An agent that people choose.
    Assistant,
    /// One that other agents call. It is listed nowhere.
    Worker,
}

/// In which language.
#[derive(Deserialize, IntoParams)]
struct LocaleQuery {
    /// The language.
    locale: Option<Text>,
}

/// The agents that the caller may use, by `sort` and id.
#[utoipa::path(get, path = "/agent/assistants", tag = "agents", params(AssistantQuery, PageParameters),
    responses((status = 200, body = PageResponse<Assistant>), (status = 400, body = ErrorBody)))]
async fn list_assistants(
    ApiCaller { server, who }: ApiCaller,
    given: RequestParameters,
    listed: PagedQuery<AssistantQuery>,
) -> Result<Json<PageResponse<Assistant>>, HttpError> {
    let PagedQuery { query, paging } = listed;
    let filter = AssistantFilter::of(&query);
    let is_worker = query.kind == Some(AssistantKind::Worker);
    let mut found = all(&server, &who, &locale(&given, query.locale)?);
    // Workers are listed nowhere.
    found.retain(|agent| !is_worker && filter.takes(agent));
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
#[utoipa::path(get, path = "/agent/assistants/tags", tag = "agents", params(LocaleQuery),
    responses((status = 200, body = Vec<String>)))]
async fn list_assistant_tags(
    ApiCaller { server, who }: ApiCaller,
    given: RequestParameters,
    Query(query): Query<LocaleQuery>,
) -> Result<Json<BTreeSet<String>>, HttpError> {
    let all = all(&server, &who, &locale(&given, query.locale)?);
    let tags = all
        .iter()
        .flat_map(|agent| own_tags(agent).map(str::to_owned));
    Ok(Json(tags.collect()))
}

/// One agent.
#[utoipa::path(get, path = "/agent/assistants/{id}", tag = "agents", params(("id" = Id, Path), LocaleQuery),
    responses((status = 200, body = Assistant), (status = 404, body = ErrorBody)))]
async fn show_assistant(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    given: RequestParameters,
    Query(query): Query<LocaleQuery>,
) -> Result<Json<Assistant>, HttpError> {
    Ok(Json(one(
        &server,
        &who,
        &id,
        &locale(&given, query.locale)?,
    )?))
}

/// What a client needs to show one agent.
#[utoipa::path(get, path = "/agent/assistants/{id}/info", tag = "agents", params(("id" = Id, Path), LocaleQuery),
    responses((status = 200, body = AssistantInfo), (status = 404, body = ErrorBody)))]
async fn show_assistant_info(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    given: RequestParameters,
    Query(query): Query<LocaleQuery>,
) -> Result<Json<AssistantInfo>, HttpError> {
    let mut agent = one(&server, &who, &id, &locale(&given, query.locale)?)?;
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

fn locale(given: &RequestParameters, query: Option<Text>) -> Result<String> {
    given.locale(query.map(|text| text.0).as_ref(), None, &Map::new())
}

fn one(server: &ServerState, who: &Authorized, id: &Id, locale: &str) -> Result<Assistant> {
    let app = server.runtime.app();
    let agent = visible_agents::agent(server, &app, who, &id.0)?;
    Ok(shown(&app, &agent, locale))
}

fn all(server: &ServerState, who: &Authorized, locale: &str) -> Vec<Assistant> {
    let app = server.runtime.app();
    let agents = visible_agents::agents(server, &app, who);
    let shown = agents.iter().map(|agent| shown(&app, agent, locale));
    shown.collect()
}

/// An agent in a language.
fn shown(app: &App, agent: &Arc<AppAgent>, locale: &str) -> Assistant {
    let words = Translations {
        own: &agent.locales,
        global: &app.locales,
        locale,
    };
    let text = |text: &str| words.fill(text).into_owned();
    let package = &agent.package;
    let shown = package.display_only.iter();
    Assistant {
        assistant_id: agent.id.clone(),
        name: text(&package.name),
        description: text(&package.description),
        avatar: text(&package.avatar),
        kind: "assistant",
        connector: package.connector.clone(),
        connector_options: (&package.connector_options).into(),
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
    fn of(query: &AssistantQuery) -> Self {
        let tags = query.tags.as_ref().map_or("", |tags| &tags.0);
        let tags = tags.split(',').map(str::trim);
        let words = query.keywords.as_ref();
        Self {
            tags: tags
                .filter(|tag| !tag.is_empty())
                .map(str::to_owned)
                .collect(),
            keywords: words.map(|words| words.0.to_lowercase()),
        }
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
