//! Taking a lease of a store that fails meanwhile: G14.

use crate::app::App;
use crate::stores::{Store, wait_for};
use ambit_storage::Result;
use ambit_storage::address::{DEFAULT_TENANT, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::conformance::FaultKind;
use ambit_storage::lease::{Lease, LeaseState, OnBusy};
use ambit_storage::operation::Operation;

fn key() -> ValueKey {
    Space::user_memory(DEFAULT_TENANT, "ann").lease()
}

/// What is granted to one who waits behind another, over the store that fails.
async fn wait_in_queue(app: &App) -> Result<Lease> {
    let holder = Lease::take(app.store.clone(), key(), OnBusy::Reject)
        .await
        .unwrap();
    let waiter = tokio::spawn(Lease::take(app.flaky.clone(), key(), OnBusy::Queue));
    // The first write that is answered is the ticket; what is refused as busy has no answer to lose.
    app.flaky.wait_seen(FaultKind::Answer, 1).await;
    holder.release().await.unwrap();
    waiter.await.unwrap()
}

async fn state(app: &App) -> LeaseState {
    LeaseState::of(&*app.store, &key()).await.unwrap()
}

pub fn g014_a_grant_of_which_a_waiter_does_not_hear_is_given_back(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        app.flaky.fail_after(1, FaultKind::Answer, 1);
        let failed = wait_in_queue(&app).await.unwrap_err().to_string();
        assert!(failed.contains("told to fail"), "{failed}");
        assert_eq!(state(&app).await, LeaseState::default());
        // The place, the grant, once more and given back, the place left.
        assert!(app.flaky.seen(FaultKind::Answer) >= 5);
    });
}

pub fn g014_a_place_in_the_queue_of_which_its_waiter_does_not_hear_is_left(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        let holder = Lease::take(app.store.clone(), key(), OnBusy::Reject).await;
        app.flaky.fail_after(0, FaultKind::Answer, 1);
        let waiter = Lease::take(app.flaky.clone(), key(), OnBusy::Queue).await;
        let failed = waiter.unwrap_err().to_string();
        assert!(failed.contains("told to fail"), "{failed}");
        holder.unwrap().release().await.unwrap();
        let next = Lease::take(app.store.clone(), key(), OnBusy::Reject).await;
        next.unwrap();
    });
}

pub fn g014_a_waiter_that_cannot_leave_the_queue_holds_its_lease(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        let is_leaving = |batch: &Batch| match &batch.writes[..] {
            [BatchWrite::Apply { op, .. }] => *op == Operation::Del,
            _ => false,
        };
        app.flaky.lose_race(is_leaving);
        let lease = wait_in_queue(&app).await.unwrap();
        assert_eq!(state(&app).await.epoch, Some(lease.epoch()));
    });
}
