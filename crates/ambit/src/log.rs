//! What the log of a server tells, and how its lines are written.

use crate::escape::one_line;
use ambit_runtime::without_quotes;
use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::{self, Debug};
use std::panic;
use tracing::field::{Field, Visit};
use tracing::{Level, Metadata};
use tracing_subscriber::field::{MakeVisitor, VisitFmt, VisitOutput};
use tracing_subscriber::filter::{EnvFilter, FilterExt, ParseError, filter_fn};
use tracing_subscriber::fmt::format::{DefaultVisitor, Writer};
use tracing_subscriber::layer::Filter;
use tracing_subscriber::registry::Registry;

/// Speaks to tool servers, and warns with what was said and with addresses that have keys in them.
const TALKATIVE: &str = "rmcp";
/// The field that is written without its name.
const MESSAGE: &str = "message";

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

/// Writes what an event or a span says in text, with control characters escaped: whatever a script or an error says makes no line
/// of its own and drives no terminal.
#[derive(Clone, Copy, Debug)]
pub struct OneLineFields;

impl<'w> MakeVisitor<Writer<'w>> for OneLineFields {
    type Visitor = OneLineVisitor<'w>;

    fn make_visitor(&self, target: Writer<'w>) -> Self::Visitor {
        OneLineVisitor(DefaultVisitor::new(target, true))
    }
}

/// The fields of one event or span.
#[derive(Debug)]
pub struct OneLineVisitor<'w>(DefaultVisitor<'w>);

impl Visit for OneLineVisitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            MESSAGE => self.record_debug(field, &format_args!("{value}")),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let line = one_line(&format!("{value:?}"));
        self.0.record_debug(field, &format_args!("{line}"));
    }
}

impl VisitOutput<fmt::Result> for OneLineVisitor<'_> {
    fn finish(self) -> fmt::Result {
        self.0.finish()
    }
}

impl VisitFmt for OneLineVisitor<'_> {
    fn writer(&mut self) -> &mut dyn fmt::Write {
        self.0.writer()
    }
}

/// Has the log tell of panics, in lines like all others and with the request that they are of. What they quote is left out:
/// whoever cannot cut a text repeats it.
pub fn tell_panics() {
    panic::set_hook(Box::new(|panicked| {
        let stack = Backtrace::capture();
        let has_stack = stack.status() == BacktraceStatus::Captured;
        tracing::error!(
            at = panicked.location().map(ToString::to_string),
            error.message = words(panicked.payload()),
            error.stack = has_stack.then(|| stack.to_string()),
            "a task has panicked"
        );
    }));
}

/// What a panic says.
fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    without_quotes(text.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{OneLineFields, words};
    use serde_json::Value;
    use std::panic::catch_unwind;
    use tempfile::NamedTempFile;
    use tracing::subscriber::with_default;
    use tracing_subscriber::layer::{Layer, SubscriberExt};
    use tracing_subscriber::registry::Registry;

    const FORGED: &str = "late\n2026-01-01T00:00:00Z ERROR ambit: stolen\u{1b}[2K\r\u{9b}1A";
    const SHOWN: &str = "late\\n2026-01-01T00:00:00Z ERROR ambit: stolen\\u{1b}[2K\\r\\u{9b}1A";

    /// What is written of an event and a span that have the text everywhere, in text or as JSON.
    fn written(is_json: bool) -> String {
        let file = NamedTempFile::new().unwrap();
        let lines = tracing_subscriber::fmt::layer::<Registry>();
        let lines = lines.with_writer(file.reopen().unwrap());
        let lines = match is_json {
            true => lines.json().flatten_event(true).boxed(),
            false => lines.with_ansi(false).fmt_fields(OneLineFields).boxed(),
        };
        with_default(tracing_subscriber::registry().with(lines), || {
            let span = tracing::info_span!("request", chat.id = %FORGED, user.id = FORGED);
            let _inside = span.enter();
            tracing::info!(error.message = %FORGED, error.stack = ?[FORGED], "{FORGED}");
        });
        std::fs::read_to_string(file.path()).unwrap()
    }

    #[test]
    fn no_text_makes_a_line_of_its_own_or_drives_a_terminal() {
        let text = written(false);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(!text.trim_end().contains(char::is_control), "{text:?}");
        for shown in [
            format!("chat.id={SHOWN} user.id=\"{SHOWN}\""),
            format!(" {SHOWN} error.message={SHOWN} error.stack=[\"{SHOWN}\"]\n"),
        ] {
            assert!(text.contains(&shown), "{text}");
        }
    }

    #[test]
    fn a_line_of_json_is_one_object() {
        let text = written(true);
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            [
                &line["message"],
                &line["error.message"],
                &line["span"]["chat.id"]
            ],
            [FORGED; 3]
        );
    }

    #[test]
    fn what_a_panic_quotes_is_left_out() {
        let text = "grüße".to_owned();
        let cut = catch_unwind(|| text[..3].len()).unwrap_err();
        let told = words(&*cut);
        assert!(
            told.contains("char boundary") && !told.contains("grüße"),
            "{told}"
        );
        assert_eq!(words(&"all of it"), "all of it");
        assert_eq!(words(&7), "");
    }
}
