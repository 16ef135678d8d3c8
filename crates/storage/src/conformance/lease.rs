//! Leases: one holder at a time, and whoever lost it cannot write.

use super::steps::*;
use super::{ConformanceCase, TestStore};
use crate::Error;
use crate::address::ValueKey;
use crate::batch::{Batch, BatchCheck, WriteOutcome};
use crate::operation::Operation;
use crate::operation::OperationOutput::{Epoch, Nothing};

pub(super) const CASES: &[ConformanceCase] = cases![
    a_lease_has_one_holder,
    a_holder_takes_its_lease_again_under_a_new_epoch,
    a_renewed_lease_lives_on_under_its_epoch,
    a_lease_given_back_is_free,
    a_foreign_epoch_gives_nothing_back,
    the_holder_writes_under_its_epoch,
    g002_a_stale_epoch_is_refused,
    g002_an_expired_lease_is_refused,
    g002_a_removed_lease_is_refused,
    g002_a_stale_epoch_cannot_be_renewed,
    g002_epochs_grow_after_expiry_and_removal,
    a_lease_survives_the_clearing_of_its_space,
    g002_what_only_looks_like_a_lease_is_none,
    g014_a_refused_write_leaves_the_lease_as_it_was,
];

fn lease() -> ValueKey {
    space("s").lease()
}

/// A write that needs the lease.
async fn guarded(store: &TestStore, epoch: u64, id: &str) -> Result<(), Error> {
    let batch = Batch::of([append(&space("s").log("items"), &[(id, "1")])]);
    let check = BatchCheck::lease(lease(), epoch);
    store.commit(batch.checking(check)).await.map(|_| ())
}

fn fenced(epoch: u64) -> String {
    format!("the lease {} with epoch {epoch} is no longer held", lease())
}

async fn stored(store: &TestStore) -> Vec<String> {
    let entries = store.entries(&space("s").log("items")).await;
    entries.into_iter().map(|(_, id, _)| id).collect()
}

async fn a_lease_has_one_holder(store: TestStore) {
    let other = store.open().await;
    store.grant(&lease(), "one", HOUR).await;
    let held = store.value(&lease()).await;
    let second = apply_for(&lease(), acquire("two"), HOUR);
    assert_eq!(
        refusal(other.attempt(second).await),
        "lease is busy: held by one"
    );
    assert_eq!(other.value(&lease()).await, held);
}

async fn a_holder_takes_its_lease_again_under_a_new_epoch(store: TestStore) {
    let first = store.grant(&lease(), "one", HOUR).await;
    let second = store.grant(&lease(), "one", HOUR).await;
    assert!(second > first, "{second} follows {first}");
    assert_eq!(refusal(guarded(&store, first, "a").await), fenced(first));
    must(guarded(&store, second, "b").await);
    assert_eq!(stored(&store).await, ["b"]);
}

async fn a_renewed_lease_lives_on_under_its_epoch(store: TestStore) {
    let epoch = store.grant(&lease(), "one", HOUR).await;
    let before = some(store.value(&lease()).await);
    for _ in 0..3 {
        store.clock().advance(50 * MINUTE);
        let renewed = store
            .write(apply_for(&lease(), Operation::Renew { epoch }, HOUR))
            .await;
        assert_eq!(
            renewed,
            WriteOutcome::applied(Epoch(epoch), Some(before.version))
        );
        must(guarded(&store, epoch, "a").await);
    }
    let after = some(store.value(&lease()).await);
    assert!(after.expires_at > before.expires_at);
    assert_eq!(
        (after.version, &after.value),
        (before.version, &before.value)
    );
}

async fn a_lease_given_back_is_free(store: TestStore) {
    let epoch = store.grant(&lease(), "one", HOUR).await;
    let answer = store.act(&lease(), Operation::Release { epoch }).await;
    assert_eq!(answer, Nothing);
    assert_eq!(store.value(&lease()).await, None);
    assert_eq!(refusal(guarded(&store, epoch, "a").await), fenced(epoch));
    let next = store.grant(&lease(), "two", HOUR).await;
    assert!(next > epoch);
}

async fn a_foreign_epoch_gives_nothing_back(store: TestStore) {
    let absent = store.act(&lease(), Operation::Release { epoch: 7 }).await;
    assert_eq!(absent, Nothing);
    assert_eq!(store.value(&lease()).await, None);
    let old = store.grant(&lease(), "one", HOUR).await;
    let epoch = store.grant(&lease(), "one", HOUR).await;
    let ends = some(store.value(&lease()).await).expires_at;
    store.act(&lease(), Operation::Release { epoch: old }).await;
    must(guarded(&store, epoch, "a").await);
    assert_eq!(some(store.value(&lease()).await).expires_at, ends);
}

async fn the_holder_writes_under_its_epoch(store: TestStore) {
    let other = store.open().await;
    let epoch = store.grant(&lease(), "one", HOUR).await;
    must(guarded(&store, epoch, "a").await);
    must(guarded(&other, epoch, "b").await);
    assert_eq!(stored(&store).await, ["a", "b"]);
}

async fn g002_a_stale_epoch_is_refused(store: TestStore) {
    let other = store.open().await;
    let old = store.grant(&lease(), "paused", MINUTE).await;
    store.clock().advance(2 * MINUTE);
    let new = other.grant(&lease(), "other", HOUR).await;
    must(guarded(&other, new, "theirs").await);
    assert_eq!(refusal(guarded(&store, old, "late").await), fenced(old));
    store.clock().set_back(10 * MINUTE);
    assert_eq!(refusal(guarded(&store, old, "late").await), fenced(old));
    assert_eq!(stored(&store).await, ["theirs"]);
}

async fn g002_an_expired_lease_is_refused(store: TestStore) {
    let epoch = store.grant(&lease(), "one", MINUTE).await;
    store.clock().advance(2 * MINUTE);
    assert_eq!(refusal(guarded(&store, epoch, "a").await), fenced(epoch));
    assert_eq!(stored(&store).await, Vec::<String>::new());
}

async fn g002_a_removed_lease_is_refused(store: TestStore) {
    let epoch = store.grant(&lease(), "one", HOUR).await;
    store.write(remove(&lease().space)).await;
    assert_eq!(refusal(guarded(&store, epoch, "a").await), fenced(epoch));
    store.write(apply(&lease(), set("\"no lease\""))).await;
    assert_eq!(refusal(guarded(&store, epoch, "a").await), fenced(epoch));
    assert_eq!(stored(&store).await, Vec::<String>::new());
}

async fn g002_a_stale_epoch_cannot_be_renewed(store: TestStore) {
    let epoch = store.grant(&lease(), "one", MINUTE).await;
    let renew = || apply_for(&lease(), Operation::Renew { epoch }, HOUR);
    let refused = format!("the lease lease with epoch {epoch} is no longer held");
    store.clock().advance(2 * MINUTE);
    assert_eq!(refusal(store.attempt(renew()).await), refused);
    let new = store.grant(&lease(), "two", HOUR).await;
    assert_eq!(refusal(store.attempt(renew()).await), refused);
    must(guarded(&store, new, "a").await);
}

async fn g002_epochs_grow_after_expiry_and_removal(store: TestStore) {
    let mut last = store.grant(&lease(), "one", MINUTE).await;
    for way in 0..4 {
        match way {
            0 => store.clock().advance(2 * MINUTE),
            1 => drop(store.write(remove(&lease().space)).await),
            2 => drop(store.write(apply(&lease(), Operation::Del)).await),
            _ => {
                store.clock().advance(2 * MINUTE);
                must(store.sweep(MANY).await);
            }
        }
        let next = store.grant(&lease(), "two", MINUTE).await;
        assert!(next > last, "{next} follows {last} (way {way})");
        last = next;
    }
}

async fn a_lease_survives_the_clearing_of_its_space(store: TestStore) {
    let epoch = store.grant(&lease(), "one", HOUR).await;
    must(guarded(&store, epoch, "a").await);
    store.write(clear(&space("s"))).await;
    must(guarded(&store, epoch, "b").await);
    store.write(remove(&space("s"))).await;
    must(guarded(&store, epoch, "c").await);
    assert_eq!(stored(&store).await, ["c"]);
}

async fn g014_a_refused_write_leaves_the_lease_as_it_was(store: TestStore) {
    let other = store.open().await;
    let text = space("s").key("text");
    store.act(&text, set("\"text\"")).await;
    let batch = Batch::of([
        apply_for(&lease(), acquire("one"), HOUR),
        apply(&text, incr(1)),
    ]);
    assert_eq!(
        refusal(store.commit(batch).await),
        "Incr: key \"text\" holds a string, not a number"
    );
    let epoch = other.grant(&lease(), "two", HOUR).await;
    must(guarded(&other, epoch, "a").await);
}

async fn g002_what_only_looks_like_a_lease_is_none(store: TestStore) {
    for (text, kind) in [("[\"one\",7]", "list"), ("7", "number")] {
        store.write(apply(&lease(), set(text))).await;
        assert_eq!(refusal(guarded(&store, 7, "a").await), fenced(7));
        let renewed = store
            .attempt(apply(&lease(), Operation::Renew { epoch: 7 }))
            .await;
        assert_eq!(
            refusal(renewed),
            "the lease lease with epoch 7 is no longer held"
        );
        for holder in ["one", "two"] {
            let taken = store.attempt(apply(&lease(), acquire(holder))).await;
            assert_eq!(
                refusal(taken),
                format!("Acquire: key \"lease\" holds a {kind}, not a lease")
            );
        }
        store
            .write(apply(&lease(), Operation::Release { epoch: 7 }))
            .await;
        assert_eq!(store.text(&lease()).await.as_deref(), Some(text));
    }
    assert_eq!(stored(&store).await, Vec::<String>::new());
}
