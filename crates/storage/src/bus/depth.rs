//! How deep events are nested: a listener that does again what it listens to would never end.

use crate::{Error, Result};
use std::future::Future;

/// Listeners that are called inside listeners, at most.
const DEEPEST: u64 = 8;

tokio::task_local! {
    static DEPTH: u64;
}

fn now() -> u64 {
    DEPTH.try_with(|depth| *depth).unwrap_or_default()
}

/// The work of a listener, one deeper than what called it; refused where that is too deep.
pub(super) fn deeper<F: Future>(
    event: &'static str,
    work: F,
) -> Result<impl Future<Output = F::Output>> {
    let depth = now() + 1;
    if depth > DEEPEST {
        let what = format!(
            "listeners inside listeners, down to one of {event}, which may cause its own event"
        );
        return Err(Error::limited(what, depth, DEEPEST));
    }
    Ok(DEPTH.scope(depth, work))
}

/// The same depth for work that goes on in another task.
pub(crate) fn same<F: Future>(work: F) -> impl Future<Output = F::Output> {
    DEPTH.scope(now(), work)
}
