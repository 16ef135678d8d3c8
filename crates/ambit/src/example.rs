//! The worked example that `ambit demo` runs: contexts over SQLite, printing what it did.

use ambit_storage::driver::DriverOptions;
use ambit_storage::storage::{ChatHistoryStorage, Message, UsageRecord};
use ambit_storage::{Agent, Ambit, Context, Result, Stores};

/// Where it keeps its data, below the folder that it is started in.
const EXAMPLE_FILE: &str = "ambit-example.db";

struct SupportAgent;

impl Agent for SupportAgent {
    fn name(&self) -> &str {
        "SupportAgent"
    }
}

/// Has a conversation, finds it again, and says what it holds.
pub async fn run() -> Result<()> {
    let stores = Stores::builder(DriverOptions::default())
        .open(&format!("sqlite:{EXAMPLE_FILE}"))
        .await?
        .build()?;
    let ambit = Ambit::builder(stores).agent(SupportAgent).build();
    println!("opened sqlite:{EXAMPLE_FILE}");
    converse(&ambit).await?;
    let query = Context::of(&ambit, "SupportAgent")?
        .for_storage::<ChatHistoryStorage>()
        .for_user("user-123");
    let Some(found) = query.first().await? else {
        return ambit.close().await;
    };
    let agent = ambit.agent("SupportAgent")?.from_identity(&found).await?;
    println!("found {} again; it holds:", found.key());
    for message in agent.history().messages().await? {
        println!("  {:?}: {}", message.role, message.text());
    }
    if let Some(spent) = agent.usage().aggregate().await? {
        let plural = if spent.records == 1 { "" } else { "s" };
        println!(
            "spent {} tokens in {} model call{plural}",
            spent.total_tokens, spent.records
        );
    }
    println!("run it again: the conversation goes on where it was");
    ambit.close().await
}

/// One exchange in the user's default conversation.
async fn converse(ambit: &Ambit) -> Result<()> {
    let agent = ambit.agent("SupportAgent")?.for_user_id("user-123").await?;
    let visit = agent.context().memory()?.incr("visits", 1.0).await?;
    let history = agent.history();
    history
        .add_message(Message::user(format!("hello, this is visit {visit}")))
        .await?;
    history
        .add_message(Message::assistant("hello again, how can I help?"))
        .await?;
    let record = UsageRecord {
        prompt_tokens: 12,
        completion_tokens: 8,
        ..UsageRecord::default()
    };
    agent.context().usage().record(record)?;
    let report = agent.context().save().await?;
    println!("wrote {}", report.written.join(", "));
    Ok(())
}
