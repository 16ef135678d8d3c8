//! An agent of the app for which the program says where its sessions are kept: in a group that it shares with other agents.
//!
//! `cargo run -p ambit --example own_agent`

use ambit::{Agent, Ambit, Caller, Result, storage};

/// The app's files say who answers; the scripted model needs no key.
const SHOP: [(&str, &str); 4] = [
    ("app.yao", "{}"),
    (
        "assistants/support/package.yao",
        r#"{ "name": "Support", "connector": "scripted" }"#,
    ),
    (
        "assistants/support/prompts.yml",
        "- { role: system, content: You help customers. }",
    ),
    (
        "connectors/scripted.conn.yao",
        r#"{ "type": "scripted", "options": { "rules": [{ "reply": "How may I help?" }] } }"#,
    ),
];

/// Counts in the place of `context` in the package of the agent with this id.
struct Support;

impl Agent for Support {
    fn name(&self) -> &str {
        "support"
    }

    fn group(&self, _caller: &Caller) -> storage::Result<Option<String>> {
        Ok(Some("shop".to_owned()))
    }
}

/// Runs the example.
#[tokio::main]
pub async fn main() -> Result<()> {
    let ambit = Ambit::builder(SHOP).agent(Support).open().await?;
    let agent = ambit
        .agent("support")?
        .for_user("ann")
        .chat("billing")
        .await?;
    println!("{}", agent.respond("Hello").await?);

    let history = agent.history();
    let identity = history.identity();
    println!(
        "the chat {} of {} is kept in the group {}",
        identity.chat_name().unwrap_or_default(),
        identity.user_id().unwrap_or_default(),
        identity.group().unwrap_or_default()
    );
    ambit.close().await
}
