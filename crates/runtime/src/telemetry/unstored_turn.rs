//! Turns that store nothing: their traces are read when they end, since they can be read nowhere later.

use super::content::SpanContent;
use super::trace_to_send::TraceToSend;
use crate::app::App;
use crate::error::Result;
use crate::otlp::UnstoredTrace;
use crate::runtime_core::RuntimeCore;
use ambit_storage::address::LogKey;
use ambit_storage::clock::Millis;
use ambit_storage::driver::Driver;
use ambit_telemetry::table;

/// A turn that has ended and has stored nothing.
pub(crate) struct UnstoredTurn<'a> {
    pub core: &'a RuntimeCore,
    pub app: &'a App,
    pub tenant: &'a str,
    /// Where its trace is as long as the turn is.
    pub driver: &'a dyn Driver,
    pub log: LogKey,
    pub ended_at: Millis,
}

impl UnstoredTurn<'_> {
    /// Lets its spans wait until they are sent. Where too many wait already they are not sent at all.
    pub async fn keep_trace(self) -> Result<()> {
        let Some(telemetry) = &self.core.telemetry else {
            return Ok(());
        };
        let trace = TraceToSend {
            driver: self.driver,
            log: self.log,
            tenant: self.tenant,
        };
        let spans = trace.spans(self.app, &SpanContent::of(self.app)).await?;
        let count = spans.len() as f64;
        let ended_at = self.ended_at;
        if !telemetry.unstored.add(UnstoredTrace { spans, ended_at }) {
            let metrics = self.core.metrics();
            metrics.add(&table::TELEMETRY_SPANS, ["dropped"], count);
        }
        Ok(())
    }
}
