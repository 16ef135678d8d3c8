//! Batches: in order, and whole or not at all.

use super::steps::*;
use super::{ConformanceCase, SpaceSnapshot, TestStore};
use crate::address::Space;
use crate::batch::{Batch, BatchCheck, BatchWrite, Head, LogEntry, WriteOutcome};
use crate::driver::LogPage;
use crate::operation::Operation;
use crate::operation::OperationOutput::Number;

pub(super) const CASES: &[ConformanceCase] = cases![
    an_empty_batch_does_nothing,
    each_write_has_its_outcome_in_order,
    a_later_write_sees_the_earlier_ones,
    checks_are_judged_before_any_write,
    a_batch_with_a_failed_check_changes_nothing,
    a_batch_that_fails_in_its_last_write_changes_nothing,
    a_batch_over_several_spaces_fails_whole,
    g014_the_writer_after_a_failed_one_succeeds,
    a_value_of_many_writes_has_the_version_of_the_last,
];

async fn an_empty_batch_does_nothing(store: TestStore) {
    assert_eq!(must(store.commit(Batch::default()).await), []);
    let check = BatchCheck::version(space("s").key("k"), Some(1));
    let checked = Batch::default().checking(check);
    assert!(store.commit(checked).await.is_err());
}

async fn each_write_has_its_outcome_in_order(store: TestStore) {
    let here = space("s");
    let batch = Batch::of([
        track("row", &identity("s")),
        apply(&here.key("a"), incr(2)),
        append(&here.log("items"), &[("x", "1")]),
        track("another", &identity("s")),
        wipe(&here, "a"),
        BatchWrite::untrack(here.tenant.clone(), "row"),
        remove(&here),
        remove(&here),
    ]);
    let outcomes = must(store.commit(batch).await);
    let WriteOutcome::Appended { head, .. } = outcomes[2].clone() else {
        panic!("{:?} is no append", outcomes[2]);
    };
    let WriteOutcome::Applied { version, .. } = outcomes[1].clone() else {
        panic!("{:?} is no answer", outcomes[1]);
    };
    assert!(version.is_some());
    let expected = [
        WriteOutcome::tracked("row", true),
        WriteOutcome::applied(Number(json("2")), version),
        WriteOutcome::appended(head, vec![1]),
        WriteOutcome::tracked("row", false),
        WriteOutcome::Erased(1),
        WriteOutcome::Erased(1),
        WriteOutcome::Erased(1),
        WriteOutcome::Erased(0),
    ];
    assert_eq!(outcomes, expected);
    assert_eq!(store.snapshot(&here).await, SpaceSnapshot::default());
}

async fn a_later_write_sees_the_earlier_ones(store: TestStore) {
    let here = space("s");
    let (number, log) = (here.key("n"), here.log("items"));
    let batch = Batch::of([
        apply(&number, set("1")),
        apply(&number, incr(1)),
        append(&log, &[("a", "1"), ("b", "2")]),
        BatchWrite::redact(log.clone(), vec![(2, json("\"redacted\""))]),
        append(&log, &[("b", "3"), ("c", "4")]),
    ]);
    must(store.commit(batch).await);
    assert_eq!(store.text(&number).await.as_deref(), Some("2"));
    assert_eq!(
        store.entries(&log).await,
        [
            entry(1, "a", "1"),
            entry(2, "b", "\"redacted\""),
            entry(3, "c", "4")
        ]
    );
    let batch = Batch::of([
        clear(&here),
        append(&log, &[("a", "5")]),
        apply(&number, incr(1)),
        apply(&number, Operation::Del),
        apply(&number, incr(7)),
    ]);
    must(store.commit(batch).await);
    assert_eq!(store.text(&number).await.as_deref(), Some("7"));
    assert_eq!(store.entries(&log).await, [entry(1, "a", "5")]);
}

async fn checks_are_judged_before_any_write(store: TestStore) {
    let key = space("s").key("k");
    let absent = BatchCheck::version(key.clone(), None);
    let batch = Batch::of([apply(&key, set("1"))])
        .checking(absent.clone())
        .checking(absent);
    must(store.commit(batch).await);
    assert_eq!(store.text(&key).await.as_deref(), Some("1"));
}

async fn a_batch_with_a_failed_check_changes_nothing(store: TestStore) {
    let here = space("s");
    furnish(&store, &here).await;
    let version = some(store.value(&here.key("text")).await).version;
    let before = store.snapshot(&here).await;
    let seen = BatchCheck::version(here.key("text"), Some(version));
    let moved = BatchCheck::head(here.log("items"), None);
    let fenced = BatchCheck::lease(here.lease(), version);
    for failing in [moved, fenced] {
        let batch = Batch::of([append(&here.log("items"), &[("z", "1")]), remove(&here)]);
        let batch = batch.checking(seen.clone()).checking(failing);
        assert!(store.commit(batch).await.is_err());
        assert_eq!(store.snapshot(&here).await, before);
    }
}

/// A space with something of everything.
async fn furnish(store: &TestStore, here: &Space) {
    let batch = Batch::of([
        track("row", &identity("s")),
        append(&here.log("items"), &[("a", "1"), ("b", "2")]),
        append(&here.log("usage"), &[("a", "1")]),
        apply(&here.key("text"), set("\"text\"")),
        apply(&here.key("list"), set("[1,2,3]")),
        apply_for(&here.key("number"), set("1"), HOUR),
    ]);
    must(store.commit(batch).await);
}

/// Every kind of write, each with an effect on a furnished space.
async fn every_write(store: &TestStore, here: &Space) -> Vec<BatchWrite> {
    let number = some(store.value(&here.key("number")).await);
    let page = store.page(&here.log("items")).await;
    let mut row = some(store.row(&identity("s")).await);
    row.labels.insert("new".to_owned(), "label".to_owned());
    let mut touch = request("unused", &identity("s"));
    touch.agent = "Second".to_owned();
    vec![
        append(&here.log("items"), &[("c", "3")]),
        append(&here.log("new"), &[("a", "1")]),
        BatchWrite::redact(here.log("items"), vec![(1, json("null")), (1, json("0"))]),
        apply(&here.key("new"), set("{}")),
        apply(&here.key("list"), push(&["4"])),
        apply(&here.key("list"), Operation::Pop),
        apply(&here.key("list"), Operation::Pull(2)),
        apply(&here.key("list"), Operation::PullAll),
        apply(&here.key("list"), add_to_set(&["9"])),
        apply(&here.key("list"), Operation::ArraySet(0, json("9"))),
        apply(&here.key("list"), set("[7]")),
        apply(&here.key("number"), incr(1)),
        apply(&here.key("number"), Operation::Del),
        apply(&here.key("number"), Operation::GetDel),
        wipe(here, "*"),
        drop_log(&here.log("items")),
        clear(here),
        remove(here),
        track("other", &identity("other")),
        BatchWrite::Track(Box::new(touch)),
        BatchWrite::untrack(here.tenant.clone(), "row"),
        mirrored(here, &page, 0),
        mirrored(here, &page, 1_000),
        BatchWrite::mirror_value(here.key("list"), Some(number)),
        BatchWrite::mirror_value(here.key("list"), None),
        BatchWrite::mirror_row(row),
    ]
}

/// Copies a source that has one entry more, at a generation so much higher.
fn mirrored(here: &Space, page: &LogPage, higher: u64) -> BatchWrite {
    let mut entries = page.entries.clone();
    entries.push(LogEntry {
        seq: 3,
        id: "c".to_owned(),
        ..entries[0].clone()
    });
    let head = some(page.head);
    BatchWrite::mirror_log(
        here.log("items"),
        Head::new(head.generation + higher, 3),
        entries,
    )
}

async fn a_batch_that_fails_in_its_last_write_changes_nothing(store: TestStore) {
    let (here, other) = (space("s"), space("other"));
    let bystander = space("bystander").key("text");
    store.act(&bystander, set("\"text\"")).await;
    furnish(&store, &here).await;
    store.clock().advance(MINUTE);
    let before = store.snapshot(&here).await;
    for write in every_write(&store, &here).await {
        let shown = format!("{write:?}");
        let batch = Batch::of([write, apply(&bystander, incr(1))]);
        assert_eq!(
            refusal(store.commit(batch).await),
            "Incr: key \"text\" holds a string, not a number",
            "{shown}"
        );
        assert_eq!(store.snapshot(&here).await, before, "{shown}");
        assert_eq!(
            store.snapshot(&other).await,
            SpaceSnapshot::default(),
            "{shown}"
        );
    }
    let all = every_write(&store, &here).await;
    let last = apply(&bystander, incr(1));
    assert!(
        store
            .commit(Batch::of(all.into_iter().chain([last])))
            .await
            .is_err()
    );
    assert_eq!(store.snapshot(&here).await, before, "all at once");
    store.append(&here.log("items"), &[("c", "3")]).await;
    assert_eq!(
        store.entries(&here.log("items")).await,
        [entry(1, "a", "1"), entry(2, "b", "2"), entry(3, "c", "3")]
    );
}

async fn a_batch_over_several_spaces_fails_whole(store: TestStore) {
    let spaces: Vec<Space> = (0..5).map(|number| space(&format!("s{number}"))).collect();
    store.act(&spaces[4].key("k"), set("\"text\"")).await;
    let batch = || Batch::of(spaces.iter().map(|space| apply(&space.key("k"), incr(1))));
    assert!(store.commit(batch()).await.is_err());
    for space in &spaces[..4] {
        assert_eq!(store.snapshot(space).await, SpaceSnapshot::default());
    }
    store.act(&spaces[4].key("k"), set("1")).await;
    must(store.commit(batch()).await);
    for (space, expected) in spaces.iter().zip(["1", "1", "1", "1", "2"]) {
        assert_eq!(store.text(&space.key("k")).await.as_deref(), Some(expected));
    }
}

async fn g014_the_writer_after_a_failed_one_succeeds(store: TestStore) {
    let other = store.open().await;
    let (key, log) = (space("s").key("text"), space("s").log("items"));
    store.act(&key, set("\"text\"")).await;
    for number in 0..20 {
        let id = format!("id{number}");
        let failing = Batch::of([append(&log, &[(&id, "1")]), apply(&key, incr(1))]);
        assert!(store.commit(failing).await.is_err());
        other.append(&log, &[(&id, "2")]).await;
    }
    assert_eq!(store.page(&log).await.entries.len(), 20);
}

async fn a_value_of_many_writes_has_the_version_of_the_last(store: TestStore) {
    let key = space("s").key("k");
    let outcomes = must(
        store
            .commit(Batch::of((0..5).map(|_| apply(&key, incr(1)))))
            .await,
    );
    let versions: Vec<u64> = outcomes
        .iter()
        .map(|outcome| match outcome {
            WriteOutcome::Applied {
                version: Some(version),
                ..
            } => *version,
            other => panic!("{other:?} has no version"),
        })
        .collect();
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
    assert_eq!(
        Some(&some(store.value(&key).await).version),
        versions.last()
    );
}
