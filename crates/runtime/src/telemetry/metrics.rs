//! Sending what is counted, from time to time. Counts go on from the beginning of the server, so that nothing is lost where a
//! collector was away.

use super::CollectorWarnings;
use crate::otlp::{Delivery, OtlpExport};
use crate::runtime_core::RuntimeCore;
use ambit_telemetry::otlp::conventions::{ConventionVersion, provider_name};
use ambit_telemetry::otlp::{Attribute, MetricsSnapshot, metrics_request};
use std::sync::Weak;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::sleep;

/// Sends what is counted for as long as the runtime is there.
pub(crate) async fn export_metrics(core: Weak<RuntimeCore>, interval: Duration) {
    let mut warnings = CollectorWarnings::default();
    loop {
        sleep(interval).await;
        let Some(core) = core.upgrade() else {
            return;
        };
        match send_metrics(&core).await {
            Some(Delivery::Refused(why) | Delivery::Failed { why, .. }) => {
                warnings.tell("metrics", &why);
            }
            Some(Delivery::Taken(0)) | None => {}
            Some(Delivery::Taken(refused)) => {
                warnings.tell("metrics", &format!("it refuses {refused} of their points"));
            }
        }
    }
}

/// Sends what is counted now, where there is a collector for it.
pub(crate) async fn send_metrics(core: &RuntimeCore) -> Option<Delivery> {
    let telemetry = core.telemetry.as_ref()?;
    let collector = telemetry.metrics.as_ref()?;
    let request = request(core, telemetry);
    Some(collector.send(request).await)
}

/// What is counted now, as it is sent.
fn request(core: &RuntimeCore, telemetry: &OtlpExport) -> Vec<u8> {
    core.note_counts();
    let app = core.loaded().app.clone();
    let connector = |id: &str| match app.connector(id) {
        Ok(connector) => vec![
            Attribute::text(
                "gen_ai.provider.name",
                provider_name(&connector.kind).to_owned(),
            ),
            Attribute::text("gen_ai.request.model", connector.model()),
        ],
        Err(_) => Vec::new(),
    };
    let version = ConventionVersion::from(app.settings.telemetry.semconv);
    let snapshot = MetricsSnapshot {
        began: nanoseconds(telemetry.began),
        now: nanoseconds(SystemTime::now()),
        version,
        connector: &connector,
    };
    metrics_request(&telemetry.server, core.metrics(), &snapshot)
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
