//! Files that the process may have open: its connections, stores and tool servers share them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More is never asked for: programs that the server starts may close every number up to the limit.
const MOST: u64 = 1 << 20;
/// The part of the files that is no connections, at least and at most so many.
const RESERVE_PART: u64 = 4;
const LEAST_RESERVE: u64 = 64;
const MOST_RESERVE: u64 = 1024;
/// Connections that there are in any case.
const LEAST: u64 = 8;

/// Raises the limit as far as it goes, says what it is, and returns how many connections leave enough for the rest.
pub fn connection_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(MOST).min(MOST);
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit {
            current: Some(wanted),
            maximum: limit.maximum,
        };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!("the limit of open files cannot be raised to {wanted}: {error}");
        }
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(MOST);
    let reserve = (files / RESERVE_PART).clamp(LEAST_RESERVE, MOST_RESERVE);
    let connections = files.saturating_sub(reserve).max(LEAST);
    tracing::info!(
        files,
        connections,
        "so many files may be open, and so many connections be held"
    );
    usize::try_from(connections).unwrap_or(usize::MAX)
}
