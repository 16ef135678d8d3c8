//! Every case of the conformance kit on every driver: `driver::case`.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "support/stores.rs"]
mod stores;
#[path = "../examples/own_driver/snapshot.rs"]
mod toy;

use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::conformance::{ConformanceCase, DriverFixture, cases};
use ambit_storage::driver::FaultPoints;
use ambit_storage::{Json, SessionIdentity};
use libtest_mimic::{Arguments, Trial};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use stores::{STORES, Store, wait_for};

fn main() {
    let kit = STORES
        .iter()
        .chain(PROXIED)
        .flat_map(|store| cases().map(move |case| proves(store, case)));
    let points = STORES.iter().map(reaches_its_fault_points);
    let trials = kit.chain(points).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// A store behind a proxy that lends its connections for the length of a transaction.
const PROXIED: &[Store] = &[Store {
    name: "pgbouncer",
    open: stores::BY_SCHEME,
    place: || stores::Place::on_server("TEST_PGBOUNCER_URL", "ambit_schema"),
    is_shared: true,
    is_small: false,
    fault_points: &["postgres.begin", "postgres.written", "postgres.committed"],
}];

/// One case on one driver.
fn proves(store: &'static Store, case: &'static ConformanceCase) -> Trial {
    let name = format!("{}::{}", store.name, case.name);
    let trial = Trial::test(name, move || {
        wait_for((case.run)(Arc::new(store.fresh())));
        Ok(())
    });
    trial.with_ignored_flag(store.is_missing())
}

/// A write comes to the points that the driver's row names, and to no other.
fn reaches_its_fault_points(store: &'static Store) -> Trial {
    let name = format!(
        "{}::a_write_reaches_the_fault_points_of_its_row",
        store.name
    );
    let trial = Trial::test(name, move || {
        let reached: Arc<Mutex<BTreeSet<&'static str>>> = Arc::default();
        let (note, opened) = (reached.clone(), reached.clone());
        let fresh = store.fresh_with(FaultPoints::new(move |point| {
            note.lock().unwrap().insert(point);
        }));
        wait_for(async move {
            let driver = fresh.open().await;
            opened.lock().unwrap().clear();
            driver.commit(over_two_spaces()).await.unwrap();
        });
        let expected = store.fault_points.iter().copied().collect();
        assert_eq!(*reached.lock().unwrap(), expected);
        Ok(())
    });
    trial.with_ignored_flag(store.is_missing())
}

fn over_two_spaces() -> Batch {
    let spaces = ["one", "two"].map(|chat| {
        let identity = SessionIdentity::builder("Agent").chat_name(chat).build();
        Space::of(DEFAULT_TENANT, &identity.unwrap())
    });
    Batch::of(spaces.map(|space| {
        BatchWrite::append(
            space.log("items"),
            vec![NewEntry::new("a", Json::stored("1"))],
        )
    }))
}
