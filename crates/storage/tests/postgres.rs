//! The PostgreSQL driver against the memory driver, and what only shows with many connections. Runs where
//! `TEST_POSTGRES_URL` names a server; reported as ignored elsewhere.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, though clippy only knows those with #[test]"
)]

#[path = "postgres/compare.rs"]
mod compare;
#[path = "postgres/dice.rs"]
mod dice;

use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, NewEntry, Outcome, Write};
use ambit_storage::driver::{self, Driver, Durability, FaultPoints, Options, Part, Range};
use ambit_storage::op::{Op, Output};
use ambit_storage::{Json, SessionIdentity};
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() {
    let server = std::env::var_os("TEST_POSTGRES_URL").and_then(|url| url.into_string().ok());
    let mut trials = Vec::new();
    let mut add = |name: &'static str, test: fn(String) -> Done| {
        let server = server.clone();
        let is_missing = server.is_none();
        let run = move || {
            let (url, schema) = own_schema(&server.unwrap_or_default(), name);
            let runtime = tokio::runtime::Runtime::new()?;
            runtime.block_on(test(url.clone()));
            runtime.block_on(sql(&url, &format!("DROP SCHEMA {schema} CASCADE")));
            Ok::<(), Failed>(())
        };
        trials.push(Trial::test(name, run).with_ignored_flag(is_missing));
    };
    add("random_batches_do_what_they_do_in_memory", |url| {
        Box::pin(compare::random_batches(url))
    });
    add("concurrent_appends_are_dense", |url| Box::pin(appends(url)));
    add("concurrent_increments_all_count", |url| {
        Box::pin(increments(url))
    });
    add("concurrent_mixed_batches_never_lose_a_race", |url| {
        Box::pin(mixed(url))
    });
    add("another_handle_wakes_a_watch", |url| Box::pin(watches(url)));
    add("concurrent_opens_of_a_fresh_schema_succeed", |url| {
        Box::pin(opens(url))
    });
    add("newer_layout_is_refused_by_name", |url| {
        Box::pin(newer(url))
    });
    add("sizes_do_not_matter", |url| Box::pin(flat(url)));
    add("cancelled_commits_are_whole_or_nothing", |url| {
        Box::pin(cancelled(url))
    });
    add("writer_lost_before_its_commit_leaves_nothing", |url| {
        Box::pin(lost(url))
    });
    add(
        "g72_unreachable_server_is_named_without_its_password",
        |url| Box::pin(unreachable(url)),
    );
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

type Done = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// The address of a schema for this test alone, and the schema's name.
fn own_schema(server: &str, test: &str) -> (String, String) {
    let number = std::process::id();
    let test: String = test.chars().take(24).collect();
    let schema = format!("t_{test}_{number}");
    (format!("{server}?ambit_schema={schema}"), schema)
}

async fn sql(url: &str, statements: &str) {
    let (server, _) = url.split_once('?').unwrap();
    let connect = tokio_postgres::connect(server, tokio_postgres::NoTls);
    let (client, connection) = connect.await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(statements).await.unwrap();
}

async fn open(url: &str) -> Arc<dyn Driver> {
    driver::open(url, Options::default()).await.unwrap()
}

fn space(chat: &str) -> Space {
    let identity = SessionIdentity::builder("agent")
        .chat_name(chat)
        .build()
        .unwrap();
    Space::of("default", &identity)
}

fn entry(id: String) -> NewEntry {
    NewEntry {
        body: Json::of(&id).unwrap(),
        id,
    }
}

async fn appends(url: String) {
    let log = space("appends").log("items");
    let handles = [open(&url).await, open(&url).await];
    let started = Instant::now();
    let tasks: Vec<_> = (0..16)
        .map(|writer| {
            let (driver, log) = (Arc::clone(&handles[writer % 2]), log.clone());
            tokio::spawn(async move {
                let mut seqs = Vec::new();
                for number in 0..25 {
                    let entries = vec![
                        entry(format!("{writer}-{number}-a")),
                        entry(format!("{writer}-{number}-b")),
                    ];
                    let outcomes = driver
                        .commit(Batch::of([Write::Append {
                            log: log.clone(),
                            entries,
                        }]))
                        .await;
                    let Outcome::Appended { seqs: given, .. } = &outcomes.unwrap()[0] else {
                        panic!()
                    };
                    assert_eq!(given[1], given[0] + 1);
                    seqs.extend(given.clone());
                }
                seqs
            })
        })
        .collect();
    let mut seqs = BTreeSet::new();
    for task in tasks {
        seqs.extend(task.await.unwrap());
    }
    eprintln!(
        "400 appends of 16 writers to one log: {:?}",
        started.elapsed()
    );
    assert_eq!(seqs, (1..=800).collect());
    let page = handles[0].read(&log, Range::from(1, 1_000)).await.unwrap();
    let stored: Vec<u64> = page.entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(stored, (1..=800).collect::<Vec<_>>());
    assert_eq!(handles[1].check().await.unwrap(), Vec::<String>::new());
}

async fn increments(url: String) {
    let key = space("increments").key("count");
    let handles = [open(&url).await, open(&url).await];
    let started = Instant::now();
    let tasks: Vec<_> = (0..16)
        .map(|writer| {
            let (driver, key) = (Arc::clone(&handles[writer % 2]), key.clone());
            tokio::spawn(async move {
                let mut versions = Vec::new();
                for _ in 0..25 {
                    let write = Write::Apply {
                        key: key.clone(),
                        op: Op::Incr(1.into()),
                        life: None,
                    };
                    let outcome = driver.commit(Batch::of([write])).await.unwrap().remove(0);
                    let Outcome::Applied {
                        output: Output::Number(number),
                        version,
                    } = outcome
                    else {
                        panic!()
                    };
                    versions.push((number.to::<u64>().unwrap(), version.unwrap()));
                }
                versions
            })
        })
        .collect();
    let mut given = Vec::new();
    for task in tasks {
        given.extend(task.await.unwrap());
    }
    eprintln!(
        "400 increments of 16 writers of one value: {:?}",
        started.elapsed()
    );
    given.sort_unstable();
    assert!(given.iter().map(|(number, _)| *number).eq(1..=400));
    assert!(
        given.is_sorted_by(|a, b| a.1 < b.1),
        "versions grow with the value"
    );
    let stored = handles[0].get(&key, Part::Whole).await.unwrap().unwrap();
    assert_eq!(stored.value.as_str(), "400");
}

async fn mixed(url: String) {
    let handles = [open(&url).await, open(&url).await];
    let started = Instant::now();
    let tasks: Vec<_> = (0..16u64)
        .map(|writer| {
            let driver = Arc::clone(&handles[usize::try_from(writer % 2).unwrap()]);
            tokio::spawn(async move {
                let mut dice = dice::Dice::new(writer + 1);
                for _ in 0..60 {
                    let writes: Vec<Write> = (0..dice.below(4) + 1)
                        .map(|_| dice.write_without_mirror())
                        .collect();
                    match driver.commit(Batch::of(writes)).await {
                        Err(error)
                            if error.is_failure() && !error.to_string().contains("stored JSON") =>
                        {
                            panic!("{error}")
                        }
                        _ => {}
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    eprintln!(
        "960 mixed batches of 16 writers over 4 spaces: {:?}",
        started.elapsed()
    );
    assert_eq!(handles[0].check().await.unwrap(), Vec::<String>::new());
}

async fn watches(url: String) {
    let (writer, reader) = (open(&url).await, open(&url).await);
    let log = space("watched").log("items");
    let mut watch = reader.watch(&log).await.unwrap();
    // The first wake-ups are those of the connection and the first look.
    while tokio::time::timeout(Duration::from_secs(3), watch.changed())
        .await
        .is_ok()
    {}
    for number in 0..3 {
        let entries = vec![entry(format!("{number}"))];
        writer
            .commit(Batch::of([Write::Append {
                log: log.clone(),
                entries,
            }]))
            .await
            .unwrap();
        let started = Instant::now();
        let woken = tokio::time::timeout(Duration::from_secs(5), watch.changed()).await;
        assert_eq!(woken, Ok(true));
        eprintln!("woken after {:?}", started.elapsed());
        while tokio::time::timeout(Duration::from_millis(2_200), watch.changed())
            .await
            .is_ok()
        {}
    }
    writer
        .commit(Batch::of([Write::Remove {
            space: log.space.clone(),
        }]))
        .await
        .unwrap();
    assert_eq!(
        tokio::time::timeout(Duration::from_secs(5), watch.changed()).await,
        Ok(true)
    );
    reader.close().await.unwrap();
    while watch.changed().await {}
    let error = reader
        .get(&space("x").key("y"), Part::Whole)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("it was closed"), "{error}");
    assert!(reader.commit(Batch::default()).await.is_err());
    assert!(reader.watch(&log).await.is_err());
}

async fn opens(url: String) {
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let url = url.clone();
            tokio::spawn(async move { open(&url).await })
        })
        .collect();
    for task in tasks {
        let driver = task.await.unwrap();
        let write = Write::Apply {
            key: space("opens").key("n"),
            op: Op::Incr(1.into()),
            life: None,
        };
        driver.commit(Batch::of([write])).await.unwrap();
    }
    let stored = open(&url)
        .await
        .get(&space("opens").key("n"), Part::Whole)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.value.as_str(), "8");
}

async fn newer(url: String) {
    drop(open(&url).await);
    let (_, schema) = url.split_once("?ambit_schema=").unwrap();
    sql(&url, &format!("UPDATE {schema}.layout SET version = 99")).await;
    let error = driver::open(&url, Options::default())
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains(schema) && error.contains("layout 99"),
        "{error}"
    );
}

async fn flat(url: String) {
    // Without the wait for the disk, which varies more than what is measured.
    let options = Options {
        durability: Durability::Normal,
        ..Options::default()
    };
    let driver = driver::open(&url, options).await.unwrap();
    let log = space("flat").log("items");
    let key = space("flat").key("list");
    let one = Json::of("x").unwrap();
    let write = async |count: usize, from: usize| {
        let entries = (from..from + count)
            .map(|number| entry(format!("e{number:09}")))
            .collect();
        let append = Write::Append {
            log: log.clone(),
            entries,
        };
        let push = Write::Apply {
            key: key.clone(),
            op: Op::Push(vec![one.clone(); count]),
            life: None,
        };
        driver.commit(Batch::of([append])).await.unwrap();
        driver.commit(Batch::of([push])).await.unwrap();
    };
    let measure = async |from: usize| {
        let started = Instant::now();
        for number in 0..200 {
            write(1, from + number).await;
        }
        started.elapsed() / 400
    };
    write(10, 0).await;
    measure(1_000_000).await;
    let few = measure(2_000_000).await;
    write(40_000, 3_000_000).await;
    let many = measure(4_000_000).await;
    eprintln!("a write with few entries {few:?}, with 40,000 {many:?}");
    assert!(many < few * 3, "{few:?} {many:?}");
}

/// A log and a counter that every batch moves together.
fn pair(number: u32) -> Batch {
    let log = space("pair").log("items");
    let key = space("pair").key("count");
    let op = Op::Incr(1.into());
    let entries = vec![entry(format!("{number}"))];
    Batch::of([
        Write::Apply {
            key,
            op,
            life: None,
        },
        Write::Append { log, entries },
    ])
}

async fn pair_is_even(driver: &Arc<dyn Driver>) -> u64 {
    let head = driver
        .read(&space("pair").log("items"), Range::head())
        .await
        .unwrap()
        .head;
    let count = driver
        .get(&space("pair").key("count"), Part::Whole)
        .await
        .unwrap();
    let count = count.map_or(0, |entry| entry.value.to().unwrap());
    assert_eq!(head.map_or(0, |head| head.last), count);
    assert_eq!(driver.check().await.unwrap(), Vec::<String>::new());
    count
}

async fn cancelled(url: String) {
    let driver = open(&url).await;
    let mut finished = 0;
    for number in 0..300 {
        let time = Duration::from_micros(u64::from(number % 50) * 400);
        let commit = tokio::time::timeout(time, driver.commit(pair(number)));
        finished += u64::from(commit.await.is_ok());
    }
    // Takes the same locks, hence comes behind whatever was sent and then cancelled.
    driver.commit(pair(1_000)).await.unwrap();
    pair_is_even(&driver).await;
    let head = driver
        .read(&space("pair").log("items"), Range::head())
        .await
        .unwrap()
        .head;
    eprintln!("{finished} of 300 commits finished in time, {head:?} entries");
    assert!(head.is_some_and(|head| head.last > finished));
}

async fn lost(url: String) {
    for (point, wanted) in [
        ("postgres.begin", 0),
        ("postgres.written", 0),
        ("postgres.committed", 1),
    ] {
        let fault_points = FaultPoints::new(move |at| assert!(at != point, "lost at {at}"));
        let options = Options {
            fault_points,
            ..Options::default()
        };
        let doomed = driver::open(&url, options).await.unwrap();
        let task = tokio::spawn(async move { doomed.commit(pair(1)).await });
        assert!(task.await.is_err(), "{point}");
        assert_eq!(pair_is_even(&open(&url).await).await, wanted, "{point}");
    }
}

async fn unreachable(url: String) {
    let name = "//me:canary@127.0.0.1:1/nowhere";
    let error = driver::open(&format!("postgres:{name}"), Options::default())
        .await
        .err()
        .unwrap();
    let text = format!("{error} {error:?}");
    assert!(
        text.contains("127.0.0.1:1/nowhere") && !text.contains("canary"),
        "{text}"
    );
    let name = format!("doomed-{}", std::process::id());
    let driver = open(&format!("{url}&application_name={name}")).await;
    driver.commit(pair(1)).await.unwrap();
    // Every connection dies, the listening one too; the next calls use new ones.
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name =";
    sql(&url, &format!("{kill} '{name}'")).await;
    // A call that meets a dying connection is refused as unavailable, which is safe to repeat.
    while driver.check().await.is_err() {}
    assert_eq!(pair_is_even(&driver).await, 1);
    driver.commit(pair(2)).await.unwrap();
    assert_eq!(pair_is_even(&driver).await, 2);
}
