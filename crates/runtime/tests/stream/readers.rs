//! Readers that come, leave and come again while a turn speaks.

use crate::bed::{Random, drain, end, frames, memory, outbox, place, unstored};
use crate::random::{Turn, held};
use ambit_runtime::frame::{MessageStatus, invariants};
use ambit_runtime::outbox::OutboxLimits;
use ambit_runtime::stream::{StreamEntry, StreamOptions, StreamWriter};
use ambit_runtime::{Error, ErrorCode};
use serde_json::json;

/// Reads a log to its end, but leaves and comes again with the last number it has, also with half of what it was given.
async fn read_with_breaks(log: StreamWriter, seed: u64) -> Vec<StreamEntry> {
    let mut random = Random::new(seed);
    let mut all: Vec<StreamEntry> = Vec::new();
    loop {
        let after = all.last().map_or(0, |entry| entry.number);
        let mut reader = log.reader(after).unwrap();
        for _ in 0..=random.below(3) {
            match reader.next().await.unwrap() {
                None => return all,
                Some(mut entries) => {
                    entries.truncate(1 + random.below(entries.len()));
                    let is_cut = entries.last().unwrap().number != log.last();
                    all.extend(entries);
                    if is_cut {
                        break;
                    }
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g106_readers_that_break_off_at_random_get_every_entry_once() {
    for seed in 0..12 {
        let options = if seed % 3 == 0 {
            unstored()
        } else {
            StreamOptions {
                recent_bytes: 2000,
                bytes: 600,
                ..StreamOptions::default()
            }
        };
        let log = StreamWriter::open(place(&memory().await), options);
        let readers =
            (0..5).map(|reader| tokio::spawn(read_with_breaks(log.clone(), seed * 100 + reader)));
        let readers: Vec<_> = readers.collect();
        let mut turn = Turn::new(seed, &log, OutboxLimits::default());
        for _ in 0..150 {
            turn.step();
            tokio::task::yield_now().await;
        }
        end(&turn.outbox).await;
        for reader in readers {
            let entries = reader.await.unwrap();
            assert_eq!(
                invariants::check_numbers(entries.iter().map(|entry| entry.number)),
                Ok(())
            );
            assert_eq!(held(&frames(&entries)).messages(), turn.outbox.messages());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g107_numbers_increase_while_forks_speak_at_the_same_time() {
    let log = StreamWriter::open(
        place(&memory().await),
        StreamOptions {
            bytes: 500,
            ..StreamOptions::default()
        },
    );
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let forks = (0..4).map(|fork| {
        let speaker = speaker.fork("fork", &format!("agent{fork}"), false);
        tokio::spawn(async move {
            for _ in 0..50 {
                let id = speaker.begin("text").unwrap();
                speaker.say(&id, "one").unwrap();
                tokio::task::yield_now().await;
                speaker.say(&id, " two").unwrap();
                speaker.finish(&id, MessageStatus::Completed);
            }
            speaker.end_thread(MessageStatus::Completed);
        })
    });
    let forks: Vec<_> = forks.collect();
    let mut reader = log.reader(0).unwrap();
    for fork in forks {
        fork.await.unwrap();
    }
    end(&outbox).await;
    let entries = drain(&mut reader).await;
    assert_eq!(
        invariants::check_numbers(entries.iter().map(|entry| entry.number)),
        Ok(())
    );
    let frames = frames(&entries);
    assert_eq!(invariants::check(&frames), Ok(()));
    let texts: Vec<_> = outbox
        .messages()
        .into_iter()
        .map(|it| it.props["content"].clone())
        .collect();
    assert_eq!(texts, vec![json!("one two"); 200]);
    assert_eq!(outbox.take_warnings(), Vec::<String>::new());
}

#[tokio::test]
async fn g112_a_slow_reader_delays_nobody_and_goes_on_without_loss() {
    let log = StreamWriter::open(
        place(&memory().await),
        StreamOptions {
            recent_bytes: 10_000,
            budget: 16 << 20,
            ..StreamOptions::default()
        },
    );
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let mut slow = log.reader(0).unwrap();
    log.flush().await.unwrap();
    let first = slow.next().await.unwrap().unwrap();
    assert_eq!(first.len(), 1);
    let piece = "x".repeat(1000);
    let mut quick = log.reader(1).unwrap();
    let mut got = first.clone();
    for _ in 0..50 {
        let id = speaker.begin("text").unwrap();
        for _ in 0..100 {
            speaker.say(&id, &piece).unwrap();
        }
        speaker.finish(&id, MessageStatus::Completed);
        log.flush().await.unwrap();
        let next = log.last();
        while got.last().unwrap().number < next {
            got.extend(quick.next().await.unwrap().unwrap());
        }
    }
    end(&outbox).await;
    drop(slow);
    got.extend(drain(&mut quick).await);
    let mut again = log.reader(first.last().unwrap().number).unwrap();
    let rest = drain(&mut again).await;
    assert_eq!([first, rest].concat(), got);
    assert_eq!(held(&frames(&got)).messages(), outbox.messages());
}

#[tokio::test]
async fn a_number_behind_the_last_is_refused() {
    let log = StreamWriter::open(place(&memory().await), unstored());
    log.append("1");
    let refused = |error: Error| (error.code, error.param, error.message);
    let expected = (
        ErrorCode::InvalidArgument,
        Some("after".to_owned()),
        "the stream has 1 events so far; there is none with number 2".to_owned(),
    );
    assert_eq!(refused(log.reader(2).err().unwrap()), expected);
    assert!(log.reader(1).is_ok());
}

#[tokio::test]
async fn readers_of_a_log_that_is_not_kept_are_told_when_it_is_given_up() {
    let log = StreamWriter::open(place(&memory().await), unstored());
    log.append("1");
    let mut reader = log.reader(0).unwrap();
    assert_eq!(reader.next().await.unwrap().unwrap().len(), 1);
    drop(log);
    let error = reader.next().await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
}
