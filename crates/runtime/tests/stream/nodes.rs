//! Streams read on another node, and after the one that wrote them has gone.

use crate::bed::{drain, end, frames, key, memory, outbox, place, sqlite};
use crate::random::held;
use ambit_runtime::ErrorCode;
use ambit_runtime::frame::{MessageStatus, invariants};
use ambit_runtime::outbox::{Outbox, OutboxLimits};
use ambit_runtime::stream::{StreamOptions, StreamReader, StreamWriter, read_all};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::Clock;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g108_another_node_follows_from_any_number_while_the_turn_speaks() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (sqlite(folder.path()).await, sqlite(folder.path()).await);
    assert!(
        StreamReader::stored(there.clone(), key(), 0)
            .await
            .unwrap()
            .is_none()
    );
    let mut early = StreamReader::awaited(there.clone(), key());
    let early = tokio::spawn(async move { drain(&mut early).await });
    let log = StreamWriter::open(
        place(&here),
        StreamOptions {
            bytes: 300,
            ..StreamOptions::default()
        },
    );
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let mut local = log.reader(0).unwrap();
    for _ in 0..20 {
        let id = speaker.begin("text").unwrap();
        speaker.say(&id, "some text of some length").unwrap();
        speaker.finish(&id, MessageStatus::Completed);
    }
    log.flush().await.unwrap();
    let seen = local.next().await.unwrap().unwrap();
    let mut joined = StreamReader::stored(there.clone(), key(), seen[10].number)
        .await
        .unwrap()
        .unwrap();
    speaker.send(&[json!("more")]).unwrap();
    end(&outbox).await;
    let rest = drain(&mut joined).await;
    let all = [seen.clone(), drain(&mut local).await].concat();
    assert_eq!([seen[..=10].to_vec(), rest].concat(), all);
    assert_eq!(early.await.unwrap(), all);
    let last = all.last().unwrap().number;
    for after in 0..=last {
        let mut reader = StreamReader::stored(there.clone(), key(), after)
            .await
            .unwrap()
            .unwrap();
        let skipped = usize::try_from(after).unwrap();
        assert_eq!(drain(&mut reader).await, all[skipped..], "after {after}");
    }
    let refused = StreamReader::stored(there, key(), last + 1)
        .await
        .err()
        .unwrap();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
}

// In one thread: nothing is stored between what is said and the end of who says it.
#[tokio::test]
async fn g108_readers_go_on_when_another_node_takes_the_turn_up() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (sqlite(folder.path()).await, sqlite(folder.path()).await);
    let log = StreamWriter::open(place(&here), StreamOptions::default());
    let (first, speaker) = outbox(&log, OutboxLimits::default());
    let mut reader = log.reader(0).unwrap();
    let id = speaker.begin("text").unwrap();
    speaker.say(&id, "stored").unwrap();
    log.flush().await.unwrap();
    let seen = reader.next().await.unwrap().unwrap();
    speaker.say(&id, " and lost").unwrap();
    drop((log, speaker, first));

    let resumed = StreamWriter::resume(place(&there), StreamOptions::default())
        .await
        .unwrap();
    assert_eq!((&resumed.entries, resumed.is_ended), (&seen, false));
    let outbox = Outbox::restore(
        resumed.log,
        OutboxLimits::default(),
        Clock::default(),
        &seen,
    )
    .unwrap();
    assert_eq!(outbox.open_messages(), [id]);
    outbox.close_all(MessageStatus::Error, false);
    outbox.emit("stream_end", json!({"status": "error"}));
    outbox.log().flush().await.unwrap();
    // The reader that came to the first node, and was told nothing.
    let all = [seen, drain(&mut reader).await].concat();
    let frames = frames(&all);
    assert_eq!(
        invariants::check_numbers(all.iter().map(|entry| entry.number)),
        Ok(())
    );
    assert_eq!(invariants::check(&frames), Ok(()));
    assert_eq!(held(&frames).messages(), outbox.messages());
    assert_eq!(outbox.messages()[0].props["content"], "stored");
    assert_eq!(outbox.messages()[0].status, Some(MessageStatus::Error));
}

#[tokio::test]
async fn g111_a_turn_that_is_taken_up_again_after_its_end_stores_nothing() {
    let driver = memory().await;
    let log = StreamWriter::open(place(&driver), StreamOptions::default());
    let (first, speaker) = outbox(&log, OutboxLimits::default());
    speaker.send(&[json!("hello")]).unwrap();
    end(&first).await;
    let stored = read_all(driver.as_ref(), &key()).await.unwrap().unwrap();
    assert!(stored.is_ended);
    drop((log, speaker));
    for _ in 0..2 {
        let resumed = StreamWriter::resume(place(&driver), StreamOptions::default())
            .await
            .unwrap();
        assert!(resumed.is_ended);
        let again = Outbox::restore(
            resumed.log.clone(),
            OutboxLimits::default(),
            Clock::default(),
            &resumed.entries,
        )
        .unwrap();
        again.close_all(MessageStatus::Error, false);
        again.emit("stream_end", json!({"status": "error"}));
        assert!(
            again
                .for_author(crate::bed::voice())
                .send(&[json!("again")])
                .is_err()
        );
        resumed.log.append("\"late\"");
        resumed.log.flush().await.unwrap();
        assert_eq!(again.messages(), first.messages());
        assert_eq!(
            drain(&mut resumed.log.reader(0).unwrap()).await,
            stored.entries
        );
    }
    let now = read_all(driver.as_ref(), &key()).await.unwrap().unwrap();
    assert_eq!(now.entries, stored.entries);
}

#[tokio::test]
async fn a_stream_that_is_removed_under_a_reader_has_expired() {
    let driver = memory().await;
    let log = StreamWriter::open(place(&driver), StreamOptions::default());
    log.append("1");
    log.flush().await.unwrap();
    let mut reader = StreamReader::stored(driver.clone(), key(), 0)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(reader.next().await.unwrap().unwrap().len(), 1);
    let space = key().space;
    driver
        .commit(Batch::of([BatchWrite::Remove { space }]))
        .await
        .unwrap();
    assert_eq!(
        reader.next().await.unwrap_err().code,
        ErrorCode::StreamExpired
    );
    assert!(read_all(driver.as_ref(), &key()).await.unwrap().is_none());
}

/// Everything that JSON can say comes back as it was, from a store that is a file.
#[tokio::test]
async fn g145_any_text_round_trips_through_the_stored_stream() {
    let folder = tempfile::tempdir().unwrap();
    let driver = sqlite(folder.path()).await;
    let log = StreamWriter::open(place(&driver), StreamOptions::default());
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let texts = [
        "\u{0}\u{1}\u{1f}\u{7f}",
        "\u{1F469}\u{200D}\u{1F4BB} e\u{301}",
        "\u{5e9}\u{5dc}\u{202e}x",
        "\u{2028}\u{feff}\u{fffd}",
        "\\u0000 \"\\\n",
    ];
    let id = speaker.begin("text").unwrap();
    for text in texts {
        speaker.say(&id, text).unwrap();
        speaker.send(&[json!(text)]).unwrap();
    }
    end(&outbox).await;
    let stored = read_all(driver.as_ref(), &key()).await.unwrap().unwrap();
    let state = held(&frames(&stored.entries));
    let said: Vec<_> = state
        .messages()
        .iter()
        .map(|it| it.props["content"].clone())
        .collect();
    let expected = [
        vec![json!(texts.concat())],
        texts.map(|text| json!(text)).to_vec(),
    ]
    .concat();
    assert_eq!(said, expected);
}
