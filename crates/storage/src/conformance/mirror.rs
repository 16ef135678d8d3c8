//! Mirrors: one store made equal to another, as often as wanted.

use super::steps::*;
use super::{ConformanceCase, TestStore};
use crate::address::{LogKey, ValueKey};
use crate::batch::{
    Batch, BatchWrite, Head, LogEntry, MAX_COPIED, MirrorWrite, ValueEntry, WriteOutcome,
};
use crate::directory::{AgentTouch, IndexRow, RowState, TrackRequest};
use crate::driver::LogPage;
use std::collections::BTreeMap;

pub(super) const CASES: &[ConformanceCase] = cases![
    a_mirrored_log_equals_its_source,
    a_mirrored_log_goes_on_where_it_ended,
    a_mirrored_log_of_another_generation_begins_anew,
    mirrored_entries_must_join,
    a_mirrored_value_equals_its_source,
    a_mirrored_row_equals_its_source,
    numbers_given_after_a_mirror_are_higher,
    numbers_that_leave_none_to_give_are_not_mirrored,
    a_mirrored_id_is_known_to_appends,
];

fn log() -> LogKey {
    space("s").log("items")
}

fn source(seq: u64) -> LogEntry {
    LogEntry {
        seq,
        id: format!("id{seq}"),
        at: 1_000 + i64::try_from(seq).unwrap_or(0),
        body: json(&format!("{{\"seq\":{seq}}}")),
    }
}

fn copied(generation: u64, last: u64, seqs: std::ops::RangeInclusive<u64>) -> BatchWrite {
    BatchWrite::mirror_log(log(), Head { generation, last }, seqs.map(source).collect())
}

fn whole(generation: u64, last: u64) -> LogPage {
    LogPage {
        head: Some(Head { generation, last }),
        entries: (1..=last).map(source).collect(),
        stale_possible: false,
    }
}

async fn mirror(store: &TestStore, mirror: BatchWrite) {
    assert_eq!(store.write(mirror).await, WriteOutcome::Done);
}

async fn a_mirrored_log_equals_its_source(store: TestStore) {
    for _ in 0..2 {
        mirror(&store, copied(700, 3, 1..=3)).await;
        assert_eq!(store.page(&log()).await, whole(700, 3));
    }
    let empty = space("empty").log("items");
    let head = Head::new(701, 0);
    let copy = MirrorWrite::Log {
        log: empty.clone(),
        head,
        entries: Vec::new(),
    };
    mirror(&store, BatchWrite::Mirror(copy)).await;
    let expected = LogPage {
        head: Some(head),
        ..LogPage::default()
    };
    assert_eq!(store.page(&empty).await, expected);
}

async fn a_mirrored_log_goes_on_where_it_ended(store: TestStore) {
    mirror(&store, copied(700, 5, 1..=2)).await;
    assert_eq!(store.page(&log()).await, whole(700, 2));
    mirror(&store, copied(700, 5, 3..=3)).await;
    mirror(&store, copied(700, 5, 2..=5)).await;
    assert_eq!(store.page(&log()).await, whole(700, 5));
}

async fn a_mirrored_log_of_another_generation_begins_anew(store: TestStore) {
    store
        .append(&log(), &[("x", "1"), ("y", "2"), ("z", "3")])
        .await;
    mirror(&store, copied(700, 1, 1..=1)).await;
    assert_eq!(store.page(&log()).await, whole(700, 1));
    mirror(&store, copied(650, 2, 1..=2)).await;
    assert_eq!(store.page(&log()).await, whole(650, 2));
}

async fn mirrored_entries_must_join(store: TestStore) {
    mirror(&store, copied(700, 2, 1..=2)).await;
    assert_eq!(
        refusal(store.attempt(copied(700, 5, 4..=5)).await),
        format!(
            "{} changed since it was read: expected entry 3, found entry 4",
            log()
        )
    );
    assert_eq!(store.page(&log()).await, whole(700, 2));
}

async fn a_mirrored_value_equals_its_source(store: TestStore) {
    let key = space("s").key("k");
    let ends = store.clock().now() + millis(HOUR);
    for (kind, length, text, expires_at) in [
        ("list", 3, "[1,[2],\"3\"]", None),
        ("number", 1, "7", Some(ends)),
        ("list", 0, "[]", Some(ends)),
        ("object", 1, "{\"z\":1,\"a\":2}", None),
    ] {
        let entry = ValueEntry {
            kind,
            length,
            value: json(text),
            version: 900,
            expires_at,
            stale_possible: false,
        };
        for _ in 0..2 {
            mirror(&store, value(&key, Some(entry.clone()))).await;
            assert_eq!(store.value(&key).await, Some(entry.clone()));
        }
    }
    for _ in 0..2 {
        mirror(&store, value(&key, None)).await;
        assert_eq!(store.value(&key).await, None);
    }
    store.act(&key, push(&["1"])).await;
    assert_eq!(store.text(&key).await.as_deref(), Some("[1]"));
}

fn value(key: &ValueKey, entry: Option<ValueEntry>) -> BatchWrite {
    BatchWrite::mirror_value(key.clone(), entry)
}

fn source_row(ordinal: u64, id: &str) -> IndexRow {
    let identity = identity("s");
    IndexRow {
        id: id.to_owned(),
        ordinal,
        tenant: "default".to_owned(),
        state: RowState::Live,
        generation: 0,
        items: 0,
        created_at: 1_000,
        last_activity_at: 5_000,
        placement: vec!["a".to_owned(), "b".to_owned()],
        created_by: Some("ann".to_owned()),
        team: Some("red".to_owned()),
        labels: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
        touches: ["First", "Second"]
            .map(|agent| AgentTouch {
                agent: agent.to_owned(),
                base: identity.base(),
                first_at: 1_000,
                last_at: 4_000,
            })
            .to_vec(),
        identity,
    }
}

async fn a_mirrored_row_equals_its_source(store: TestStore) {
    let identity = identity("s");
    for (ordinal, id) in [(800, "one"), (800, "one"), (850, "two")] {
        let source = source_row(ordinal, id);
        let copy = MirrorWrite::Row(Box::new(source.clone()));
        mirror(&store, BatchWrite::Mirror(copy)).await;
        assert_eq!(store.row(&identity).await, Some(source));
    }
    assert_eq!(must(store.count(&Default::default()).await), 1);
    let track = TrackRequest {
        placement: source_row(850, "two").placement,
        ..request("three", &identity)
    };
    let again = store.write(BatchWrite::Track(Box::new(track))).await;
    assert_eq!(again, WriteOutcome::tracked("two", false));
    let mut source = source_row(800, "one");
    source.items = 9;
    source.generation = 9;
    source.state = RowState::Cleared;
    mirror(&store, BatchWrite::mirror_row(source)).await;
    let told = some(store.row(&identity).await);
    assert_eq!(
        told,
        source_row(800, "one"),
        "what is derived comes from the items here"
    );
}

async fn numbers_given_after_a_mirror_are_higher(store: TestStore) {
    let other = store.open().await;
    let key = space("t").key("k");
    mirror(&store, copied(70_000, 1, 1..=1)).await;
    let first = other.version_after(&key, set("1")).await;
    assert!(first > 70_000, "{first}");
    let copy = ValueEntry {
        version: 80_000,
        ..some(store.value(&key).await)
    };
    mirror(&store, value(&space("u").key("k"), Some(copy))).await;
    other.append(&space("u").log("items"), &[]).await;
    let generation = some(store.head(&space("u").log("items")).await).generation;
    assert!(generation > 80_000, "{generation}");
    let copy = MirrorWrite::Row(Box::new(source_row(90_000, "one")));
    mirror(&store, BatchWrite::Mirror(copy)).await;
    other.write(track("two", &identity("t"))).await;
    let ordinal = some(store.row(&identity("t")).await).ordinal;
    assert!(ordinal > 90_000, "{ordinal}");
}

async fn numbers_that_leave_none_to_give_are_not_mirrored(store: TestStore) {
    let key = space("t").key("k");
    let first = store.version_after(&key, set("1")).await;
    let copy = |version| {
        let entry = ValueEntry {
            kind: "number",
            length: 1,
            value: json("1"),
            version,
            expires_at: None,
            stale_possible: false,
        };
        value(&space("u").key("k"), Some(entry))
    };
    for number in [MAX_COPIED + 1, 1 << 53, u64::MAX] {
        for write in [
            copy(number),
            copied(number, 1, 1..=1),
            BatchWrite::mirror_row(source_row(number, "one")),
        ] {
            let words = refusal(store.attempt(write).await);
            assert!(words.contains(&number.to_string()), "{words}");
        }
    }
    assert_eq!(some(store.value(&key).await).version, first);
    mirror(&store, copy(MAX_COPIED)).await;
    for number in 1..=3 {
        let next = store.version_after(&key, set("1")).await;
        assert!(next >= MAX_COPIED + number, "{next}");
    }
}

async fn a_mirrored_id_is_known_to_appends(store: TestStore) {
    let batch = Batch::of([
        copied(700, 2, 1..=2),
        append(&log(), &[("id2", "9"), ("new", "3")]),
    ]);
    let outcomes = must(store.commit(batch).await);
    let head = Head::new(700, 3);
    let seqs = vec![2, 3];
    assert_eq!(
        outcomes,
        [WriteOutcome::Done, WriteOutcome::Appended { head, seqs }]
    );
}
