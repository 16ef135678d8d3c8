//! Leases: one holder at a time, and whoever lost it cannot write.

use super::steps::*;
use super::{ConformanceCase, DriverFixture};
use crate::Error;
use crate::address::ValueKey;
use crate::batch::{Batch, BatchCheck, WriteOutcome};
use crate::driver::Driver;
use crate::operation::{Operation, OperationOutput};
use std::sync::Arc;

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
async fn guarded(driver: &dyn Driver, epoch: u64, id: &str) -> Result<(), Error> {
    let batch = Batch::of([append(&space("s").log("items"), &[(id, "1")])]);
    let check = BatchCheck::Lease {
        key: lease(),
        epoch,
    };
    driver.commit(batch.checking(check)).await.map(|_| ())
}

fn fenced(epoch: u64) -> String {
    format!("the lease {} with epoch {epoch} is no longer held", lease())
}

async fn stored(driver: &dyn Driver) -> Vec<String> {
    let entries = entries(driver, &space("s").log("items")).await;
    entries.into_iter().map(|(_, id, _)| id).collect()
}

async fn a_lease_has_one_holder(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let other = fixture.open().await;
    grant(&*driver, &lease(), "one", HOUR).await;
    let held = get(&*driver, &lease()).await;
    let second = apply_for(&lease(), acquire("two"), HOUR);
    assert_eq!(
        refusal(attempt(&*other, second).await),
        "lease is busy: held by one"
    );
    assert_eq!(get(&*other, &lease()).await, held);
}

async fn a_holder_takes_its_lease_again_under_a_new_epoch(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let first = grant(&*driver, &lease(), "one", HOUR).await;
    let second = grant(&*driver, &lease(), "one", HOUR).await;
    assert!(second > first, "{second} follows {first}");
    assert_eq!(refusal(guarded(&*driver, first, "a").await), fenced(first));
    must(guarded(&*driver, second, "b").await);
    assert_eq!(stored(&*driver).await, ["b"]);
}

async fn a_renewed_lease_lives_on_under_its_epoch(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let epoch = grant(&*driver, &lease(), "one", HOUR).await;
    let before = some(get(&*driver, &lease()).await);
    for _ in 0..3 {
        fixture.clock().advance(50 * MINUTE);
        let renewed = write(
            &*driver,
            apply_for(&lease(), Operation::Renew { epoch }, HOUR),
        )
        .await;
        assert_eq!(
            renewed,
            WriteOutcome::Applied {
                output: OperationOutput::Epoch(epoch),
                version: Some(before.version)
            }
        );
        must(guarded(&*driver, epoch, "a").await);
    }
    let after = some(get(&*driver, &lease()).await);
    assert!(after.expires_at > before.expires_at);
    assert_eq!(
        (after.version, &after.value),
        (before.version, &before.value)
    );
}

async fn a_lease_given_back_is_free(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let epoch = grant(&*driver, &lease(), "one", HOUR).await;
    let answer = act(&*driver, &lease(), Operation::Release { epoch }).await;
    assert_eq!(answer, OperationOutput::Nothing);
    assert_eq!(get(&*driver, &lease()).await, None);
    assert_eq!(refusal(guarded(&*driver, epoch, "a").await), fenced(epoch));
    let next = grant(&*driver, &lease(), "two", HOUR).await;
    assert!(next > epoch);
}

async fn a_foreign_epoch_gives_nothing_back(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let absent = act(&*driver, &lease(), Operation::Release { epoch: 7 }).await;
    assert_eq!(absent, OperationOutput::Nothing);
    assert_eq!(get(&*driver, &lease()).await, None);
    let old = grant(&*driver, &lease(), "one", HOUR).await;
    let epoch = grant(&*driver, &lease(), "one", HOUR).await;
    let ends = some(get(&*driver, &lease()).await).expires_at;
    act(&*driver, &lease(), Operation::Release { epoch: old }).await;
    must(guarded(&*driver, epoch, "a").await);
    assert_eq!(some(get(&*driver, &lease()).await).expires_at, ends);
}

async fn the_holder_writes_under_its_epoch(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let other = fixture.open().await;
    let epoch = grant(&*driver, &lease(), "one", HOUR).await;
    must(guarded(&*driver, epoch, "a").await);
    must(guarded(&*other, epoch, "b").await);
    assert_eq!(stored(&*driver).await, ["a", "b"]);
}

async fn g002_a_stale_epoch_is_refused(fixture: Arc<dyn DriverFixture>) {
    let paused = fixture.open().await;
    let other = fixture.open().await;
    let old = grant(&*paused, &lease(), "paused", MINUTE).await;
    fixture.clock().advance(2 * MINUTE);
    let new = grant(&*other, &lease(), "other", HOUR).await;
    must(guarded(&*other, new, "theirs").await);
    assert_eq!(refusal(guarded(&*paused, old, "late").await), fenced(old));
    fixture.clock().set_back(10 * MINUTE);
    assert_eq!(refusal(guarded(&*paused, old, "late").await), fenced(old));
    assert_eq!(stored(&*paused).await, ["theirs"]);
}

async fn g002_an_expired_lease_is_refused(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let epoch = grant(&*driver, &lease(), "one", MINUTE).await;
    fixture.clock().advance(2 * MINUTE);
    assert_eq!(refusal(guarded(&*driver, epoch, "a").await), fenced(epoch));
    assert_eq!(stored(&*driver).await, Vec::<String>::new());
}

async fn g002_a_removed_lease_is_refused(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let epoch = grant(&*driver, &lease(), "one", HOUR).await;
    write(&*driver, remove(&lease().space)).await;
    assert_eq!(refusal(guarded(&*driver, epoch, "a").await), fenced(epoch));
    write(&*driver, apply(&lease(), set("\"no lease\""))).await;
    assert_eq!(refusal(guarded(&*driver, epoch, "a").await), fenced(epoch));
    assert_eq!(stored(&*driver).await, Vec::<String>::new());
}

async fn g002_a_stale_epoch_cannot_be_renewed(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let epoch = grant(&*driver, &lease(), "one", MINUTE).await;
    let renew = || apply_for(&lease(), Operation::Renew { epoch }, HOUR);
    let refused = format!("the lease lease with epoch {epoch} is no longer held");
    fixture.clock().advance(2 * MINUTE);
    assert_eq!(refusal(attempt(&*driver, renew()).await), refused);
    let new = grant(&*driver, &lease(), "two", HOUR).await;
    assert_eq!(refusal(attempt(&*driver, renew()).await), refused);
    must(guarded(&*driver, new, "a").await);
}

async fn g002_epochs_grow_after_expiry_and_removal(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let mut last = grant(&*driver, &lease(), "one", MINUTE).await;
    for way in 0..4 {
        match way {
            0 => fixture.clock().advance(2 * MINUTE),
            1 => drop(write(&*driver, remove(&lease().space)).await),
            2 => drop(write(&*driver, apply(&lease(), Operation::Del)).await),
            _ => {
                fixture.clock().advance(2 * MINUTE);
                must(driver.sweep(MANY).await);
            }
        }
        let next = grant(&*driver, &lease(), "two", MINUTE).await;
        assert!(next > last, "{next} follows {last} (way {way})");
        last = next;
    }
}

async fn a_lease_survives_the_clearing_of_its_space(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let epoch = grant(&*driver, &lease(), "one", HOUR).await;
    must(guarded(&*driver, epoch, "a").await);
    write(&*driver, clear(&space("s"))).await;
    must(guarded(&*driver, epoch, "b").await);
    write(&*driver, remove(&space("s"))).await;
    must(guarded(&*driver, epoch, "c").await);
    assert_eq!(stored(&*driver).await, ["c"]);
}

async fn g014_a_refused_write_leaves_the_lease_as_it_was(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let other = fixture.open().await;
    let text = space("s").key("text");
    act(&*driver, &text, set("\"text\"")).await;
    let batch = Batch::of([
        apply_for(&lease(), acquire("one"), HOUR),
        apply(&text, incr(1)),
    ]);
    assert_eq!(
        refusal(driver.commit(batch).await),
        "Incr: key \"text\" holds a string, not a number"
    );
    let epoch = grant(&*other, &lease(), "two", HOUR).await;
    must(guarded(&*other, epoch, "a").await);
}

async fn g002_what_only_looks_like_a_lease_is_none(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    for (text, kind) in [("[\"one\",7]", "list"), ("7", "number")] {
        write(&*driver, apply(&lease(), set(text))).await;
        assert_eq!(refusal(guarded(&*driver, 7, "a").await), fenced(7));
        let renewed = attempt(&*driver, apply(&lease(), Operation::Renew { epoch: 7 })).await;
        assert_eq!(
            refusal(renewed),
            "the lease lease with epoch 7 is no longer held"
        );
        for holder in ["one", "two"] {
            let taken = attempt(&*driver, apply(&lease(), acquire(holder))).await;
            assert_eq!(
                refusal(taken),
                format!("Acquire: key \"lease\" holds a {kind}, not a lease")
            );
        }
        write(&*driver, apply(&lease(), Operation::Release { epoch: 7 })).await;
        assert_eq!(self::text(&*driver, &lease()).await.as_deref(), Some(text));
    }
    assert_eq!(stored(&*driver).await, Vec::<String>::new());
}
