//! The app as it is loaded, for those who look after the installation.

use super::input::NoQuery;
use super::routes::{Routes, routes};
use super::{ApiCaller, HttpError};
use ambit_runtime::RefusedReload;
use ambit_runtime::app::FileProblem;
use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

/// The routes.
pub fn routes() -> Routes {
    routes![list_problems]
}

/// What is wrong with the app's files.
#[derive(Serialize, ToSchema)]
struct AppProblems {
    /// When the version in force was loaded, in milliseconds since 1970.
    loaded_at: i64,
    /// What is wrong with that, or has no effect.
    problems: Vec<FileProblem>,
    /// A newer version of the files that was refused.
    #[schema(required)]
    refused: Option<RefusedView>,
}

/// A version of the files that is not in force.
#[derive(Serialize, ToSchema)]
struct RefusedView {
    /// When it was refused, in milliseconds since 1970.
    at: i64,
    /// Why.
    problems: Vec<FileProblem>,
}

impl From<RefusedReload> for RefusedView {
    fn from(refused: RefusedReload) -> Self {
        Self {
            at: refused.at,
            problems: refused.problems,
        }
    }
}

/// What is wrong with the app's files, as `ambit check` says it.
#[utoipa::path(get, path = "/app/problems", tag = "app", responses((status = 200, body = AppProblems)))]
async fn list_problems(
    ApiCaller { server, .. }: ApiCaller,
    _: NoQuery,
) -> Result<Json<AppProblems>, HttpError> {
    let status = server.runtime.load_status();
    let mut problems = server.runtime.problems();
    problems.extend(server.auth.config().notices.iter().cloned());
    Ok(Json(AppProblems {
        loaded_at: status.loaded_at,
        problems,
        refused: status.refused.map(RefusedView::from),
    }))
}
