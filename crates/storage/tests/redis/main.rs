//! The Redis driver on a real server: `TEST_REDIS_URL=redis://127.0.0.1:6379/0`. Without it the cases are skipped.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]
#![expect(
    clippy::disallowed_methods,
    reason = "the server of a test is named by the environment"
)]

mod draft;
mod random;
mod server;
mod view;

use ambit_storage::address::{Key, Space};
use ambit_storage::batch::{Batch, NewEntry, Outcome, Write};
use ambit_storage::clock::Clock;
use ambit_storage::directory::{Filter, Order, PageRequest, Track};
use ambit_storage::driver::{self, Driver, Options, Part, Range, Scan};
use ambit_storage::op::{Op, Output};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Error, Json, SessionIdentity, Value};
use futures::future::{BoxFuture, try_join_all};
use libtest_mimic::{Arguments, Failed, Trial};
use random::{Side, compare};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

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
        let options = Options {
            clock: self.clock.clone(),
            ..Options::default()
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
        Box::pin(wiping(store))
    }),
    ("a_restarted_server_is_found_again", |store| {
        Box::pin(server::restart(store))
    }),
    ("g104_wiping_100_000_values_holds_nobody_up", |store| {
        Box::pin(server::crowd(store))
    }),
    ("removal_leaves_no_key", |store| Box::pin(removal(store))),
    ("recent_comes_by_last_activity", |store| {
        Box::pin(recent(store))
    }),
    ("an_epoch_is_higher_after_release", |store| {
        Box::pin(epochs(store))
    }),
    ("a_list_in_the_middle_of_long_ones", |store| {
        Box::pin(long_lists(store))
    }),
];

fn main() {
    let url = std::env::var("TEST_REDIS_URL").ok();
    let trial = |(name, case): &(&'static str, Case)| {
        let (name, case, url) = (*name, *case, url.clone());
        let is_skipped = url.is_none();
        Trial::test(name, move || run(name, case, url.unwrap_or_default()))
            .with_ignored_flag(is_skipped)
    };
    let trials = CASES.iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn run(name: &str, case: Case, url: String) -> Result<(), Failed> {
    let store = Store {
        url,
        prefix: format!("test-{}-{name}", std::process::id()),
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

fn apply(space: &Space, name: &str, op: Op) -> Batch {
    Batch::of([Write::Apply {
        key: space.key(name),
        op,
        life: None,
    }])
}

async fn random_batches(store: &Store) -> Outcomes {
    let rounds = std::env::var("TEST_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(3);
    let first = std::env::var("TEST_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1);
    for seed in first..first + rounds {
        let options = Options {
            clock: store.clock.clone(),
            ..Options::default()
        };
        let left = Side {
            driver: driver::open("memory:", options).await?,
        };
        let right = Side {
            driver: store.open().await?,
        };
        compare(&left, &right, &store.clock, seed * 7919, 1000).await?;
        right.driver.close().await?;
        store.drop_all().await?;
    }
    Ok(())
}

async fn wiping(store: &Store) -> Outcomes {
    let driver = store.open().await?;
    let space = memory_of("u");
    let count = 3_000_u64;
    let set = |at: u64| Write::Apply {
        key: space.key(format!("k{at:05}")),
        op: match at % 2 {
            0 => Op::Set(Value::Plain(number(1))),
            _ => Op::AddToSet(vec![number(1)]),
        },
        life: Some(1_000).filter(|_| at.is_multiple_of(3)),
    };
    driver.commit(Batch::of((0..count).map(set))).await?;
    let scan = Scan {
        pattern: Pattern::all(),
        after: Some("k00999".to_owned()),
        limit: 2_000,
        part: Part::Nothing,
    };
    assert_eq!(driver.scan(&space, &scan).await?.len(), 2_000);
    store.clock.advance(Duration::from_secs(2));
    assert_eq!(driver.sweep(100).await?, 100);
    let wipe = |pattern: &str| {
        Batch::of([Write::Wipe {
            space: space.clone(),
            pattern: Pattern::parse(pattern),
        }])
    };
    assert_eq!(driver.commit(wipe("k00*")).await?, [Outcome::Erased(666)]);
    assert_eq!(driver.commit(wipe("*")).await?, [Outcome::Erased(1334)]);
    assert_eq!(driver.check().await?, Vec::<String>::new());
    let mut keys = store.keys().await?;
    keys.sort();
    let left = ["counter", "floor"].map(|name| format!("{}:{name}", store.prefix));
    assert_eq!(keys, left);
    Ok(())
}

fn tracked(agent: &str, chat: &str) -> Outcomes<Track> {
    let identity = SessionIdentity::builder(agent)
        .user_id("secret-user")
        .chat_name(chat)
        .build()?;
    Ok(Track {
        id: format!("{agent}-{chat}"),
        tenant: "t".to_owned(),
        agent: agent.to_owned(),
        base: identity.base(),
        identity,
        placement: Vec::new(),
        created_by: None,
        team: None,
        labels: BTreeMap::new(),
    })
}

async fn removal(store: &Store) -> Outcomes {
    let driver = store.open().await?;
    let track = tracked("a", "secret-chat")?;
    let space = Space::of("t", &track.identity);
    let entry = NewEntry {
        id: "1".to_owned(),
        body: number(1),
    };
    driver
        .commit(Batch::of([
            Write::Append {
                log: space.log("items"),
                entries: vec![entry],
            },
            Write::Track(Box::new(track.clone())),
            Write::Apply {
                key: space.key("k"),
                op: Op::AddToSet(vec![number(1)]),
                life: Some(9),
            },
        ]))
        .await?;
    let names = store.keys().await?.join(" ");
    assert!(!names.contains("secret"), "{names}");
    let outcomes = driver
        .commit(Batch::of([
            Write::Remove { space },
            Write::Untrack {
                tenant: "t".to_owned(),
                id: track.id,
            },
        ]))
        .await?;
    assert_eq!(outcomes, [Outcome::Erased(2), Outcome::Erased(1)]);
    let mut keys = store.keys().await?;
    keys.sort();
    assert_eq!(
        keys,
        ["counter", "floor"].map(|name| format!("{}:{name}", store.prefix))
    );
    Ok(())
}

async fn recent(store: &Store) -> Outcomes {
    let driver = store.open().await?;
    // All made in one batch, hence active in the same millisecond: more than one step of a walk holds.
    let tracks = (0..60)
        .map(|at| tracked("a", &format!("c{at:02}")))
        .collect::<Outcomes<Vec<_>>>()?;
    driver
        .commit(Batch::of(
            tracks
                .iter()
                .cloned()
                .map(|track| Write::Track(Box::new(track))),
        ))
        .await?;
    let mut expected: Vec<String> = tracks.iter().rev().map(|track| track.id.clone()).collect();
    for at in [7_usize, 3, 50] {
        store.clock.advance(Duration::from_secs(2));
        let log = Space::of("t", &tracks[at].identity).log("items");
        driver
            .commit(Batch::of([Write::Append {
                log,
                entries: Vec::new(),
            }]))
            .await?;
        expected.retain(|id| *id != tracks[at].id);
        expected.insert(0, tracks[at].id.clone());
    }
    let filter = Filter {
        agent: Some("a".to_owned()),
        ..Filter::tenant("t")
    };
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = PageRequest {
            order: Order::Recent,
            after,
            limit: 7,
        };
        let rows = driver.identities(&filter, &page).await?;
        let Some(last) = rows.last() else { break };
        after = Some(last.position());
        found.extend(rows.into_iter().map(|row| row.id));
    }
    assert_eq!(found, expected);
    Ok(())
}

/// Takes the lease and gives it back so many times; `last` is the highest epoch of all workers.
async fn take_often(
    driver: &dyn Driver,
    key: &Key,
    holder: String,
    last: &AtomicU64,
) -> Result<(), Error> {
    let write = |op| Write::Apply {
        key: key.clone(),
        op,
        life: Some(60_000),
    };
    let mut granted = 0;
    while granted < 20 {
        let acquire = Op::Acquire {
            holder: holder.clone(),
        };
        let outcomes = match driver.commit(Batch::of([write(acquire)])).await {
            Err(Error::Busy { .. }) => {
                tokio::task::yield_now().await;
                continue;
            }
            result => result?,
        };
        let Outcome::Applied {
            output: Output::Epoch(epoch),
            ..
        } = outcomes[0]
        else {
            panic!("{outcomes:?}");
        };
        let before = last.swap(epoch, Ordering::SeqCst);
        assert!(epoch > before, "epoch {epoch} after {before}");
        granted += 1;
        driver
            .commit(Batch::of([write(Op::Release { epoch })]))
            .await?;
    }
    Ok(())
}

async fn epochs(store: &Store) -> Outcomes {
    let handles = [store.open().await?, store.open().await?];
    let (key, last) = (memory_of("u").lease(), AtomicU64::new(0));
    let worker =
        |worker: usize| take_often(&*handles[worker % 2], &key, format!("h{worker}"), &last);
    try_join_all((0..6).map(worker)).await?;
    Ok(())
}

async fn long_lists(store: &Store) -> Outcomes {
    let driver = store.open().await?;
    let space = memory_of("u");
    let many: Vec<Json> = (0..5_000).map(number).collect();
    driver
        .commit(apply(&space, "l", Op::Push(many.clone())))
        .await?;
    driver
        .commit(apply(
            &space,
            "l",
            Op::AddToSet(vec![number(3), number(5_000)]),
        ))
        .await?;
    driver
        .commit(apply(
            &space,
            "l",
            Op::AddToSet(vec![number(4), number(5_000)]),
        ))
        .await?;
    driver.commit(apply(&space, "l", Op::Pull(2))).await?;
    let outcomes = driver
        .commit(apply(
            &space,
            "l",
            Op::AddToSet(vec![number(4_999), number(7)]),
        ))
        .await?;
    let entry = driver
        .get(&space.key("l"), Part::Items(4_997, 9_999))
        .await?
        .ok_or("absent")?;
    assert_eq!(
        (entry.length, entry.value.as_str()),
        (5_000, "[4997,4998,4999]")
    );
    assert!(matches!(outcomes[..], [Outcome::Applied { .. }]));
    Ok(())
}
