//! Collections of documents: what is in them, searching them, and the jobs that read them.

mod chunks;
mod collections;
mod document_body;
mod documents;
mod form_headers;
mod hits;
mod jobs;
mod ratings;
mod reindex;
mod search;

pub(super) use search::{SearchBody, search};

use super::{ApiCaller, HttpError, Routes, SharedState};
use ambit_runtime::Result;
use ambit_runtime::chats::{ListPart, PageWindow};
use ambit_runtime::knowledge_client::KnowledgeClient;
use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use std::ops::Deref;

/// The routes.
pub fn routes() -> Routes {
    Routes::default()
        .merge(collections::routes())
        .merge(reindex::routes())
        .merge(documents::routes())
        .merge(chunks::routes())
        .merge(ratings::routes())
        .merge(hits::routes())
        .merge(search::routes())
        .merge(jobs::routes())
}

/// The collections for whoever calls.
struct KnowledgeCaller(KnowledgeClient);

impl Deref for KnowledgeCaller {
    type Target = KnowledgeClient;

    fn deref(&self) -> &KnowledgeClient {
        &self.0
    }
}

impl KnowledgeCaller {
    fn of(caller: &ApiCaller) -> Result<Self> {
        let client = caller.server.runtime.knowledge_client(&caller.who)?;
        Ok(Self(client))
    }

    /// What a removal answers: nothing once the last byte is gone, else its job.
    async fn removed(&self, job_id: &str) -> Result<Response> {
        Ok(match self.unfinished_removal(job_id).await? {
            None => StatusCode::NO_CONTENT.into_response(),
            Some(job) => (StatusCode::ACCEPTED, Json(job)).into_response(),
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
