//! Every case of the index's kit on every driver: `driver::case`.

#![expect(clippy::unwrap_used, reason = "a case fails by panicking")]

#[path = "conformance/quality.rs"]
mod quality;
#[expect(dead_code, reason = "fault points are for the tests of stores")]
#[path = "../../storage/tests/support/stores.rs"]
mod stores;
#[path = "../../storage/examples/own_driver/snapshot.rs"]
mod toy;

use ambit_search::conformance::{CASES, IndexCase};
use ambit_storage::conformance::DriverFixture;
use libtest_mimic::{Arguments, Trial};
use quality::QUALITY;
use stores::{STORES, Store, wait_for};

fn main() {
    let trials = STORES.iter().flat_map(|store| {
        CASES
            .iter()
            .chain(QUALITY)
            .map(move |case| proves(store, case))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn proves(store: &'static Store, case: &'static IndexCase) -> Trial {
    let trial = Trial::test(format!("{}::{}", store.name, case.name), move || {
        let fresh = store.fresh();
        wait_for(async move { (case.run)(fresh.open().await).await });
        Ok(())
    });
    trial.with_ignored_flag(store.is_missing())
}
