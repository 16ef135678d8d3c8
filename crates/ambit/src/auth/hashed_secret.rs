//! Secrets that are kept nowhere: what they stand for is stored under their hash.

use ambit_runtime::Result;
use ambit_storage::address::{self, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite};
use ambit_storage::clock::Millis;
use ambit_storage::driver::Driver;
use ambit_storage::operation::Operation;
use ambit_storage::{Json, ids};
use serde::Serialize;

/// Stores a record under a new secret of 300 random bits, and returns the secret.
pub(super) async fn issue(
    store: &dyn Driver,
    space: &Space,
    record: &(impl Serialize + Sync),
    life: Millis,
) -> Result<String> {
    let secret = [ids::unguessable(), ids::unguessable(), ids::unguessable()].concat();
    let key = place(space, &secret);
    let batch = Batch::of([write(&key, record, life)?]);
    let version = None;
    let batch = batch.checking(BatchCheck::Version { key, version });
    store.commit(batch).await?;
    Ok(secret)
}

/// Where the record of a secret is.
pub(super) fn place(space: &Space, secret: &str) -> ValueKey {
    space.key(address::digest(&[secret]))
}

/// Stores the record for so long.
pub(super) fn write(key: &ValueKey, record: &impl Serialize, life: Millis) -> Result<BatchWrite> {
    Ok(BatchWrite::Apply {
        key: key.clone(),
        op: Operation::Set(Json::of(record)?.into()),
        life: Some(life),
    })
}
