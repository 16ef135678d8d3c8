//! What the upper layer promises, on every driver: `driver::g070_…`. Each case has a fresh store of its own.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[expect(dead_code, reason = "where a process may be killed is for other tests")]
#[path = "../support/stores.rs"]
mod stores;
#[path = "../../examples/own_driver/snapshot.rs"]
mod toy;

/// A table of cases, each named like the function that it runs.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        &[$($crate::bed::Case {
            name: stringify!($name),
            run: |bed| Box::pin($name(bed)),
        }),*]
    };
}

mod add;
mod agents;
mod amending;
mod bed;
mod blobs;
mod bulk;
mod cost;
mod count;
mod cursors;
mod days;
mod dump;
mod filter;
mod group;
mod memory_rows;
mod names;
mod nested;
mod order;
mod reach;
mod remains;
mod rights;
mod sums;
mod temporary;
mod veto;

use bed::{Bed, Case};
use libtest_mimic::{Arguments, Trial};
use stores::{STORES, Store, wait_for};

/// The tables of cases, by what they are about.
const AREAS: &[&[Case]] = &[
    add::CASES,
    amending::CASES,
    blobs::CASES,
    bulk::CASES,
    cost::CASES,
    cursors::CASES,
    days::CASES,
    filter::CASES,
    group::CASES,
    memory_rows::CASES,
    names::CASES,
    nested::CASES,
    order::CASES,
    reach::CASES,
    remains::CASES,
    rights::CASES,
    sums::CASES,
    temporary::CASES,
    veto::CASES,
];

fn main() {
    let cases = || AREAS.iter().flat_map(|area| area.iter());
    let trials = STORES
        .iter()
        .flat_map(|store| cases().map(move |case| proves(store, case)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn proves(store: &'static Store, case: &'static Case) -> Trial {
    let name = format!("{}::{}", store.name, case.name);
    let trial = Trial::test(name, move || {
        wait_for(async { (case.run)(Bed::new(store).await).await });
        Ok(())
    });
    trial.with_ignored_flag(store.is_missing())
}
