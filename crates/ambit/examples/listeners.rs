//! Listens to turns: refuses a message before it is taken in, and counts answers once they are stored.
//!
//! `cargo run -p ambit --example listeners`

use ambit::event::{AfterSend, BeforeSend, Verdict};
use ambit::{Ambit, ErrorCode, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const WELCOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/welcome");

/// Runs the example.
#[tokio::main]
pub async fn main() -> Result<()> {
    let ambit = Ambit::builder(WELCOME).in_memory().open().await?;

    ambit.before::<BeforeSend>(async |event| {
        let text = event.message.content.words();
        Ok(match text.contains("password") {
            true => Verdict::veto("keep your passwords to yourself"),
            false => Verdict::Continue,
        })
    });

    // A listener with state of its own clones it for each event.
    let answers = Arc::new(AtomicUsize::new(0));
    let counted = answers.clone();
    ambit.after::<AfterSend>(move |event| {
        let counted = counted.clone();
        async move {
            println!("stored: an answer of {}", event.about.agent_name);
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    });

    let agent = ambit.agent("welcome")?.for_user("ann").await?;
    let refused = agent.respond("My password is 1234").await;
    assert!(refused.is_err_and(|error| error.code == ErrorCode::Vetoed));
    agent.respond("Hello").await?;
    println!("{} answer", answers.load(Ordering::Relaxed));
    ambit.close().await
}
