//! Kinds of storages: what their items are, and the prefixes that name them.

use crate::{Error, Result, memory, suggestion};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A kind of storage: a prefix and the type of its items.
///
/// ```
/// # use ambit_storage::{Agent, Ambit, Stores, driver::DriverOptions};
/// # struct Support;
/// # impl Agent for Support {
/// #     fn name(&self) -> &str {
/// #         "Support"
/// #     }
/// # }
/// use ambit_storage::storage::StorageKind;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize)]
/// struct Note {
///     text: String,
/// }
///
/// struct Notes;
///
/// impl StorageKind for Notes {
///     const PREFIX: &'static str = "notes";
///     type Item = Note;
/// }
///
/// # #[tokio::main]
/// # async fn main() -> ambit_storage::Result<()> {
/// # let stores = Stores::builder(DriverOptions::default()).build()?;
/// # let ambit = Ambit::builder(stores).agent(Support).build();
/// let agent = ambit.agent("Support")?.for_user_id("user-123").await?;
/// let notes = agent.context().storage::<Notes>().await?;
/// notes.add(Note { text: "prefers e-mail".to_owned() })?;
/// agent.context().save().await?;
/// assert_eq!(notes.last().await?.expect("one was added").text, "prefers e-mail");
/// # Ok(())
/// # }
/// ```
pub trait StorageKind: Send + Sync + 'static {
    /// The prefix: the scope of its identities.
    const PREFIX: &'static str;
    /// What it holds: plain data.
    type Item: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
}

pub(crate) const CHAT_HISTORY: &str = "chatHistory";
pub(crate) const USAGE: &str = "usage";

/// Prefixes that have a meaning of their own.
const RESERVED: [&str; 7] = [
    CHAT_HISTORY,
    USAGE,
    memory::SCOPE,
    "context",
    "turn",
    "stream",
    "trace",
];

/// A custom storage's prefix: a letter, then up to 63 letters, digits and hyphens; none that Ambit uses itself.
pub(crate) fn check_prefix(prefix: &str) -> Result<()> {
    let mut letters = prefix.bytes();
    let starts = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic());
    if !starts
        || prefix.len() > 64
        || !letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'-')
    {
        let rule = "must be a letter followed by at most 63 letters, digits or hyphens";
        return Err(Error::invalid("prefix", format!("\"{prefix}\" {rule}")));
    }
    if RESERVED.contains(&prefix) {
        return Err(Error::invalid(
            "prefix",
            format!("\"{prefix}\" is Ambit's own; choose another"),
        ));
    }
    Ok(())
}

/// A scope that is given as text: one of Ambit's own, or the prefix of a custom storage. One that is almost Ambit's own
/// would find nothing for ever.
pub(crate) fn check_scope(scope: &str) -> Result<()> {
    if RESERVED.contains(&scope) {
        return Ok(());
    }
    let hint = suggestion::hint(scope, RESERVED);
    if hint.is_empty() {
        return check_prefix(scope).map_err(|error| match error {
            Error::Invalid { reason, .. } => Error::invalid("scope", reason),
            other => other,
        });
    }
    let reason = format!(
        "\"{scope}\" is unknown; known are {}{hint}",
        RESERVED.join(", ")
    );
    Err(Error::invalid("scope", reason))
}
