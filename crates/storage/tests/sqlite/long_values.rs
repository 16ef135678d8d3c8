//! Long bodies of values stand beside them and go with them; leases stand apart and are swept without an index.

use crate::{append, log, sqlite};
use ambit_storage::address::{Space, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, WriteOutcome};
use ambit_storage::clock::Clock;
use ambit_storage::driver::sqlite::SqliteDriver;
use ambit_storage::driver::{Driver, DriverOptions, ValuePart, ValueScan};
use ambit_storage::operation::{DatedContent, Operation};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Error, Json, StoredValue};
use rusqlite::Connection;
use std::path::Path;
use std::time::Duration;

fn long(word: &str) -> Json {
    Json::of(&format!("{word} ").repeat(200)).unwrap()
}

fn set(json: &Json) -> Operation {
    Operation::Set(json.clone().into())
}

fn list() -> Operation {
    Operation::Set(StoredValue::List(vec![long("item")]))
}

fn acquire() -> Operation {
    let holder = "me".to_owned();
    Operation::Acquire { holder }
}

async fn write(store: &SqliteDriver, write: BatchWrite) -> WriteOutcome {
    let mut outcomes = store.commit(Batch::of([write])).await.unwrap();
    outcomes.remove(0)
}

async fn apply(store: &SqliteDriver, key: &ValueKey, op: Operation) {
    write(store, BatchWrite::apply(key.clone(), op, None)).await;
}

async fn whole(store: &SqliteDriver, key: &ValueKey) -> Result<Option<Json>, Error> {
    let entry = store.get(key, ValuePart::Whole).await?;
    Ok(entry.map(|entry| entry.value))
}

/// The one number that a statement gives of this file.
fn number(file: &Path, sql: &str) -> i64 {
    let connection = Connection::open(file).unwrap();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn bodies(file: &Path) -> i64 {
    number(file, "SELECT count(*) FROM body")
}

fn leases(file: &Path) -> i64 {
    number(file, "SELECT count(*) FROM value WHERE name = 'lease'")
}

/// A store whose time goes on by hand.
async fn timed(file: &Path, clock: &Clock) -> SqliteDriver {
    let options = DriverOptions {
        clock: clock.clone(),
        ..DriverOptions::default()
    };
    let address = file.display().to_string();
    SqliteDriver::open(&address, options).await.unwrap()
}

#[tokio::test]
async fn a_value_that_is_long_again_keeps_the_row_of_its_body() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("again.db");
    let store = sqlite(&file, "").await.unwrap();
    let (key, other) = (log().space.key("k"), log().space.key("other"));
    for (name, word) in [(&key, "one"), (&other, "two"), (&key, "three")] {
        apply(&store, name, set(&long(word))).await;
    }
    assert_eq!(whole(&store, &key).await.unwrap(), Some(long("three")));
    assert_eq!(whole(&store, &other).await.unwrap(), Some(long("two")));
    assert_eq!(number(&file, "SELECT max(id) FROM body"), 2);
    let kept = number(&file, "SELECT max(length(head)) FROM value");
    assert_eq!(kept, 1);
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_value_that_grows_and_shrinks_has_a_body_while_it_is_long() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("border.db");
    let store = sqlite(&file, "").await.unwrap();
    let key = log().space.key("k");
    for length in [511, 512, 513, 512, 513, 9_000, 513, 511] {
        let json = Json::stored(format!("\"{}\"", "x".repeat(length - 2)));
        apply(&store, &key, set(&json)).await;
        assert_eq!(whole(&store, &key).await.unwrap(), Some(json));
        assert_eq!(bodies(&file), i64::from(length > 512), "{length}");
    }
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn two_handles_that_take_turns_with_a_value_leave_no_body() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.db");
    let handles = [
        sqlite(&file, "").await.unwrap(),
        sqlite(&file, "").await.unwrap(),
    ];
    let key = log().space.key("k");
    let texts = [
        long("one"),
        long("two"),
        Json::stored("3"),
        long("four"),
        long("five"),
        Json::stored("6"),
    ];
    for (at, json) in texts.into_iter().enumerate() {
        apply(&handles[at % 2], &key, set(&json)).await;
        for store in &handles {
            let found = whole(store, &key).await.unwrap();
            assert_eq!(found.as_ref(), Some(&json), "{at}");
        }
        assert!(bodies(&file) <= 1, "{at}");
    }
    assert_eq!(bodies(&file), 0);
    assert_eq!(handles[0].check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_body_goes_with_its_value() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gone.db");
    let clock = Clock::default();
    let store = timed(&file, &clock).await;
    let space = log().space;
    let key = space.key("k");
    let op = |op: Operation| BatchWrite::apply(key.clone(), op, None);
    let pattern = Pattern::parse("k*");
    let endings = [
        op(set(&Json::stored("1"))),
        op(list()),
        op(Operation::Del),
        op(Operation::GetDel),
        BatchWrite::Wipe {
            space: space.clone(),
            pattern,
        },
        BatchWrite::Clear {
            space: space.clone(),
        },
        BatchWrite::Remove { space },
    ];
    for ending in endings {
        write(&store, op(set(&long("secretive")))).await;
        assert_eq!(bodies(&file), 1);
        write(&store, ending.clone()).await;
        assert_eq!(bodies(&file), 0, "{ending:?}");
    }
    let mortal = BatchWrite::apply(key.clone(), set(&long("secretive")), Some(1_000));
    write(&store, mortal).await;
    clock.advance(Duration::from_secs(2));
    assert_eq!(store.sweep(10).await.unwrap(), 1);
    assert_eq!(bodies(&file), 0);
}

#[tokio::test]
async fn who_reads_names_or_dates_reads_no_body() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("names.db");
    let store = sqlite(&file, "").await.unwrap();
    let space = log().space;
    let dated = Operation::SetDated(DatedContent {
        at: 7,
        name: "value",
        json: long("dated"),
    });
    apply(&store, &space.key("dated"), dated).await;
    apply(&store, &space.key("plain"), set(&long("plain"))).await;
    let other = Connection::open(&file).unwrap();
    other.execute("DELETE FROM body", []).unwrap();
    for (part, texts) in [
        (ValuePart::Nothing, ["null", "null"]),
        (
            ValuePart::Dates,
            [r#"{"created_at":7,"updated_at":7}"#, "null"],
        ),
    ] {
        let scan = ValueScan::first(Pattern::parse("*"), 10, part);
        let found = store.scan(&space, &scan).await.unwrap();
        let found: Vec<(&str, &str, &str)> = found
            .iter()
            .map(|(name, entry)| (name.as_str(), entry.kind, entry.value.as_str()))
            .collect();
        let expected = [("dated", "object", texts[0]), ("plain", "string", texts[1])];
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn who_replaces_or_removes_a_value_reads_no_body() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("replaced.db");
    let store = sqlite(&file, "").await.unwrap();
    let space = log().space;
    let (kept, gone) = (space.key("kept"), space.key("gone"));
    for key in [&kept, &gone] {
        apply(&store, key, set(&long("old"))).await;
    }
    let other = Connection::open(&file).unwrap();
    other.execute("DELETE FROM body", []).unwrap();
    assert!(whole(&store, &kept).await.is_err());
    let entry = store.get(&kept, ValuePart::Nothing).await.unwrap().unwrap();
    let new = BatchWrite::apply(kept.clone(), set(&long("new")), None);
    let del = BatchWrite::apply(gone.clone(), Operation::Del, None);
    let check = BatchCheck::version(kept.clone(), Some(entry.version));
    let batch = Batch::of([new, del]).checking(check);
    store.commit(batch).await.unwrap();
    assert_eq!(whole(&store, &kept).await.unwrap(), Some(long("new")));
    assert_eq!(whole(&store, &gone).await.unwrap(), None);
    assert_eq!(bodies(&file), 1);
}

#[tokio::test]
async fn g139_check_names_a_body_without_its_value_and_a_value_without_its_body() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lost.db");
    let store = sqlite(&file, "").await.unwrap();
    let key = log().space.key("k");
    apply(&store, &key, set(&long("text"))).await;
    let other = Connection::open(&file).unwrap();
    other.execute("UPDATE body SET id = 9", []).unwrap();
    let findings = store.check().await.unwrap();
    let lost = format!("the value {key} has lost its body");
    assert_eq!(findings, [lost.as_str(), "the body 9 belongs to no value"]);
    let error = whole(&store, &key).await.unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    let shared = "UPDATE body SET id = 1;
        INSERT INTO value (space, name, head, length, version, body_id) VALUES (1, 'l', '1', 1, 1, 1)";
    other.execute_batch(shared).unwrap();
    let findings = store.check().await.unwrap();
    assert_eq!(findings, ["the body 1 belongs to 2 values"]);
}

#[tokio::test]
async fn g084_an_expired_lease_is_swept_though_no_index_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leases.db");
    let clock = Clock::default();
    let store = timed(&file, &clock).await;
    let (dead, held) = (Space::turns().lease(), log().space.lease());
    // What somebody calls so is no lease.
    let own = Space::user_memory("t", "ann").key("lease");
    for (key, op, life) in [
        (dead, acquire(), 1_000),
        (held, acquire(), 60_000),
        (own, set(&long("mine")), 1_000),
    ] {
        write(&store, BatchWrite::apply(key, op, Some(life))).await;
    }
    let indexed = "SELECT count(*) FROM value INDEXED BY value_expiry WHERE expires_at IS NOT NULL AND space > 0";
    assert_eq!((number(&file, indexed), leases(&file)), (1, 3));
    clock.advance(Duration::from_secs(2));
    assert_eq!(store.sweep(10).await.unwrap(), 2);
    assert_eq!((leases(&file), bodies(&file)), (1, 0));
}

#[tokio::test]
async fn g069_a_lease_that_nobody_gives_back_leaves_no_row_of_a_removed_session() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("left.db");
    let clock = Clock::default();
    let store = timed(&file, &clock).await;
    let space = log().space;
    store.commit(append(&log(), "one", "x")).await.unwrap();
    let taken = BatchWrite::apply(space.lease(), acquire(), Some(1_000));
    write(&store, taken).await;
    write(&store, BatchWrite::Remove { space }).await;
    let rows = || number(&file, "SELECT count(*) FROM space");
    assert_eq!(rows(), 1);
    clock.advance(Duration::from_secs(2));
    assert_eq!(store.sweep(10).await.unwrap(), 1);
    assert_eq!(rows(), 0);
}

/// What each older form added to the one before.
const OLDER_FORMS: [&str; 3] = [
    include_str!("../../src/driver/sqlite/schema.sql"),
    include_str!("../../src/driver/sqlite/tally.sql"),
    include_str!("../../src/driver/sqlite/log.sql"),
];

/// A file of an older form: a long value, a lease that is held, and the row of one that is not.
fn write_older_form(file: &Path, form: usize, text: &Json, end: i64) {
    let connection = Connection::open(file).unwrap();
    for part in &OLDER_FORMS[..form] {
        connection.execute_batch(part).unwrap();
    }
    let marks = format!(
        "PRAGMA application_id = 0x416D6274; PRAGMA user_version = {form}; UPDATE counter SET value = 9;"
    );
    connection.execute_batch(&marks).unwrap();
    let (space, held) = (log().space, log().space.lease().space);
    let free = Space::turns().lease().space;
    let sql = "INSERT INTO space (id, tenant, path) VALUES (?1, ?2, ?3)";
    for (id, space) in [(1, &space), (2, &held), (3, &free)] {
        let row = (id, &space.tenant, &space.path);
        connection.execute(sql, row).unwrap();
    }
    let sql = "INSERT INTO value (space, name, body, length, version, expires_at) VALUES (?1, ?2, ?3, 1, ?4, ?5)";
    let rows = [(1, "k", text.as_str(), None), (2, "lease", "{}", Some(end))];
    for (version, (space, name, body, end)) in (5..).zip(rows) {
        let row = (space, name, body, version, end);
        connection.execute(sql, row).unwrap();
    }
}

#[tokio::test]
async fn values_and_leases_of_older_forms_are_found_and_go() {
    for form in 1..=OLDER_FORMS.len() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("older.db");
        let clock = Clock::default();
        write_older_form(&file, form, &long("old"), clock.now() + 60_000);
        let store = timed(&file, &clock).await;
        let key = log().space.key("k");
        let found = whole(&store, &key).await.unwrap();
        assert_eq!(found, Some(long("old")), "form {form}");
        assert_eq!(number(&file, "SELECT count(*) FROM space"), 2);
        assert_eq!(store.sweep(10).await.unwrap(), 0);
        clock.advance(Duration::from_secs(61));
        assert_eq!(store.sweep(10).await.unwrap(), 1, "form {form}");
        assert_eq!((leases(&file), bodies(&file)), (0, 0));
        apply(&store, &Space::turns().lease(), acquire()).await;
        assert_eq!(number(&file, "SELECT min(id) FROM space"), -1);
        apply(&store, &key, set(&long("new"))).await;
        assert_eq!(bodies(&file), 1);
        assert_eq!(whole(&store, &key).await.unwrap(), Some(long("new")));
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_program_of_the_third_form_that_runs_on_takes_no_head_for_a_body() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("older.db");
    write_older_form(&file, 3, &long("old"), i64::MAX);
    let older = Connection::open(&file).unwrap();
    let sql = "SELECT body FROM value WHERE space = 1";
    let mut read = older.prepare(sql).unwrap();
    let store = sqlite(&file, "").await.unwrap();
    apply(&store, &log().space.key("k"), set(&long("new"))).await;
    let found = read.query_row([], |row| row.get::<_, String>(0));
    assert!(found.is_err(), "{found:?}");
}
