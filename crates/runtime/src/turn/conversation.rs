//! The conversation that a turn belongs to: the end of its stored history, and what becomes part of it.

use crate::app::AppAgent;
use crate::chat::ChatMessage;
use crate::chat_message;
use crate::chats;
use crate::error::Result;
use crate::inbox::InboxPosition;
use crate::loaded_app::LoadedApp;
use crate::request::TurnRequest;
use ambit_storage::LiveAgent;
use ambit_storage::address::Space;
use ambit_storage::batch::BatchWrite;
use ambit_storage::directory::RowFilter;
use ambit_storage::driver::Driver;
use ambit_storage::memory::Memory;
use ambit_storage::storage::{
    HistoryEnd, Message, OmittedMessages, SupersededHistory, view_for_model,
};
use futures::FutureExt;
use std::borrow::Borrow;
use std::sync::Arc;

/// How many messages of history a model sees where nothing else is said.
const HISTORY_SIZE: usize = 20;
/// As much of a history as is ever loaded.
const MAX_HISTORY_SIZE: usize = 100_000;

/// The conversation of a turn, whose lease the turn holds.
pub(super) struct Conversation {
    pub session: LiveAgent,
    /// What `ctx.memory.context` keeps.
    pub memory: Memory,
    /// The end of what was stored before the turn.
    pub history: Vec<Message>,
    /// What is not in it.
    pub omitted: OmittedMessages,
    /// What is left of the history where the turn supersedes its end, until that is durable.
    pub superseded: Option<SupersededHistory>,
    /// The last stored message that was looked at.
    pub last_seen_message: Option<String>,
    /// How much of what was sent to the turn is taken in.
    pub inbox_position: InboxPosition,
    /// The lease is that of the next turn, which waits until this one is closed.
    pub is_held_by_next: bool,
    /// Whether the request leaves the history alone: it is neither loaded nor written.
    is_history_skipped: bool,
}

impl Conversation {
    pub fn new(session: LiveAgent, memory: Memory, request: &TurnRequest) -> Self {
        Self {
            session,
            memory,
            history: Vec::new(),
            omitted: OmittedMessages::default(),
            superseded: None,
            last_seen_message: None,
            inbox_position: InboxPosition::default(),
            is_held_by_next: false,
            is_history_skipped: request.skip.history,
        }
    }

    /// Where the turn keeps what belongs to the conversation.
    pub fn space(&self) -> Space {
        self.session.context().place().0
    }

    pub fn driver(&self) -> Arc<dyn Driver> {
        self.session.context().place().1
    }

    /// The history before the turn.
    pub fn set_history(&mut self, stored: HistoryEnd) {
        let HistoryEnd { messages, omitted } = stored;
        self.last_seen_message = messages.last().map(|message| message.id.clone());
        self.history = messages;
        self.omitted = omitted;
    }

    /// Stages a message for the history. Returns it as listeners have left it.
    pub async fn append(&self, message: Message) -> Result<Message> {
        if self.is_history_skipped {
            return Ok(message);
        }
        Ok(self.session.history().add_message(message).await?)
    }

    /// Stages writes that go along with the next save.
    pub fn stage(&self, writes: impl IntoIterator<Item = BatchWrite>) {
        self.session.context().stage_with_history(writes);
    }

    /// Whether the lease has not been lost.
    pub fn is_held(&self) -> bool {
        let lease = self.session.context().lease();
        lease.is_some_and(|lease| lease.ended().now_or_never().is_none())
    }

    /// The id of the history's index row; a temporary conversation has none. A turn that is only closed has saved nothing that
    /// would tell.
    pub async fn row_id(&self) -> Result<Option<String>> {
        let context = self.session.context();
        let known = context.row_id();
        if known.is_some() || context.is_temporary() {
            return Ok(known);
        }
        let space = self.space();
        let filter = RowFilter {
            storage_key: Some(space.path),
            ..RowFilter::tenant(space.tenant)
        };
        let row = chats::first(context.ambit(), &filter).await?;
        Ok(row.map(|row| row.id))
    }
}

/// Loads the end of the stored history; nothing where the request leaves history alone.
pub(super) async fn load_history(
    session: &LiveAgent,
    request: &TurnRequest,
    size: usize,
) -> Result<HistoryEnd> {
    if request.skip.history {
        return Ok(HistoryEnd::default());
    }
    Ok(session.history().end(size).await?)
}

/// How many messages of history are loaded for a request.
pub(super) fn loaded_size(
    loaded: &LoadedApp,
    agent: &AppAgent,
    request: &TurnRequest,
) -> Result<usize> {
    let size = history_size(loaded, agent)?;
    // A client that sends everything again sends more than the model is shown.
    Ok(size.max(2 * request.messages.len()))
}

/// How many messages of history a model of this agent sees. Where long conversations are truncated, that is what bounds them.
pub(super) fn history_size(loaded: &LoadedApp, agent: &AppAgent) -> Result<usize> {
    let usual = match loaded.truncates(&agent.id)? {
        true => MAX_HISTORY_SIZE,
        false => HISTORY_SIZE,
    };
    let sizes = [
        agent.package.options.history_size,
        loaded.app.defaults.store.max_size,
    ];
    Ok(sizes.into_iter().flatten().next().unwrap_or(usual))
}

/// Stored messages as a model may see them: calls and results in pairs, and without what is only for show.
pub(super) fn chat_view(messages: &[impl Borrow<Message>]) -> Vec<ChatMessage> {
    let paired = view_for_model(messages).into_iter();
    let chats = paired.filter_map(|message| chat_message::to_chat(&message));
    chats.collect()
}
