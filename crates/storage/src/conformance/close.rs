//! The end of a store, and its beginning again.

use super::steps::*;
use super::{ConformanceCase, TestStore};
use crate::address::DEFAULT_TENANT;
use crate::batch::Batch;
use crate::directory::{PageRequest, RowFilter};
use crate::driver::{DataKind, DataSize, LogRange, ValuePart};
use crate::{Error, Result};
use std::fmt::Debug;

pub(super) const CASES: &[ConformanceCase] = cases![
    a_sound_store_has_no_findings,
    a_closed_driver_is_unavailable,
    what_takes_the_room_is_known_by_kind,
    closing_twice_is_no_error,
    closing_a_handle_leaves_the_others_open,
    g022_what_was_stored_is_there_after_reopening,
    numbers_grow_on_after_reopening,
    every_handle_sees_what_another_wrote,
];

async fn a_sound_store_has_no_findings(store: TestStore) {
    assert_eq!(must(store.check().await), Vec::<String>::new());
    let here = space("s");
    let batch = Batch::of([
        track("row", &identity("s")),
        append(&here.log("items"), &[("a", "1"), ("b", "2")]),
        apply(&here.key("list"), set("[1,2,3]")),
        apply_for(&here.key("short"), set("1"), MINUTE),
    ]);
    must(store.commit(batch).await);
    store.write(clear(&here)).await;
    store.act(&here.key("list"), push(&["1"])).await;
    let before = store.snapshot(&here).await;
    assert_eq!(must(store.check().await), Vec::<String>::new());
    assert_eq!(store.snapshot(&here).await, before);
}

#[track_caller]
fn is_unavailable<T: Debug>(what: &str, result: Result<T>) {
    match result {
        Err(Error::Unavailable { .. }) => {}
        other => panic!("{what} after close gave {other:?}"),
    }
}

async fn a_closed_driver_is_unavailable(store: TestStore) {
    let here = space("s");
    store.append(&here.log("items"), &[("a", "1")]).await;
    // Some stores do not count.
    assert_ne!(must(store.size().await), Some(0));
    must(store.close().await);
    let log = here.log("items");
    let filter = RowFilter::tenant(DEFAULT_TENANT);
    let page = PageRequest::first(1);
    is_unavailable("commit", store.attempt(append(&log, &[("b", "2")])).await);
    is_unavailable("read", store.read(&log, LogRange::last(1)).await);
    is_unavailable("get", store.get(&here.key("k"), ValuePart::Whole).await);
    is_unavailable("scan", store.scan(&here, &scan("*", 1)).await);
    is_unavailable("logs", store.logs(&here).await);
    is_unavailable("identities", store.identities(&filter, &page).await);
    is_unavailable("count", store.count(&filter).await);
    is_unavailable("sweep", store.sweep(1).await);
    is_unavailable("check", store.check().await);
    is_unavailable("size", store.size().await);
}

async fn what_takes_the_room_is_known_by_kind(store: TestStore) {
    let (path, entry) = ("%", "it%s");
    let items = DataKind {
        name: "items",
        path,
        entry,
    };
    let of_nothing = DataKind {
        path: "nowhere%",
        ..items
    };
    let here = space("s");
    store
        .append(&here.log("items"), &[("a", "1"), ("b", "\"ü\"")])
        .await;
    store.act(&here.key("its"), set("\"abc\"")).await;
    store.act(&here.key("list"), set("[10,2]")).await;
    let Some(found) = must(store.contents(&[of_nothing, items]).await) else {
        // Some stores do not count.
        return;
    };
    let size = |kind, count, bytes| DataSize { kind, count, bytes };
    let expected = [size(Some(items), 3, 1 + 4 + 5), size(None, 1, 2 + 1)];
    assert_eq!(found, expected);
}

async fn closing_twice_is_no_error(store: TestStore) {
    must(store.close().await);
    must(store.close().await);
}

async fn closing_a_handle_leaves_the_others_open(store: TestStore) {
    if !store.fixture.is_shared() {
        return;
    }
    let other = store.open().await;
    let log = space("s").log("items");
    store.append(&log, &[("a", "1")]).await;
    must(store.close().await);
    other.append(&log, &[("b", "2")]).await;
    assert_eq!(
        other.entries(&log).await,
        [entry(1, "a", "1"), entry(2, "b", "2")]
    );
}

async fn g022_what_was_stored_is_there_after_reopening(store: TestStore) {
    if !store.fixture.is_shared() {
        return;
    }
    let (full, empty, gone) = (space("full"), space("empty"), space("gone"));
    for (here, id) in [(&full, "full"), (&empty, "empty"), (&gone, "gone")] {
        let batch = Batch::of([
            track(id, &identity(id)),
            append(&here.log("items"), &[("a", "1"), ("b", "{\"x\":1}")]),
            append(&here.log("usage"), &[]),
            apply(&here.key("list"), set("[1,[2],null]")),
            apply_for(&here.key("number"), set("7"), HOUR),
        ]);
        must(store.commit(batch).await);
    }
    store.write(clear(&empty)).await;
    store.write(remove(&gone)).await;
    let mut before = Vec::new();
    for here in [&full, &empty, &gone] {
        before.push(store.snapshot(here).await);
    }
    let store = store.reopened().await;
    for (here, expected) in [&full, &empty, &gone].into_iter().zip(before) {
        assert_eq!(store.snapshot(here).await, expected, "{here}");
    }
    assert_eq!(
        store.head(&empty.log("items")).await.map(|head| head.last),
        Some(0)
    );
    assert_eq!(store.head(&gone.log("items")).await, None);
    store.clock().advance(2 * HOUR);
    assert_eq!(store.value(&full.key("number")).await, None);
}

async fn numbers_grow_on_after_reopening(mut store: TestStore) {
    if !store.fixture.is_shared() {
        return;
    }
    let key = space("s").key("k");
    let mut last = 0;
    for _ in 0..3 {
        let version = store.version_after(&key, incr(1)).await;
        assert!(version > last, "{version} follows {last}");
        last = version;
        store.write(remove(&key.space)).await;
        store = store.reopened().await;
    }
}

async fn every_handle_sees_what_another_wrote(store: TestStore) {
    let handles = [store.open().await, store.open().await, store.open().await];
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
        let expected = writer.snapshot(&here).await;
        for reader in &handles {
            assert_eq!(reader.snapshot(&here).await, expected);
        }
        assert_eq!(
            writer.text(&here.key("n")).await,
            Some((number + 1).to_string())
        );
    }
}
