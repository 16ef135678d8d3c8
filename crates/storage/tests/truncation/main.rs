//! Truncation on every driver: `driver::case`.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

/// A table of cases, each named like the function that it runs.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        &[$(crate::Case { name: stringify!($name), run: |place| Box::pin($name(place)) }),*]
    };
}

mod events;
mod own;
mod races;
mod random;
mod refusals;
mod settings;
mod simple;
mod stand_ins;
#[expect(dead_code, reason = "its fault points are for other tests")]
#[path = "../support/stores.rs"]
mod stores;
mod superseding;
mod support;
#[path = "../../examples/own_driver/snapshot.rs"]
mod toy;

use ambit_storage::conformance::DriverFixture;
use ambit_storage::driver::Driver;
use futures::future::BoxFuture;
use libtest_mimic::{Arguments, Trial};
use std::sync::Arc;
use stores::{STORES, Store, wait_for};

/// A fresh store.
#[derive(Clone)]
pub(crate) struct Place {
    pub driver: Arc<dyn Driver>,
    /// How many random histories are tried there.
    pub rounds: u64,
}

/// A behaviour, as a sentence.
pub(crate) struct Case {
    pub name: &'static str,
    pub run: fn(Place) -> BoxFuture<'static, ()>,
}

const CASES: &[&[Case]] = &[
    events::CASES,
    own::CASES,
    races::CASES,
    random::CASES,
    refusals::CASES,
    settings::CASES,
    simple::CASES,
    stand_ins::CASES,
    superseding::CASES,
];

fn main() {
    let cases = || CASES.iter().copied().flatten();
    let trials = STORES
        .iter()
        .flat_map(|store| cases().map(move |case| trial(store, case)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn trial(store: &'static Store, case: &'static Case) -> Trial {
    let trial = Trial::test(format!("{}::{}", store.name, case.name), move || {
        let fresh = store.fresh();
        wait_for(async move {
            let rounds = if store.name == "memory" { 300 } else { 12 };
            let driver = fresh.open().await;
            (case.run)(Place { driver, rounds }).await;
        });
        Ok(())
    });
    trial.with_ignored_flag(store.is_missing())
}
