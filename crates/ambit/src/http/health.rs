//! Whether the server is up, and whether it can work.

use super::{Failure, Shared};
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::driver::Part;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(live))
        .routes(routes!(ready))
}

/// How the server is.
#[derive(Serialize, utoipa::ToSchema)]
struct Health {
    /// `ok`.
    status: &'static str,
}

const OK: Json<Health> = Json(Health { status: "ok" });

/// The server is up.
#[utoipa::path(get, path = "/healthz", tag = "operation", security(()), responses((status = 200, body = Health)))]
async fn live() -> Json<Health> {
    OK
}

/// The server can work: its store answers.
#[utoipa::path(get, path = "/readyz", tag = "operation", security(()), responses((status = 200, body = Health), (status = 503, body = super::Problem)))]
async fn ready(State(server): State<Shared>) -> Result<Json<Health>, Failure> {
    let key = Space::settings(DEFAULT_TENANT).key("ready");
    server.store.get(&key, Part::Nothing).await?;
    Ok(OK)
}
