//! Commits that are cancelled or lose their connection, and a server that is not there.

use super::{entry, open, space, sql};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::driver::{self, Driver, DriverOptions, FaultPoints, LogRange, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::{Error, Result};
use std::time::Duration;

/// A log and a counter that every batch moves together.
fn pair(number: u32) -> Batch {
    let log = space("pair").log("items");
    let key = space("pair").key("count");
    let op = Operation::Incr(1.into());
    let entries = vec![entry(format!("{number}"))];
    Batch::of([
        BatchWrite::apply(key, op, None),
        BatchWrite::Append { log, entries },
    ])
}

async fn last(driver: &dyn Driver) -> Result<u64> {
    let log = space("pair").log("items");
    let head = driver.read(&log, LogRange::head()).await?.head;
    Ok(head.map_or(0, |head| head.last))
}

/// Where both stand.
async fn pair_is_even(driver: &dyn Driver) -> Result<u64> {
    let key = space("pair").key("count");
    loop {
        let before = last(driver).await?;
        let count = driver.get(&key, ValuePart::Whole).await?;
        // What was begun before, and whose caller left, may still come in between.
        if last(driver).await? != before {
            continue;
        }
        let count = count.map_or(0, |entry| entry.value.to().unwrap());
        assert_eq!(before, count);
        assert_eq!(driver.check().await?, Vec::<String>::new());
        return Ok(count);
    }
}

pub async fn cancelled(url: String) {
    let driver = open(&url).await;
    let mut finished = 0;
    for number in 0..300 {
        let time = Duration::from_micros(u64::from(number % 50) * 400);
        let commit = tokio::time::timeout(time, driver.commit(pair(number)));
        finished += u64::from(commit.await.is_ok());
    }
    driver.commit(pair(1_000)).await.unwrap();
    let stored = pair_is_even(&*driver).await.unwrap();
    eprintln!("{finished} of 300 commits finished in time, {stored} entries");
    assert!(stored > finished);
}

pub async fn lost(url: String) {
    for (point, wanted) in [
        ("postgres.begin", 0),
        ("postgres.written", 0),
        ("postgres.committed", 1),
    ] {
        let fault_points = FaultPoints::new(move |at| assert!(at != point, "lost at {at}"));
        let options = DriverOptions {
            fault_points,
            ..DriverOptions::default()
        };
        let doomed = driver::open(&url, options).await.unwrap();
        let task = tokio::spawn(async move { doomed.commit(pair(1)).await });
        assert!(!matches!(task.await, Ok(Ok(_))), "{point}");
        let stored = pair_is_even(&*open(&url).await).await;
        assert_eq!(stored.unwrap(), wanted, "{point}");
    }
}

/// The same where connections are dying: a call that meets one is refused as unavailable, which is safe to repeat.
async fn pair_is_even_again(driver: &dyn Driver) -> u64 {
    loop {
        match pair_is_even(driver).await {
            Err(Error::Unavailable { .. }) => tokio::task::yield_now().await,
            stored => return stored.unwrap(),
        }
    }
}

pub async fn unreachable(url: String) {
    let name = "//me:canary@127.0.0.1:1/nowhere";
    let error = driver::open(&format!("postgres:{name}"), DriverOptions::default())
        .await
        .err()
        .unwrap();
    let text = format!("{error} {error:?}");
    assert!(
        text.contains("127.0.0.1:1/nowhere") && !text.contains("canary"),
        "{text}"
    );
    let name = format!("doomed-{}", std::process::id());
    let driver = open(&format!("{url}&application_name={name}")).await;
    driver.commit(pair(1)).await.unwrap();
    // Every connection dies, the listening one too; the next calls use new ones.
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name =";
    sql(&url, &format!("{kill} '{name}'")).await;
    assert_eq!(pair_is_even_again(&*driver).await, 1);
    while let Err(error) = driver.commit(pair(2)).await {
        assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    }
    assert_eq!(pair_is_even_again(&*driver).await, 2);
}
