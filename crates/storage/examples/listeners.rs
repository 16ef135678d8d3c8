//! Listeners: one changes what is about to be kept, one forbids, one is told.
//!
//! `cargo run -p ambit-storage --example listeners`

use ambit_storage::driver::DriverOptions;
use ambit_storage::event::{IdentityAdded, IdentityAdding, MessageAdding, Verdict};
use ambit_storage::storage::Message;
use ambit_storage::{Agent, Ambit, Error, Json, Result, Stores};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Support;

impl Agent for Support {
    fn name(&self) -> &str {
        "Support"
    }
}

/// Replaces what looks like a card's number in a message that is about to be added.
fn without_card_numbers(event: &mut MessageAdding) -> Result<()> {
    let mut message: Message = event.message.to()?;
    let mut text = message.text();
    if text.split(' ').any(is_card_number) {
        let words = text
            .split(' ')
            .map(|word| if is_card_number(word) { "****" } else { word });
        text = words.collect::<Vec<_>>().join(" ");
        message.parts = Message::user(text).parts;
        event.message = Json::of(&message)?;
    }
    Ok(())
}

fn is_card_number(word: &str) -> bool {
    word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Adds the listeners and shows what they do.
#[tokio::main]
pub async fn main() -> Result<()> {
    let stores = Stores::builder(DriverOptions::default()).build()?;
    let ambit = Ambit::builder(stores).agent(Support).build();
    let added = Arc::new(AtomicUsize::new(0));

    ambit.before::<MessageAdding>(async |event| {
        without_card_numbers(event)?;
        Ok(Verdict::Continue)
    });
    ambit.before::<IdentityAdding>(async |event| {
        Ok(match event.identity.user_id() {
            Some("mallory") => Verdict::veto("banned"),
            _ => Verdict::Continue,
        })
    });
    // A listener with state of its own clones it for each event.
    let count = added.clone();
    ambit.after::<IdentityAdded>(move |event| {
        let count = count.clone();
        async move {
            println!("new in the index: {}", event.identity);
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    });

    let support = ambit.agent("Support")?;
    let agent = support.for_user_id("ann").await?;
    let paid = Message::user("I paid with 4111111111111111 yesterday");
    agent.history().add_message(paid).await?;
    agent.context().save().await?;
    let kept = agent.history().last_message().await?;
    let kept = kept.map(|message| message.text()).unwrap_or_default();
    println!("kept: {kept}");
    assert_eq!(kept, "I paid with **** yesterday");
    assert_eq!(added.load(Ordering::Relaxed), 1);

    match support.for_user_id("mallory").await {
        Err(error @ Error::Vetoed { .. }) => println!("refused: {error}"),
        _ => panic!("the listener forbids this user"),
    }
    Ok(())
}
