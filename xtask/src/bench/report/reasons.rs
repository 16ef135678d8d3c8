//! Why a row loses, where that is known. Rows that no reason is given for stand on the page without one.

use super::line::ResultLine;

/// Why results whose work and store begin so are not better.
struct Reason {
    work: &'static str,
    store: &'static str,
    why: &'static str,
}

const REASONS: &[Reason] = &[Reason {
    work: "W8 turns",
    store: "sqlite",
    why: "a turn here goes through HTTP, runs a hook, is stored and streamed; LangGraph's is a call in its own process",
}];

/// The reason for this row, or nothing.
pub fn of(line: &ResultLine) -> &'static str {
    let is_for = |reason: &&Reason| {
        line.work.starts_with(reason.work) && line.backend.starts_with(reason.store)
    };
    REASONS.iter().find(is_for).map_or("", |reason| reason.why)
}
