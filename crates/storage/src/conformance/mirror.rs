//! Mirrors: one store made equal to another, as often as wanted.

use super::steps::*;
use super::{ConformanceCase, DriverFixture};
use crate::address::{LogKey, ValueKey};
use crate::batch::{
    Batch, BatchWrite, Head, LogEntry, MAX_COPIED, MirrorWrite, ValueEntry, WriteOutcome,
};
use crate::directory::{AgentTouch, IndexRow, RowState, TrackRequest};
use crate::driver::{Driver, LogPage};
use std::collections::BTreeMap;
use std::sync::Arc;

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
    BatchWrite::Mirror(MirrorWrite::Log {
        log: log(),
        head: Head { generation, last },
        entries: seqs.map(source).collect(),
    })
}

fn whole(generation: u64, last: u64) -> LogPage {
    LogPage {
        head: Some(Head { generation, last }),
        entries: (1..=last).map(source).collect(),
        stale_possible: false,
    }
}

async fn mirror(driver: &dyn Driver, mirror: BatchWrite) {
    assert_eq!(write(driver, mirror).await, WriteOutcome::Done);
}

async fn a_mirrored_log_equals_its_source(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    for _ in 0..2 {
        mirror(&*driver, copied(700, 3, 1..=3)).await;
        assert_eq!(page(&*driver, &log()).await, whole(700, 3));
    }
    let empty = space("empty").log("items");
    let head = Head {
        generation: 701,
        last: 0,
    };
    let copy = MirrorWrite::Log {
        log: empty.clone(),
        head,
        entries: Vec::new(),
    };
    mirror(&*driver, BatchWrite::Mirror(copy)).await;
    let expected = LogPage {
        head: Some(head),
        ..LogPage::default()
    };
    assert_eq!(page(&*driver, &empty).await, expected);
}

async fn a_mirrored_log_goes_on_where_it_ended(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    mirror(&*driver, copied(700, 5, 1..=2)).await;
    assert_eq!(page(&*driver, &log()).await, whole(700, 2));
    mirror(&*driver, copied(700, 5, 3..=3)).await;
    mirror(&*driver, copied(700, 5, 2..=5)).await;
    assert_eq!(page(&*driver, &log()).await, whole(700, 5));
}

async fn a_mirrored_log_of_another_generation_begins_anew(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    write(
        &*driver,
        append(&log(), &[("x", "1"), ("y", "2"), ("z", "3")]),
    )
    .await;
    mirror(&*driver, copied(700, 1, 1..=1)).await;
    assert_eq!(page(&*driver, &log()).await, whole(700, 1));
    mirror(&*driver, copied(650, 2, 1..=2)).await;
    assert_eq!(page(&*driver, &log()).await, whole(650, 2));
}

async fn mirrored_entries_must_join(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    mirror(&*driver, copied(700, 2, 1..=2)).await;
    assert_eq!(
        refusal(attempt(&*driver, copied(700, 5, 4..=5)).await),
        format!(
            "{} changed since it was read: expected entry 3, found entry 4",
            log()
        )
    );
    assert_eq!(page(&*driver, &log()).await, whole(700, 2));
}

async fn a_mirrored_value_equals_its_source(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let key = space("s").key("k");
    let ends = fixture.clock().now() + millis(HOUR);
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
            mirror(&*driver, value(&key, Some(entry.clone()))).await;
            assert_eq!(get(&*driver, &key).await, Some(entry.clone()));
        }
    }
    for _ in 0..2 {
        mirror(&*driver, value(&key, None)).await;
        assert_eq!(get(&*driver, &key).await, None);
    }
    act(&*driver, &key, push(&["1"])).await;
    assert_eq!(text(&*driver, &key).await.as_deref(), Some("[1]"));
}

fn value(key: &ValueKey, entry: Option<ValueEntry>) -> BatchWrite {
    BatchWrite::Mirror(MirrorWrite::Value {
        key: key.clone(),
        entry,
    })
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

async fn a_mirrored_row_equals_its_source(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let identity = identity("s");
    for (ordinal, id) in [(800, "one"), (800, "one"), (850, "two")] {
        let source = source_row(ordinal, id);
        let copy = MirrorWrite::Row(Box::new(source.clone()));
        mirror(&*driver, BatchWrite::Mirror(copy)).await;
        assert_eq!(row(&*driver, &identity).await, Some(source));
    }
    assert_eq!(must(driver.count(&Default::default()).await), 1);
    let track = TrackRequest {
        placement: source_row(850, "two").placement,
        ..request("three", &identity)
    };
    let again = write(&*driver, BatchWrite::Track(Box::new(track))).await;
    assert_eq!(
        again,
        WriteOutcome::Tracked {
            id: "two".to_owned(),
            is_new: false
        }
    );
    let mut source = source_row(800, "one");
    source.items = 9;
    source.generation = 9;
    source.state = RowState::Cleared;
    mirror(
        &*driver,
        BatchWrite::Mirror(MirrorWrite::Row(Box::new(source))),
    )
    .await;
    let told = some(row(&*driver, &identity).await);
    assert_eq!(
        told,
        source_row(800, "one"),
        "what is derived comes from the items here"
    );
}

async fn numbers_given_after_a_mirror_are_higher(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let other = fixture.open().await;
    let key = space("t").key("k");
    mirror(&*driver, copied(70_000, 1, 1..=1)).await;
    let first = version_after(&*other, &key, set("1")).await;
    assert!(first > 70_000, "{first}");
    let copy = ValueEntry {
        version: 80_000,
        ..some(get(&*driver, &key).await)
    };
    mirror(&*driver, value(&space("u").key("k"), Some(copy))).await;
    write(&*other, append(&space("u").log("items"), &[])).await;
    let generation = some(head(&*driver, &space("u").log("items")).await).generation;
    assert!(generation > 80_000, "{generation}");
    let copy = MirrorWrite::Row(Box::new(source_row(90_000, "one")));
    mirror(&*driver, BatchWrite::Mirror(copy)).await;
    write(&*other, track("two", &identity("t"))).await;
    let ordinal = some(row(&*driver, &identity("t")).await).ordinal;
    assert!(ordinal > 90_000, "{ordinal}");
}

async fn numbers_that_leave_none_to_give_are_not_mirrored(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let key = space("t").key("k");
    let first = version_after(&*driver, &key, set("1")).await;
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
            BatchWrite::Mirror(MirrorWrite::Row(Box::new(source_row(number, "one")))),
        ] {
            let words = refusal(attempt(&*driver, write).await);
            assert!(words.contains(&number.to_string()), "{words}");
        }
    }
    assert_eq!(some(get(&*driver, &key).await).version, first);
    mirror(&*driver, copy(MAX_COPIED)).await;
    for number in 1..=3 {
        let next = version_after(&*driver, &key, set("1")).await;
        assert!(next >= MAX_COPIED + number, "{next}");
    }
}

async fn a_mirrored_id_is_known_to_appends(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let batch = Batch::of([
        copied(700, 2, 1..=2),
        append(&log(), &[("id2", "9"), ("new", "3")]),
    ]);
    let outcomes = must(driver.commit(batch).await);
    let head = Head {
        generation: 700,
        last: 3,
    };
    let seqs = vec![2, 3];
    assert_eq!(
        outcomes,
        [WriteOutcome::Done, WriteOutcome::Appended { head, seqs }]
    );
}
