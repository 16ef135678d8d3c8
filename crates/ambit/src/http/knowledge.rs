//! Collections of documents: what is in them, searching them, and the jobs that read them.

mod chunks;
mod collections;
mod document_body;
mod documents;
mod hits;
mod jobs;
mod opinions;
mod reindex;
mod search;

use super::{ApiCaller, HttpError, SharedState};
use ambit_knowledge::{Job, KnowledgeBase};
use ambit_runtime::CallerReach;
use ambit_runtime::Result;
use ambit_runtime::chats::{ListPart, PageWindow};
use ambit_runtime::document_jobs::finished_in_time;
use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;

/// The routes.
pub fn routes() -> OpenApiRouter<SharedState> {
    OpenApiRouter::new()
        .merge(collections::routes())
        .merge(reindex::routes())
        .merge(documents::routes())
        .merge(chunks::routes())
        .merge(opinions::routes())
        .merge(hits::routes())
        .merge(search::routes())
        .merge(jobs::routes())
}

/// What a caller reaches of the collections.
struct KnowledgeCaller {
    base: KnowledgeBase,
    reach: CallerReach,
}

impl KnowledgeCaller {
    fn of(caller: &ApiCaller) -> Result<Self> {
        Ok(Self {
            base: caller.server.runtime.knowledge()?,
            reach: CallerReach::of(&caller.who),
        })
    }

    /// Waits for a job; none where it takes too long.
    async fn finished(&self, job_id: &str) -> Result<Option<Job>> {
        finished_in_time(&self.base, &self.reach, job_id).await
    }

    /// What a removal answers: nothing once the last byte is gone, else its job.
    async fn removed(&self, job_id: &str) -> Result<Response> {
        Ok(match self.finished(job_id).await? {
            Some(_) => StatusCode::NO_CONTENT.into_response(),
            None => {
                let job = self.base.job(&self.reach, job_id).await?;
                (StatusCode::ACCEPTED, Json(job)).into_response()
            }
        })
    }
}

impl FromRequestParts<SharedState> for KnowledgeCaller {
    type Rejection = HttpError;

    async fn from_request_parts(
        parts: &mut Parts,
        server: &SharedState,
    ) -> Result<Self, HttpError> {
        let caller = ApiCaller::from_request_parts(parts, server).await?;
        Ok(Self::of(&caller)?)
    }
}

/// A page of a list that is whole.
fn window<T>(all: Vec<T>, window: PageWindow) -> ListPart<T> {
    let total = all.len() as u64;
    let items = all.into_iter().skip(window.skip).take(window.limit);
    ListPart {
        items: items.collect(),
        total,
    }
}
