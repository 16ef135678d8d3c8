//! The sweeper, over the memory driver.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use ambit_storage::address::{Space, ValueKey};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::Clock;
use ambit_storage::driver::{Driver, DriverOptions, ValuePart, memory};
use ambit_storage::operation::Operation;
use ambit_storage::upkeep::{Sweeper, SweeperOptions, SweeperReport};
use ambit_storage::{Json, StoredValue};
use std::sync::Arc;
use std::time::Duration;

fn store(clock: &Clock) -> Arc<dyn Driver> {
    let options = DriverOptions {
        clock: clock.clone(),
        ..DriverOptions::default()
    };
    Arc::new(memory::MemoryDriver::new(options))
}

fn key(name: impl std::fmt::Display) -> ValueKey {
    Space::user_memory("default", "ann").key(name.to_string())
}

async fn set(driver: &dyn Driver, key: ValueKey, life: Option<i64>) {
    let op = Operation::Set(StoredValue::Plain(Json::of(&1).unwrap()));
    let write = BatchWrite::Apply { key, op, life };
    driver.commit(Batch::of([write])).await.unwrap();
}

fn sweeper(driver: &Arc<dyn Driver>, step: usize) -> Sweeper {
    let options = SweeperOptions {
        interval: Duration::from_millis(1),
        step,
    };
    Sweeper::start(Arc::clone(driver), options)
}

#[tokio::test]
async fn g084_expired_values_are_erased_in_the_next_round_and_live_ones_stay() {
    let clock = Clock::default();
    let driver = store(&clock);
    for number in 0..250 {
        set(&*driver, key(number), Some(60_000)).await;
    }
    set(&*driver, key("kept"), None).await;
    let sweeper = sweeper(&driver, 100);
    let mut progress = sweeper.progress();
    let first = *progress.wait_for(|swept| swept.rounds > 0).await.unwrap();
    assert_eq!(first.values, 0);
    clock.advance(Duration::from_secs(60));
    let all = |swept: &SweeperReport| swept.values == 250;
    progress.wait_for(all).await.unwrap();
    sweeper.stop().await;
    assert_eq!(driver.sweep(1_000).await.unwrap(), 0);
    assert!(
        driver
            .get(&key("kept"), ValuePart::Nothing)
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn a_failed_round_is_counted_and_the_sweeper_goes_on() {
    let driver = store(&Clock::default());
    driver.close().await.unwrap();
    let sweeper = sweeper(&driver, 100);
    let mut progress = sweeper.progress();
    let twice = |swept: &SweeperReport| swept.failures >= 2 && swept.rounds >= swept.failures;
    progress.wait_for(twice).await.unwrap();
    sweeper.stop().await;
}

#[tokio::test]
async fn a_stopped_or_dropped_sweeper_releases_its_store() {
    for is_dropped in [false, true] {
        let driver = store(&Clock::default());
        let sweeper = sweeper(&driver, 0);
        let mut progress = sweeper.progress();
        progress.wait_for(|swept| swept.rounds > 0).await.unwrap();
        if is_dropped {
            drop(sweeper);
        } else {
            sweeper.stop().await;
        }
        while progress.changed().await.is_ok() {}
        assert_eq!(Arc::strong_count(&driver), 1);
    }
}
