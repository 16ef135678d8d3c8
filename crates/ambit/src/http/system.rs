//! The installation: its app, stores and nodes.

use super::input::{NoQuery, Query, Text};
use super::paging::{self, PageSize};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError, SharedState};
use ambit_runtime::inspect::leases::{self, TurnLease};
use ambit_runtime::{NodeInfo, Result};
use ambit_storage::Page;
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::driver::{Driver, ValuePart};
use axum::Json;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use tokio::time::timeout;
use utoipa::{IntoParams, ToSchema};

/// A store that does not answer within this time counts as away.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

/// The routes.
pub fn routes() -> Routes {
    routes![show_system, list_leases]
}

/// The installation.
#[derive(Serialize, ToSchema)]
struct SystemInfo {
    /// The program's version.
    version: String,
    /// `dev` where everybody is the developer, else `token`.
    mode: &'static str,
    /// The node that answers.
    node: String,
    /// When that was started, in milliseconds since 1970.
    started_at: i64,
    /// The app.
    app: LoadedAppInfo,
    /// The stores.
    stores: Vec<StoreInfo>,
    /// The nodes that run now, the one that answers first. A node is heard of ten seconds after its start.
    nodes: Vec<NodeInfo>,
    /// Turns.
    turns: TurnCounts,
}

/// The app in force.
#[derive(Serialize, ToSchema)]
struct LoadedAppInfo {
    /// Its name.
    name: String,
    /// Its version.
    version: String,
    /// When it was loaded, in milliseconds since 1970.
    loaded_at: i64,
    /// How much is wrong with its files, or has no effect: `GET /app/problems` tells it.
    problems: usize,
}

/// A store.
#[derive(Serialize, ToSchema)]
struct StoreInfo {
    /// Its name.
    name: String,
    /// What it is: `sqlite`, `postgres`, `redis`, `file` or `memory`.
    kind: &'static str,
    /// `primary` or `secondary` where it is in the chain that keeps the index, else `other`.
    role: &'static str,
    /// `ready` or `error`.
    state: &'static str,
    /// How long it took to answer, in milliseconds.
    latency_ms: f64,
    /// Bytes that it takes, of Redis those of the server's memory; nothing where nobody counts them.
    #[schema(required)]
    bytes: Option<u64>,
    /// Why it does not answer.
    #[schema(required)]
    error: Option<String>,
}

/// How many turns there are.
#[derive(Serialize, ToSchema)]
struct TurnCounts {
    /// Those that run, on all nodes.
    running: usize,
    /// Requests that wait for their conversations, on all nodes.
    waiting: u64,
}

/// How the installation is.
#[utoipa::path(get, path = "/system", tag = "system", responses((status = 200, body = SystemInfo)))]
async fn show_system(
    ApiCaller { server, .. }: ApiCaller,
    _: NoQuery,
) -> Result<Json<SystemInfo>, HttpError> {
    let (app, own) = (server.runtime.app(), server.runtime.node());
    // A store that is away is told below.
    let nodes = server.runtime.nodes().await;
    let nodes = nodes.unwrap_or_else(|_| vec![own.clone()]);
    let turns = TurnCounts {
        running: nodes.iter().map(|node| node.turns).sum(),
        waiting: nodes.iter().map(|node| node.waiting).sum(),
    };
    Ok(Json(SystemInfo {
        version: own.version,
        mode: match server.auth.is_development() {
            true => "dev",
            false => "token",
        },
        node: own.id,
        started_at: own.started_at,
        app: LoadedAppInfo {
            name: app.name.clone(),
            version: app.version.clone(),
            loaded_at: server.runtime.load_status().loaded_at,
            problems: server.runtime.problems().len() + server.auth.config().notices.len(),
        },
        stores: stores(&server).await?,
        nodes,
        turns,
    }))
}

/// Which turns.
#[derive(Deserialize, IntoParams)]
struct LeaseQuery {
    /// `next` of the page before.
    cursor: Option<Text>,
    /// At most so many; 20 where nobody says.
    limit: Option<PageSize>,
}

/// The turns under way, of all tenants: who runs them, and how many wait for their conversations.
#[utoipa::path(get, path = "/system/leases", tag = "system", params(LeaseQuery),
    responses((status = 200, description = "A page of turns, by their ids", body = Page<TurnLease>), (status = 400, body = ErrorBody)))]
async fn list_leases(
    ApiCaller { server, who }: ApiCaller,
    Query(query): Query<LeaseQuery>,
) -> Result<Json<Page<TurnLease>>, HttpError> {
    let cursor = query.cursor.as_ref().map(|cursor| cursor.0.as_str());
    let ambit = server.runtime.contexts(&who);
    let page = leases::list(&ambit, cursor, paging::limit(query.limit));
    Ok(Json(page.await?))
}

async fn stores(server: &SharedState) -> Result<Vec<StoreInfo>> {
    let stores = server.runtime.stores();
    let chain = stores.index()?.names().to_vec();
    let asked = stores.drivers().iter().map(|(name, driver)| {
        let place = chain.iter().position(|known| known == name);
        async move {
            let began = Instant::now();
            let error = answers(driver.as_ref()).await.err();
            let latency_ms = began.elapsed().as_secs_f64() * 1_000.0;
            let bytes = match error {
                None => size(driver.as_ref()).await,
                Some(_) => None,
            };
            StoreInfo {
                name: name.clone(),
                kind: driver.kind(),
                role: match place {
                    Some(0) => "primary",
                    Some(_) => "secondary",
                    None => "other",
                },
                state: if error.is_none() { "ready" } else { "error" },
                latency_ms,
                bytes,
                error,
            }
        }
    });
    Ok(futures::future::join_all(asked).await)
}

/// Nothing of a store that cannot say it, or not in time: it counts as ready all the same.
async fn size(store: &dyn Driver) -> Option<u64> {
    timeout(STORE_TIMEOUT, store.size()).await.ok()?.ok()?
}

async fn answers(store: &dyn Driver) -> std::result::Result<(), String> {
    let key = Space::settings(DEFAULT_TENANT).key("ready");
    match timeout(STORE_TIMEOUT, store.get(&key, ValuePart::Nothing)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("has not answered within {STORE_TIMEOUT:?}")),
    }
}
