//! Values whose numbers and lengths the scripts keep.

use super::{Outcomes, Store, apply, memory_of, number};
use ambit_storage::address::ValueKey;
use ambit_storage::batch::{Batch, BatchWrite, WriteOutcome};
use ambit_storage::driver::{Driver, ValuePart};
use ambit_storage::operation::{Operation, OperationOutput};
use ambit_storage::{Error, Json};
use futures::future::try_join_all;
use std::sync::atomic::{AtomicU64, Ordering};

/// Takes the lease and gives it back so many times; `last` is the highest epoch of all workers.
async fn take_often(
    driver: &dyn Driver,
    key: &ValueKey,
    holder: String,
    last: &AtomicU64,
) -> Result<(), Error> {
    let write = |op| BatchWrite::apply(key.clone(), op, Some(60_000));
    let mut granted = 0;
    while granted < 20 {
        let acquire = Operation::Acquire {
            holder: holder.clone(),
        };
        let outcomes = match driver.commit(Batch::of([write(acquire)])).await {
            Err(Error::Busy { .. }) => {
                tokio::task::yield_now().await;
                continue;
            }
            result => result?,
        };
        let WriteOutcome::Applied {
            output: OperationOutput::Epoch(epoch),
            ..
        } = outcomes[0]
        else {
            panic!("{outcomes:?}");
        };
        let before = last.swap(epoch, Ordering::SeqCst);
        assert!(epoch > before, "epoch {epoch} after {before}");
        granted += 1;
        driver
            .commit(Batch::of([write(Operation::Release { epoch })]))
            .await?;
    }
    Ok(())
}

pub async fn epochs(store: &Store) -> Outcomes {
    let handles = [store.open().await?, store.open().await?];
    let (key, last) = (memory_of("u").lease(), AtomicU64::new(0));
    let worker =
        |worker: usize| take_often(&*handles[worker % 2], &key, format!("h{worker}"), &last);
    try_join_all((0..6).map(worker)).await?;
    Ok(())
}

pub async fn long_lists(store: &Store) -> Outcomes {
    let driver = store.open().await?;
    let space = memory_of("u");
    let many: Vec<Json> = (0..5_000).map(number).collect();
    driver
        .commit(apply(&space, "l", Operation::Push(many.clone())))
        .await?;
    driver
        .commit(apply(
            &space,
            "l",
            Operation::AddToSet(vec![number(3), number(5_000)]),
        ))
        .await?;
    driver
        .commit(apply(
            &space,
            "l",
            Operation::AddToSet(vec![number(4), number(5_000)]),
        ))
        .await?;
    driver
        .commit(apply(&space, "l", Operation::Pull(2)))
        .await?;
    let outcomes = driver
        .commit(apply(
            &space,
            "l",
            Operation::AddToSet(vec![number(4_999), number(7)]),
        ))
        .await?;
    let entry = driver
        .get(&space.key("l"), ValuePart::Items(4_997, 9_999))
        .await?
        .ok_or("absent")?;
    assert_eq!(
        (entry.length, entry.value.as_str()),
        (5_000, "[4997,4998,4999]")
    );
    assert!(matches!(outcomes[..], [WriteOutcome::Applied { .. }]));
    Ok(())
}
