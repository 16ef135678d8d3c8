//! How late the timers of a server are: where its threads are held, everybody waits.

use ambit_telemetry::{Metrics, table};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// From one look to the next.
const LOOK: Duration = Duration::from_millis(250);
/// The looks of ten seconds.
const LOOKS: usize = 40;

/// Measures for as long as the runtime is there.
pub(crate) async fn measure(metrics: Arc<Metrics>) {
    let mut lags = [Duration::ZERO; LOOKS];
    for look in (0..LOOKS).cycle() {
        let due = Instant::now() + LOOK;
        sleep(LOOK).await;
        lags[look] = due.elapsed();
        let worst = lags.iter().max().copied().unwrap_or_default();
        metrics.set(&table::EVENT_LOOP_LAG_SECONDS, [], worst.as_secs_f64());
    }
}
