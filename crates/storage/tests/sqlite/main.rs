//! The guarantees that only a database file has to give: G135 to G143, and that what is removed is gone from the bytes.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod bytes;
mod damage;
mod files;
mod long_values;
mod model;
mod packed;
mod processes;
#[path = "../support/run_tally.rs"]
mod run_tally;

use ambit_storage::address::{LogKey, Space};
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::driver::sqlite::SqliteDriver;
use ambit_storage::driver::{Driver, DriverOptions, LogRange};
use ambit_storage::{Error, Json, SessionIdentity};
use std::path::Path;

fn identity() -> SessionIdentity {
    let identity = SessionIdentity::builder("SecretAgent").user_id("secretive-user");
    identity.chat_name("secretive-chat").build().unwrap()
}

fn log() -> LogKey {
    Space::of("t", &identity()).log("items")
}

fn entry(id: impl Into<String>, text: &str) -> NewEntry {
    NewEntry::new(id, Json::of(text).unwrap())
}

fn append(log: &LogKey, id: impl Into<String>, text: &str) -> Batch {
    Batch::of([BatchWrite::append(log.clone(), vec![entry(id, text)])])
}

async fn sqlite(path: &Path, options: &str) -> Result<SqliteDriver, Error> {
    SqliteDriver::open(
        &format!("{}{options}", path.display()),
        DriverOptions::default(),
    )
    .await
}

async fn last(driver: &dyn Driver, log: &LogKey) -> u64 {
    let head = driver.read(log, LogRange::head()).await.unwrap().head;
    head.map_or(0, |head| head.last)
}
