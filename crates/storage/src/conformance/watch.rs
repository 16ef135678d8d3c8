//! Watches: every change wakes, whoever made it.

use super::steps::*;
use super::{ConformanceCase, TestStore};
use crate::batch::{Batch, BatchWrite};
use crate::driver::LogWatch;
use std::time::Duration;

pub(super) const CASES: &[ConformanceCase] = cases![
    a_watch_wakes_when_its_log_grows,
    a_watch_wakes_on_writes_of_another_handle,
    a_watch_wakes_on_every_kind_of_change,
    no_growth_between_reading_and_waiting_is_missed,
    a_watch_ends_with_its_driver,
];

/// Guards against hanging: how soon a driver notices is not judged here.
const PATIENCE: Duration = Duration::from_secs(60);

async fn wakes(watch: &mut LogWatch, what: &str) {
    match tokio::time::timeout(PATIENCE, watch.changed()).await {
        Ok(is_open) => assert!(is_open, "the watch ended before it saw {what}"),
        Err(_) => panic!("{what} woke nobody within {PATIENCE:?}"),
    }
}

async fn a_watch_wakes_when_its_log_grows(store: TestStore) {
    let log = space("s").log("items");
    let mut watches = [must(store.watch(&log).await), must(store.watch(&log).await)];
    for id in ["a", "b", "c"] {
        store.append(&log, &[(id, "1")]).await;
        for watch in &mut watches {
            wakes(watch, id).await;
        }
    }
}

async fn a_watch_wakes_on_writes_of_another_handle(store: TestStore) {
    let writer = store.open().await;
    let log = space("s").log("items");
    let mut watch = must(store.watch(&log).await);
    for last in 1..=5 {
        writer.append(&log, &[(&format!("id{last}"), "1")]).await;
        wakes(&mut watch, "an append").await;
        while store.head(&log).await.map(|head| head.last) != Some(last) {
            wakes(&mut watch, "an append").await;
        }
    }
}

async fn a_watch_wakes_on_every_kind_of_change(store: TestStore) {
    let other = store.open().await;
    let here = space("s");
    let log = here.log("items");
    let redact = BatchWrite::redact(log.clone(), vec![(1, json("null"))]);
    for change in [redact, clear(&here), drop_log(&log), remove(&here)] {
        let what = format!("{change:?}");
        store.append(&log, &[("a", "1")]).await;
        let mut watch = must(store.watch(&log).await);
        other.write(change).await;
        wakes(&mut watch, &what).await;
    }
}

async fn no_growth_between_reading_and_waiting_is_missed(store: TestStore) {
    let writer = store.open().await;
    let log = space("s").log("items");
    let mut watch = must(store.watch(&log).await);
    let count: u64 = 50;
    let written = tokio::spawn({
        let log = log.clone();
        async move {
            for number in 0..count {
                let batch = Batch::of([append(&log, &[(&number.to_string(), "1")])]);
                must(writer.commit(batch).await);
            }
        }
    });
    while store.head(&log).await.map_or(0, |head| head.last) < count {
        wakes(&mut watch, "the next append").await;
    }
    assert!(written.await.is_ok());
}

async fn a_watch_ends_with_its_driver(store: TestStore) {
    let mut watch = must(store.watch(&space("s").log("items")).await);
    must(store.close().await);
    let ended = async { while watch.changed().await {} };
    assert!(tokio::time::timeout(PATIENCE, ended).await.is_ok());
}
