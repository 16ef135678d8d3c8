//! Writing keys: one commit, of which all happens or nothing.

use super::body::{StoreChange, StoreWrite};
use super::item::{DeletedKeys, WriteResult, WrittenKey};
use super::space::StoreSpace;
use ambit_runtime::{Error, ErrorCode, Result, StorageError};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, WriteOutcome};
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::operation::{DatedContent, Operation, OperationOutput};
use serde_json::json;

/// So often a commit is tried that others came before, though each key has the version that is expected.
const TRIES: usize = 16;
/// Keys that one commit deletes of those with a prefix.
const STEP: usize = 250;

/// Something that is committed together with a batch.
pub struct FurtherWrite {
    /// What must hold.
    pub check: BatchCheck,
    /// What is written.
    pub write: BatchWrite,
}

/// Why a batch was not written.
pub enum WriteFailure {
    /// What is to be committed with it was refused.
    Further,
    /// Anything else.
    Refused(Error),
}

impl From<StorageError> for WriteFailure {
    fn from(error: StorageError) -> Self {
        Self::Refused(error.into())
    }
}

/// Writes all of these or nothing.
pub async fn commit(space: &StoreSpace, writes: &[StoreWrite]) -> Result<Vec<WriteResult>> {
    match commit_with(space, writes, None).await {
        Ok(results) => Ok(results),
        Err(WriteFailure::Refused(error)) => Err(error),
        Err(WriteFailure::Further) => Err(Error::internal("a batch failed for what it has not")),
    }
}

/// The same, together with something else.
pub async fn commit_with(
    space: &StoreSpace,
    writes: &[StoreWrite],
    further: Option<&FurtherWrite>,
) -> Result<Vec<WriteResult>, WriteFailure> {
    for _ in 0..TRIES {
        let mut batch = batch_of(space, writes);
        if let Some(further) = further {
            batch.checks.push(further.check.clone());
            batch.writes.push(further.write.clone());
        }
        match space.driver.commit(batch).await {
            Ok(outcomes) => {
                let outcomes = outcomes.into_iter().take(writes.len());
                let results: Result<Vec<WriteResult>> = outcomes.map(result_of).collect();
                return results.map_err(WriteFailure::Refused);
            }
            Err(StorageError::Conflict { .. }) => {
                if let Some(conflict) = conflict(space, writes).await? {
                    return Err(WriteFailure::Refused(conflict));
                }
                if further.is_some() {
                    return Err(WriteFailure::Further);
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    let message = "the keys are written by too many at once; repeat the batch";
    let error = Error::new(ErrorCode::Unavailable, message);
    Err(WriteFailure::Refused(error))
}

fn batch_of(space: &StoreSpace, writes: &[StoreWrite]) -> Batch {
    let at = space.clock.now();
    let mut batch = Batch::default();
    for write in writes {
        let key = space.place(&write.key);
        if let Some(expect) = write.expect {
            let version = Some(expect).filter(|version| *version != 0);
            batch.checks.push(BatchCheck::version(key.clone(), version));
        }
        batch.writes.push(match &write.change {
            StoreChange::Put { name, json, life } => {
                let (name, json) = (*name, json.clone());
                let content = DatedContent { at, name, json };
                BatchWrite::apply(key, Operation::SetDated(content), *life)
            }
            StoreChange::Delete => BatchWrite::apply(key, Operation::GetDel, None),
        });
    }
    batch
}

fn result_of(outcome: WriteOutcome) -> Result<WriteResult> {
    match outcome {
        WriteOutcome::Applied {
            output: OperationOutput::Taken(taken),
            ..
        } => Ok(WriteResult::Deleted(DeletedKeys {
            deleted: taken.is_some().into(),
        })),
        WriteOutcome::Applied {
            version: Some(version),
            ..
        } => Ok(WriteResult::Written(WrittenKey { version })),
        other => Err(Error::internal(format!(
            "a store answered {other:?} to a key that was written"
        ))),
    }
}

/// The first key that has not the version which is expected; nothing where each has it now.
async fn conflict(
    space: &StoreSpace,
    writes: &[StoreWrite],
) -> Result<Option<Error>, StorageError> {
    for (index, write) in writes.iter().enumerate() {
        let Some(expect) = write.expect else {
            continue;
        };
        let place = space.place(&write.key);
        let found = space.driver.get(&place, ValuePart::Nothing).await?;
        let version = found.map_or(0, |entry| entry.version);
        if version != expect {
            return Ok(Some(refused(index, write, version)));
        }
    }
    Ok(None)
}

fn refused(index: usize, write: &StoreWrite, version: u64) -> Error {
    let key = &write.key;
    let message = match version {
        0 => format!("the key \"{key}\" is absent; read it again and decide anew"),
        _ => format!("the key \"{key}\" has version {version}; read it again and decide anew"),
    };
    Error {
        details: Some(Box::new(json!({"key": key, "version": version}))),
        ..Error::new(ErrorCode::Conflict, message).with_param(format!("ops[{index}].expect"))
    }
}

/// Deletes all keys with a prefix, in steps between which others write. One that is written meanwhile may stay.
pub async fn delete_prefix(space: &StoreSpace, prefix: &str) -> Result<WriteResult> {
    let scan = ValueScan::first(space.pattern(prefix), STEP, ValuePart::Nothing);
    let mut deleted = 0;
    loop {
        let found = space.driver.scan(&space.owned, &scan).await?;
        let count = found.len();
        let delete = |name: String| BatchWrite::apply(space.owned.key(name), Operation::Del, None);
        let batch = Batch::of(found.into_iter().map(|(name, _)| delete(name)));
        if count > 0 {
            space.driver.commit(batch).await?;
        }
        deleted += count as u64;
        if count < STEP {
            return Ok(WriteResult::Deleted(DeletedKeys { deleted }));
        }
    }
}
