//! What is removed leaves no key behind.

use super::rows::tracked;
use super::{Outcomes, Store, memory_of, number};
use ambit_storage::StoredValue;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite, NewEntry, WriteOutcome};
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use std::time::Duration;

pub async fn wiping(store: &Store) -> Outcomes {
    let driver = store.open().await?;
    let space = memory_of("u");
    let count = 3_000_u64;
    let set = |at: u64| {
        BatchWrite::apply(
            space.key(format!("k{at:05}")),
            match at % 2 {
                0 => Operation::Set(StoredValue::Plain(number(1))),
                _ => Operation::AddToSet(vec![number(1)]),
            },
            Some(60_000).filter(|_| at.is_multiple_of(3)),
        )
    };
    driver.commit(Batch::of((0..count).map(set))).await?;
    let scan = ValueScan {
        after: Some("k00999".to_owned()),
        ..ValueScan::first(Pattern::all(), 2_000, ValuePart::Nothing)
    };
    assert_eq!(driver.scan(&space, &scan).await?.len(), 2_000);
    store.clock.advance(Duration::from_secs(61));
    assert_eq!(driver.sweep(100).await?, 100);
    let wipe = |pattern: &str| {
        Batch::of([BatchWrite::Wipe {
            space: space.clone(),
            pattern: Pattern::parse(pattern),
        }])
    };
    assert_eq!(
        driver.commit(wipe("k00*")).await?,
        [WriteOutcome::Erased(666)]
    );
    assert_eq!(
        driver.commit(wipe("*")).await?,
        [WriteOutcome::Erased(1334)]
    );
    assert_eq!(driver.check().await?, Vec::<String>::new());
    let mut keys = store.keys().await?;
    keys.sort();
    let left = ["counter", "floor"].map(|name| format!("{}:{name}", store.prefix));
    assert_eq!(keys, left);
    Ok(())
}

pub async fn removal(store: &Store) -> Outcomes {
    let driver = store.open().await?;
    let track = tracked("a", "secret-chat")?;
    let space = Space::of("t", &track.identity);
    let entry = NewEntry::new("1", number(1));
    driver
        .commit(Batch::of([
            BatchWrite::append(space.log("items"), vec![entry]),
            BatchWrite::Track(Box::new(track.clone())),
            BatchWrite::apply(
                space.key("k"),
                Operation::AddToSet(vec![number(1)]),
                Some(3_600_000),
            ),
        ]))
        .await?;
    let names = store.keys().await?.join(" ");
    assert!(!names.contains("secret"), "{names}");
    let outcomes = driver
        .commit(Batch::of([
            BatchWrite::Remove { space },
            BatchWrite::untrack("t", track.id),
        ]))
        .await?;
    assert_eq!(outcomes, [WriteOutcome::Erased(2), WriteOutcome::Erased(1)]);
    let mut keys = store.keys().await?;
    keys.sort();
    assert_eq!(
        keys,
        ["counter", "floor"].map(|name| format!("{}:{name}", store.prefix))
    );
    Ok(())
}
