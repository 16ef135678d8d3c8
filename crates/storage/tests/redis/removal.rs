//! What is removed leaves no key behind.

use super::rows::tracked;
use super::{Outcomes, Store, memory_of, number};
use ambit_storage::Value;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, NewEntry, Outcome, Write};
use ambit_storage::driver::{Part, Scan};
use ambit_storage::op::Op;
use ambit_storage::pattern::Pattern;
use std::time::Duration;

pub async fn wiping(store: &Store) -> Outcomes {
    let driver = store.open().await?;
    let space = memory_of("u");
    let count = 3_000_u64;
    let set = |at: u64| Write::Apply {
        key: space.key(format!("k{at:05}")),
        op: match at % 2 {
            0 => Op::Set(Value::Plain(number(1))),
            _ => Op::AddToSet(vec![number(1)]),
        },
        life: Some(1_000).filter(|_| at.is_multiple_of(3)),
    };
    driver.commit(Batch::of((0..count).map(set))).await?;
    let scan = Scan {
        pattern: Pattern::all(),
        after: Some("k00999".to_owned()),
        limit: 2_000,
        part: Part::Nothing,
    };
    assert_eq!(driver.scan(&space, &scan).await?.len(), 2_000);
    store.clock.advance(Duration::from_secs(2));
    assert_eq!(driver.sweep(100).await?, 100);
    let wipe = |pattern: &str| {
        Batch::of([Write::Wipe {
            space: space.clone(),
            pattern: Pattern::parse(pattern),
        }])
    };
    assert_eq!(driver.commit(wipe("k00*")).await?, [Outcome::Erased(666)]);
    assert_eq!(driver.commit(wipe("*")).await?, [Outcome::Erased(1334)]);
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
    let entry = NewEntry {
        id: "1".to_owned(),
        body: number(1),
    };
    driver
        .commit(Batch::of([
            Write::Append {
                log: space.log("items"),
                entries: vec![entry],
            },
            Write::Track(Box::new(track.clone())),
            Write::Apply {
                key: space.key("k"),
                op: Op::AddToSet(vec![number(1)]),
                life: Some(9),
            },
        ]))
        .await?;
    let names = store.keys().await?.join(" ");
    assert!(!names.contains("secret"), "{names}");
    let outcomes = driver
        .commit(Batch::of([
            Write::Remove { space },
            Write::Untrack {
                tenant: "t".to_owned(),
                id: track.id,
            },
        ]))
        .await?;
    assert_eq!(outcomes, [Outcome::Erased(2), Outcome::Erased(1)]);
    let mut keys = store.keys().await?;
    keys.sort();
    assert_eq!(
        keys,
        ["counter", "floor"].map(|name| format!("{}:{name}", store.prefix))
    );
    Ok(())
}
