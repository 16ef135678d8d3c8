//! What is counted here, with what stores, scripts and the system have counted themselves.

use super::Runtime;
use crate::runtime_core::RuntimeCore;
use ambit_storage::TimeCounts;
use ambit_telemetry::{HistogramCounts, Metrics, process, table};
use std::sync::Arc;

impl Runtime {
    /// Where the parts of this server count.
    pub fn metrics(&self) -> &Arc<Metrics> {
        self.0.metrics()
    }

    /// All metrics as Prometheus reads them.
    pub fn metrics_text(&self) -> String {
        self.0.note_counts();
        self.metrics().text()
    }
}

impl RuntimeCore {
    /// Notes what is not counted here by itself.
    pub(crate) fn note_counts(&self) {
        let metrics = self.metrics();
        let turns = self.turns.all().len();
        let refused = self.loaded().refused_agents().count();
        let scripts = self.making.engine.counts();
        for (metric, now) in [
            (&table::TURNS_RUNNING, turns),
            (&table::AGENTS_REFUSED, refused),
            (&table::SCRIPTS_RUNNING, scripts.running),
            (&table::SCRIPTS_WAITING, scripts.waiting),
        ] {
            metrics.set(metric, [], now as f64);
        }
        metrics.set(&table::BUILD_INFO, [env!("CARGO_PKG_VERSION")], 1.0);
        self.note_stores();
        process::note(metrics);
    }

    fn note_stores(&self) {
        let (metrics, stores) = (self.metrics(), &self.stores);
        for (store, commits) in stores.commit_counts() {
            let store = store.as_str();
            for (result, count) in commits.results {
                let labels = [store, result.as_str()];
                metrics.set_total(&table::STORE_COMMITS, labels, count as f64);
            }
            let queue = commits.under_way as f64;
            metrics.set(&table::STORE_COMMIT_QUEUE, [store], queue);
            let times = histogram(&commits.times);
            metrics.set_histogram(&table::STORE_COMMIT_SECONDS, [store], times);
        }
        let work = stores.options().work.counts();
        let leases = stores.lease_counts();
        for (metric, count) in [
            (&table::STORE_TRANSACTIONS, work.commits),
            (&table::STORE_SYNCED_TRANSACTIONS, work.synced_commits),
            (&table::STORE_STATEMENTS, work.statements),
            (&table::STORE_PAGES, work.pages),
            (&table::LEASES_LOST, leases.lost),
        ] {
            metrics.set_total(metric, [], count as f64);
        }
        metrics.set(&table::LEASES_HELD, [], leases.held as f64);
        let waits = histogram(&leases.waits);
        metrics.set_histogram(&table::LEASE_WAIT_SECONDS, [], waits);
    }
}

fn histogram(times: &TimeCounts) -> HistogramCounts {
    HistogramCounts {
        bounds: &TimeCounts::BOUNDS,
        buckets: times.buckets.to_vec(),
        sum: times.sum.as_secs_f64(),
    }
}
