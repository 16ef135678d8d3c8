//! How a stream is stored: in steps, with the turn's own batches, or not at all.

use crate::bed::{drain, end, key, memory, outbox, place, unstored};
use ambit_runtime::frame::MessageStatus;
use ambit_runtime::outbox::OutboxLimits;
use ambit_runtime::stream::{StreamOptions, StreamWriter, read_all};
use ambit_storage::batch::Batch;
use ambit_storage::driver::LogRange;
use std::time::Instant;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g087_a_step_is_stored_at_most_every_100_ms_or_4_kb() {
    let driver = memory().await;
    let began = Instant::now();
    let log = StreamWriter::open(place(&driver), StreamOptions::default());
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let mut said = 0;
    while began.elapsed().as_millis() < 450 && said < 1000 {
        let id = speaker.begin("text").unwrap();
        for _ in 0..20 {
            speaker.say(&id, "some words ").unwrap();
            tokio::task::yield_now().await;
        }
        speaker.finish(&id, MessageStatus::Completed);
        said += 1;
    }
    end(&outbox).await;
    let steps = usize::try_from(began.elapsed().as_millis() / 100).unwrap();
    let entries = read_all(driver.as_ref(), &key())
        .await
        .unwrap()
        .unwrap()
        .entries;
    let bytes: usize = entries.iter().map(|entry| entry.text.len()).sum();
    let page = driver.read(&key(), LogRange::head()).await.unwrap();
    let rows = usize::try_from(page.head.unwrap().last).unwrap();
    // One more for the end, which is stored on purpose.
    assert!(
        rows <= 1 + steps + bytes / 4096,
        "{rows} rows for {bytes} bytes in {steps} steps"
    );
}

#[tokio::test(start_paused = true)]
async fn g087_a_slow_stream_is_stored_by_time_alone() {
    let driver = memory().await;
    let log = StreamWriter::open(place(&driver), StreamOptions::default());
    let mut reader = log.reader(0).unwrap();
    let began = tokio::time::Instant::now();
    for number in 1..=50 {
        log.append("\"a\"");
        assert_eq!(reader.next().await.unwrap().unwrap()[0].number, number);
    }
    let steps = began.elapsed().as_millis() / 100;
    let page = driver.read(&key(), LogRange::head()).await.unwrap();
    let rows = u128::from(page.head.unwrap().last);
    assert!(
        (2..=1 + steps).contains(&rows),
        "{rows} rows in {steps} steps"
    );
}

#[tokio::test]
async fn g087_with_storing_switched_off_readers_see_everything_and_nothing_is_stored() {
    let driver = memory().await;
    let log = StreamWriter::open(place(&driver), unstored());
    let mut reader = log.reader(0).unwrap();
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let id = speaker.begin("text").unwrap();
    speaker.say(&id, "a").unwrap();
    assert_eq!(log.last(), 3);
    end(&outbox).await;
    assert_eq!(drain(&mut reader).await.len(), 5);
    assert!(read_all(driver.as_ref(), &key()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_short_turn_is_stored_with_its_own_two_batches() {
    let driver = memory().await;
    let log = StreamWriter::open(place(&driver), StreamOptions::default());
    let mut reader = log.reader(0).unwrap();
    log.append("1");
    let taken = log.take_waiting().await;
    assert_eq!(log.last(), 0);
    driver
        .commit(Batch::of(taken.writes.clone()))
        .await
        .unwrap();
    taken.stored();
    assert_eq!(reader.next().await.unwrap().unwrap().len(), 1);
    log.append("2");
    log.append_last("3");
    let taken = log.take_waiting().await;
    driver
        .commit(Batch::of(taken.writes.clone()))
        .await
        .unwrap();
    taken.stored();
    assert_eq!(drain(&mut reader).await.len(), 2);
    let page = driver.read(&key(), LogRange::from(1, 10)).await.unwrap();
    let rows: Vec<_> = page
        .entries
        .iter()
        .map(|row| (row.id.as_str(), row.body.as_str()))
        .collect();
    assert_eq!(
        rows,
        [("000000000001", "[1]"), ("000000000002.last", "[2,3]")]
    );
}

#[tokio::test]
async fn what_was_taken_and_not_stored_waits_again() {
    let driver = memory().await;
    let log = StreamWriter::open(place(&driver), StreamOptions::default());
    let mut reader = log.reader(0).unwrap();
    log.append("1");
    drop(log.take_waiting().await);
    log.append("2");
    log.append_last("3");
    log.flush().await.unwrap();
    let numbers: Vec<u64> = drain(&mut reader)
        .await
        .iter()
        .map(|entry| entry.number)
        .collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[tokio::test]
async fn the_end_is_not_seen_before_it_is_stored_on_purpose() {
    let driver = memory().await;
    let options = StreamOptions {
        step: std::time::Duration::ZERO,
        ..StreamOptions::default()
    };
    let log = StreamWriter::open(place(&driver), options);
    let mut reader = log.reader(0).unwrap();
    log.append("1");
    assert_eq!(reader.next().await.unwrap().unwrap().len(), 1);
    log.append_last("2");
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert_eq!(log.last(), 1);
    log.flush().await.unwrap();
    assert_eq!(drain(&mut reader).await.len(), 1);
}
