//! Dropping one log of a space.

use super::steps::*;
use super::{ConformanceCase, DriverFixture};
use crate::batch::{Batch, BatchCheck, Head, WriteOutcome};
use crate::directory::RowState;
use crate::driver::LogPage;
use std::sync::Arc;

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

async fn a_dropped_log_is_absent_for_every_handle(fixture: Arc<dyn DriverFixture>) {
    let (driver, other) = (fixture.open().await, fixture.open().await);
    let log = space("s").log("turn/1/journal");
    write(&*driver, append(&log, &[("a", "1"), ("b", "2")])).await;
    write(&*other, append(&log, &[("c", "3")])).await;
    assert_eq!(
        write(&*driver, drop_log(&log)).await,
        WriteOutcome::Erased(3)
    );
    for handle in [&driver, &other] {
        assert_eq!(page(&**handle, &log).await, LogPage::default());
        assert_eq!(
            snapshot(&**handle, &log.space).await,
            SpaceSnapshot::nothing(),
            "nothing tells that the space was there"
        );
    }
}

async fn dropping_a_log_leaves_the_rest_of_its_space(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let (here, there) = (space("s"), space("t"));
    let rest = |name: &'static str| append(&here.log(name), &[("a", "1")]);
    let batch = Batch::of([
        track("row", &identity("s")),
        rest("items"),
        rest("turn/1/events"),
        apply(&here.key("turn/1/journal"), set("[1]")),
        append(&there.log("turn/1/journal"), &[("a", "1")]),
    ]);
    must(driver.commit(batch).await);
    let before = (
        snapshot(&*driver, &here).await,
        snapshot(&*driver, &there).await,
    );
    let log = here.log("turn/1/journal");
    write(&*driver, append(&log, &[("a", "1")])).await;
    assert_eq!(
        write(&*driver, drop_log(&log)).await,
        WriteOutcome::Erased(1)
    );
    let after = (
        snapshot(&*driver, &here).await,
        snapshot(&*driver, &there).await,
    );
    assert_eq!(after, before);
}

async fn dropping_an_absent_log_erases_nothing(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let log = space("s").log("none");
    for _ in 0..2 {
        assert_eq!(
            write(&*driver, drop_log(&log)).await,
            WriteOutcome::Erased(0)
        );
        assert_eq!(
            snapshot(&*driver, &log.space).await,
            SpaceSnapshot::nothing()
        );
    }
    write(&*driver, append(&log, &[])).await;
    assert_eq!(
        write(&*driver, drop_log(&log)).await,
        WriteOutcome::Erased(0)
    );
    assert_eq!(page(&*driver, &log).await.head, None, "it was empty");
}

async fn a_dropped_log_begins_anew_with_a_higher_generation(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let log = space("s").log("items");
    let mut generation = 0;
    for _ in 0..4 {
        write(&*driver, append(&log, &[("a", "1"), ("b", "2")])).await;
        let head = some(head(&*driver, &log).await);
        assert!(head.generation > generation);
        assert_eq!(head.last, 2, "an id of before the drop is new");
        generation = head.generation;
        write(&*driver, drop_log(&log)).await;
    }
}

async fn a_log_dropped_and_appended_to_in_one_batch_has_the_new_entries_alone(
    fixture: Arc<dyn DriverFixture>,
) {
    let driver = fixture.open().await;
    let log = space("s").log("items");
    write(&*driver, append(&log, &[("a", "1"), ("b", "2")])).await;
    let first = some(head(&*driver, &log).await);
    let batch = Batch::of([
        append(&log, &[("c", "3")]),
        drop_log(&log),
        append(&log, &[("b", "4")]),
        drop_log(&log),
        append(&log, &[("a", "5"), ("c", "6")]),
    ]);
    let outcomes = must(driver.commit(batch).await);
    assert_eq!(
        [&outcomes[1], &outcomes[3]],
        [&WriteOutcome::Erased(3), &WriteOutcome::Erased(1)]
    );
    assert_eq!(
        entries(&*driver, &log).await,
        [entry(1, "a", "5"), entry(2, "c", "6")]
    );
    assert!(some(head(&*driver, &log).await).generation > first.generation);
    must(
        driver
            .commit(Batch::of([append(&log, &[]), drop_log(&log)]))
            .await,
    );
    assert_eq!(
        snapshot(&*driver, &log.space).await,
        SpaceSnapshot::nothing()
    );
}

async fn a_dropped_log_does_not_have_the_head_that_it_had(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let log = space("s").log("items");
    write(&*driver, append(&log, &[("a", "1")])).await;
    let seen = head(&*driver, &log).await;
    let expecting = |head: Option<Head>| {
        let check = BatchCheck::Head {
            log: log.clone(),
            head,
        };
        Batch::of([append(&log, &[("z", "9")])]).checking(check)
    };
    write(&*driver, drop_log(&log)).await;
    refusal(driver.commit(expecting(seen)).await);
    write(&*driver, append(&log, &[("a", "1")])).await;
    refusal(driver.commit(expecting(seen)).await);
    write(&*driver, drop_log(&log)).await;
    must(driver.commit(expecting(None)).await);
    assert_eq!(entries(&*driver, &log).await, [entry(1, "z", "9")]);
}

async fn a_refused_batch_drops_nothing(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let here = space("s");
    let log = here.log("items");
    let batch = Batch::of([
        append(&log, &[("a", "1"), ("b", "2")]),
        apply(&here.key("text"), set("\"no number\"")),
    ]);
    must(driver.commit(batch).await);
    let before = snapshot(&*driver, &here).await;
    let batch = Batch::of([
        drop_log(&log),
        append(&log, &[("c", "3")]),
        apply(&here.key("text"), incr(1)),
    ]);
    refusal(driver.commit(batch).await);
    assert_eq!(snapshot(&*driver, &here).await, before);
    write(&*driver, append(&log, &[("b", "2"), ("c", "3")])).await;
    assert_eq!(entries(&*driver, &log).await.len(), 3);
}

async fn a_drop_of_items_leaves_a_row_that_counts_none(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let log = space("s").log("items");
    let batch = Batch::of([track("row", &identity("s")), append(&log, &[("a", "1")])]);
    must(driver.commit(batch).await);
    write(&*driver, drop_log(&log)).await;
    let found = some(row(&*driver, &identity("s")).await);
    assert_eq!(
        (found.state, found.items, found.generation),
        (RowState::Live, 0, 0)
    );
    write(&*driver, append(&log, &[("b", "2")])).await;
    let found = some(row(&*driver, &identity("s")).await);
    assert_eq!((found.state, found.items), (RowState::Live, 1));
}

async fn a_name_of_any_letters_is_dropped_alone(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let names = ["a%", "a_", "ab", "a", "A", "a*", "ü/é", "a b"];
    let here = space("s");
    for name in names {
        write(&*driver, append(&here.log(name), &[("a", "1")])).await;
    }
    for (at, name) in names.iter().enumerate() {
        write(&*driver, drop_log(&here.log(*name))).await;
        let mut left: Vec<&str> = names[at + 1..].to_vec();
        left.sort_unstable();
        assert_eq!(log_names(&*driver, &here).await, left);
    }
}
