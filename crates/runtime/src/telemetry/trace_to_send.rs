//! A trace as it is stored, read as spans.

use super::content::SpanContent;
use super::spans::SpanBuilder;
use crate::app::App;
use crate::error::Result;
use crate::stream;
use crate::trace::fold_texts;
use ambit_storage::address::LogKey;
use ambit_storage::driver::Driver;
use ambit_telemetry::otlp::Span;

/// Where the trace of a turn is.
pub(super) struct TraceToSend<'a> {
    pub driver: &'a dyn Driver,
    pub log: LogKey,
    /// Whose turn it is.
    pub tenant: &'a str,
}

impl TraceToSend<'_> {
    /// Its spans; none where it is gone.
    pub async fn spans(&self, app: &App, content: &SpanContent) -> Result<Vec<Span>> {
        let Some(stored) = stream::read_all(self.driver, &self.log).await? else {
            return Ok(Vec::new());
        };
        let tree = fold_texts(stored.entries.iter().map(|entry| &*entry.text));
        let settings = &app.settings.telemetry;
        let builder = SpanBuilder {
            tree: &tree,
            tenant: self.tenant,
            user: settings.user,
            version: settings.semconv.into(),
            content,
        };
        Ok(builder.spans())
    }
}
