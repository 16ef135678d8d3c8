//! A turn's event log: numbered without gaps, stored in steps, and read by everybody who follows the turn.

use crate::error::Result;
use std::sync::Arc;

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// 1, 2, 3 …
    pub number: u64,
    /// The frame as JSON.
    pub text: Arc<str>,
}

/// Follows a log from some place on.
pub struct Reader {}

impl Reader {
    /// The next entries, at least one; waits for them. `None` behind the last entry of an ended turn.
    pub async fn next(&mut self) -> Result<Option<Vec<Entry>>> {
        Ok(None)
    }
}
