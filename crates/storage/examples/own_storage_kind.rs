//! A kind of storage of your own: notes that an agent keeps beside its conversations.
//!
//! `cargo run -p ambit-storage --example own_storage_kind`

use ambit_storage::driver::DriverOptions;
use ambit_storage::storage::StorageKind;
use ambit_storage::{Agent, Ambit, Context, Result, Stores};
use serde::{Deserialize, Serialize};

/// What the storage holds: plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Note {
    text: String,
}

/// The kind: the prefix that names its storages, and the type of their items.
struct Notes;

impl StorageKind for Notes {
    const PREFIX: &'static str = "notes";
    type Item = Note;
}

struct Support;

impl Agent for Support {
    fn name(&self) -> &str {
        "Support"
    }
}

/// Keeps a note in one session, and reads it in the next.
#[tokio::main]
pub async fn main() -> Result<()> {
    let stores = Stores::builder(DriverOptions::default()).build()?;
    let ambit = Ambit::builder(stores).agent(Support).build();
    let support = ambit.agent("Support")?;

    let agent = support.for_user_id("user-123").await?;
    let notes = agent.context().storage::<Notes>().await?;
    notes.add(Note {
        text: "prefers e-mail".to_owned(),
    })?;
    // What is staged becomes durable with everything else that the context holds.
    agent.context().save().await?;

    let agent = support.for_user_id("user-123").await?;
    let notes = agent.context().storage::<Notes>().await?.get().await?;
    for note in &notes {
        println!("{} noted: {}", agent.context().identity(), note.text);
    }
    assert_eq!(notes.len(), 1);

    // The index knows the storage, so that it is found and removed like any other.
    let all = Context::of(&ambit, "Support")?.for_storage::<Notes>();
    println!("sessions with notes: {}", all.count().await?);
    all.remove().await?;
    assert_eq!(all.count().await?, 0);
    Ok(())
}
