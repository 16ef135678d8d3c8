//! Truncation: keeping a conversation within what a model accepts. A strategy plans what goes and what stands for it; the
//! view is then shown through an overlay that can be lifted, and the archive keeps every message.

mod cut;
mod estimate;
mod request;
mod settings;
mod simple;
mod summary;
mod symbols;
mod unit;

pub use cut::cut;
pub use estimate::{MEDIA, estimate, estimate_text, estimate_text_message};
pub use request::{ContextWindow, FittingRequest, ReportedUsage, TruncationRequest};
pub use settings::{DEFAULT_BUFFER, TruncationRules, TruncationSettings};
pub use simple::SimpleTruncation;
pub use summary::SummaryTruncation;
pub use symbols::SymbolTruncation;
pub(crate) use unit::grouped;
pub use unit::{MessageUnit, UnitKind, units};

use crate::Result;
use crate::message::Message;
use crate::usage::UsageRecord;
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use std::fmt;

/// The field of a stand-in that says who made it, and of which entries of the archive.
pub const STANDS_FOR: &str = "stands_for";

/// The entries of the archive that a stand-in was made of, as its record says: the first and the last of each range.
pub fn made_from(record: &Value) -> Vec<(u64, u64)> {
    let ranges = record.get("made_from").map(Vec::<(u64, u64)>::deserialize);
    ranges.and_then(Result::ok).unwrap_or_default()
}

/// A way to make a view shorter. It sees units, so that no plan of it can part a call from its results.
///
/// A strategy of your own; the next model call gets what it leaves:
///
/// ```
/// # use ambit_storage::{Agent, Ambit, Stores, driver::DriverOptions};
/// # struct Support;
/// # impl Agent for Support {
/// #     fn name(&self) -> &str {
/// #         "Support"
/// #     }
/// # }
/// use ambit_storage::storage::Message;
/// use ambit_storage::truncation::{
///     MessageUnit, StandIn, StandInSource, TruncationBudget, TruncationRequest, TruncationSettings,
/// };
/// use ambit_storage::{AmbitSettings, TruncationStrategy};
/// use std::sync::Arc;
///
/// /// Keeps what is pinned, and nothing else.
/// #[derive(Debug)]
/// struct Forgetful;
///
/// #[async_trait::async_trait]
/// impl TruncationStrategy for Forgetful {
///     fn name(&self) -> &str {
///         "forgetful"
///     }
///
///     fn keep_messages(&self) -> usize {
///         10
///     }
///
///     fn plan(&self, view: &[MessageUnit], _room: &TruncationBudget) -> Vec<usize> {
///         (0..view.len()).filter(|place| !view[*place].is_pinned).collect()
///     }
///
///     async fn stand_in(&self, _source: &StandInSource) -> Option<StandIn> {
///         None
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() -> ambit_storage::Result<()> {
/// let settings = AmbitSettings {
///     truncation: TruncationSettings {
///         strategy: Some(Arc::new(Forgetful)),
///         threshold: Some(100),
///         ..TruncationSettings::default()
///     },
///     ..AmbitSettings::default()
/// };
/// # let stores = Stores::builder(DriverOptions::default()).build()?;
/// let ambit = Ambit::builder(stores).agent(Support).settings(settings).build();
/// let agent = ambit.agent("Support")?.for_chat("long").await?;
/// for number in 0..20 {
///     let text = format!("This is message {number}, and it says nothing else.");
///     agent.history().add_message(Message::user(text)).await?;
/// }
/// agent.context().save().await?;
///
/// let prepared = agent.context().truncate(&TruncationRequest::default()).await?;
/// assert_eq!(prepared.messages.len(), 1);
/// // The archive keeps all of them.
/// assert_eq!(agent.history().archive(1, 100).await?.len(), 20);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait TruncationStrategy: Send + Sync + fmt::Debug {
    /// Its name, in events and in the overlay's record.
    fn name(&self) -> &str;

    /// How many messages stay at most where no setting says so.
    fn keep_messages(&self) -> usize;

    /// Which units go, by their places in the view; [`cut`] is what the built-in strategies use. Pure: the same view and
    /// room give the same plan. Earlier stand-ins go in any case when a new one comes, and instructions stay where the
    /// settings say so.
    fn plan(&self, view: &[MessageUnit], room: &TruncationBudget) -> Vec<usize>;

    /// What stands for the units that go; `None` if nothing does.
    async fn stand_in(&self, source: &StandInSource) -> Option<StandIn>;
}

/// What a strategy may leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TruncationBudget {
    /// Messages, instructions not counted where they are preserved.
    pub keep: usize,
    /// Tokens of all that stays, the stand-in included.
    pub tokens: u64,
    /// Whether instructions stay.
    pub preserve_system: bool,
}

/// What a stand-in is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct StandInSource {
    /// The messages that go. An exchange begins with what a person says.
    pub exchanges: Vec<Vec<Message>>,
    /// The stand-in until now, which is to be replaced.
    pub previous: Option<String>,
    /// Tokens that there is room for; a longer stand-in means that more is cut.
    pub tokens: u64,
}

/// What stands for messages that went.
#[derive(Clone, Debug)]
pub struct StandIn {
    /// The text, or why there is none. Blank texts and such as are longer than their source are refused.
    pub text: Result<String>,
    /// What making it cost, also where it failed: booked on the session.
    pub usage: Vec<UsageRecord>,
}

/// Puts messages into fewer words: a model, or a script in tests.
#[async_trait]
pub trait Summariser: Send + Sync + fmt::Debug {
    /// The summary of the source in this form.
    async fn summarise(&self, source: &StandInSource, form: SummaryForm) -> StandIn;
}

/// What a summary looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryForm {
    /// One text that covers the source and what was there until now.
    Text,
    /// One line for each exchange, in order.
    Lines,
}
