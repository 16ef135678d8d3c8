//! Values of memories that are found by their words.

use super::chats::text;
use super::input::{Id, Path, Query, Text};
use super::memory::{OwnSpace, OwnedSpace};
use super::paging::PageSize;
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError};
use ambit_runtime::Error;
use ambit_runtime::inspect::memory::MemorySelector;
use ambit_runtime::memory_search::{MemoryMatch, MemorySearch};
use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// The routes.
pub fn routes() -> Routes {
    routes![search_own_values, search_owned_values]
}

/// Which values.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ValueQuery {
    /// The agent, where several have a chat of this name.
    assistant_id: Option<Id>,
    /// The id of the index row of exactly this conversation's history; the chat is named `-` then.
    context: Option<Id>,
    /// Those that have one of these words in their name or texts, the best first; without it all, by name.
    q: Option<Text>,
    /// At most so many; 10 where nobody says.
    limit: Option<PageSize>,
    /// What the values must be like, as JSON: `{"<path>": value | [values] | {"$gt": value}}`.
    filter: Option<Text>,
    /// What the names look like; `*` stands for any text.
    pattern: Option<Text>,
}

/// The values that were found.
#[derive(Serialize, ToSchema)]
struct MemorySearchResponse {
    /// The best first.
    items: Vec<MemoryMatch>,
}

impl ValueQuery {
    fn search(&self) -> Result<MemorySearch, Error> {
        let text = self.q.as_ref().map_or("", |text| text.0.as_str());
        let mut search = MemorySearch::new(text);
        if let Some(limit) = self.limit {
            search = search.limit(i64::try_from(limit.0).unwrap_or(i64::MAX))?;
        }
        if let Some(Text(filter)) = &self.filter {
            let filter: Value = serde_json::from_str(filter)
                .map_err(|error| Error::invalid("filter", format!("filter is no JSON: {error}")))?;
            search = search.filter(&filter)?;
        }
        Ok(match &self.pattern {
            Some(Text(pattern)) => search.pattern(pattern),
            None => search,
        })
    }
}

/// Values of the caller's own memory, or their team's.
#[utoipa::path(get, path = "/memory/{space}/search", tag = "memory", params(OwnSpace, ValueQuery),
    responses((status = 200, description = "The values", body = MemorySearchResponse), (status = 400, body = ErrorBody)))]
async fn search_own_values(
    caller: ApiCaller,
    Path(path): Path<OwnSpace>,
    Query(query): Query<ValueQuery>,
) -> Result<Json<MemorySearchResponse>, HttpError> {
    search(caller, &path.space, None, &query).await
}

/// Values of the memory of a chat, or for callers without constraints of that of a user or team.
#[utoipa::path(get, path = "/memory/{space}/{owner}/search", tag = "memory", params(OwnedSpace, ValueQuery),
    responses((status = 200, description = "The values", body = MemorySearchResponse), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn search_owned_values(
    caller: ApiCaller,
    Path(path): Path<OwnedSpace>,
    Query(query): Query<ValueQuery>,
) -> Result<Json<MemorySearchResponse>, HttpError> {
    search(caller, &path.space, Some(&path.owner.0), &query).await
}

async fn search(
    ApiCaller { server, who }: ApiCaller,
    space: &str,
    owner: Option<&str>,
    query: &ValueQuery,
) -> Result<Json<MemorySearchResponse>, HttpError> {
    let search = query.search()?;
    let which = MemorySelector {
        space,
        owner,
        assistant_id: text(query.assistant_id.as_ref()),
        context: text(query.context.as_ref()),
    };
    let open = server.runtime.memory(&who, which).await?;
    let embedding = server.runtime.value_embedding(&who);
    let items = search.embedding(embedding).of(&open.memory).await?;
    Ok(Json(MemorySearchResponse { items }))
}
