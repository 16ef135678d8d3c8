//! Shows an answer while it is made, then what else the stream told.
//!
//! `cargo run -p ambit --example stream`

use ambit::{Ambit, Result};
use futures::TryStreamExt;
use std::io::Write;

const WELCOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/welcome");

/// Runs the example.
#[tokio::main]
pub async fn main() -> Result<()> {
    let ambit = Ambit::builder(WELCOME).in_memory().open().await?;
    let agent = ambit.agent("welcome")?.for_user("ann").await?;

    // The text alone, piece by piece.
    let mut text = agent.respond("Who are you?").stream().await?.text();
    while let Some(piece) = text.try_next().await? {
        print!("{piece}");
        // Whoever watches a terminal wants to see each piece at once; there is nobody to tell where that fails.
        let _ = std::io::stdout().flush();
    }
    println!();

    // All frames: messages, changes of them, and events. The whole answer is there at the end.
    let mut stream = agent.respond("Hello").stream().await?;
    while let Some(frame) = stream.try_next().await? {
        if let Some(event) = frame.event_name() {
            println!("{event}");
        }
    }
    let response = stream.response().await?;
    println!("{} tokens for: {response}", response.usage.total_tokens);
    ambit.close().await
}
