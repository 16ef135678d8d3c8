//! What a chunk of a model costs on its way into the log: `cargo run --release -p ambit-runtime --example chunks`.
#![expect(clippy::expect_used, reason = "a program that only measures")]

use ambit_runtime::frame::Status;
use ambit_runtime::outbox::{Limits, Outbox, Voice};
use ambit_runtime::stream::{Log, Options, Place};
use ambit_storage::address::Space;
use ambit_storage::clock::Clock;
use ambit_storage::driver;
use serde_json::{Map, json};
use std::time::Instant;

const CHUNKS: u32 = 2000;

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        for is_persistent in [true, false] {
            let options = Options {
                is_persistent,
                ..Options::default()
            };
            measure(options).await;
        }
    });
}

async fn measure(options: Options) {
    let driver = driver::open("memory:", driver::Options::default()).await;
    let place = Place {
        driver: driver.expect("the memory driver"),
        log: Space::settings("t").log("turn/r/events"),
        check: None,
    };
    let log = Log::open(place, options);
    let outbox = Outbox::new(log.clone(), Limits::default(), Clock::default());
    outbox.emit("stream_start", json!({}));
    let speaker = outbox.speaker(Voice::default());
    let id = speaker.begin("text", Map::new()).expect("a message");
    let began = Instant::now();
    for _ in 0..CHUNKS {
        speaker.say(&id, " token").expect("room for it");
    }
    let each = began.elapsed() / CHUNKS;
    speaker.finish(&id, Status::Completed, Map::new());
    outbox.emit("stream_end", json!({}));
    log.flush().await.expect("a store that works");
    let kept = if options.is_persistent {
        "stored"
    } else {
        "not stored"
    };
    println!("{kept}: {each:?} a chunk, {} entries", log.last());
}
