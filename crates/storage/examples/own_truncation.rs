//! A truncation strategy of your own: long tool results go first, and one line says how many there were.
//!
//! `cargo run -p ambit-storage --example own_truncation`

use ambit_storage::driver::DriverOptions;
use ambit_storage::storage::{Message, ToolCall};
use ambit_storage::truncation::{
    MessageUnit, StandIn, StandInSource, TruncationBudget, TruncationRequest, TruncationSettings,
    UnitKind, cut, units,
};
use ambit_storage::{Agent, Ambit, AmbitSettings, Result, Stores, TruncationStrategy};
use async_trait::async_trait;
use serde_json::{Map, json};
use std::sync::Arc;

/// Lets calls and their results go, the oldest first, and only then anything else.
#[derive(Debug)]
struct ToolsFirst;

#[async_trait]
impl TruncationStrategy for ToolsFirst {
    fn name(&self) -> &str {
        "tools-first"
    }

    fn keep_messages(&self) -> usize {
        20
    }

    fn plan(&self, view: &[MessageUnit], room: &TruncationBudget) -> Vec<usize> {
        let mut left: u64 = view.iter().map(|unit| unit.tokens).sum();
        let mut gone = Vec::new();
        for (place, unit) in view.iter().enumerate() {
            let is_call = unit.messages.iter().any(|one| !one.tool_calls.is_empty());
            if left > room.tokens && is_call && !unit.is_pinned {
                left -= unit.tokens;
                gone.push(place);
            }
        }
        // What the built-in strategies do, where that is not enough.
        if left > room.tokens {
            cut(view, room)
        } else {
            gone
        }
    }

    async fn stand_in(&self, source: &StandInSource) -> Option<StandIn> {
        let gone: usize = source.exchanges.iter().map(Vec::len).sum();
        Some(StandIn {
            text: Ok(format!("({gone} messages of tools left out)")),
            usage: Vec::new(),
        })
    }
}

struct Researcher;

impl Agent for Researcher {
    fn name(&self) -> &str {
        "Researcher"
    }
}

/// A question, a tool's long result and the answer.
fn exchange(number: usize) -> [Message; 4] {
    let call = ToolCall {
        id: format!("call-{number}"),
        name: "read_page".to_owned(),
        arguments: json!({ "page": number }),
        extras: Map::new(),
    };
    [
        Message::user(format!("What does page {number} say?")),
        Message::calling([call]),
        Message::result(format!("call-{number}"), "word ".repeat(200)),
        Message::assistant(format!("Page {number} says \"word\".")),
    ]
}

/// Talks until the conversation no longer fits, and shows what the next model call gets.
#[tokio::main]
pub async fn main() -> Result<()> {
    let settings = AmbitSettings {
        truncation: TruncationSettings {
            strategy: Some(Arc::new(ToolsFirst)),
            threshold: Some(1_000),
            ..TruncationSettings::default()
        },
        ..AmbitSettings::default()
    };
    let stores = Stores::builder(DriverOptions::default()).build()?;
    let ambit = Ambit::builder(stores)
        .agent(Researcher)
        .settings(settings)
        .build();
    let agent = ambit.agent("Researcher")?.for_chat("pages").await?;
    for number in 1..=5 {
        for message in exchange(number) {
            agent.history().add_message(message).await?;
        }
    }
    agent
        .history()
        .add_message(Message::user("And in short?"))
        .await?;
    agent.context().save().await?;

    let prepared = agent
        .context()
        .truncate(&TruncationRequest::default())
        .await?;
    println!("about {} tokens go to the model:", prepared.tokens);
    for message in &prepared.messages {
        let text = message.text();
        println!(
            "  {:?}: {}",
            message.role,
            text.chars().take(60).collect::<String>()
        );
    }
    assert!(prepared.tokens <= 1_000);
    assert!(prepared.overlay_id.is_some());

    // The archive has every message, and the overlay can be lifted again.
    assert_eq!(agent.history().archive(1, 100).await?.len(), 21);
    let units = units(&prepared.messages);
    println!(
        "questions kept: {}",
        units
            .iter()
            .filter(|unit| unit.kind == UnitKind::Question)
            .count()
    );
    Ok(())
}
