//! Sending traces and metrics to a collector. Nothing of it is on the way of a turn: what is sent of a turn is read from its
//! stored trace when it is over, or as its last act where it stores nothing.

mod content;
mod exporter;
mod metrics;
mod spans;
mod trace_to_send;
mod unstored_turn;

pub(crate) use exporter::export_traces;
pub(crate) use metrics::export_metrics;
pub(crate) use unstored_turn::UnstoredTurn;

use crate::runtime_core::RuntimeCore;
use exporter::TraceExporter;
use metrics::send_metrics;
use std::time::Duration;
use tokio::time::Instant;

/// At most one warning of a collector in this time.
const WARNING: Duration = Duration::from_secs(60);

/// Sends what there is before a node ends.
pub(crate) async fn send_last(core: &RuntimeCore) {
    let Some(telemetry) = &core.telemetry else {
        return;
    };
    TraceExporter::default().look(core, telemetry).await;
    // Nobody is left to be told of a failure.
    let _ = send_metrics(core).await;
}

/// Says what is wrong with a collector, and not too often.
#[derive(Default)]
struct CollectorWarnings(Option<Instant>);

impl CollectorWarnings {
    fn tell(&mut self, what: &str, why: &str) {
        if self.0.is_none_or(|last| last.elapsed() >= WARNING) {
            self.0 = Some(Instant::now());
            tracing::warn!("{what} cannot be sent to the collector: {why}");
        }
    }
}
