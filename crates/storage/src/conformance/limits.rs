//! Limits and names: what is too large or has no proper name is refused whole.

use super::steps::*;
use super::{ConformanceCase, SpaceSnapshot, TestStore};
use crate::address::DEFAULT_TENANT;
use crate::batch::{Batch, BatchWrite, NewEntry};
use crate::directory::TrackRequest;
use crate::driver::ValuePart;
use crate::operation::{DatedContent, MAX_LIST, Operation, OperationOutput};
use crate::{Json, StoredValue};

pub(super) const CASES: &[ConformanceCase] = cases![
    g024_a_value_over_the_limit_is_refused_with_the_limit,
    g024_a_value_of_the_limit_is_stored,
    g024_a_batch_over_the_limit_is_refused_with_the_limit,
    g024_a_list_over_the_limit_is_refused_with_the_limit,
    g144_names_without_text_are_refused,
    g144_names_over_the_limit_are_refused,
    g144_names_with_a_nul_are_refused_where_they_cannot_be_kept,
    g144_owners_and_row_texts_with_a_nul_are_refused,
    g144_zero_is_an_ordinary_name,
];

/// A JSON text of so many bytes.
fn sized(bytes: usize) -> Json {
    json(&format!("\"{}\"", "x".repeat(bytes - 2)))
}

fn entry_of(id: &str, body: Json) -> BatchWrite {
    BatchWrite::append(space("s").log("items"), vec![NewEntry::new(id, body)])
}

/// Expects the write to be refused in these words, alone and as the last of a batch, and nothing to be written.
async fn refused(store: &TestStore, write: BatchWrite, words: &str) {
    let good = apply(&space("s").key("good"), set("1"));
    for batch in [Batch::of([write.clone()]), Batch::of([good, write])] {
        assert_eq!(refusal(store.commit(batch).await), words);
        assert_eq!(
            store.snapshot(&space("s")).await,
            SpaceSnapshot::default(),
            "after: {words}"
        );
    }
}

async fn g024_a_value_over_the_limit_is_refused_with_the_limit(store: TestStore) {
    let limit = store.fixture.limits().value;
    let large = sized(limit + 1);
    let key = space("s").key("k");
    let words = format!("value exceeds {limit} bytes");
    for op in [
        Operation::Set(StoredValue::Plain(large.clone())),
        Operation::Replace(StoredValue::Plain(large.clone())),
        Operation::Push(vec![json("1"), large.clone()]),
        Operation::AddToSet(vec![large.clone()]),
        Operation::ArraySet(0, large.clone()),
        Operation::SetDated(DatedContent {
            at: 1,
            name: "value",
            json: large.clone(),
        }),
    ] {
        refused(&store, apply(&key, op), &words).await;
    }
    let words = format!("entry exceeds {limit} bytes");
    refused(&store, entry_of("a", large), &words).await;
}

async fn g024_a_value_of_the_limit_is_stored(store: TestStore) {
    let bytes = store.fixture.limits().value;
    let large = sized(bytes);
    let key = space("s").key("k");
    store
        .write(apply(
            &key,
            Operation::Set(StoredValue::Plain(large.clone())),
        ))
        .await;
    let found = some(store.value(&key).await).value;
    assert!(found == large, "{bytes} bytes came back different");
    store.write(entry_of("a", large.clone())).await;
    let found = store.page(&space("s").log("items")).await.entries;
    assert!(found[0].body == large, "{bytes} bytes came back different");
}

async fn g024_a_batch_over_the_limit_is_refused_with_the_limit(store: TestStore) {
    let limit = store.fixture.limits().batch;
    let entries = (0..limit).map(|number| NewEntry::new(number.to_string(), json("1")));
    let append = BatchWrite::append(space("s").log("items"), entries.collect());
    let words = format!("batch exceeds {limit} entries");
    assert_eq!(refusal(store.attempt(append).await), words);
    assert_eq!(store.snapshot(&space("s")).await, SpaceSnapshot::default());
}

async fn g024_a_list_over_the_limit_is_refused_with_the_limit(store: TestStore) {
    let key = space("s").key("k");
    let zeros = |count: u64| vec![json("0"); usize::try_from(count).unwrap_or(0)];
    store.act(&key, Operation::Push(zeros(MAX_LIST - 1))).await;
    store.act(&key, push(&["1"])).await;
    let before = must(store.get(&key, ValuePart::Nothing).await);
    for op in [push(&["2"]), add_to_set(&["2"])] {
        assert_eq!(
            refusal(store.attempt(apply(&key, op)).await),
            format!("list exceeds {MAX_LIST} items")
        );
    }
    assert_eq!(must(store.get(&key, ValuePart::Nothing).await), before);
    let known = store.act(&key, add_to_set(&["1", "0"])).await;
    assert_eq!(known, OperationOutput::Length(MAX_LIST));
}

async fn g144_names_without_text_are_refused(store: TestStore) {
    let here = space("s");
    for (write, field) in [
        (apply(&here.key(""), set("1")), "key"),
        (append(&here.log(""), &[("a", "1")]), "log name"),
        (append(&here.log("items"), &[("", "1")]), "entry id"),
    ] {
        let words = format!("{field} must be a non-empty string");
        refused(&store, write, &words).await;
    }
}

async fn g144_names_over_the_limit_are_refused(store: TestStore) {
    let here = space("s");
    let limit = store.fixture.limits().name;
    let long = "é".repeat(limit / 2);
    let longer = format!("{long}!");
    for (write, field) in [
        (apply(&here.key(longer.as_str()), set("1")), "key"),
        (
            append(&here.log(longer.as_str()), &[("a", "1")]),
            "log name",
        ),
        (append(&here.log("items"), &[(&longer, "1")]), "entry id"),
    ] {
        let words = format!("{field} exceeds {limit} bytes");
        refused(&store, write, &words).await;
    }
    let batch = Batch::of([
        apply(&here.key(long.as_str()), set("1")),
        append(&here.log(long.as_str()), &[(&long, "2")]),
    ]);
    must(store.commit(batch).await);
    assert_eq!(
        store.values(&here, "*").await,
        [(long.clone(), "1".to_owned())]
    );
    assert_eq!(
        store.entries(&here.log(long.as_str())).await,
        [entry(1, &long, "2")]
    );
}

async fn g144_names_with_a_nul_are_refused_where_they_cannot_be_kept(store: TestStore) {
    let here = space("s");
    for (write, field) in [
        (append(&here.log("a\0b"), &[("a", "1")]), "log name"),
        (append(&here.log("items"), &[("a\0b", "1")]), "entry id"),
    ] {
        refused(&store, write, &format!("{field} contains U+0000")).await;
    }
    for name in ["a\0b", "\0", "a"] {
        store.act(&here.key(name), set("1")).await;
    }
    assert_eq!(
        store.values(&here, "*").await,
        ["\0", "a", "a\0b"].map(|name| (name.to_owned(), "1".to_owned()))
    );
}

async fn g144_owners_and_row_texts_with_a_nul_are_refused(store: TestStore) {
    let nul = || "a\0b".to_owned();
    let changed = |change: &dyn Fn(&mut TrackRequest)| {
        let mut track = request("one", &identity("s"));
        change(&mut track);
        BatchWrite::Track(Box::new(track))
    };
    let mut foreign = space("s");
    foreign.tenant = nul();
    let mut unowned = space("s");
    unowned.path = nul();
    let untrack = |tenant: &str, id: String| BatchWrite::untrack(tenant, id);
    for (write, field) in [
        (changed(&|track| track.id = nul()), "id"),
        (changed(&|track| track.tenant = nul()), "tenant"),
        (changed(&|track| track.agent = nul()), "agent"),
        (
            changed(&|track| track.created_by = Some(nul())),
            "created_by",
        ),
        (changed(&|track| track.team = Some(nul())), "team"),
        (changed(&|track| track.placement = vec![nul()]), "drivers"),
        (untrack(&nul(), "one".to_owned()), "tenant"),
        (untrack(DEFAULT_TENANT, nul()), "id"),
        (apply(&foreign.key("k"), set("1")), "tenant"),
        (append(&foreign.log("items"), &[("a", "1")]), "tenant"),
        (apply(&unowned.key("k"), set("1")), "space"),
        (clear(&unowned), "space"),
        (remove(&foreign), "tenant"),
        (wipe(&foreign, "*"), "tenant"),
    ] {
        refused(&store, write, &format!("{field} contains U+0000")).await;
    }
    let labels = [(nul(), nul())];
    let labelled = changed(&|track| track.labels = labels.clone().into());
    store.write(labelled).await;
    let found = some(store.row(&identity("s")).await);
    assert_eq!(found.labels, labels.into(), "labels may hold any text");
}

async fn g144_zero_is_an_ordinary_name(store: TestStore) {
    let here = space("0");
    let batch = Batch::of([
        append(&here.log("0"), &[("0", "\"0\"")]),
        apply(&here.key("0"), set("0")),
        track("0", &identity("0")),
    ]);
    must(store.commit(batch).await);
    assert_eq!(
        store.entries(&here.log("0")).await,
        [entry(1, "0", "\"0\"")]
    );
    assert_eq!(store.text(&here.key("0")).await.as_deref(), Some("0"));
    assert_eq!(some(store.row(&identity("0")).await).id, "0");
}
