//! The collector of OpenTelemetry that traces and metrics are sent to, over OTLP in HTTP.

mod collector;
mod gzip;
mod unstored;

pub(crate) use collector::{Collector, Delivery};
pub(crate) use unstored::{UnstoredTrace, UnstoredTraces};

use crate::error::Result;
use crate::uuid;
use ambit_telemetry::otlp::{Attribute, TelemetryResource};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;

/// What is sent to collectors.
#[derive(Clone, Debug, Default)]
pub struct OtlpSettings {
    /// Where traces go, if they do.
    pub traces: Option<OtlpEndpoint>,
    /// Where metrics go, if they do.
    pub metrics: Option<OtlpEndpoint>,
    /// From one sending of the metrics to the next.
    pub metrics_interval: Duration,
    /// The attributes of the resource, `service.name` among them.
    pub resource: Vec<(String, String)>,
}

/// A collector's endpoint for one kind of data.
#[derive(Clone)]
pub struct OtlpEndpoint {
    /// The whole address.
    pub url: String,
    /// Headers of each request. They hold credentials.
    pub headers: Vec<(String, String)>,
    /// How long a request may take.
    pub timeout: Duration,
    /// Whether requests are compressed.
    pub is_compressed: bool,
}

impl std::fmt::Debug for OtlpEndpoint {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("OtlpEndpoint").finish_non_exhaustive()
    }
}

/// What a runtime sends.
pub(crate) struct OtlpExport {
    pub traces: Option<Collector>,
    pub metrics: Option<Collector>,
    pub metrics_interval: Duration,
    /// What traces are of: the service, whichever of its servers sends them.
    pub service: TelemetryResource,
    /// What metrics are of: this server.
    pub server: TelemetryResource,
    /// A turn has ended here.
    pub turn_ended: Arc<Notify>,
    /// Traces of turns that store nothing.
    pub unstored: UnstoredTraces,
    /// When counting began.
    pub began: SystemTime,
}

impl OtlpExport {
    /// What these settings say; nothing where nothing is sent.
    pub fn of(settings: OtlpSettings) -> Result<Option<Self>> {
        let collector = |endpoint: Option<OtlpEndpoint>| {
            let endpoint = endpoint.as_ref();
            endpoint.map(Collector::new).transpose()
        };
        let (traces, metrics) = (collector(settings.traces)?, collector(settings.metrics)?);
        if traces.is_none() && metrics.is_none() {
            return Ok(None);
        }
        let given = settings.resource.into_iter();
        let given: Vec<Attribute> = given
            .map(|(name, text)| Attribute::text(name, text))
            .collect();
        let mut of_server = given.clone();
        let is_named = |it: &Attribute| it.name == "service.instance.id";
        if !given.iter().any(is_named) {
            of_server.push(Attribute::text("service.instance.id", uuid::random()));
        }
        Ok(Some(Self {
            traces,
            metrics,
            metrics_interval: settings.metrics_interval,
            service: TelemetryResource(given),
            server: TelemetryResource(of_server),
            turn_ended: Arc::default(),
            unstored: UnstoredTraces::default(),
            began: SystemTime::now(),
        }))
    }
}
