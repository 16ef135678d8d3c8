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

/// What several writers add to a list is taken once, all of it, however long the list is when it is taken.
pub async fn taken_whole(store: &Store) -> Outcomes {
    let handles = [store.open().await?, store.open().await?];
    let space = memory_of("u");
    let push = async |driver: &dyn Driver, first: i64| {
        for round in 0..10 {
            let from = first + round * 700;
            let items = (from..from + 700).map(number).collect();
            driver
                .commit(apply(&space, "l", Operation::Push(items)))
                .await?;
        }
        Ok::<(), Error>(())
    };
    let take = async || {
        let mut taken = Vec::new();
        for _ in 0..10 {
            let outcomes = handles[1]
                .commit(apply(&space, "l", Operation::PullAll))
                .await?;
            taken.extend(items(&outcomes));
        }
        Ok::<_, Error>(taken)
    };
    let all = futures::try_join!(push(&*handles[0], 0), push(&*handles[0], 7_000), take())?;
    let last = handles[0]
        .commit(apply(&space, "l", Operation::PullAll))
        .await?;
    let mut taken = all.2;
    taken.extend(items(&last));
    taken.sort_unstable();
    assert_eq!(taken, (0..14_000).collect::<Vec<i64>>());
    let entry = handles[0].get(&space.key("l"), ValuePart::Whole).await?;
    let entry = entry.ok_or("absent")?;
    assert_eq!((entry.length, entry.value.as_str()), (0, "[]"));
    Ok(())
}

/// The numbers that were taken from a list.
fn items(outcomes: &[WriteOutcome]) -> Vec<i64> {
    match outcomes {
        [
            WriteOutcome::Applied {
                output: OperationOutput::Items(items),
                ..
            },
        ] => items.iter().map(|item| item.to().unwrap()).collect(),
        other => panic!("{other:?}"),
    }
}
