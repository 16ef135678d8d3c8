//! Index rows under conditions: the first placement stays, and a mark tells whether a row was touched.

use super::steps::*;
use super::{ConformanceCase, TestStore};
use crate::address::DEFAULT_TENANT;
use crate::batch::{Batch, BatchCheck, BatchWrite, WriteOutcome};
use crate::directory::{IndexRow, RowFilter, RowMark, RowOrder, TrackRequest};
use crate::{Result, SessionIdentity};

pub(super) const CASES: &[ConformanceCase] = cases![
    g068_a_second_placement_is_refused_naming_both,
    g068_of_writers_at_once_one_placement_stays,
    g068_a_copied_row_changes_the_placement,
    a_marked_row_is_untracked,
    g031_a_row_touched_or_moved_since_it_was_marked_stays,
    g031_a_row_made_since_its_absence_was_seen_stays,
    what_is_bound_to_a_row_is_refused_once_the_row_is_gone,
    a_copied_row_leaves_the_row_that_has_its_ordinal,
];

fn member(agent: &str) -> SessionIdentity {
    let member = SessionIdentity::builder(agent).group("team").chat_name("s");
    must(member.scope("chatHistory").build())
}

fn placed(id: &str, agent: &str, names: &[&str]) -> BatchWrite {
    let placement = names.iter().map(|name| (*name).to_owned()).collect();
    let track = request(id, &member(agent));
    BatchWrite::Track(Box::new(TrackRequest { placement, ..track }))
}

fn refused(wanted: &str, kept: &str, agent: &str) -> String {
    format!(
        "drivers are {wanted} for {}, whose first write put {kept} on record; \
         name those, or move it with `ambit context move`",
        member(agent).key()
    )
}

async fn g068_a_second_placement_is_refused_naming_both(store: TestStore) {
    let other = store.open().await;
    store
        .write(placed("one", "First", &["main", "second"]))
        .await;
    let here = crate::address::Space::of(DEFAULT_TENANT, &member("First"));
    store.append(&here.log("items"), &[("a", "1")]).await;
    let before = store.snapshot(&here).await;
    for names in [&["second", "main"][..], &["main"], &["third"], &[]] {
        let batch = Batch::of([
            append(&here.log("items"), &[("b", "2")]),
            apply(&here.key("k"), set("1")),
            placed("two", "Second", names),
        ]);
        let words = refused(&names.join(", "), "main, second", "Second");
        assert_eq!(refusal(other.commit(batch).await), words);
        let alone = other.attempt(placed("two", "Second", names)).await;
        assert_eq!(refusal(alone), words);
        assert_eq!(store.snapshot(&here).await, before, "after {names:?}");
    }
    assert_eq!(
        other
            .write(placed("two", "Second", &["main", "second"]))
            .await,
        WriteOutcome::tracked("one", false)
    );
}

async fn g068_of_writers_at_once_one_placement_stays(store: TestStore) {
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..8 {
        let (store, name) = (store.open().await, format!("store{number}"));
        writers.spawn(async move {
            let row = format!("row{number}");
            let done = store.attempt(placed(&row, "First", &[&name])).await;
            (name, done)
        });
    }
    let written = writers.join_all().await;
    let row = some(store.row(&member("First")).await);
    for (name, done) in written {
        match done {
            Ok(_) => assert_eq!(row.placement, [name]),
            Err(error) => {
                let words = refused(&name, &row.placement[0], "First");
                assert_eq!(error.to_string(), words);
            }
        }
    }
}

async fn g068_a_copied_row_changes_the_placement(store: TestStore) {
    store.write(placed("one", "First", &["main"])).await;
    let mut moved = some(store.row(&member("First")).await);
    moved.placement = vec!["second".to_owned()];
    let copy = BatchWrite::mirror_row(moved);
    let batch = Batch::of([copy, placed("two", "Second", &["second"])]);
    must(store.commit(batch).await);
    let late = store.attempt(placed("three", "First", &["main"])).await;
    assert_eq!(refusal(late), refused("main", "second", "First"));
}

fn under(mark: Option<RowMark>) -> BatchCheck {
    BatchCheck::row(space("s"), mark)
}

async fn untrack(store: &TestStore, mark: Option<RowMark>) -> Result<Vec<WriteOutcome>> {
    let id = mark.as_ref().map_or("none", |mark| mark.id.as_str());
    let write = BatchWrite::untrack(DEFAULT_TENANT, id);
    store.commit(Batch::of([write]).checking(under(mark))).await
}

fn moved_on(expected: Option<&RowMark>, found: Option<&RowMark>) -> String {
    let spell = |mark: Option<&RowMark>| {
        mark.map_or_else(|| "nothing".to_owned(), |mark| format!("{mark:?}"))
    };
    let (expected, found) = (spell(expected), spell(found));
    let what = format!("the index row of {}", space("s"));
    format!("{what} changed since it was read: expected {expected}, found {found}")
}

async fn marked(store: &TestStore) -> RowMark {
    some(store.row(&identity("s")).await).mark()
}

async fn a_marked_row_is_untracked(store: TestStore) {
    store.write(track("one", &identity("s"))).await;
    let mark = marked(&store).await;
    store.clock().advance(MINUTE);
    store.append(&space("s").log("items"), &[("a", "1")]).await;
    let done = must(untrack(&store, Some(mark)).await);
    assert_eq!(done, [WriteOutcome::Erased(1)]);
    assert_eq!(store.row(&identity("s")).await, None);
    assert_eq!(must(untrack(&store, None).await), [WriteOutcome::Erased(0)]);
}

async fn g031_a_row_touched_or_moved_since_it_was_marked_stays(store: TestStore) {
    let other = store.open().await;
    store.write(track("one", &identity("s"))).await;
    let first = marked(&store).await;
    store.clock().advance(MINUTE);
    other.write(track("two", &identity("s"))).await;
    let touched = marked(&store).await;
    assert_eq!(
        refusal(untrack(&store, Some(first.clone())).await),
        moved_on(Some(&first), Some(&touched))
    );
    let mut copy = some(store.row(&identity("s")).await);
    copy.placement = vec!["elsewhere".to_owned()];
    let moved = copy.mark();
    other.write(BatchWrite::mirror_row(copy)).await;
    assert_eq!(
        refusal(untrack(&store, Some(touched.clone())).await),
        moved_on(Some(&touched), Some(&moved))
    );
    assert_eq!(marked(&store).await, moved, "the row is still there");
    must(untrack(&other, Some(moved.clone())).await);
    assert_eq!(
        refusal(untrack(&store, Some(moved.clone())).await),
        moved_on(Some(&moved), None)
    );
}

async fn g031_a_row_made_since_its_absence_was_seen_stays(store: TestStore) {
    store.write(track("one", &identity("s"))).await;
    let made = marked(&store).await;
    assert_eq!(
        refusal(untrack(&store, None).await),
        moved_on(None, Some(&made))
    );
    assert_eq!(marked(&store).await, made);
}

async fn what_is_bound_to_a_row_is_refused_once_the_row_is_gone(store: TestStore) {
    let other = store.open().await;
    let items = space("s").log("items");
    let bound = |entry| {
        let batch = Batch::of([append(&items, &[(entry, "1")])]);
        batch.checking(BatchCheck::row_id(space("s"), "one"))
    };
    let moved_on = |found: &str| {
        let what = format!("the index row of {}", space("s"));
        format!("{what} changed since it was read: expected \"one\", found {found}")
    };
    assert_eq!(refusal(store.commit(bound("a")).await), moved_on("nothing"));
    store.write(track("one", &identity("s"))).await;
    must(store.commit(bound("b")).await);
    store.clock().advance(MINUTE);
    other.write(track("two", &identity("s"))).await;
    // A touch leaves the row the same.
    must(store.commit(bound("c")).await);
    let written = store.snapshot(&space("s")).await.logs;
    other
        .write(BatchWrite::untrack(DEFAULT_TENANT, "one"))
        .await;
    assert_eq!(refusal(store.commit(bound("d")).await), moved_on("nothing"));
    other.write(track("three", &identity("s"))).await;
    assert_eq!(
        refusal(store.commit(bound("e")).await),
        moved_on("\"three\"")
    );
    assert_eq!(store.snapshot(&space("s")).await.logs, written);
}

async fn a_copied_row_leaves_the_row_that_has_its_ordinal(store: TestStore) {
    store.write(track("here", &identity("s"))).await;
    let here = some(store.row(&identity("s")).await);
    let other = identity("other");
    let source = IndexRow {
        id: "there".to_owned(),
        touches: vec![crate::directory::AgentTouch {
            base: other.base(),
            ..here.touches[0].clone()
        }],
        identity: other.clone(),
        ..here.clone()
    };
    let copy = BatchWrite::mirror_row(source.clone());
    let mut ordinals = Vec::new();
    for _ in 0..2 {
        store.write(copy.clone()).await;
        let copied = some(store.row(&other).await);
        ordinals.push(copied.ordinal);
        let expected = IndexRow {
            ordinal: copied.ordinal,
            ..source.clone()
        };
        assert_eq!(copied, expected);
        assert_eq!(store.row(&identity("s")).await, Some(here.clone()));
        let all = store
            .rows(&RowFilter::tenant(DEFAULT_TENANT), RowOrder::Oldest)
            .await;
        assert_eq!(all, [here.clone(), copied]);
    }
    assert!(ordinals[0] > here.ordinal, "{ordinals:?}");
    assert_eq!(ordinals[0], ordinals[1], "repeating a copy moves nothing");
    store.write(track("late", &identity("late"))).await;
    let late = some(store.row(&identity("late")).await);
    assert!(late.ordinal > ordinals[0]);
}
