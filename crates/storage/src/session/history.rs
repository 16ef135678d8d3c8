//! `ChatHistoryStorage`: the messages of a conversation, their view for the model, and their archive.

mod amend;
mod end;
mod erase;
mod overlay;
mod supersede;

pub use end::{HistoryEnd, OmittedMessages};
pub use erase::MessageErasure;
pub(crate) use overlay::{NewOverlay, ViewSnapshot};
pub use supersede::{HistoryPosition, SequencedMessage, SupersedableHistory, SupersededHistory};

use super::events::{ChatHistoryLoaded, MessageAdding};
use super::list::{ListStorage, StorageState};
use super::state::Session;
use crate::debug::opaque_debug;
use crate::identity::{self, SessionIdentity};
use crate::items::{SharedCell, StorageCell, ViewItem, matched, new_entry};
use crate::json::Json;
use crate::kind::{CHAT_HISTORY, StorageKind};
use crate::message::{Message, for_model};
use crate::report::SaveReport;
use crate::stores::Placement;
use crate::{Error, Result, ids};
use futures::future::BoxFuture;
use std::sync::Arc;

/// What a history stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryOptions {
    /// Whether `metadata` of messages is stored.
    pub store_meta: bool,
}

/// The messages of a conversation. Cheap to clone; the clones share what is staged.
///
/// What is taken out of the view stays in the archive, and comes back when that is lifted:
///
/// ```
/// # use ambit_storage::{Agent, Ambit, Stores, driver::DriverOptions};
/// # struct Support;
/// # impl Agent for Support {
/// #     fn name(&self) -> &str {
/// #         "Support"
/// #     }
/// # }
/// # #[tokio::main]
/// # async fn main() -> ambit_storage::Result<()> {
/// # let stores = Stores::builder(DriverOptions::default()).build()?;
/// # let ambit = Ambit::builder(stores).agent(Support).build();
/// use ambit_storage::storage::Message;
///
/// let agent = ambit.agent("Support")?.for_chat("billing").await?;
/// let history = agent.history();
/// for text in ["one", "two", "three"] {
///     history.add_message(Message::user(text)).await?;
/// }
/// history.save().await?;
///
/// history.replace_messages(history.tail(1).await?).await?;
/// history.save().await?;
/// assert_eq!(history.count().await?, 1);
/// assert_eq!(history.archive(1, 10).await?.len(), 3);
///
/// let overlay = history.overlay_id().await?.expect("the view was replaced");
/// history.restore(&overlay).await?;
/// assert_eq!(history.count().await?, 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ChatHistoryStorage {
    cell: SharedCell,
    options: HistoryOptions,
    session: Option<Arc<Session>>,
}

impl StorageKind for ChatHistoryStorage {
    const PREFIX: &'static str = CHAT_HISTORY;
    type Item = Message;
}

/// How many messages `read` loads to show them to listeners.
const LOADED: usize = 50;

impl ChatHistoryStorage {
    /// A history of this identity at this place; a session opens it.
    pub fn new(
        identity: SessionIdentity,
        placement: Placement,
        options: HistoryOptions,
    ) -> Result<Self> {
        let cell = Arc::new(StorageCell::new(Self::PREFIX, identity, placement)?);
        Ok(Self {
            cell,
            options,
            session: None,
        })
    }

    pub(crate) fn attached(
        cell: SharedCell,
        options: HistoryOptions,
        session: &Arc<Session>,
    ) -> Self {
        Self {
            cell,
            options,
            session: Some(session.clone()),
        }
    }

    pub(crate) fn cell(&self) -> &SharedCell {
        &self.cell
    }

    /// What it stores.
    pub fn options(&self) -> HistoryOptions {
        self.options
    }

    /// The scoped identity.
    pub fn identity(&self) -> &SessionIdentity {
        &self.cell.identity
    }

    /// Where it is kept.
    pub fn placement(&self) -> &Placement {
        &self.cell.placement
    }

    /// Stages a message behind all others, after listeners have seen it; the answer is the message as it will be kept.
    pub fn add_message<'a>(&'a self, message: Message) -> BoxFuture<'a, Result<Message>> {
        Box::pin(async move {
            let session = self.session()?;
            let bus = session.ambit.bus();
            let (mut message, mut body) = self.complete(message)?;
            if bus.has_listeners::<MessageAdding>() {
                let event = MessageAdding {
                    about: session.about(),
                    storage: Self::PREFIX.to_owned(),
                    message: body,
                };
                let event = bus.ask(event).await?;
                (message, body) = self.complete(event.message.to::<Message>()?)?;
            }
            let limit = session.ambit.stores().options().limits.value;
            self.cell
                .append(new_entry(message.id.clone(), body, limit)?);
            Ok(message)
        })
    }

    /// The view, staged messages included.
    pub async fn messages(&self) -> Result<Vec<Message>> {
        self.list()?.get().await
    }

    /// Messages of the view from this position (counted from 0), at most `limit`.
    pub async fn range(&self, from: u64, limit: usize) -> Result<Vec<Message>> {
        self.list()?.range(from, limit).await
    }

    /// The last messages of the view, in order. Erased ones are passed over, of which `range` and `count` have the marks.
    pub async fn tail(&self, limit: usize) -> Result<Vec<Message>> {
        Ok(self.end(limit).await?.messages)
    }

    /// The last message of the view that was not erased.
    pub async fn last_message(&self) -> Result<Option<Message>> {
        Ok(self.tail(1).await?.pop())
    }

    /// How many messages the view has.
    pub async fn count(&self) -> Result<u64> {
        self.list()?.count().await
    }

    /// Whether the history is absent, empty or live in its store.
    pub async fn state(&self) -> Result<StorageState> {
        self.list()?.state().await
    }

    /// True where the last read was answered by a secondary because the primary could not be reached: what was written
    /// last may be missing from it.
    pub fn is_stale_possible(&self) -> bool {
        self.cell.is_stale_possible()
    }

    /// The originals, whatever the view shows: a page from this sequence (from 1).
    pub async fn archive(&self, from: u64, limit: usize) -> Result<Vec<Message>> {
        self.list()?.archive(from, limit).await
    }

    /// What goes to a model: the view with each result behind its call and no call left open.
    pub async fn model_view(&self) -> Result<Vec<Message>> {
        Ok(for_model(&self.messages().await?))
    }

    /// Stages these messages in place of the view; the archive keeps all there were.
    pub async fn replace_messages(&self, messages: Vec<Message>) -> Result<()> {
        let session = self.session()?;
        let limit = session.ambit.stores().options().limits.value;
        let entry = |message: Message| {
            // The archive may have another body under this id, and would pass over the new one.
            let version = match message.id.as_str() {
                "" => String::new(),
                _ => erase::version(),
            };
            let (message, body) = self.complete(message)?;
            new_entry(message.id + &version, body, limit)
        };
        let entries = messages
            .into_iter()
            .map(entry)
            .collect::<Result<Vec<_>>>()?;
        let replace = |before: Vec<ViewItem>| Some(matched(before, entries));
        session.seen(
            self.cell
                .replace(session.tenant(), "replace", replace)
                .await,
        )?;
        Ok(())
    }

    /// Stages the removal of a message from the view; the archive keeps it. False where there is none with this id.
    pub async fn remove_message(&self, id: &str) -> Result<bool> {
        self.list()?.remove_item(|message| message.id == id).await
    }

    /// Stages the erasure of all messages, archive included.
    pub async fn clear(&self) -> Result<()> {
        self.list()?.clear().await
    }

    /// Drops what is staged.
    pub fn discard(&self) {
        self.cell.discard();
    }

    /// True where something is staged.
    pub fn is_dirty(&self) -> bool {
        self.cell.is_dirty()
    }

    /// Writes what is staged in the history.
    pub async fn save(&self) -> Result<SaveReport> {
        self.list()?.save().await
    }

    /// Reads the history again and shows its last messages to listeners.
    pub(crate) async fn load(&self) -> Result<()> {
        let session = self.session()?;
        let count = self.count().await?;
        let page = self.tail(LOADED).await?;
        let messages = page.iter().map(Json::of).collect::<Result<Vec<_>>>()?;
        let storage = Self::PREFIX.to_owned();
        let event = ChatHistoryLoaded {
            about: session.about(),
            storage,
            count,
            messages,
        };
        session.ambit.bus().notify(event).await;
        Ok(())
    }

    pub(crate) fn session(&self) -> Result<&Arc<Session>> {
        self.session.as_ref().ok_or_else(|| {
            Error::invalid(
                "storage",
                "belongs to no session yet; open one with its agent",
            )
        })
    }

    fn list(&self) -> Result<ListStorage<Self>> {
        Ok(ListStorage::attached(self.cell.clone(), self.session()?))
    }

    /// The message as it is kept, and its text.
    pub(crate) fn complete(&self, mut message: Message) -> Result<(Message, Json)> {
        let clock = &self.session()?.ambit.stores().options().clock;
        if message.id.is_empty() {
            message.id = ids::ordered(clock);
        }
        identity::check("message id", &message.id)?;
        if message.created_at == 0 {
            message.created_at = clock.now();
        }
        if !self.options.store_meta {
            message.metadata = None;
        }
        let body = Json::of(&message)?;
        Ok((message, body))
    }
}

opaque_debug!(ChatHistoryStorage, |this| key: this.cell.identity.key());
