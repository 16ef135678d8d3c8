//! Several stores: conversations in one file, usage in another, and a copy of everything that one agent keeps.
//!
//! `cargo run -p ambit-storage --example several_stores --features file`

use ambit_storage::driver::chain::WritePolicy;
use ambit_storage::driver::{self, DriverOptions};
use ambit_storage::storage::{ChatHistoryStorage, Message, UsageRecord};
use ambit_storage::{Agent, Ambit, LiveAgent, Result, Stores};
use std::path::Path;

/// Kept where the application keeps things.
struct Support;

impl Agent for Support {
    fn name(&self) -> &str {
        "Support"
    }
}

/// Kept in SQLite, with a copy in plain files that answers when SQLite cannot.
struct Legal;

impl Agent for Legal {
    fn name(&self) -> &str {
        "Legal"
    }

    fn drivers(&self, _scope: &str) -> Option<Vec<String>> {
        Some(vec!["sqlite".to_owned(), "file".to_owned()])
    }
}

async fn open(folder: &Path) -> Result<Ambit> {
    let options = DriverOptions::default();
    let at = |name: &str| folder.join(name).display().to_string();
    let billing = driver::open(&format!("sqlite:{}", at("usage.db")), options.clone()).await?;
    let stores = Stores::builder(options)
        // The first store that is opened keeps whatever nothing else is said about.
        .open(&format!("sqlite:{}", at("chats.db")))
        .await?
        .open(&format!("file:{}", at("copies")))
        .await?
        .driver("billing", billing)
        .scope_drivers("usage", &["billing"])
        // A write to a chain waits for the copy, too.
        .policy(WritePolicy::All)
        .build()?;
    Ok(Ambit::builder(stores).agent(Support).agent(Legal).build())
}

async fn say(agent: &LiveAgent, text: &str) -> Result<()> {
    agent.history().add_message(Message::user(text)).await?;
    agent.context().usage().record(UsageRecord {
        prompt_tokens: 12,
        completion_tokens: 3,
        ..UsageRecord::default()
    })?;
    let report = agent.context().save().await?;
    println!("written: {}", report.written.join(", "));
    Ok(())
}

/// Writes to all of the stores, opens them again and reads.
#[tokio::main]
pub async fn main() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("ambit-several-{:016x}", rand::random::<u64>()));

    let ambit = open(&folder).await?;
    for name in ["Support", "Legal"] {
        let agent = ambit.agent(name)?.for_user_id("user-123").await?;
        say(&agent, "Hello").await?;
    }
    ambit.close().await?;

    let ambit = open(&folder).await?;
    for name in ["Support", "Legal"] {
        let agent = ambit.agent(name)?.for_user_id("user-123").await?;
        let history = agent.history();
        let scope = history.identity().scope();
        println!(
            "{name}: {} in {:?}",
            scope.unwrap_or_default(),
            history.placement().names()
        );
        assert_eq!(history.count().await?, 1);
        assert_eq!(agent.context().usage().records().await?.len(), 1);
    }
    let all = ambit_storage::SessionQuery::every(&ambit);
    let histories = all.for_storage::<ChatHistoryStorage>();
    println!("conversations in the index: {}", histories.count().await?);
    ambit.close().await?;
    // The example leaves nothing behind.
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}
