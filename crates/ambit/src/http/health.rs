//! Whether the server is up, and whether it can work.

use super::routes::{Routes, routes};
use super::{HttpError, SharedState};
use ambit_runtime::{Error, ErrorCode};
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::driver::ValuePart;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use std::sync::atomic::Ordering;

/// The routes.
pub fn routes() -> Routes {
    routes![live, ready]
}

/// How the server is.
#[derive(Serialize, utoipa::ToSchema)]
struct HealthStatus {
    /// `ok`.
    status: &'static str,
}

const OK: Json<HealthStatus> = Json(HealthStatus { status: "ok" });

/// How a server is that can work.
#[derive(Serialize, utoipa::ToSchema)]
struct ReadyStatus {
    /// `ok`.
    status: &'static str,
    /// How many agents are refused to a caller for a minute, because their hooks were ended for their limits; absent where none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_agents: Option<usize>,
}

/// The server is up.
#[utoipa::path(get, path = "/healthz", tag = "operation", security(()), responses((status = 200, body = HealthStatus)))]
async fn live() -> Json<HealthStatus> {
    OK
}

/// The server can work: its store answers, and it has not been told to stop.
#[utoipa::path(get, path = "/readyz", tag = "operation", security(()), responses((status = 200, body = ReadyStatus), (status = 503, body = super::ErrorBody)))]
async fn ready(State(server): State<SharedState>) -> Result<Json<ReadyStatus>, HttpError> {
    if server.settings.is_stopping.load(Ordering::Relaxed) {
        let message = "the server is stopping; ask another node";
        return Err(Error::new(ErrorCode::Unavailable, message).into());
    }
    let key = Space::settings(DEFAULT_TENANT).key("ready");
    server.store.get(&key, ValuePart::Nothing).await?;
    let refused = server.runtime.refused_agents();
    Ok(Json(ReadyStatus {
        status: "ok",
        refused_agents: (refused > 0).then_some(refused),
    }))
}
