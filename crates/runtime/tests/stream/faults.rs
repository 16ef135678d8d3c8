//! Stores that fail while a stream is written.

use crate::bed::{drain, key, memory, place};
use ambit_runtime::ErrorCode;
use ambit_runtime::stream::{StreamEntry, StreamOptions, StreamTarget, StreamWriter, read_all};
use ambit_storage::Json;
use ambit_storage::batch::{BatchCheck, BatchWrite};
use ambit_storage::conformance::{FaultKind, FlakyDriver};
use ambit_storage::driver::{Driver, ValuePart};
use ambit_storage::operation::Operation;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::advance;

fn texts(entries: &[StreamEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.text.as_ref()).collect()
}

#[tokio::test]
async fn g086_a_store_that_is_down_delays_readers_and_never_the_turn() {
    for fault in [FaultKind::Write, FaultKind::Answer] {
        let flaky = Arc::new(FlakyDriver::new(memory().await));
        let driver: Arc<dyn Driver> = flaky.clone();
        let log = StreamWriter::open(
            place(&driver),
            StreamOptions {
                bytes: 1,
                ..StreamOptions::default()
            },
        );
        let mut reader = log.reader(0).unwrap();
        flaky.fail(fault, 2);
        // The writer goes on at once; each of these is tried in a step of its own.
        log.append("1");
        let failed = log.flush().await.unwrap_err();
        assert_eq!((failed.code, log.last()), (ErrorCode::Unavailable, 0));
        log.append("2");
        assert_eq!(reader.next().await.unwrap().unwrap()[0].number, 1);
        log.append_last("3");
        log.flush().await.unwrap();
        drain(&mut reader).await;
        let stored = read_all(driver.as_ref(), &key()).await.unwrap().unwrap();
        assert_eq!(texts(&stored.entries), ["1", "2", "3"], "{fault:?}");
        assert_eq!(
            texts(&drain(&mut log.reader(0).unwrap()).await),
            ["1", "2", "3"]
        );
    }
}

#[tokio::test]
async fn what_waits_beside_a_stream_is_stored_with_it_or_not_at_all() {
    let flaky = Arc::new(FlakyDriver::new(memory().await));
    let driver: Arc<dyn Driver> = flaky.clone();
    let log = StreamWriter::open(place(&driver), StreamOptions::default());
    let other = StreamTarget {
        log: key().space.log("turn/r1/trace"),
        ..place(&driver)
    };
    let trace = log.open_companion(other.clone(), StreamOptions::companion());
    log.append("1");
    trace.append("2");
    flaky.fail(FaultKind::Write, 1);
    assert_eq!(log.flush().await.unwrap_err().code, ErrorCode::Unavailable);
    assert_eq!((log.last(), trace.last()), (0, 0));
    log.flush().await.unwrap();
    assert_eq!((log.last(), trace.last()), (1, 1));
    // A stream that says nothing stores it all the same.
    let mut reader = trace.reader(1).unwrap();
    trace.append("3");
    assert_eq!(texts(&reader.next().await.unwrap().unwrap()), ["3"]);
    assert_eq!(log.last(), 1);
    drop((log, trace));
    let log = StreamWriter::resume(place(&driver), StreamOptions::default());
    let log = log.await.unwrap().log;
    let trace = log
        .resume_companion(other, StreamOptions::companion())
        .await;
    assert_eq!(texts(&trace.unwrap().entries), ["2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn the_end_is_stored_on_purpose_and_not_with_a_step_of_the_log_beside() {
    let driver = memory().await;
    let log = StreamWriter::open(place(&driver), StreamOptions::default());
    let other = StreamTarget {
        log: key().space.log("turn/r1/trace"),
        ..place(&driver)
    };
    let trace = log.open_companion(other, StreamOptions::companion());
    let mut steps = trace.reader(0).unwrap();
    log.append("1");
    // It tells of the entry before it, and is not stored without it.
    let beside = key().space.key("beside");
    let one = Operation::Set(Json::of(&1).unwrap().into());
    log.stage_write(BatchWrite::apply(beside.clone(), one, None));
    log.append_last("2");
    trace.append("3");
    assert_eq!(texts(&steps.next().await.unwrap().unwrap()), ["3"]);
    assert_eq!(log.last(), 0);
    let is_stored = || async {
        driver
            .get(&beside, ValuePart::Nothing)
            .await
            .unwrap()
            .is_some()
    };
    assert!(!is_stored().await);
    log.flush().await.unwrap();
    assert_eq!((log.last(), trace.last()), (2, 1));
    assert!(is_stored().await);
}

#[tokio::test(start_paused = true)]
async fn while_the_end_is_held_nothing_is_stored_beside_it() {
    let driver = memory().await;
    let log = StreamWriter::open(place(&driver), StreamOptions::default());
    let other = StreamTarget {
        log: key().space.log("turn/r1/trace"),
        ..place(&driver)
    };
    let trace = log.open_companion(other, StreamOptions::companion());
    log.append("1");
    let hold = log.hold().await;
    log.append_last("2");
    trace.append("3");
    advance(Duration::from_secs(1)).await;
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert_eq!((log.last(), trace.last()), (0, 0));
    drop(hold.take());
    log.flush().await.unwrap();
    assert_eq!((log.last(), trace.last()), (2, 1));
}

#[tokio::test]
async fn a_log_whose_lease_has_passed_on_says_so_and_its_readers_follow_the_new_owner() {
    let driver = memory().await;
    let old = StreamTarget {
        check: Some(BatchCheck::Lease {
            key: key().space.lease(),
            epoch: 7,
        }),
        ..place(&driver)
    };
    let old = StreamWriter::open(old, StreamOptions::default());
    let mut reader = old.reader(0).unwrap();
    old.append("\"never seen\"");
    assert_eq!(old.failed().await.code, ErrorCode::Fenced);
    assert_eq!(old.flush().await.unwrap_err().code, ErrorCode::Fenced);
    let new = StreamWriter::resume(place(&driver), StreamOptions::default())
        .await
        .unwrap();
    new.log.append("\"seen\"");
    new.log.append_last("\"end\"");
    new.log.flush().await.unwrap();
    assert_eq!(texts(&drain(&mut reader).await), ["\"seen\"", "\"end\""]);
}

#[tokio::test]
async fn a_read_that_fails_can_be_repeated() {
    let flaky = Arc::new(FlakyDriver::new(memory().await));
    let driver: Arc<dyn Driver> = flaky.clone();
    let log = StreamWriter::open(
        place(&driver),
        StreamOptions {
            recent_bytes: 0,
            ..StreamOptions::default()
        },
    );
    let mut reader = log.reader(0).unwrap();
    log.append_last("1");
    log.flush().await.unwrap();
    flaky.fail(FaultKind::Read, 1);
    assert_eq!(
        reader.next().await.unwrap_err().code,
        ErrorCode::Unavailable
    );
    assert_eq!(texts(&drain(&mut reader).await), ["1"]);
}
