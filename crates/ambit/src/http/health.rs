//! Whether the server is up, and whether it can work.

use super::{HttpError, SharedState};
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::driver::ValuePart;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<SharedState> {
    OpenApiRouter::new()
        .routes(routes!(live))
        .routes(routes!(ready))
}

/// How the server is.
#[derive(Serialize, utoipa::ToSchema)]
struct HealthStatus {
    /// `ok`.
    status: &'static str,
}

const OK: Json<HealthStatus> = Json(HealthStatus { status: "ok" });

/// The server is up.
#[utoipa::path(get, path = "/healthz", tag = "operation", security(()), responses((status = 200, body = HealthStatus)))]
async fn live() -> Json<HealthStatus> {
    OK
}

/// The server can work: its store answers.
#[utoipa::path(get, path = "/readyz", tag = "operation", security(()), responses((status = 200, body = HealthStatus), (status = 503, body = super::ErrorBody)))]
async fn ready(State(server): State<SharedState>) -> Result<Json<HealthStatus>, HttpError> {
    let key = Space::settings(DEFAULT_TENANT).key("ready");
    server.store.get(&key, ValuePart::Nothing).await?;
    Ok(OK)
}
