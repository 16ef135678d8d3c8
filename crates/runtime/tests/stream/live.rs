//! Entries that are read as they are written: stored at once, beside the rows, and found again by whoever goes on.

use crate::bed::{drain, key, memory, place};
use ambit_runtime::ErrorCode;
use ambit_runtime::stream::{
    StreamEntry, StreamOptions, StreamReader, StreamWriter, last_number, read_all,
};
use ambit_storage::conformance::{FaultKind, FlakyDriver};
use ambit_storage::driver::{Driver, LogRange, ValuePart};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, advance};

/// A log whose beginning was stored a while ago, and a reader who has seen that.
async fn begun(driver: &Arc<dyn Driver>) -> (StreamWriter, StreamReader) {
    let log = StreamWriter::open(place(driver), StreamOptions::default());
    let mut reader = log.reader(0).unwrap();
    log.append("1");
    log.flush().await.unwrap();
    assert_eq!(texts(&reader.next().await.unwrap().unwrap()), ["1"]);
    advance(Duration::from_secs(1)).await;
    (log, reader)
}

fn texts(entries: &[StreamEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.text.as_ref()).collect()
}

/// How long a reader waits for the next entry.
async fn wait(log: &StreamWriter, reader: &mut StreamReader, text: &'static str) -> Duration {
    let began = Instant::now();
    log.append(text);
    assert_eq!(texts(&reader.next().await.unwrap().unwrap()), [text]);
    began.elapsed()
}

async fn rows(driver: &Arc<dyn Driver>) -> u64 {
    let page = driver.read(&key(), LogRange::head()).await.unwrap();
    page.head.unwrap().last
}

async fn has_tail(driver: &Arc<dyn Driver>) -> bool {
    let tail = key().space.key(format!("{}/tail", key().name));
    let stored = driver.get(&tail, ValuePart::Nothing).await.unwrap();
    stored.is_some()
}

#[tokio::test(start_paused = true)]
async fn an_entry_behind_a_quiet_time_is_stored_at_once_and_the_next_one_soon() {
    let driver = memory().await;
    let (log, mut reader) = begun(&driver).await;
    assert_eq!(wait(&log, &mut reader, "2").await, Duration::ZERO);
    assert_eq!((rows(&driver).await, has_tail(&driver).await), (2, false));
    let soon = Duration::from_millis(1)..Duration::from_millis(20);
    assert!(soon.contains(&wait(&log, &mut reader, "3").await));
    advance(Duration::from_millis(20)).await;
    assert_eq!(wait(&log, &mut reader, "4").await, Duration::ZERO);
    assert_eq!((rows(&driver).await, has_tail(&driver).await), (2, true));
    let stored = read_all(driver.as_ref(), &key()).await.unwrap().unwrap();
    assert_eq!(texts(&stored.entries), ["1", "2", "3", "4"]);
    assert_eq!(stored.last_in_rows, 2);
}

#[tokio::test(start_paused = true)]
async fn what_comes_too_soon_for_a_step_goes_along_with_the_next_one() {
    let driver = memory().await;
    let (log, mut reader) = begun(&driver).await;
    wait(&log, &mut reader, "2").await;
    log.append("3");
    log.append("4");
    assert_eq!(texts(&reader.next().await.unwrap().unwrap()), ["3", "4"]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_falls_silent_comes_into_a_row() {
    let driver = memory().await;
    let (log, mut reader) = begun(&driver).await;
    wait(&log, &mut reader, "2").await;
    wait(&log, &mut reader, "3").await;
    let mut other = StreamReader::stored(driver.clone(), key(), 2)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(texts(&other.next().await.unwrap().unwrap()), ["3"]);
    assert_eq!(rows(&driver).await, 3);
}

#[tokio::test(start_paused = true)]
async fn g108_what_was_seen_is_there_for_whoever_takes_the_stream_up() {
    let driver = memory().await;
    let (log, mut reader) = begun(&driver).await;
    for text in ["2", "3", "4"] {
        wait(&log, &mut reader, text).await;
    }
    log.append("\"lost\"");
    drop(log);
    let last = last_number(driver.as_ref(), &key()).await.unwrap();
    assert_eq!((last, rows(&driver).await), (Some(4), 2));
    let refused = StreamReader::stored(driver.clone(), key(), 5).await;
    assert_eq!(refused.err().unwrap().code, ErrorCode::InvalidArgument);
    // One that has all of it, and comes before anybody goes on.
    let mut early = StreamReader::stored(driver.clone(), key(), 4)
        .await
        .unwrap()
        .unwrap();
    let options = StreamOptions {
        recent_bytes: 0,
        ..StreamOptions::default()
    };
    let resumed = StreamWriter::resume(place(&driver), options).await.unwrap();
    assert_eq!(texts(&resumed.entries), ["1", "2", "3", "4"]);
    let mut late = resumed.log.reader(2).unwrap();
    assert_eq!(texts(&late.next().await.unwrap().unwrap()), ["3", "4"]);
    assert_eq!(resumed.log.append("5"), 5);
    resumed.log.append_last("6");
    resumed.log.flush().await.unwrap();
    assert_eq!(texts(&drain(&mut early).await), ["5", "6"]);
    assert_eq!(texts(&drain(&mut late).await), ["5", "6"]);
    assert_eq!(texts(&drain(&mut reader).await), ["5", "6"]);
    let mut all = StreamReader::awaited(driver.clone(), key());
    let all = drain(&mut all).await;
    assert_eq!(texts(&all), ["1", "2", "3", "4", "5", "6"]);
    assert!(!has_tail(&driver).await);
}

#[tokio::test(start_paused = true)]
async fn the_end_takes_the_tail_along_and_is_stored_on_purpose() {
    let driver = memory().await;
    let (log, mut reader) = begun(&driver).await;
    wait(&log, &mut reader, "2").await;
    wait(&log, &mut reader, "3").await;
    log.append("4");
    log.append_last("5");
    advance(Duration::from_secs(1)).await;
    tokio::task::yield_now().await;
    assert_eq!(log.last(), 3);
    let taken = log.take_waiting().await;
    assert_eq!(taken.writes.len(), 2);
    drop(taken);
    log.flush().await.unwrap();
    assert_eq!(texts(&drain(&mut reader).await), ["4", "5"]);
    assert!(!has_tail(&driver).await);
    let stored = read_all(driver.as_ref(), &key()).await.unwrap().unwrap();
    assert_eq!(texts(&stored.entries), ["1", "2", "3", "4", "5"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_beside_the_rows_that_failed_is_stored_again() {
    for fault in [FaultKind::Write, FaultKind::Answer] {
        let flaky = Arc::new(FlakyDriver::new(memory().await));
        let driver: Arc<dyn Driver> = flaky.clone();
        let (log, mut reader) = begun(&driver).await;
        wait(&log, &mut reader, "2").await;
        flaky.fail(fault, 2);
        wait(&log, &mut reader, "3").await;
        log.append("4");
        log.append_last("5");
        flaky.fail(fault, 1);
        assert!(log.flush().await.is_err());
        log.flush().await.unwrap();
        assert_eq!(texts(&drain(&mut reader).await), ["4", "5"]);
        let stored = read_all(driver.as_ref(), &key()).await.unwrap().unwrap();
        assert_eq!(
            texts(&stored.entries),
            ["1", "2", "3", "4", "5"],
            "{fault:?}"
        );
        assert!(!has_tail(&driver).await);
    }
}
