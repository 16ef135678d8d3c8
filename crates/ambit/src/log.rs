//! What the log of a server tells.

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{EnvFilter, FilterExt, ParseError, filter_fn};
use tracing_subscriber::layer::Filter;
use tracing_subscriber::registry::Registry;

/// Speaks to tool servers, and warns with what was said and with addresses that have keys in them.
const TALKATIVE: &str = "rmcp";

/// What is told, by levels such as `info` or `warn,ambit=debug`.
///
/// Of libraries only warnings and errors, whatever the levels are: below that a driver tells its statements with their values and
/// a client its bodies, which is what people say.
///
/// # Errors
///
/// Fails where the levels are not understood.
pub fn filter(levels: &str) -> Result<impl Filter<Registry> + use<>, ParseError> {
    let levels = EnvFilter::try_new(levels)?;
    Ok(levels.and(filter_fn(is_told)))
}

fn is_told(what: &Metadata<'_>) -> bool {
    let library = what.target().split("::").next().unwrap_or_default();
    let is_ours = library == "ambit" || library.starts_with("ambit_");
    is_ours || (*what.level() <= Level::WARN && library != TALKATIVE)
}
