//! What is counted about requests, for Prometheus. No label holds an id, a tenant or a user.

use super::SharedState;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use metrics::{Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// After so many requests the times that were noted are put into their buckets, whether anybody reads them or not.
const UPKEEP: usize = 1_024;
/// Bounds of the times that are counted, in seconds.
const SECONDS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];
const REQUESTS: &str = "ambit_http_requests_total";
const TIME: &str = "ambit_http_request_seconds";
const STREAMS: &str = "ambit_streams_open";
const CUT: &str = "ambit_streams_cut_total";
const METADATA: Metadata<'static> = Metadata::new(module_path!(), Level::INFO, None);

/// The routes.
pub fn routes() -> OpenApiRouter<SharedState> {
    OpenApiRouter::new().routes(routes!(show_metrics))
}

/// What has been counted.
#[utoipa::path(get, path = "/metrics", tag = "operation",
    responses((status = 200, description = "Prometheus' text", content_type = "text/plain", body = String)))]
async fn show_metrics(State(server): State<SharedState>) -> impl IntoResponse {
    let mut text = server.measures.handle.render();
    let work = server.runtime.stores().options().work.counts();
    for (name, count) in [
        ("ambit_store_commits_total", work.commits),
        ("ambit_store_synced_commits_total", work.synced_commits),
        ("ambit_store_statements_total", work.statements),
        ("ambit_store_pages_total", work.pages),
    ] {
        text.push_str(&format!("# TYPE {name} counter\n{name} {count}\n\n"));
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}

/// What is counted by one server.
pub struct HttpMetrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    noted: AtomicUsize,
}

impl fmt::Debug for HttpMetrics {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Measures")
    }
}

impl Default for HttpMetrics {
    fn default() -> Self {
        let builder = PrometheusBuilder::new();
        // Only an empty list of bounds is refused; without bounds times are shown as quantiles.
        let builder = builder.set_buckets(&SECONDS).unwrap_or_default();
        let recorder = builder.build_recorder();
        Self {
            handle: recorder.handle(),
            recorder,
            noted: AtomicUsize::new(0),
        }
    }
}

impl HttpMetrics {
    /// A request was answered.
    pub(super) fn answered(&self, method: &str, route: &str, status: u16, seconds: f64) {
        let labels = vec![
            Label::new("method", method.to_owned()),
            Label::new("route", route.to_owned()),
            Label::new("status", status.to_string()),
        ];
        let time = vec![Label::new("route", route.to_owned())];
        let requests = Key::from_parts(REQUESTS, labels);
        self.recorder
            .register_counter(&requests, &METADATA)
            .increment(1);
        let time = Key::from_parts(TIME, time);
        self.recorder
            .register_histogram(&time, &METADATA)
            .record(seconds);
        if self
            .noted
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(UPKEEP)
        {
            self.handle.run_upkeep();
        }
    }

    /// A stream is being sent, until what is given here is dropped.
    pub(super) fn stream(&self) -> StreamGauge {
        let gauge = self
            .recorder
            .register_gauge(&Key::from_static_name(STREAMS), &METADATA);
        gauge.increment(1.0);
        StreamGauge(gauge)
    }

    /// A reader was cut off.
    pub(super) fn cut(&self) {
        let counter = self
            .recorder
            .register_counter(&Key::from_static_name(CUT), &METADATA);
        counter.increment(1);
    }
}

/// A stream that is being sent.
pub(super) struct StreamGauge(metrics::Gauge);

impl Drop for StreamGauge {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}
