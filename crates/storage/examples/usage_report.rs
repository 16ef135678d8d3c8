//! What model calls have cost: prices, records, and sums by model, user and day.
//!
//! `cargo run -p ambit-storage --example usage_report`

use ambit_storage::driver::DriverOptions;
use ambit_storage::storage::UsageRecord;
use ambit_storage::{
    Agent, Ambit, AmbitSettings, ModelPrice, Result, Stores, Usage, UsageField, UsageSettings,
};
use std::collections::BTreeMap;

struct Support;

impl Agent for Support {
    fn name(&self) -> &str {
        "Support"
    }
}

/// Millionths of a dollar for a million tokens: 2 dollars for requests, 8 dollars for answers.
fn prices() -> BTreeMap<String, ModelPrice> {
    let price = ModelPrice {
        prompt: 2_000_000,
        completion: 8_000_000,
        currency: "USD".to_owned(),
    };
    BTreeMap::from([("large".to_owned(), price)])
}

async fn ask(ambit: &Ambit, user: &str, model: &str, prompt: i64, answer: i64) -> Result<()> {
    let agent = ambit.agent("Support")?.for_user_id(user).await?;
    agent.context().usage().record(UsageRecord {
        model_name: Some(model.to_owned()),
        prompt_tokens: prompt,
        completion_tokens: answer,
        ..UsageRecord::default()
    })?;
    // The record and its sums are written in one commit.
    agent.context().save().await.map(|_| ())
}

/// Records some calls and prints what they come to.
#[tokio::main]
pub async fn main() -> Result<()> {
    let settings = AmbitSettings {
        usage: UsageSettings {
            prices: prices(),
            ..UsageSettings::default()
        },
        ..AmbitSettings::default()
    };
    let stores = Stores::builder(DriverOptions::default()).build()?;
    let ambit = Ambit::builder(stores)
        .agent(Support)
        .settings(settings)
        .build();
    ask(&ambit, "ann", "large", 1_000_000, 500_000).await?;
    ask(&ambit, "ann", "small", 200, 50).await?;
    ask(&ambit, "ben", "large", 500_000, 0).await?;

    let of_agent = Usage::of(&ambit, "Support");
    for field in [UsageField::Model, UsageField::User, UsageField::Day] {
        println!("by {field:?}:");
        for (value, totals) in of_agent.group_by(field).await?.unwrap_or_default() {
            let micros = totals.cost.get("USD").copied().unwrap_or(0);
            let dollars = micros as f64 / 1_000_000.0;
            println!(
                "  {value}: {} tokens, {dollars:.2} USD",
                totals.total_tokens
            );
        }
    }
    let ann = of_agent
        .for_user("ann")
        .for_model("large")
        .aggregate()
        .await?;
    assert_eq!(ann.map(|totals| totals.cost["USD"]), Some(6_000_000));
    Ok(())
}
