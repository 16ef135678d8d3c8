//! Goes on with the conversation that a user had last, then shows what is kept beside it: memory, usage, and all contexts.
//!
//! `cargo run -p ambit --example contexts`

use ambit::{Ambit, ChatHistoryStorage, Context, Result, Usage, UsageField};

const WELCOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/welcome");

/// Runs the example.
#[tokio::main]
pub async fn main() -> Result<()> {
    let ambit = Ambit::builder(WELCOME).in_memory().open().await?;
    let welcome = ambit.agent("welcome")?;
    let (monday, tuesday) = (
        welcome.for_user("ann").chat("monday"),
        welcome.for_user("ann").chat("tuesday"),
    );
    monday.respond("My name is Ann.").await?;
    tuesday.respond("Hello").await?;

    let histories = Context::of(&ambit, "welcome")?
        .for_user("ann")
        .for_storage::<ChatHistoryStorage>();
    if let Some(identity) = histories.last().await? {
        let agent = welcome.from_identity(&identity).await?;
        agent.respond("Hello again").await?;
        println!("{}:", agent.chat_name().unwrap_or_default());
        for message in agent.history().messages().await? {
            println!("  {:?}: {}", message.role, message.text());
        }
    }

    let memory = ambit.user_memory("ann").await?;
    println!("remembered: {}", memory.keys(None).await?.join(", "));
    let spent = Usage::of(&ambit, "welcome")
        .for_user("ann")
        .group_by(UsageField::Chat)
        .await?;
    for (chat, totals) in spent.unwrap_or_default() {
        println!("{chat}: {} tokens", totals.total_tokens);
    }

    let report = histories.remove().await?;
    println!("{} histories removed", report.done.len());
    ambit.close().await
}
