//! What a chunk of a model costs on its way into the log: `cargo run --release -p ambit-runtime --example chunks`.
#![expect(clippy::expect_used, reason = "a program that only measures")]

use ambit_runtime::frame::MessageStatus;
use ambit_runtime::outbox::{MessageAuthor, Outbox, OutboxLimits};
use ambit_runtime::stream::{StreamOptions, StreamTarget, StreamWriter};
use ambit_storage::address::Space;
use ambit_storage::clock::Clock;
use ambit_storage::driver;
use serde_json::json;
use std::time::Instant;

const CHUNKS: u32 = 2000;

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        for is_persistent in [true, false] {
            let options = StreamOptions {
                is_persistent,
                ..StreamOptions::default()
            };
            measure(options).await;
        }
    });
}

async fn measure(options: StreamOptions) {
    let driver = driver::open("memory:", driver::DriverOptions::default()).await;
    let place = StreamTarget {
        driver: driver.expect("the memory driver"),
        log: Space::settings("t").log("turn/r/events"),
        check: None,
    };
    let log = StreamWriter::open(place, options);
    let outbox = Outbox::new(log.clone(), OutboxLimits::default(), Clock::default());
    outbox.emit("stream_start", json!({}));
    let speaker = outbox.for_author(MessageAuthor::default());
    let id = speaker.begin("text").expect("a message");
    let began = Instant::now();
    for _ in 0..CHUNKS {
        speaker.say(&id, " token").expect("room for it");
    }
    let each = began.elapsed() / CHUNKS;
    speaker.finish(&id, MessageStatus::Completed);
    outbox.emit("stream_end", json!({}));
    log.flush().await.expect("a store that works");
    let kept = if options.is_persistent {
        "stored"
    } else {
        "not stored"
    };
    println!("{kept}: {each:?} a chunk, {} entries", log.last());
}
