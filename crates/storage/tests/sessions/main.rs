//! Where sessions are kept, for how long, and how they are removed: `driver::case` with each driver as the store of the index.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod orphans;
mod placement;
mod removal;
mod retention;
mod setting;
#[path = "../support/stores.rs"]
#[expect(dead_code, reason = "these cases do not look at all of a store")]
mod stores;
#[path = "../../examples/own_driver/snapshot.rs"]
mod toy;
mod with_history;

use libtest_mimic::{Arguments, Trial};
use setting::Case;
use stores::{STORES, Store};

fn main() {
    let tables = [
        placement::CASES,
        removal::CASES,
        retention::CASES,
        orphans::CASES,
        with_history::CASES,
    ];
    let cases = tables.into_iter().flatten();
    let trials = cases.flat_map(|case| STORES.iter().map(move |store| trial(store, case)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn trial(store: &'static Store, (name, run): &'static Case) -> Trial {
    let name = format!("{}::{name}", store.name);
    let trial = Trial::test(name, move || {
        stores::wait_for(run(store));
        Ok(())
    });
    trial.with_ignored_flag(store.is_missing())
}
