//! The Redis driver on a real server: `TEST_REDIS_URL=redis://127.0.0.1:6379/0`. Without it the cases are skipped.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod draft;
mod random;
mod removal;
mod rows;
#[path = "../support/run_tally.rs"]
mod run_tally;
mod server;
mod values;
mod view;

use ambit_storage::Json;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::Clock;
use ambit_storage::driver::{self, Driver, DriverOptions};
use ambit_storage::operation::Operation;
use futures::future::BoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};
use random::{Side, compare};
use std::str::FromStr;
use std::sync::Arc;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Outcomes<T = ()> = Result<T, Failure>;

/// A store of its own on the shared server.
struct Store {
    url: String,
    prefix: String,
    clock: Clock,
}

impl Store {
    async fn open(&self) -> Outcomes<Arc<dyn Driver>> {
        let options = DriverOptions {
            clock: self.clock.clone(),
            ..DriverOptions::default()
        };
        let url = format!("{}?ambit_prefix={}", self.url, self.prefix);
        Ok(driver::open(&url, options).await?)
    }

    async fn keys(&self) -> Outcomes<Vec<String>> {
        let client = redis::Client::open(self.url.as_str())?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        let pattern = format!("{}:*", self.prefix);
        Ok(redis::cmd("KEYS")
            .arg(pattern)
            .query_async(&mut connection)
            .await?)
    }

    async fn drop_all(&self) -> Outcomes {
        let client = redis::Client::open(self.url.as_str())?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        for keys in self.keys().await?.chunks(1000) {
            let _: () = redis::cmd("UNLINK")
                .arg(keys)
                .query_async(&mut connection)
                .await?;
        }
        Ok(())
    }
}

type Case = for<'a> fn(&'a Store) -> BoxFuture<'a, Outcomes>;

const CASES: &[(&str, Case)] = &[
    ("random_batches_equal_memory", |store| {
        Box::pin(random_batches(store))
    }),
    ("a_server_that_evicts_is_refused", |store| {
        Box::pin(server::eviction(store))
    }),
    ("wiping_many_values_leaves_nothing", |store| {
        Box::pin(removal::wiping(store))
    }),
    ("a_restarted_server_is_found_again", |store| {
        Box::pin(server::restart(store))
    }),
    ("a_wipe_is_done_though_the_server_ends_behind_it", |store| {
        Box::pin(server::wipe_before_end(store))
    }),
    ("g104_wiping_100_000_values_holds_nobody_up", |store| {
        Box::pin(server::crowd(store))
    }),
    ("removal_leaves_no_key", |store| {
        Box::pin(removal::removal(store))
    }),
    ("recent_comes_by_last_activity", |store| {
        Box::pin(rows::recent(store))
    }),
    ("an_epoch_is_higher_after_release", |store| {
        Box::pin(values::epochs(store))
    }),
    ("a_list_in_the_middle_of_long_ones", |store| {
        Box::pin(values::long_lists(store))
    }),
    ("long_lists_are_taken_whole", |store| {
        Box::pin(values::taken_whole(store))
    }),
];

fn main() {
    let url: Option<String> = setting("TEST_REDIS_URL");
    let trial = |(name, case): &(&'static str, Case)| {
        let (name, case, url) = (*name, *case, url.clone());
        let is_skipped = url.is_none();
        Trial::test(name, move || run(name, case, url.unwrap_or_default()))
            .with_ignored_flag(is_skipped)
    };
    let trials = CASES.iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// What the environment says.
fn setting<T: FromStr>(name: &str) -> Option<T> {
    std::env::var_os(name)?.to_str()?.parse().ok()
}

fn run(name: &str, case: Case, url: String) -> Result<(), Failed> {
    let store = Store {
        url,
        prefix: format!("test-{:016x}-{name}", rand::random::<u64>()),
        clock: Clock::default(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let result = runtime.block_on(async {
        let result = case(&store).await;
        store.drop_all().await?;
        result
    });
    result.map_err(|error| error.to_string().into())
}

fn memory_of(user: &str) -> Space {
    Space::user_memory("t", user)
}

fn number(value: i64) -> Json {
    Json::of(&value).unwrap()
}

fn apply(space: &Space, name: &str, op: Operation) -> Batch {
    Batch::of([BatchWrite::apply(space.key(name), op, None)])
}

async fn random_batches(store: &Store) -> Outcomes {
    let rounds = setting("TEST_ROUNDS").unwrap_or(3);
    let first = setting("TEST_SEED").unwrap_or(1);
    for seed in first..first + rounds {
        let options = DriverOptions {
            clock: store.clock.clone(),
            ..DriverOptions::default()
        };
        let begun = store.clock.now();
        let left = Side {
            driver: driver::open("memory:", options).await?,
            begun,
        };
        let right = Side {
            driver: store.open().await?,
            begun,
        };
        compare(&left, &right, &store.clock, seed * 7919, 1000).await?;
        right.driver.close().await?;
        store.drop_all().await?;
    }
    Ok(())
}
