//! Many writers at once.

use super::{entry, open, space};
use crate::dice::Dice;
use ambit_storage::batch::{Batch, BatchWrite, WriteOutcome};
use ambit_storage::driver::{LogRange, ValuePart};
use ambit_storage::operation::{Operation, OperationOutput};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

pub async fn appends(url: String) {
    let log = space("appends").log("items");
    let handles = [open(&url).await, open(&url).await];
    let started = Instant::now();
    let tasks: Vec<_> = (0..16)
        .map(|writer| {
            let (driver, log) = (Arc::clone(&handles[writer % 2]), log.clone());
            tokio::spawn(async move {
                let mut seqs = Vec::new();
                for number in 0..25 {
                    let entries = vec![
                        entry(format!("{writer}-{number}-a")),
                        entry(format!("{writer}-{number}-b")),
                    ];
                    let outcomes = driver
                        .commit(Batch::of([BatchWrite::append(log.clone(), entries)]))
                        .await;
                    let WriteOutcome::Appended { seqs: given, .. } = &outcomes.unwrap()[0] else {
                        panic!()
                    };
                    assert_eq!(given[1], given[0] + 1);
                    seqs.extend(given.clone());
                }
                seqs
            })
        })
        .collect();
    let mut seqs = BTreeSet::new();
    for task in tasks {
        seqs.extend(task.await.unwrap());
    }
    eprintln!(
        "400 appends of 16 writers to one log: {:?}",
        started.elapsed()
    );
    assert_eq!(seqs, (1..=800).collect());
    let page = handles[0]
        .read(&log, LogRange::from(1, 1_000))
        .await
        .unwrap();
    let stored: Vec<u64> = page.entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(stored, (1..=800).collect::<Vec<_>>());
    assert_eq!(handles[1].check().await.unwrap(), Vec::<String>::new());
}

pub async fn increments(url: String) {
    let key = space("increments").key("count");
    let handles = [open(&url).await, open(&url).await];
    let started = Instant::now();
    let tasks: Vec<_> = (0..16)
        .map(|writer| {
            let (driver, key) = (Arc::clone(&handles[writer % 2]), key.clone());
            tokio::spawn(async move {
                let mut versions = Vec::new();
                for _ in 0..25 {
                    let write = BatchWrite::apply(key.clone(), Operation::Incr(1.into()), None);
                    let outcome = driver.commit(Batch::of([write])).await.unwrap().remove(0);
                    let WriteOutcome::Applied {
                        output: OperationOutput::Number(number),
                        version,
                    } = outcome
                    else {
                        panic!()
                    };
                    versions.push((number.to::<u64>().unwrap(), version.unwrap()));
                }
                versions
            })
        })
        .collect();
    let mut given = Vec::new();
    for task in tasks {
        given.extend(task.await.unwrap());
    }
    eprintln!(
        "400 increments of 16 writers of one value: {:?}",
        started.elapsed()
    );
    given.sort_unstable();
    assert!(given.iter().map(|(number, _)| *number).eq(1..=400));
    assert!(
        given.is_sorted_by(|a, b| a.1 < b.1),
        "versions grow with the value"
    );
    let stored = handles[0]
        .get(&key, ValuePart::Whole)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.value.as_str(), "400");
}

pub async fn mixed(url: String) {
    let handles = [open(&url).await, open(&url).await];
    let started = Instant::now();
    let tasks: Vec<_> = (0..16u64)
        .map(|writer| {
            let driver = Arc::clone(&handles[usize::try_from(writer % 2).unwrap()]);
            tokio::spawn(async move {
                let mut dice = Dice::new(writer + 1);
                for _ in 0..60 {
                    let writes: Vec<BatchWrite> = (0..dice.below(4) + 1)
                        .map(|_| dice.write_without_mirror())
                        .collect();
                    match driver.commit(Batch::of(writes)).await {
                        Err(error)
                            if error.is_failure() && !error.to_string().contains("stored JSON") =>
                        {
                            panic!("{error}")
                        }
                        _ => {}
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    eprintln!(
        "960 mixed batches of 16 writers over 4 spaces: {:?}",
        started.elapsed()
    );
    assert_eq!(handles[0].check().await.unwrap(), Vec::<String>::new());
}

pub async fn opens(url: String) {
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let url = url.clone();
            tokio::spawn(async move { open(&url).await })
        })
        .collect();
    for task in tasks {
        let driver = task.await.unwrap();
        let write = BatchWrite::apply(space("opens").key("n"), Operation::Incr(1.into()), None);
        driver.commit(Batch::of([write])).await.unwrap();
    }
    let stored = open(&url)
        .await
        .get(&space("opens").key("n"), ValuePart::Whole)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.value.as_str(), "8");
}
