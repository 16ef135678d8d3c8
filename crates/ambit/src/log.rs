//! What the log of a server tells.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// The library that speaks to tool servers tells addresses with the keys in them, and every message. Whoever wants that
/// names it.
const SILENT: &str = "rmcp=off";

/// What is told, by levels such as `info` or `warn,ambit=debug`.
pub fn filter(levels: &str) -> Result<EnvFilter, ParseError> {
    EnvFilter::try_new(format!("{SILENT},{levels}"))
}
