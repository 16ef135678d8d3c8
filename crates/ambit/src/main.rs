//! The `ambit` program: for now a worked example of contexts over SQLite that prints what it did.

use ambit_storage::driver::Options;
use ambit_storage::storage::{Message, UsageRecord};
use ambit_storage::{Agent, Ambit, Context, Result, Stores};

struct Support;

impl Agent for Support {
    fn name(&self) -> &str {
        "SupportAgent"
    }
}

/// Where the example keeps its data, below the folder it is started in.
const STORE: &str = "sqlite:ambit-example.db";

#[tokio::main]
async fn main() -> std::process::ExitCode {
    match example().await {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ambit: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

async fn example() -> Result<()> {
    let stores = Stores::builder(Options::default())
        .open(STORE)
        .await?
        .build()?;
    let ambit = Ambit::builder(stores).agent(Support).build();
    println!("opened {STORE}");
    converse(&ambit).await?;
    let query = Context::of(&ambit, "SupportAgent")?.for_user("user-123");
    let Some(found) = query.first().await? else {
        return ambit.close().await;
    };
    let agent = ambit.agent("SupportAgent")?.from_identity(&found).await?;
    println!("found {} again; it holds:", found.key());
    for message in agent.history().messages().await? {
        println!("  {:?}: {}", message.role, message.text());
    }
    if let Some(spent) = agent.usage().aggregate().await? {
        println!(
            "spent {} tokens in {} model calls",
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
        .add_message(Message::user(format!("hello for the {visit}. time")))
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
