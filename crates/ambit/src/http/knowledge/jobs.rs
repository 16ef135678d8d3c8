//! Jobs: shown, followed and called off.

use super::super::input::{Id, NoQuery, PathId, Query, Text};
use super::super::paging::{self, PageSize};
use super::super::routes::{Routes, routes};
use super::super::sse::{PING, StreamCaller};
use super::super::sse_source::{self, SseSource};
use super::super::{ErrorBody, HttpError, rate_limits};
use super::KnowledgeCaller;
use crate::auth::rate_limits::StreamPlace;
use ambit_knowledge::{Job, JobFilter, JobStatus};
use ambit_runtime::Result;
use ambit_storage::Page;
use axum::Json;
use axum::body::Bytes;
use axum::response::Response;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use utoipa::IntoParams;

/// The routes.
pub fn routes() -> Routes {
    routes![
        list_jobs,
        show_job,
        cancel_job,
        stream_job,
        stream_collection
    ]
}

/// Which jobs.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct JobQuery {
    /// Those of this collection.
    collection_id: Option<Id>,
    /// Those of this status: `queued`, `running`, `done`, `failed` or `cancelled`.
    #[param(value_type = Option<String>)]
    status: Option<JobStatus>,
    /// `next` of the page before.
    cursor: Option<Text>,
    /// At most so many; 20 where nobody says.
    limit: Option<PageSize>,
}

/// The jobs of collections that the caller may use, the oldest first. Removals are not among them.
#[utoipa::path(get, path = "/kb/jobs", tag = "knowledge", params(JobQuery),
    responses((status = 200, description = "A page of jobs", body = Page<Job>), (status = 400, body = ErrorBody)))]
async fn list_jobs(
    caller: KnowledgeCaller,
    Query(query): Query<JobQuery>,
) -> Result<Json<Page<Job>>, HttpError> {
    let filter = JobFilter {
        collection_id: query.collection_id.map(|id| id.0),
        status: query.status,
    };
    let after = query.cursor.as_ref().map(|cursor| cursor.0.as_str());
    let limit = paging::limit(query.limit);
    let page = caller.base.jobs(&caller.reach, &filter, after, limit);
    Ok(Json(page.await?))
}

/// A job.
#[utoipa::path(get, path = "/kb/jobs/{job_id}", tag = "knowledge", params(("job_id" = Id, Path)),
    responses((status = 200, description = "The job", body = Job), (status = 404, body = ErrorBody)))]
async fn show_job(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Json<Job>, HttpError> {
    Ok(Json(caller.base.job(&caller.reach, &id.0).await?))
}

/// Calls a job off; one that is over stays as it is.
#[utoipa::path(delete, path = "/kb/jobs/{job_id}", tag = "knowledge", params(("job_id" = Id, Path)),
    responses((status = 200, description = "The job", body = Job), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn cancel_job(
    caller: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Json<Job>, HttpError> {
    Ok(Json(caller.base.cancel_job(&caller.reach, &id.0).await?))
}

/// A job at each change, until it is over.
#[utoipa::path(get, path = "/kb/jobs/{job_id}/events", tag = "knowledge", params(("job_id" = Id, Path)),
    responses((status = 200, description = "The events; their `data` is the job", body = Job, content_type = "text/event-stream"), (status = 404, body = ErrorBody)))]
async fn stream_job(
    caller: StreamCaller,
    knowledge: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Response, HttpError> {
    // Refused before the answer begins.
    knowledge.base.job(&knowledge.reach, &id.0).await?;
    let place = rate_limits::stream_place(&caller.server, &caller.who).await?;
    let reach = Arc::new(knowledge.reach.clone());
    let jobs = knowledge.base.watch_job(reach, &id.0);
    Ok(caller.guard(JobSource::answer(jobs, place)))
}

/// Each job of a collection at each change.
#[utoipa::path(get, path = "/kb/collections/{collection_id}/events", tag = "knowledge", params(("collection_id" = Id, Path)),
    responses((status = 200, description = "The events; their `data` is a job", body = Job, content_type = "text/event-stream"), (status = 404, body = ErrorBody)))]
async fn stream_collection(
    caller: StreamCaller,
    knowledge: KnowledgeCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Response, HttpError> {
    knowledge.base.collection(&knowledge.reach, &id.0).await?;
    let place = rate_limits::stream_place(&caller.server, &caller.who).await?;
    let reach = Arc::new(knowledge.reach.clone());
    let jobs = knowledge.base.watch_collection(reach, &id.0);
    Ok(caller.guard(JobSource::answer(jobs, place)))
}

/// One reader of jobs.
struct JobSource {
    jobs: BoxStream<'static, ambit_knowledge::Result<Job>>,
    sent: u64,
    /// Held as long as the jobs are followed.
    _place: StreamPlace,
}

impl JobSource {
    fn answer(
        jobs: impl Stream<Item = ambit_knowledge::Result<Job>> + Send + 'static,
        place: StreamPlace,
    ) -> Response {
        sse_source::answer(Self {
            jobs: jobs.boxed(),
            sent: 0,
            _place: place,
        })
    }
}

impl SseSource for JobSource {
    const WHAT: &'static str = "the events of a job";

    async fn next(&mut self) -> Result<Option<(Bytes, bool)>> {
        const QUIET: Duration = Duration::from_secs(15);
        let job = match timeout(QUIET, self.jobs.next()).await {
            Err(_) => return Ok(Some((PING, false))),
            Ok(None) => return Ok(None),
            Ok(Some(job)) => job?,
        };
        self.sent += 1;
        let data = serde_json::to_string(&job).unwrap_or_default();
        let text = format!("id: {}\nevent: job\ndata: {data}\n\n", self.sent);
        Ok(Some((text.into(), false)))
    }
}
