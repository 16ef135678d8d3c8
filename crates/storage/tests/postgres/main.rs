//! The PostgreSQL driver against the memory driver, and what only shows with many connections. Runs where
//! `TEST_POSTGRES_URL` names a server; reported as ignored elsewhere. Those about TLS want `TEST_POSTGRES_CA` too.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, though clippy only knows those with #[test]"
)]

mod compare;
mod dice;
mod groups;
mod loss;
mod races;
#[path = "../support/run_tally.rs"]
mod run_tally;
mod tls;
mod waves;

use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::driver::{self, Driver, DriverOptions, Durability, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::{Json, SessionIdentity};
use libtest_mimic::{Arguments, Failed, Trial};
use run_tally::RunTally;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A test, and what it is called.
type Case = (&'static str, fn(String) -> Done);

const CASES: &[Case] = &[
    ("random_batches_do_what_they_do_in_memory", |url| {
        Box::pin(compare::random_batches(url))
    }),
    ("concurrent_appends_are_dense", |url| {
        Box::pin(races::appends(url))
    }),
    ("concurrent_increments_all_count", |url| {
        Box::pin(races::increments(url))
    }),
    ("concurrent_mixed_batches_never_lose_a_race", |url| {
        Box::pin(races::mixed(url))
    }),
    ("another_handle_wakes_a_watch", |url| Box::pin(watches(url))),
    ("concurrent_opens_of_a_fresh_schema_succeed", |url| {
        Box::pin(races::opens(url))
    }),
    ("newer_layout_is_refused_by_name", |url| {
        Box::pin(newer(url))
    }),
    ("older_layout_is_brought_to_the_newest", |url| {
        Box::pin(older(url))
    }),
    ("long_bodies_are_packed_with_lz4", |url| {
        Box::pin(packed(url))
    }),
    ("sizes_do_not_matter", |url| Box::pin(flat(url))),
    ("cancelled_commits_are_whole_or_nothing", |url| {
        Box::pin(loss::cancelled(url))
    }),
    ("writer_lost_before_its_commit_leaves_nothing", |url| {
        Box::pin(loss::lost(url))
    }),
    (
        "g072_unreachable_server_is_named_without_its_password",
        |url| Box::pin(loss::unreachable(url)),
    ),
    ("tls_is_used_as_the_address_asks", |url| {
        Box::pin(tls::modes(url))
    }),
    ("tls_refuses_a_server_that_nobody_known_has_signed", |url| {
        Box::pin(tls::stranger(url))
    }),
    ("tls_refuses_a_server_under_another_name", |url| {
        Box::pin(tls::another_host(url))
    }),
    ("common_writes_wait_for_the_server_once", |url| {
        Box::pin(waves::alone(url))
    }),
    (
        "operations_of_a_batch_wait_for_the_server_together",
        |url| Box::pin(waves::together(url)),
    ),
    ("callers_who_wait_share_a_transaction", |url| {
        Box::pin(groups::shared(url))
    }),
    ("refused_batch_harms_no_other_one", |url| {
        Box::pin(groups::refused(url))
    }),
    ("callers_who_leave_hold_nobody_up", |url| {
        Box::pin(groups::left(url))
    }),
    ("callers_who_are_not_polled_hold_nobody_up", |url| {
        Box::pin(groups::unpolled(url))
    }),
];

fn main() {
    // Events that nobody listened to when they first came are left out later too; from now on somebody always does.
    tracing::subscriber::set_global_default(waves::WaveCounter::default()).unwrap();
    let server = std::env::var_os("TEST_POSTGRES_URL").and_then(|url| url.into_string().ok());
    let has_tls = std::env::var_os("TEST_POSTGRES_CA").is_some();
    let trial = |&(name, test): &Case| {
        let server = server.clone();
        let is_missing = server.is_none() || (name.starts_with("tls_") && !has_tls);
        let run = move || {
            let (url, schema) = own_schema(&server.unwrap_or_default(), name);
            let runtime = tokio::runtime::Runtime::new()?;
            runtime.block_on(test(url.clone()));
            runtime.block_on(sql(
                &url,
                &format!("DROP SCHEMA IF EXISTS {schema} CASCADE"),
            ));
            Ok::<(), Failed>(())
        };
        Trial::test(name, run).with_ignored_flag(is_missing)
    };
    let trials = CASES.iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

type Done = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// The address of a schema for this test alone, and the schema's name.
fn own_schema(server: &str, test: &str) -> (String, String) {
    let number = rand::random::<u64>();
    let test: String = test.chars().take(24).collect();
    let schema = format!("t_{test}_{number:016x}");
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
    driver::open(url, DriverOptions::default()).await.unwrap()
}

fn space(chat: &str) -> Space {
    let identity = SessionIdentity::builder("agent")
        .chat_name(chat)
        .build()
        .unwrap();
    Space::of("default", &identity)
}

fn entry(id: String) -> NewEntry {
    let body = Json::of(&id).unwrap();
    NewEntry::new(id, body)
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
            .commit(Batch::of([BatchWrite::append(log.clone(), entries)]))
            .await
            .unwrap();
        let started = Instant::now();
        let woken = tokio::time::timeout(Duration::from_secs(60), watch.changed()).await;
        assert_eq!(woken, Ok(true));
        eprintln!("woken after {:?}", started.elapsed());
        while tokio::time::timeout(Duration::from_millis(2_200), watch.changed())
            .await
            .is_ok()
        {}
    }
    writer
        .commit(Batch::of([BatchWrite::Remove {
            space: log.space.clone(),
        }]))
        .await
        .unwrap();
    assert_eq!(
        tokio::time::timeout(Duration::from_secs(60), watch.changed()).await,
        Ok(true)
    );
    reader.close().await.unwrap();
    while watch.changed().await {}
    let error = reader
        .get(&space("x").key("y"), ValuePart::Whole)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("it was closed"), "{error}");
    assert!(reader.commit(Batch::default()).await.is_err());
    assert!(reader.watch(&log).await.is_err());
}

async fn newer(url: String) {
    drop(open(&url).await);
    let (_, schema) = url.split_once("?ambit_schema=").unwrap();
    sql(&url, &format!("UPDATE {schema}.layout SET version = 99")).await;
    let error = driver::open(&url, DriverOptions::default())
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains(schema) && error.contains("layout 99"),
        "{error}"
    );
}

async fn older(url: String) {
    drop(open(&url).await);
    let (_, schema) = url.split_once("?ambit_schema=").unwrap();
    let created = include_str!("../../src/driver/postgres/calls.sql").lines();
    let names = created.filter_map(|line| line.strip_prefix("CREATE FUNCTION ")?.split('(').next());
    let names: Vec<String> = names.map(|name| format!("{schema}.{name}")).collect();
    let functions = names.join(", ");
    let back = format!("DROP FUNCTION {functions}; UPDATE {schema}.layout SET version = 2");
    sql(&url, &back).await;
    let count = BatchWrite::apply(space("s").key("k"), Operation::Incr(1.into()), None);
    open(&url).await.commit(Batch::of([count])).await.unwrap();
}

async fn packed(url: String) {
    let long = Json::of(&"word ".repeat(2_000)).unwrap();
    let set = BatchWrite::apply(space("s").key("k"), Operation::Set(long.into()), None);
    open(&url).await.commit(Batch::of([set])).await.unwrap();
    let (_, schema) = url.split_once("?ambit_schema=").unwrap();
    let packed = format!("SELECT FROM {schema}.value WHERE pg_column_compression(body) = 'lz4'");
    let unable = "SELECT FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' <> ALL (enumvals)";
    // An error where the value is not packed so though the server can.
    let check = format!("SELECT 1 / (SELECT count(*) FROM ({packed} UNION ALL {unable}) AS a)");
    sql(&url, &check).await;
}

async fn flat(url: String) {
    // Without the wait for the disk, which varies more than what is measured.
    let options = DriverOptions {
        durability: Durability::Normal,
        ..DriverOptions::default()
    };
    let driver = driver::open(&url, options).await.unwrap();
    let (mut round, mut runs) = (0, RunTally::new());
    // What else the machine does at the time may take longer too.
    while runs.is_open() {
        let [few, many] = write_times(&*driver, &space(&format!("flat-{round}"))).await;
        runs.count([few, many], many < few * 3);
        round += 1;
    }
}

/// How long nine of ten writes take at most where a log and a list have few entries, and where they have 40,000.
async fn write_times(driver: &dyn Driver, space: &Space) -> [Duration; 2] {
    let log = space.log("items");
    let key = space.key("list");
    let one = Json::of("x").unwrap();
    let write = async |count: usize, from: usize| {
        let entries = (from..from + count)
            .map(|number| entry(format!("e{number:09}")))
            .collect();
        let append = BatchWrite::append(log.clone(), entries);
        let push = BatchWrite::apply(key.clone(), Operation::Push(vec![one.clone(); count]), None);
        driver.commit(Batch::of([append])).await.unwrap();
        driver.commit(Batch::of([push])).await.unwrap();
    };
    let measure = async |from: usize| {
        let mut times = Vec::new();
        for number in 0..201 {
            let started = Instant::now();
            write(1, from + number).await;
            times.push(started.elapsed());
        }
        times.sort();
        times[180]
    };
    write(10, 0).await;
    measure(1_000_000).await;
    let few = measure(2_000_000).await;
    write(40_000, 3_000_000).await;
    let many = measure(4_000_000).await;
    [few, many]
}
