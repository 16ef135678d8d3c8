//! Server-sent events that are read from a store as fast as the client takes them.

use ambit_runtime::Result;
use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::response::{IntoResponse, Response};
use std::future::Future;

/// What one client is sent.
pub trait SseSource: Send + 'static {
    /// What it is, for the log.
    const WHAT: &'static str;

    /// What is sent next, and whether it is the last; none when there is no more.
    fn next(&mut self) -> impl Future<Output = Result<Option<(Bytes, bool)>>> + Send;
}

/// The answer that sends it. One that fails breaks off, so that it does not look like one that has ended.
pub fn answer<S: SseSource>(source: S) -> Response {
    let stream = futures::stream::unfold(Some(source), |source| async {
        let mut source = source?;
        match source.next().await {
            Ok(None) => None,
            Ok(Some((text, is_over))) => Some((Ok(text), Some(source).filter(|_| !is_over))),
            Err(error) => {
                tracing::error!(error.code = %error.code, "{} broke off: {error}", S::WHAT);
                let broken = format!("{} broke off", S::WHAT);
                Some((Err(std::io::Error::other(broken)), None))
            }
        }
    });
    let headers = [
        (CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(stream)).into_response()
}
