//! The end of a driver, and its beginning again.

use super::steps::*;
use super::{ConformanceCase, DriverFixture};
use crate::address::DEFAULT_TENANT;
use crate::batch::Batch;
use crate::directory::{PageRequest, RowFilter};
use crate::driver::{LogRange, ValuePart};
use crate::{Error, Result};
use std::fmt::Debug;
use std::sync::Arc;

pub(super) const CASES: &[ConformanceCase] = cases![
    a_sound_store_has_no_findings,
    a_closed_driver_is_unavailable,
    closing_twice_is_no_error,
    closing_a_handle_leaves_the_others_open,
    g022_what_was_stored_is_there_after_reopening,
    numbers_grow_on_after_reopening,
    every_handle_sees_what_another_wrote,
];

async fn a_sound_store_has_no_findings(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    assert_eq!(must(driver.check().await), Vec::<String>::new());
    let here = space("s");
    let batch = Batch::of([
        track("row", &identity("s")),
        append(&here.log("items"), &[("a", "1"), ("b", "2")]),
        apply(&here.key("list"), set("[1,2,3]")),
        apply_for(&here.key("short"), set("1"), MINUTE),
    ]);
    must(driver.commit(batch).await);
    write(&*driver, clear(&here)).await;
    act(&*driver, &here.key("list"), push(&["1"])).await;
    let before = snapshot(&*driver, &here).await;
    assert_eq!(must(driver.check().await), Vec::<String>::new());
    assert_eq!(snapshot(&*driver, &here).await, before);
}

#[track_caller]
fn is_unavailable<T: Debug>(what: &str, result: Result<T>) {
    match result {
        Err(Error::Unavailable { .. }) => {}
        other => panic!("{what} after close gave {other:?}"),
    }
}

async fn a_closed_driver_is_unavailable(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let here = space("s");
    write(&*driver, append(&here.log("items"), &[("a", "1")])).await;
    must(driver.close().await);
    let log = here.log("items");
    let filter = RowFilter::tenant(DEFAULT_TENANT);
    let page = PageRequest::first(1);
    is_unavailable(
        "commit",
        attempt(&*driver, append(&log, &[("b", "2")])).await,
    );
    is_unavailable("read", driver.read(&log, LogRange::last(1)).await);
    is_unavailable("get", driver.get(&here.key("k"), ValuePart::Whole).await);
    is_unavailable("scan", driver.scan(&here, &scan("*", 1)).await);
    is_unavailable("logs", driver.logs(&here).await);
    is_unavailable("identities", driver.identities(&filter, &page).await);
    is_unavailable("count", driver.count(&filter).await);
    is_unavailable("sweep", driver.sweep(1).await);
    is_unavailable("check", driver.check().await);
}

async fn closing_twice_is_no_error(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    must(driver.close().await);
    must(driver.close().await);
}

async fn closing_a_handle_leaves_the_others_open(fixture: Arc<dyn DriverFixture>) {
    if !fixture.is_shared() {
        return;
    }
    let driver = fixture.open().await;
    let other = fixture.open().await;
    let log = space("s").log("items");
    write(&*driver, append(&log, &[("a", "1")])).await;
    must(driver.close().await);
    write(&*other, append(&log, &[("b", "2")])).await;
    assert_eq!(
        entries(&*other, &log).await,
        [entry(1, "a", "1"), entry(2, "b", "2")]
    );
}

async fn g022_what_was_stored_is_there_after_reopening(fixture: Arc<dyn DriverFixture>) {
    if !fixture.is_shared() {
        return;
    }
    let driver = fixture.open().await;
    let (full, empty, gone) = (space("full"), space("empty"), space("gone"));
    for (here, id) in [(&full, "full"), (&empty, "empty"), (&gone, "gone")] {
        let batch = Batch::of([
            track(id, &identity(id)),
            append(&here.log("items"), &[("a", "1"), ("b", "{\"x\":1}")]),
            append(&here.log("usage"), &[]),
            apply(&here.key("list"), set("[1,[2],null]")),
            apply_for(&here.key("number"), set("7"), HOUR),
        ]);
        must(driver.commit(batch).await);
    }
    write(&*driver, clear(&empty)).await;
    write(&*driver, remove(&gone)).await;
    let mut before = Vec::new();
    for here in [&full, &empty, &gone] {
        before.push(snapshot(&*driver, here).await);
    }
    must(driver.close().await);
    drop(driver);
    let driver = fixture.open().await;
    for (here, expected) in [&full, &empty, &gone].into_iter().zip(before) {
        assert_eq!(snapshot(&*driver, here).await, expected, "{here}");
    }
    assert_eq!(
        head(&*driver, &empty.log("items"))
            .await
            .map(|head| head.last),
        Some(0)
    );
    assert_eq!(head(&*driver, &gone.log("items")).await, None);
    fixture.clock().advance(2 * HOUR);
    assert_eq!(get(&*driver, &full.key("number")).await, None);
}

async fn numbers_grow_on_after_reopening(fixture: Arc<dyn DriverFixture>) {
    if !fixture.is_shared() {
        return;
    }
    let key = space("s").key("k");
    let mut last = 0;
    for _ in 0..3 {
        let driver = fixture.open().await;
        let version = version_after(&*driver, &key, incr(1)).await;
        assert!(version > last, "{version} follows {last}");
        last = version;
        write(&*driver, remove(&key.space)).await;
        must(driver.close().await);
    }
}

async fn every_handle_sees_what_another_wrote(fixture: Arc<dyn DriverFixture>) {
    let handles = [
        fixture.open().await,
        fixture.open().await,
        fixture.open().await,
    ];
    let here = space("s");
    for number in 0..9_usize {
        let writer = &handles[number % 3];
        let batch = Batch::of([
            append(&here.log("items"), &[(&number.to_string(), "1")]),
            apply(&here.key("n"), incr(1)),
            apply(&here.key("l"), push(&["1"])),
            track(&format!("row{number}"), &identity("s")),
        ]);
        must(writer.commit(batch).await);
        let expected = snapshot(&**writer, &here).await;
        for reader in &handles {
            assert_eq!(snapshot(&**reader, &here).await, expected);
        }
        assert_eq!(
            text(&**writer, &here.key("n")).await,
            Some((number + 1).to_string())
        );
    }
}
