//! Logs that are over their budget.

use crate::bed::{drain, end, frames, key, memory, outbox, place};
use crate::random::held;
use ambit_runtime::frame::{DeltaAction, MessageStatus, invariants};
use ambit_runtime::outbox::OutboxLimits;
use ambit_runtime::stream::{StreamOptions, StreamTarget, StreamWriter, read_all};
use ambit_storage::address::Space;
use serde_json::json;

#[tokio::test]
async fn g086_a_full_log_loses_detail_and_nothing_else() {
    let driver = memory().await;
    let log = StreamWriter::open(
        place(&driver),
        StreamOptions {
            budget: 5_000,
            ..StreamOptions::default()
        },
    );
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let id = speaker.begin("text").unwrap();
    for _ in 0..2_000 {
        speaker.say(&id, "some words ").unwrap();
        // Each piece is an entry of its own: none is waiting for the next.
        log.flush().await.unwrap();
    }
    speaker.finish(&id, MessageStatus::Completed);
    speaker.append(&[json!(id), json!("more")]).unwrap();
    speaker.append(&[json!(id), json!(" and more")]).unwrap();
    end(&outbox).await;
    let entries = read_all(driver.as_ref(), &key())
        .await
        .unwrap()
        .unwrap()
        .entries;
    let frames = frames(&entries);
    assert_eq!(invariants::check(&frames), Ok(()));
    assert_eq!(held(&frames).messages(), outbox.messages());
    let whole = frames
        .iter()
        .filter(|frame| frame.delta_action == Some(DeltaAction::Replace));
    assert_eq!(whole.count(), 2);
    assert!(entries.len() < 100, "{}", entries.len());
}

#[tokio::test]
async fn g113_a_full_log_is_bounded_and_evicts_no_other() {
    let driver = memory().await;
    let other = StreamTarget {
        log: Space::settings("t").log("turn/r2/events"),
        ..place(&driver)
    };
    let other = StreamWriter::open(other, StreamOptions::default());
    other.append_last("\"other\"");
    other.flush().await.unwrap();
    let options = StreamOptions {
        budget: 20_000,
        ..StreamOptions::default()
    };
    let log = StreamWriter::open(place(&driver), options);
    let limits = OutboxLimits {
        output: 200_000,
        ..OutboxLimits::default()
    };
    let (outbox, speaker) = outbox(&log, limits);
    let id = speaker.send_stream(&[json!("")]).unwrap();
    let mut said = 0;
    while speaker
        .set(&[id.clone(), json!("x".repeat(100)), json!("content")])
        .is_ok()
    {
        said += 1;
        if said % 10 == 0 {
            log.flush().await.unwrap();
        }
    }
    end(&outbox).await;
    let entries = drain(&mut log.reader(0).unwrap()).await;
    let bytes: usize = entries.iter().map(|entry| entry.text.len()).sum();
    assert!(
        said > 1_000 && bytes < options.budget + 2_000,
        "{said} changes, {bytes} bytes"
    );
    let left = read_all(driver.as_ref(), &Space::settings("t").log("turn/r2/events"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(left.entries.len(), 1);
}
