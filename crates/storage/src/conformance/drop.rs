//! Dropping one log of a space.

use super::steps::*;
use super::{ConformanceCase, SpaceSnapshot, TestStore};
use crate::batch::{Batch, BatchCheck, Head, WriteOutcome};
use crate::directory::RowState;
use crate::driver::LogPage;

pub(super) const CASES: &[ConformanceCase] = cases![
    a_dropped_log_is_absent_for_every_handle,
    dropping_a_log_leaves_the_rest_of_its_space,
    dropping_an_absent_log_erases_nothing,
    a_dropped_log_begins_anew_with_a_higher_generation,
    a_log_dropped_and_appended_to_in_one_batch_has_the_new_entries_alone,
    a_dropped_log_does_not_have_the_head_that_it_had,
    a_refused_batch_drops_nothing,
    a_drop_of_items_leaves_a_row_that_counts_none,
    a_name_of_any_letters_is_dropped_alone,
];

async fn a_dropped_log_is_absent_for_every_handle(store: TestStore) {
    let other = store.open().await;
    let log = space("s").log("turn/1/journal");
    store.append(&log, &[("a", "1"), ("b", "2")]).await;
    other.append(&log, &[("c", "3")]).await;
    assert_eq!(store.write(drop_log(&log)).await, WriteOutcome::Erased(3));
    for handle in [&store, &other] {
        assert_eq!(handle.page(&log).await, LogPage::default());
        assert_eq!(
            handle.snapshot(&log.space).await,
            SpaceSnapshot::default(),
            "nothing tells that the space was there"
        );
    }
}

async fn dropping_a_log_leaves_the_rest_of_its_space(store: TestStore) {
    let (here, there) = (space("s"), space("t"));
    let rest = |name: &'static str| append(&here.log(name), &[("a", "1")]);
    let batch = Batch::of([
        track("row", &identity("s")),
        rest("items"),
        rest("turn/1/events"),
        apply(&here.key("turn/1/journal"), set("[1]")),
        append(&there.log("turn/1/journal"), &[("a", "1")]),
    ]);
    must(store.commit(batch).await);
    let before = (store.snapshot(&here).await, store.snapshot(&there).await);
    let log = here.log("turn/1/journal");
    store.append(&log, &[("a", "1")]).await;
    assert_eq!(store.write(drop_log(&log)).await, WriteOutcome::Erased(1));
    let after = (store.snapshot(&here).await, store.snapshot(&there).await);
    assert_eq!(after, before);
}

async fn dropping_an_absent_log_erases_nothing(store: TestStore) {
    let log = space("s").log("none");
    for _ in 0..2 {
        assert_eq!(store.write(drop_log(&log)).await, WriteOutcome::Erased(0));
        assert_eq!(store.snapshot(&log.space).await, SpaceSnapshot::default());
    }
    store.append(&log, &[]).await;
    assert_eq!(store.write(drop_log(&log)).await, WriteOutcome::Erased(0));
    assert_eq!(store.page(&log).await.head, None, "it was empty");
}

async fn a_dropped_log_begins_anew_with_a_higher_generation(store: TestStore) {
    let log = space("s").log("items");
    let mut generation = 0;
    for _ in 0..4 {
        store.append(&log, &[("a", "1"), ("b", "2")]).await;
        let head = some(store.head(&log).await);
        assert!(head.generation > generation);
        assert_eq!(head.last, 2, "an id of before the drop is new");
        generation = head.generation;
        store.write(drop_log(&log)).await;
    }
}

async fn a_log_dropped_and_appended_to_in_one_batch_has_the_new_entries_alone(store: TestStore) {
    let log = space("s").log("items");
    store.append(&log, &[("a", "1"), ("b", "2")]).await;
    let first = some(store.head(&log).await);
    let batch = Batch::of([
        append(&log, &[("c", "3")]),
        drop_log(&log),
        append(&log, &[("b", "4")]),
        drop_log(&log),
        append(&log, &[("a", "5"), ("c", "6")]),
    ]);
    let outcomes = must(store.commit(batch).await);
    assert_eq!(
        [&outcomes[1], &outcomes[3]],
        [&WriteOutcome::Erased(3), &WriteOutcome::Erased(1)]
    );
    assert_eq!(
        store.entries(&log).await,
        [entry(1, "a", "5"), entry(2, "c", "6")]
    );
    assert!(some(store.head(&log).await).generation > first.generation);
    must(
        store
            .commit(Batch::of([append(&log, &[]), drop_log(&log)]))
            .await,
    );
    assert_eq!(store.snapshot(&log.space).await, SpaceSnapshot::default());
}

async fn a_dropped_log_does_not_have_the_head_that_it_had(store: TestStore) {
    let log = space("s").log("items");
    store.append(&log, &[("a", "1")]).await;
    let seen = store.head(&log).await;
    let expecting = |head: Option<Head>| {
        let check = BatchCheck::head(log.clone(), head);
        Batch::of([append(&log, &[("z", "9")])]).checking(check)
    };
    store.write(drop_log(&log)).await;
    refusal(store.commit(expecting(seen)).await);
    store.append(&log, &[("a", "1")]).await;
    refusal(store.commit(expecting(seen)).await);
    store.write(drop_log(&log)).await;
    must(store.commit(expecting(None)).await);
    assert_eq!(store.entries(&log).await, [entry(1, "z", "9")]);
}

async fn a_refused_batch_drops_nothing(store: TestStore) {
    let here = space("s");
    let log = here.log("items");
    let batch = Batch::of([
        append(&log, &[("a", "1"), ("b", "2")]),
        apply(&here.key("text"), set("\"no number\"")),
    ]);
    must(store.commit(batch).await);
    let before = store.snapshot(&here).await;
    let batch = Batch::of([
        drop_log(&log),
        append(&log, &[("c", "3")]),
        apply(&here.key("text"), incr(1)),
    ]);
    refusal(store.commit(batch).await);
    assert_eq!(store.snapshot(&here).await, before);
    store.append(&log, &[("b", "2"), ("c", "3")]).await;
    assert_eq!(store.entries(&log).await.len(), 3);
}

async fn a_drop_of_items_leaves_a_row_that_counts_none(store: TestStore) {
    let log = space("s").log("items");
    let batch = Batch::of([track("row", &identity("s")), append(&log, &[("a", "1")])]);
    must(store.commit(batch).await);
    store.write(drop_log(&log)).await;
    let found = some(store.row(&identity("s")).await);
    assert_eq!(
        (found.state, found.items, found.generation),
        (RowState::Live, 0, 0)
    );
    store.append(&log, &[("b", "2")]).await;
    let found = some(store.row(&identity("s")).await);
    assert_eq!((found.state, found.items), (RowState::Live, 1));
}

async fn a_name_of_any_letters_is_dropped_alone(store: TestStore) {
    let names = ["a%", "a_", "ab", "a", "A", "a*", "ü/é", "a b"];
    let here = space("s");
    for name in names {
        store.append(&here.log(name), &[("a", "1")]).await;
    }
    for (at, name) in names.iter().enumerate() {
        store.write(drop_log(&here.log(*name))).await;
        let mut left: Vec<&str> = names[at + 1..].to_vec();
        left.sort_unstable();
        assert_eq!(store.log_names(&here).await, left);
    }
}
