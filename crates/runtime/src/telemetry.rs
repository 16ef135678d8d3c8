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

#[cfg(test)]
mod tests {
    use super::{CollectorWarnings, WARNING};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use tokio::time::advance;
    use tracing::{Event, Level, Metadata, Subscriber, span};

    /// Counts warnings.
    #[derive(Clone, Default)]
    struct WarningCounter(Arc<AtomicUsize>);

    impl Subscriber for WarningCounter {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            *metadata.level() == Level::WARN
        }

        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }

        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

        fn event(&self, _: &Event<'_>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn enter(&self, _: &span::Id) {}

        fn exit(&self, _: &span::Id) {}
    }

    #[tokio::test(start_paused = true)]
    async fn a_collector_that_is_down_costs_a_warning_a_minute() {
        let counter = WarningCounter::default();
        let mut warnings = CollectorWarnings::default();
        let mut fail = || {
            let tell = || warnings.tell("traces", "nobody is there");
            tracing::subscriber::with_default(counter.clone(), tell);
            counter.0.load(Ordering::Relaxed)
        };
        assert_eq!([fail(), fail(), fail()], [1; 3]);
        advance(WARNING - Duration::from_millis(1)).await;
        assert_eq!(fail(), 1);
        advance(Duration::from_millis(1)).await;
        assert_eq!([fail(), fail()], [2; 2]);
    }
}
