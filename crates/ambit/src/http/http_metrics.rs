//! What is counted, for Prometheus.

use super::SharedState;
use super::routes::{Routes, routes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

/// The routes.
pub fn routes() -> Routes {
    routes![show_metrics]
}

/// What has been counted; `docs/telemetry.md` lists it.
#[utoipa::path(get, path = "/metrics", tag = "operation",
    responses((status = 200, description = "Prometheus' text", content_type = "text/plain", body = String)))]
async fn show_metrics(State(server): State<SharedState>) -> impl IntoResponse {
    let text = server.runtime.metrics_text();
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}
