//! Counting calls of models and of tools, also those that nobody waits for any more.

use crate::error::ErrorCode;
use crate::llm::TokenUsage;
use ambit_telemetry::{Metrics, table};
use std::sync::Arc;
use std::time::Instant;

/// How a call is counted that is dropped before its end.
const CANCELLED: &str = "cancelled";
/// What stands for a code that a script gave to its own failure: nobody knows what is in it.
const OWN_CODE: &str = "own";

/// A call of a model, counted when it ends or is dropped.
pub(crate) struct ModelCallMeter<'a> {
    metrics: Arc<Metrics>,
    connector: &'a str,
    began: Instant,
    status: &'static str,
}

impl<'a> ModelCallMeter<'a> {
    /// A call that begins now.
    pub fn begin(metrics: &Arc<Metrics>, connector: &'a str) -> Self {
        Self {
            metrics: metrics.clone(),
            connector,
            began: Instant::now(),
            status: CANCELLED,
        }
    }

    /// It is made again.
    pub fn retry(&self) {
        self.metrics.count(&table::MODEL_RETRIES, [self.connector]);
    }

    /// The first piece of its answer is there.
    pub fn answered(&self) {
        let seconds = self.began.elapsed().as_secs_f64();
        let metric = &table::MODEL_FIRST_TOKEN_SECONDS;
        self.metrics.observe(metric, [self.connector], seconds);
    }

    /// It has ended, or failed with this code.
    pub fn end(mut self, failure: Option<&ErrorCode>) {
        self.status = status(failure.is_some());
        if let Some(code) = failure {
            let labels = [self.connector, label(code)];
            self.metrics.count(&table::MODEL_ERRORS, labels);
        }
    }
}

impl Drop for ModelCallMeter<'_> {
    fn drop(&mut self) {
        let seconds = self.began.elapsed().as_secs_f64();
        let labels = [self.connector, self.status];
        self.metrics.count(&table::MODEL_CALLS, labels);
        let metric = &table::MODEL_CALL_SECONDS;
        self.metrics.observe(metric, [self.connector], seconds);
    }
}

/// A call of a tool, counted when it ends or is dropped.
pub(crate) struct ToolCallMeter {
    metrics: Arc<Metrics>,
    /// Both are empty where there is no such tool: its name is the model's.
    server: String,
    tool: String,
    began: Instant,
    status: &'static str,
}

impl ToolCallMeter {
    /// A call that begins now, of a tool of this server.
    pub fn begin(metrics: &Arc<Metrics>, server: Option<&str>, tool: &str) -> Self {
        Self {
            metrics: metrics.clone(),
            server: server.unwrap_or_default().to_owned(),
            tool: server.map(|_| tool.to_owned()).unwrap_or_default(),
            began: Instant::now(),
            status: CANCELLED,
        }
    }

    /// It has ended.
    pub fn end(mut self, is_error: bool) {
        self.status = status(is_error);
    }
}

impl Drop for ToolCallMeter {
    fn drop(&mut self) {
        let seconds = self.began.elapsed().as_secs_f64();
        let labels = [self.server.as_str(), &self.tool, self.status];
        self.metrics.count(&table::TOOL_CALLS, labels);
        let metric = &table::TOOL_CALL_SECONDS;
        self.metrics.observe(metric, [&self.server], seconds);
    }
}

/// Counts tokens that are booked.
pub(crate) fn count_tokens(metrics: &Metrics, connector: &str, usage: &TokenUsage) {
    for (kind, tokens) in [
        ("input", usage.prompt_tokens),
        ("output", usage.completion_tokens),
        ("cached", usage.cached_tokens().unwrap_or(0)),
        ("cache_write", usage.cache_creation_tokens().unwrap_or(0)),
        ("reasoning", usage.reasoning_tokens().unwrap_or(0)),
    ] {
        if tokens > 0 {
            let labels = [connector, kind];
            metrics.add(&table::MODEL_TOKENS, labels, tokens as f64);
            if ["input", "output"].contains(&kind) {
                metrics.observe(&table::MODEL_CALL_TOKENS, labels, tokens as f64);
            }
        }
    }
}

/// The code as a label.
pub(crate) fn label(code: &ErrorCode) -> &str {
    match code {
        ErrorCode::Own(_) => OWN_CODE,
        code => code.as_str(),
    }
}

fn status(is_error: bool) -> &'static str {
    match is_error {
        true => "error",
        false => "ok",
    }
}
