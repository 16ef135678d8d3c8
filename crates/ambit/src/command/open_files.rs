//! Files that the process may have open: its connections, stores and tool servers share them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More is never asked for: programs that the server starts may close every number up to the limit.
const MOST: u64 = 1 << 20;
/// The part of the files that is no connections, and at least so many: each client may wait for a turn, each turn for a provider,
/// over a connection of its own.
const RESERVE_PART: u64 = 2;
const LEAST_RESERVE: u64 = 64;
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
    let connections = connections(files);
    tracing::info!(
        files,
        connections,
        "so many files may be open, and so many connections be held"
    );
    usize::try_from(connections).unwrap_or(usize::MAX)
}

/// How many connections there may be with so many files.
fn connections(files: u64) -> u64 {
    let reserve = (files / RESERVE_PART).max(LEAST_RESERVE);
    files.saturating_sub(reserve).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::{LEAST, connections};

    #[test]
    fn each_connection_leaves_a_file_for_the_provider_that_its_turn_asks() {
        for (files, expected) in [(4_096, 2_048), (1 << 20, 1 << 19), (100, 36), (10, LEAST)] {
            assert_eq!(connections(files), expected, "{files}");
        }
    }
}
