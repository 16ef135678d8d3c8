//! Commits that are cancelled or lose their connection, and a server that is not there.

use super::{entry, open, space, sql};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::driver::{self, Driver, DriverOptions, FaultPoints, LogRange, ValuePart};
use ambit_storage::operation::Operation;
use std::sync::Arc;
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

async fn pair_is_even(driver: &Arc<dyn Driver>) -> u64 {
    let head = driver
        .read(&space("pair").log("items"), LogRange::head())
        .await
        .unwrap()
        .head;
    let count = driver
        .get(&space("pair").key("count"), ValuePart::Whole)
        .await
        .unwrap();
    let count = count.map_or(0, |entry| entry.value.to().unwrap());
    assert_eq!(head.map_or(0, |head| head.last), count);
    assert_eq!(driver.check().await.unwrap(), Vec::<String>::new());
    count
}

pub async fn cancelled(url: String) {
    let driver = open(&url).await;
    let mut finished = 0;
    for number in 0..300 {
        let time = Duration::from_micros(u64::from(number % 50) * 400);
        let commit = tokio::time::timeout(time, driver.commit(pair(number)));
        finished += u64::from(commit.await.is_ok());
    }
    // Takes the same locks, hence comes behind whatever was sent and then cancelled.
    driver.commit(pair(1_000)).await.unwrap();
    pair_is_even(&driver).await;
    let head = driver
        .read(&space("pair").log("items"), LogRange::head())
        .await
        .unwrap()
        .head;
    eprintln!("{finished} of 300 commits finished in time, {head:?} entries");
    assert!(head.is_some_and(|head| head.last > finished));
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
        assert_eq!(pair_is_even(&open(&url).await).await, wanted, "{point}");
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
    // A call that meets a dying connection is refused as unavailable, which is safe to repeat.
    while driver.check().await.is_err() {}
    assert_eq!(pair_is_even(&driver).await, 1);
    driver.commit(pair(2)).await.unwrap();
    assert_eq!(pair_is_even(&driver).await, 2);
}
