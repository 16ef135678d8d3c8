//! Every case of the index's kit on every driver: `driver::case`.

#[expect(dead_code, reason = "fault points are for the tests of stores")]
#[path = "../../storage/tests/support/stores.rs"]
mod stores;
#[path = "../../storage/examples/own_driver/snapshot.rs"]
mod toy;

use ambit_search::conformance::{CASES, IndexCase, RANDOM_CHANGES};
use ambit_storage::conformance::DriverFixture;
use libtest_mimic::{Arguments, Trial};
use stores::{STORES, Store, wait_for};

fn main() {
    let trials = STORES.iter().flat_map(|store| {
        let cases = CASES.iter();
        cases.map(move |case| proves(store, case))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

/// The random changes on a store: all that are promised in this process's memory, else as many as keep a case within some ten
/// seconds. `AMBIT_RANDOM_CHANGES` says another number for every store.
fn changes(store: &Store) -> usize {
    let given = std::env::var_os("AMBIT_RANDOM_CHANGES");
    if let Some(given) = given.and_then(|text| text.to_str()?.parse().ok()) {
        return given;
    }
    if store.is_small {
        400
    } else if store.is_shared {
        1_500
    } else {
        RANDOM_CHANGES
    }
}

fn proves(store: &'static Store, case: &'static IndexCase) -> Trial {
    let trial = Trial::test(format!("{}::{}", store.name, case.name), move || {
        let fresh = store.fresh();
        wait_for(async move { (case.run)(fresh.open().await, changes(store)).await });
        Ok(())
    });
    trial.with_ignored_flag(store.is_missing())
}
