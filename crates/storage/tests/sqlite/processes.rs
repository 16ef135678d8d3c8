//! Several processes, killed migrations and files of other versions: G136 and G137.

use crate::{append, last, log, sqlite};
use ambit_storage::driver::sqlite::SqliteDriver;
use ambit_storage::driver::{Driver, DriverOptions, FaultPoints};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Tells a child process of this test what to do: a word and a path.
const WORKER: &str = "AMBIT_SQLITE_WORKER";

/// Runs this test binary again as another process.
fn worker(word: &str, path: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::the_other_process", "--nocapture"])
        .env(WORKER, format!("{word} {}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn said(output: &Output, word: &str) -> usize {
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| line.ends_with(word))
        .count()
}

/// What a child process does; without the variable, nothing.
#[tokio::test]
async fn the_other_process() {
    let Some(order) = std::env::var_os(WORKER) else {
        return;
    };
    let order = order.into_string().unwrap();
    let (word, path) = order.split_once(' ').unwrap();
    let dies = word == "die";
    let options = DriverOptions {
        fault_points: FaultPoints::new(move |point| {
            println!("\nreached {point}");
            if dies && point == "sqlite.migrate" {
                std::process::abort();
            }
        }),
        ..DriverOptions::default()
    };
    // Eight at once may wait long for each other on a busy machine.
    let address = format!("{path}?busy_ms=60000");
    let store = SqliteDriver::open(&address, options).await.unwrap();
    let id = std::process::id().to_string();
    store.commit(append(&log(), id, "hello")).await.unwrap();
    store.close().await.unwrap();
    println!("\ndone");
}

#[tokio::test]
async fn g136_eight_processes_open_a_fresh_file_and_one_migrates_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fresh.db");
    let children: Vec<_> = (0..8).map(|_| worker("open", &file)).collect();
    let outputs: Vec<Output> = children
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .collect();
    for output in &outputs {
        assert_eq!(said(output, "done"), 1, "{output:?}");
    }
    let migrations: usize = outputs
        .iter()
        .map(|output| said(output, "sqlite.migrate"))
        .sum();
    assert_eq!(migrations, 1);
    let store = sqlite(&file, "").await.unwrap();
    assert_eq!(last(&store, &log()).await, 8);
}

#[tokio::test]
async fn g137_a_killed_migration_leaves_the_file_usable() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("killed.db");
    let output = worker("die", &file).wait_with_output().unwrap();
    assert!(!output.status.success());
    assert_eq!(said(&output, "sqlite.migrate"), 1);
    let tables = |file: &Path| {
        let connection = rusqlite::Connection::open(file).unwrap();
        let sql = "SELECT count(*) FROM sqlite_schema";
        connection
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(tables(&file), 0);
    let store = sqlite(&file, "").await.unwrap();
    store.commit(append(&log(), "1", "hello")).await.unwrap();
    assert_eq!(last(&store, &log()).await, 1);
}

#[tokio::test]
async fn g137_a_newer_file_is_refused_by_both_versions_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("newer.db");
    sqlite(&file, "").await.unwrap().close().await.unwrap();
    let connection = rusqlite::Connection::open(&file).unwrap();
    let own = connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    let known = format!("up to {}", own.unwrap());
    connection.pragma_update(None, "user_version", 77).unwrap();
    connection.close().unwrap();
    let before = std::fs::read(&file).unwrap();
    let error = sqlite(&file, "").await.unwrap_err().to_string();
    assert!(
        error.contains("version 77") && error.contains(&known),
        "{error}"
    );
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn a_database_of_another_program_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.db");
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute_batch("CREATE TABLE mine (x)").unwrap();
    connection.close().unwrap();
    let before = std::fs::read(&file).unwrap();
    let error = sqlite(&file, "").await.unwrap_err().to_string();
    assert!(error.contains("another program"), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}
