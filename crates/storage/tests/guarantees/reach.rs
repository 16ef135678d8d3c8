//! Removal in every driver on record: G67.

use crate::bed::{Bed, Case, chat, contents, rows, with_agents};
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::conformance::FlakyDriver;
use ambit_storage::driver::Driver;
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::{Ambit, Context};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const CASES: &[Case] = cases![
    g067_removal_reaches_drivers_that_the_query_did_not_name,
    g067_a_secondary_out_of_reach_leaves_the_identity_tracked_and_reported,
    g067_a_primary_out_of_reach_leaves_the_identity_tracked_and_reported,
    g067_a_driver_that_is_not_set_up_any_more_leaves_the_identity_tracked_and_reported,
];

/// The store `main` with a second one, `copy`, behind it, and an index that may be kept in `main` alone.
struct Pair {
    ambit: Ambit,
    main: Arc<FlakyDriver>,
    copy: Arc<FlakyDriver>,
}

fn pair(bed: &Bed, index: &[&str]) -> Pair {
    let main = Arc::new(FlakyDriver::new(bed.driver.clone()));
    let copy = Arc::new(FlakyDriver::new(Arc::new(MemoryDriver::new(bed.options()))));
    let stores = ambit_storage::Stores::builder(bed.options())
        .driver("main", main.clone())
        .driver("copy", copy.clone())
        .default_drivers(index)
        .scope_drivers("chatHistory", &["main", "copy"])
        .scope_drivers("usage", &["main", "copy"]);
    let ambit = with_agents(stores).build();
    Pair { ambit, main, copy }
}

async fn with_memory(ambit: &Ambit, name: &str) {
    let agent = chat(ambit, name, &["hi"]).await;
    let memory = agent.context().memory().unwrap();
    memory.set("k", &1, None).await.unwrap();
}

/// What the driver has of the chat's history and memory.
async fn held(driver: &dyn Driver, name: &str) -> usize {
    let mut found = BTreeMap::new();
    for scope in ["chatHistory", "memory"] {
        let identity = ambit_storage::SessionIdentity::builder("Support").chat_name(name);
        let identity = identity.scope(scope).build().unwrap();
        contents(driver, &Space::of(DEFAULT_TENANT, &identity), &mut found).await;
    }
    found.len()
}

async fn g067_removal_reaches_drivers_that_the_query_did_not_name(bed: Bed) {
    for index in [&["main"][..], &["main", "copy"]] {
        let Pair { ambit, main, copy } = pair(&bed, index);
        with_memory(&ambit, "c").await;
        assert_eq!((held(&*main, "c").await, held(&*copy, "c").await), (2, 2));
        let query = Context::named(&ambit, "Support").with_drivers(&["main"]);
        let report = query.remove().await.unwrap();
        assert_eq!((report.done.len(), report.failed), (2, vec![]));
        assert_eq!((held(&*main, "c").await, held(&*copy, "c").await), (0, 0));
        assert_eq!(rows(&*main).await, []);
        assert_eq!(rows(&*copy).await, []);
    }
}

async fn g067_a_secondary_out_of_reach_leaves_the_identity_tracked_and_reported(bed: Bed) {
    for index in [&["main"][..], &["main", "copy"]] {
        let Pair { ambit, main, copy } = pair(&bed, index);
        with_memory(&ambit, "c").await;
        copy.go_down();
        let query = Context::named(&ambit, "Support");
        for _ in 0..2 {
            let report = query.remove().await.unwrap();
            assert_eq!(
                (report.done.len(), report.failed.len()),
                (0, 2),
                "{report:?}"
            );
            assert_eq!(query.count().await.unwrap(), 2);
        }
        let agent = ambit.agent("Support").unwrap().for_chat("c").await.unwrap();
        agent.context().remove().await.unwrap_err();
        assert_eq!(query.count().await.unwrap(), 2);
        copy.heal();
        let report = query.remove().await.unwrap();
        assert_eq!((report.done.len(), report.failed), (2, vec![]));
        assert_eq!((held(&*main, "c").await, held(&*copy, "c").await), (0, 0));
        assert_eq!((rows(&*main).await.len(), rows(&*copy).await.len()), (0, 0));
    }
}

async fn g067_a_primary_out_of_reach_leaves_the_identity_tracked_and_reported(bed: Bed) {
    let main = Arc::new(FlakyDriver::new(Arc::new(MemoryDriver::new(bed.options()))));
    let stores = bed.stores().driver("other", main.clone());
    let ambit = with_agents(stores.scope_drivers("chatHistory", &["other", "main"])).build();
    with_memory(&ambit, "c").await;
    main.go_down();
    let query = Context::named(&ambit, "Support");
    let report = query.remove().await.unwrap();
    assert_eq!(
        (report.done.len(), report.failed.len()),
        (0, 2),
        "{report:?}"
    );
    assert_eq!(query.count().await.unwrap(), 2);
    assert_ne!(held(bed.driver.as_ref(), "c").await, 0);
    main.heal();
    let report = query.remove().await.unwrap();
    assert_eq!((report.done.len(), report.failed), (2, vec![]));
    assert_eq!(
        (
            held(&*main, "c").await,
            held(bed.driver.as_ref(), "c").await
        ),
        (0, 0)
    );
    assert_eq!(query.count().await.unwrap(), 0);
}

async fn g067_a_driver_that_is_not_set_up_any_more_leaves_the_identity_tracked_and_reported(
    bed: Bed,
) {
    let copy: Arc<dyn Driver> = Arc::new(MemoryDriver::new(bed.options()));
    let stores = bed.stores().driver("copy", copy.clone());
    let before = with_agents(stores.scope_drivers("chatHistory", &["main", "copy"])).build();
    with_memory(&before, "c").await;
    let query = Context::named(bed.ambit(), "Support");
    let report = query.remove().await.unwrap();
    assert_eq!(
        (report.done.len(), report.failed.len()),
        (0, 2),
        "{report:?}"
    );
    assert!(
        report.failed[0].1.to_string().contains("\"copy\""),
        "{report:?}"
    );
    assert_eq!(query.count().await.unwrap(), 2);
    assert_eq!(
        (
            held(bed.driver.as_ref(), "c").await,
            held(copy.as_ref(), "c").await
        ),
        (2, 2)
    );
}
