//! A session's first commit, cut off anywhere, where index and data are in different stores: G31.

use crate::app::{AGENT, Plain, open};
use crate::child::Worker;
use crate::orders::{Job, Order};
use crate::stores::{Fresh, Store, wait_for};
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::conformance::DriverFixture;
use ambit_storage::driver::{DriverOptions, LogRange};
use ambit_storage::storage::StorageState;
use ambit_storage::{Ambit, Context, Stores};
use std::collections::BTreeSet;
use std::time::Duration;

pub fn g031_a_first_commit_over_two_stores_leaves_no_data_without_its_row(store: &'static Store) {
    for times in 1.. {
        let (index, data) = (store.fresh(), store.fresh());
        let order = Order {
            data: Some(data.place.url.clone()),
            dies_at: Some((None, times)),
            ..Order::new(&index.place.url, Job::First)
        };
        let mut worker = Worker::start(&order);
        let said = worker.rest();
        let is_done = worker.ended_well();
        wait_for(look(&index, &data, !said.is_empty(), times));
        let mut again = Worker::start(&Order {
            dies_at: None,
            ..order
        });
        assert_eq!(again.rest(), ["saved"], "killed at point {times}");
        wait_for(look(&index, &data, true, times));
        if is_done {
            assert!(times >= 4, "two stores have more than {times} points");
            return;
        }
    }
}

async fn look(index: &Fresh, data: &Fresh, is_saved: bool, times: u64) {
    let (index, data) = (index.open().await, data.open().await);
    let options = DriverOptions::default();
    let clock = options.clock.clone();
    let stores = Stores::builder(options)
        .driver("main", index.clone())
        .driver("data", data.clone())
        .scope_drivers("chatHistory", &["data"])
        .scope_drivers("usage", &["data"])
        .scope_drivers("notes", &["data"]);
    let ambit = Ambit::builder(stores.build().unwrap()).agent(Plain).build();
    let rows = Context::named(&ambit, AGENT).page(None, 100).await.unwrap();
    let rows: BTreeSet<String> = rows
        .items
        .iter()
        .filter_map(|row| row.identity.scope().map(str::to_owned))
        .collect();
    let agent = open(&ambit, "a").await.unwrap();
    let base = agent.context().identity().clone();
    let mut with_data = BTreeSet::new();
    for scope in ["chatHistory", "usage", "notes"] {
        let space = Space::of(DEFAULT_TENANT, &base.with_scope(scope).unwrap());
        let page = data
            .read(&space.log("items"), LogRange::head())
            .await
            .unwrap();
        if page.head.is_some() {
            with_data.insert(scope.to_owned());
        }
    }
    let untracked: Vec<&String> = with_data.difference(&rows).collect();
    assert_eq!(untracked, Vec::<&String>::new(), "killed at point {times}");
    let state = agent.history().state().await.unwrap();
    let is_there = with_data.contains("chatHistory");
    assert_eq!(
        state == StorageState::Live,
        is_there,
        "killed at point {times}"
    );
    assert_eq!(
        state == StorageState::Absent,
        !is_there,
        "killed at point {times}"
    );
    if is_saved {
        assert_eq!(with_data.len(), 3, "killed at point {times}");
    }
    // A row without data is swept, but only when nobody can be about to write it.
    assert_eq!(swept(&ambit).await, 0);
    clock.advance(Duration::from_secs(24 * 3_600 + 1));
    let alone = rows.difference(&with_data).count() as u64;
    assert_eq!(swept(&ambit).await, alone, "killed at point {times}");
    let left = Context::named(&ambit, AGENT).count().await.unwrap();
    assert_eq!(left, with_data.len() as u64, "killed at point {times}");
    assert_eq!(agent.history().state().await.unwrap(), state);
    index.close().await.unwrap();
    data.close().await.unwrap();
}

async fn swept(ambit: &Ambit) -> u64 {
    let done = ambit.index_sweep().step(1_000).await.unwrap();
    done.map_or(0, |done| done.swept)
}
