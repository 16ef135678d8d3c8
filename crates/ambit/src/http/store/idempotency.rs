//! Batches with an idempotency key: of several with one key one is written, and all are answered alike.
//!
//! The key is committed with the batch, so that a batch that was written is never written again. Its answer has the versions that the
//! store gave, and follows in a commit of its own.

use super::body::StoreWrite;
use super::item::WriteResult;
use super::space::StoreSpace;
use super::write::{FurtherWrite, WriteFailure, commit_with};
use crate::http::idempotency::{RepeatableRequest, refused};
use ambit_runtime::{Error, ErrorCode, Result};
use std::time::Duration;

/// What these requests are, among those that may have a key.
pub const KIND: &str = "store";
/// How often, and how long in between, a repetition looks for an answer that is about to be stored.
const LOOKS: usize = 40;
const INTERVAL: Duration = Duration::from_millis(50);

/// The answer to a batch; none while it is about to be stored.
type BatchAnswer = Option<Vec<WriteResult>>;

/// Writes a batch unless it was written under this key before.
pub async fn once(
    space: StoreSpace,
    writes: Vec<StoreWrite>,
    request: RepeatableRequest,
) -> Result<Vec<WriteResult>> {
    // Who leaves now must not leave a batch without its answer; the task ends with two commits.
    let written = tokio::spawn(async move { write(&space, &writes, &request).await }).await;
    written.map_err(|_| Error::internal("writing a batch failed"))?
}

async fn write(
    space: &StoreSpace,
    writes: &[StoreWrite],
    request: &RepeatableRequest,
) -> Result<Vec<WriteResult>> {
    let store = &*space.driver;
    for _ in 0..LOOKS {
        if let Some(stored) = request.read::<BatchAnswer>(store).await? {
            if let Some(results) = stored.outcome {
                return Ok(results);
            }
            tokio::time::sleep(INTERVAL).await;
            continue;
        }
        let further = FurtherWrite {
            check: request.check(None),
            write: request.set(&BatchAnswer::None)?,
        };
        match commit_with(space, writes, Some(&further)).await {
            Ok(results) => {
                request.keep(store, &Some(&results)).await;
                return Ok(results);
            }
            Err(WriteFailure::Refused(error)) if error.code == ErrorCode::Conflict => {
                // What the first of two changed is what the second one does not expect.
                if request.read::<BatchAnswer>(store).await?.is_none() {
                    return Err(error);
                }
            }
            Err(WriteFailure::Refused(error)) => return Err(error),
            Err(WriteFailure::Further) => {}
        }
    }
    Err(refused(
        "the batch of this Idempotency-Key was written, and its answer was lost; read the keys to see what they hold",
    ))
}
