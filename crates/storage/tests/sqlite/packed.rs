//! Long bodies of what turns leave are packed in the file, and come back whole.

use crate::{log, sqlite};
use ambit_storage::batch::{Batch, BatchWrite, LogEntry, NewEntry};
use ambit_storage::driver::sqlite::SqliteDriver;
use ambit_storage::driver::{Driver, LogRange};
use ambit_storage::{Error, Json};
use std::path::Path;

/// What a trace is like.
fn body() -> Json {
    let node = |number: usize| {
        format!("{{\"type\":\"node_start\",\"id\":\"n{number}\",\"status\":\"running\"}}")
    };
    let nodes: Vec<String> = (0..100).map(node).collect();
    Json::stored(format!("[{}]", nodes.join(",")))
}

async fn store(file: &Path) -> SqliteDriver {
    let store = sqlite(file, "").await.unwrap();
    for name in ["items", "turn/1/trace"] {
        let log = log().space.log(name);
        let entries = vec![
            NewEntry::new("long", body()),
            NewEntry::new("short", Json::stored("[1]")),
        ];
        store
            .commit(Batch::of([BatchWrite::append(log, entries)]))
            .await
            .unwrap();
    }
    store
}

/// How the bodies of all entries are kept, in the order in which they came, and how many bytes they have.
fn kept(file: &Path) -> Vec<(String, i64)> {
    let connection = rusqlite::Connection::open(file).unwrap();
    let sql = "SELECT typeof(body), length(body) FROM entry ORDER BY id";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    rows.map(Result::unwrap).collect()
}

async fn read(store: &SqliteDriver) -> Result<Vec<LogEntry>, Error> {
    let trace = log().space.log("turn/1/trace");
    Ok(store.read(&trace, LogRange::from(1, 10)).await?.entries)
}

#[tokio::test]
async fn what_is_long_is_packed_but_what_was_said_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("packed.db");
    let store = store(&file).await;
    let bodies: Vec<Json> = read(&store)
        .await
        .unwrap()
        .into_iter()
        .map(|entry| entry.body)
        .collect();
    assert_eq!(bodies, [body(), Json::stored("[1]")]);
    let (kinds, sizes): (Vec<String>, Vec<i64>) = kept(&file).into_iter().unzip();
    assert_eq!(kinds, ["text", "text", "blob", "text"]);
    assert_eq!(sizes[0], i64::try_from(body().as_str().len()).unwrap());
    assert!(sizes[2] < sizes[0] / 3, "{sizes:?}");
}

#[tokio::test]
async fn a_damaged_packed_body_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("damaged.db");
    let store = store(&file).await;
    let connection = rusqlite::Connection::open(&file).unwrap();
    for damage in [
        "ff",
        "ffffffff00",
        "020000001041",
        "01000000204142",
        "0100000010ff",
        "08000000104100ff",
    ] {
        let sql = format!("UPDATE entry SET body = x'{damage}' WHERE typeof(body) = 'blob'");
        connection.execute(&sql, []).unwrap();
        let error = read(&store).await.unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{damage}: {error}");
    }
}
