//! The limits that an app sets in its files, and what happens where one is reached. What they mean and what counts without them is read
//! from the tables that the files are read by.

use crate::app_files::kinds;
use crate::reference::cell;
use ambit_runtime::app::read::FileKind;
use ambit_runtime::config::{FieldSpec, ValueKind};

const REFUSED: &str = "429 `limit_exceeded` with `Retry-After`.";
const OLDER: &str = "The model does not see older messages.";
const FURTHER: &str = "Further ones are left out.";
const CUT: &str = "The provider ends the answer there.";

/// A key that is a limit.
pub struct LimitKey {
    /// The kind of its file.
    kind: &'static str,
    path: &'static str,
    /// What happens where it is reached.
    effect: &'static str,
}

impl LimitKey {
    const fn new(kind: &'static str, path: &'static str, effect: &'static str) -> Self {
        Self { kind, path, effect }
    }

    fn file(&self) -> Option<&'static FileKind> {
        kinds().into_iter().find(|kind| kind.name == self.kind)
    }

    /// Its row; none where its file has no such key.
    fn row(&self) -> Option<String> {
        let file = self.file()?;
        let pattern = file.patterns.first()?;
        let name = pattern.rsplit('/').next().unwrap_or(pattern);
        let field = find(&file.kind, self.path)?;
        let default = field.default.map(|default| format!("`{}`", default()));
        let (default, doc) = (default.unwrap_or_default(), cell(field.doc));
        let (path, effect) = (self.path, self.effect);
        Some(format!(
            "| `{name}` | `{path}` | {default} | {doc} | {effect} |\n"
        ))
    }
}

/// What agents, their models and what they use may take.
pub const OF_AGENTS: &[LimitKey] = &[
    LimitKey::new(
        "package",
        "mcp.options.max_turn",
        "One last call of the model has no tools, and the trace says so.",
    ),
    LimitKey::new("package", "mcp.options.timeout", "The call fails."),
    LimitKey::new(
        "package",
        "mcp.options.max_tools",
        "The turn fails with `config_error` before the model is called.",
    ),
    LimitKey::new("package", "options.history_size", OLDER),
    LimitKey::new("package", "options.max_tokens", CUT),
    LimitKey::new("package", "options.max_completion_tokens", CUT),
    LimitKey::new(
        "package",
        "context.truncation.threshold",
        "Older messages make room, as `strategy` says.",
    ),
    LimitKey::new(
        "package",
        "context.truncation.keep_messages",
        "Older messages make room, as `strategy` says.",
    ),
    LimitKey::new("package", "kb.options.top_k", FURTHER),
    LimitKey::new("package", "db.options.limit", FURTHER),
    LimitKey::new("agents", "store.max_size", OLDER),
    LimitKey::new("agents", "store.expiration", "The conversation is removed."),
    LimitKey::new(
        "search",
        "options.timeout",
        "The turn goes on with what was found until then.",
    ),
    LimitKey::new(
        "search",
        "options.max_context",
        "Results that find no room are left out, and the trace names them.",
    ),
    LimitKey::new("search", "web.timeout", "The search of the web fails."),
    LimitKey::new("search", "web.max_results", FURTHER),
    LimitKey::new("search", "kb.max_results", FURTHER),
    LimitKey::new("search", "db.max_results", FURTHER),
    LimitKey::new("search", "keyword.max_keywords", FURTHER),
    LimitKey::new(
        "connector",
        "options.timeout",
        "The call fails; the next connector of `fallback` is asked where there is one.",
    ),
    LimitKey::new("connector", "options.max_tokens", CUT),
    LimitKey::new(
        "connector",
        "options.capabilities.max_input_tokens",
        "The model sees the latest messages that fit, and the trace says what is left out.",
    ),
    LimitKey::new(
        "server",
        "timeout",
        "The call fails; three in a row without an answer end the connection.",
    ),
    LimitKey::new("store", "option.size", "Values are dropped."),
    LimitKey::new(
        "app",
        "ambit.mcp_server.task_after",
        "The call becomes a task, or goes on where its client knows none.",
    ),
    LimitKey::new(
        "app",
        "ambit.stream.retention",
        "The stream is read no more: `stream_expired`.",
    ),
    LimitKey::new("app", "ambit.trace.retention", "The trace is removed."),
    LimitKey::new("app", "ambit.responses.retention", "The chat is removed."),
];

/// What callers may do.
pub const OF_CALLERS: &[LimitKey] = &[
    LimitKey::new("openapi", "limits.key.requests", REFUSED),
    LimitKey::new("openapi", "limits.key.turns", REFUSED),
    LimitKey::new("openapi", "limits.key.tokens", REFUSED),
    LimitKey::new("openapi", "limits.user.requests", REFUSED),
    LimitKey::new("openapi", "limits.user.turns", REFUSED),
    LimitKey::new("openapi", "limits.user.tokens", REFUSED),
    LimitKey::new("openapi", "limits.user.streams", REFUSED),
    LimitKey::new("openapi", "limits.user.answers", REFUSED),
    LimitKey::new("openapi", "limits.tenant.requests", REFUSED),
    LimitKey::new("openapi", "limits.tenant.turns", REFUSED),
    LimitKey::new("openapi", "limits.tenant.tokens", REFUSED),
    LimitKey::new("openapi", "auth.session.idle", "The session ends."),
    LimitKey::new("openapi", "auth.session.max", "The session ends."),
];

/// The keys as a table.
pub fn table(keys: &[LimitKey]) -> String {
    let head = "| file | key | default | means | where it is reached |\n|---|---|---|---|---|\n";
    let rows: String = keys.iter().filter_map(LimitKey::row).collect();
    head.to_owned() + &rows
}

/// The key that stands at a path.
fn find(kind: &'static ValueKind, path: &str) -> Option<&'static FieldSpec> {
    match kind {
        ValueKind::Struct(object) => {
            let (name, below) = match path.split_once('.') {
                Some((name, below)) => (name, Some(below)),
                None => (path, None),
            };
            let field = object.fields().find(|field| field.name == name)?;
            match below {
                Some(below) => find(&field.kind, below),
                None => Some(field),
            }
        }
        ValueKind::Verbatim(inner) | ValueKind::Optional(inner) => find(inner, path),
        ValueKind::Either(kinds) => kinds.iter().find_map(|kind| find(kind, path)),
        ValueKind::By(_, cases) => cases.iter().find_map(|(_, kind)| find(kind, path)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{OF_AGENTS, OF_CALLERS, table};

    #[test]
    fn each_limit_is_a_key_of_its_file() {
        for key in OF_AGENTS.iter().chain(OF_CALLERS) {
            assert!(key.row().is_some(), "{} {}", key.kind, key.path);
        }
    }

    #[test]
    fn a_row_says_what_counts_without_the_key_and_what_happens() {
        let agents = table(OF_AGENTS);
        let expected = "| `package.yao` | `mcp.options.max_turn` | `5` | The most rounds of calls. | One last call of the model has no tools, and the trace says so. |\n";
        assert!(agents.contains(expected), "{agents}");
        let callers = table(OF_CALLERS);
        let expected = "| `openapi.yao` | `limits.user.answers` | `\"64MiB\"` | ";
        assert!(callers.contains(expected), "{callers}");
    }
}
