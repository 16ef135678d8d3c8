//! Opens an app, lets an agent answer, and lists what is kept of the user's conversations.
//!
//! `cargo run -p ambit --example first_answer`

use ambit::{Ambit, Context, Result};

/// An app with one agent. Its model is scripted, so that it answers without a network and without a key.
const WELCOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/welcome");

/// Runs the example.
#[tokio::main]
pub async fn main() -> Result<()> {
    // Without `in_memory` the data is in `ambit.db`, in the app's folder.
    let ambit = Ambit::builder(WELCOME).in_memory().open().await?;

    let agent = ambit.agent("welcome")?.for_user("ann").chat("first");
    let response = agent.respond("Hello").await?;
    println!("{response}");

    let contexts = Context::of(&ambit, "welcome")?.for_user("ann");
    for row in contexts.page(None, 100).await?.items {
        println!("kept: {} of {:?}", row.identity, row.identity.chat_name());
    }
    ambit.close().await
}
