//! Looking for what is wrong in the stores, and mending what can be mended: what `ambit doctor` does.

use super::input::NoQuery;
use super::routes::{Routes, routes};
use super::sse::PING;
use super::sse_source::{self, SseSource};
use super::{ApiCaller, ErrorBody, HttpError, rate_limits};
use crate::auth::rate_limits::StreamPlace;
use ambit_runtime::{Error, ErrorCode, Result};
use ambit_storage::address::DEFAULT_TENANT;
use ambit_storage::doctor::{DoctorMode, DoctorReport, Finding, examine};
use ambit_storage::{Ambit, Caller};
use axum::Extension;
use axum::body::Bytes;
use axum::response::Response;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;
use utoipa::ToSchema;

/// So many findings wait for a client that does not read; further ones are counted alone.
const WAITING: usize = 10_000;

/// The routes.
pub fn routes() -> Routes {
    let one_at_a_time = Extension(DoctorPermits(Arc::new(Semaphore::new(1))));
    routes![examine_stores, repair_stores].map_router(|router| router.layer(one_at_a_time))
}

/// Who may look now.
#[derive(Clone)]
struct DoctorPermits(Arc<Semaphore>);

/// What an event holds.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum DoctorEvent {
    /// `finding`: something that is not as it should be.
    Finding {
        /// The store, context or space.
        place: String,
        /// What is wrong.
        what: String,
        /// Whether it is mended.
        mended: bool,
    },
    /// `missed`: findings that nobody read in time.
    Missed {
        /// How many.
        count: u64,
    },
    /// `done`: what it came to.
    Done {
        /// The contexts that were looked at.
        rows: u64,
        /// The findings that are left.
        left: u64,
        /// Those that were mended.
        mended: u64,
        /// The expired values that were erased.
        swept: u64,
    },
    /// `error`: it could not be finished.
    Error {
        /// Why.
        message: String,
    },
}

/// Looks for what is wrong in the stores.
#[utoipa::path(post, path = "/system/doctor", tag = "system",
    responses((status = 200, description = "The findings as they come; the schema is that of their `data`", body = DoctorEvent, content_type = "text/event-stream"),
        (status = 409, body = ErrorBody)))]
async fn examine_stores(
    caller: ApiCaller,
    Extension(permits): Extension<DoctorPermits>,
    _: NoQuery,
) -> Result<Response, HttpError> {
    Ok(sse_source::answer(
        begin(&caller, &permits, DoctorMode::Report).await?,
    ))
}

/// The same, and mends what can be mended.
#[utoipa::path(post, path = "/system/repair", tag = "system",
    responses((status = 200, description = "The findings as they come; the schema is that of their `data`", body = DoctorEvent, content_type = "text/event-stream"),
        (status = 409, body = ErrorBody)))]
async fn repair_stores(
    caller: ApiCaller,
    Extension(permits): Extension<DoctorPermits>,
    _: NoQuery,
) -> Result<Response, HttpError> {
    Ok(sse_source::answer(
        begin(&caller, &permits, DoctorMode::Repair).await?,
    ))
}

async fn begin(
    caller: &ApiCaller,
    permits: &DoctorPermits,
    mode: DoctorMode,
) -> Result<DoctorSource> {
    let server = &caller.server;
    let place = rate_limits::stream_place(server, &caller.who).await?;
    let permit = permits.0.clone().try_acquire_owned().map_err(|_| {
        let message = "the stores are being examined; wait until that is over";
        Error::new(ErrorCode::Conflict, message)
    })?;
    let ambit = server.runtime.contexts_of(&Caller::system(DEFAULT_TENANT));
    let (told, findings) = mpsc::channel(WAITING);
    let mut work = JoinSet::new();
    // The work lends what it tells to its steps, so that it stays on one thread.
    work.spawn_blocking(move || Handle::current().block_on(examination(ambit, mode, told)));
    Ok(DoctorSource {
        findings,
        work,
        ping: server.settings.ping,
        _permit: permit,
        _place: place,
    })
}

/// Looks at everything, or until nobody hears of it.
async fn examination(
    ambit: Ambit,
    mode: DoctorMode,
    told: mpsc::Sender<Finding>,
) -> Result<DoctorOutcome> {
    let mut missed = 0;
    let examined = {
        let mut tell = |finding: &Finding| {
            missed += u64::from(told.try_send(finding.clone()).is_err());
        };
        tokio::select! {
            report = examine(&ambit, mode, &mut tell) => Some(report),
            () = told.closed() => None,
        }
    };
    let gone = || Error::internal("nobody hears of the findings");
    let report = examined.ok_or_else(gone)??;
    Ok(DoctorOutcome { report, missed })
}

struct DoctorOutcome {
    report: DoctorReport,
    missed: u64,
}

/// What one client is told. Who leaves ends the work.
struct DoctorSource {
    findings: mpsc::Receiver<Finding>,
    work: JoinSet<Result<DoctorOutcome>>,
    ping: Duration,
    _permit: OwnedSemaphorePermit,
    _place: StreamPlace,
}

impl SseSource for DoctorSource {
    const WHAT: &'static str = "the examination of the stores";

    async fn next(&mut self) -> Result<Option<(Bytes, bool)>> {
        match timeout(self.ping, self.findings.recv()).await {
            Err(_silent) => Ok(Some((PING, false))),
            Ok(Some(finding)) => {
                let finding = DoctorEvent::Finding {
                    place: finding.place,
                    what: finding.what,
                    mended: finding.is_mended,
                };
                Ok(Some((frame("finding", &finding).into(), false)))
            }
            Ok(None) => Ok(Some((self.end().await.into(), true))),
        }
    }
}

impl DoctorSource {
    async fn end(&mut self) -> String {
        let outcome = match self.work.join_next().await {
            Some(Ok(outcome)) => outcome,
            _ => Err(Error::internal("the examination broke off")),
        };
        let DoctorOutcome { report, missed } = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                let message = error.message;
                return frame("error", &DoctorEvent::Error { message });
            }
        };
        let done = DoctorEvent::Done {
            rows: report.rows,
            left: report.unmended,
            mended: report.mended,
            swept: report.swept,
        };
        let told = match missed {
            0 => String::new(),
            count => frame("missed", &DoctorEvent::Missed { count }),
        };
        told + &frame("done", &done)
    }
}

fn frame(name: &str, event: &DoctorEvent) -> String {
    format!("event: {name}\ndata: {}\n\n", json!(event))
}
