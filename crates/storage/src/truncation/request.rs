//! A model call that is about to be made, and a request for it that fits.

use super::{TruncationSettings, TruncationStrategy};
use crate::message::Message;
use crate::{Error, Result};
use std::sync::Arc;

/// The model call that is about to be made.
#[derive(Clone, Debug, Default)]
pub struct TruncationRequest {
    /// What the last call reported, if one did.
    pub reported: Option<ReportedUsage>,
    /// Tokens, about, of what goes along and is not of the history: the agent's instructions and its tools.
    pub extra_tokens: u64,
    /// What the model accepts, if it is known.
    pub window: Option<ContextWindow>,
    /// What the model's provider sets; the agent's settings come before it and the application's after it.
    pub settings: TruncationSettings,
    /// What works in the place of the strategy in force for this call alone; all settings stay.
    pub strategy: Option<Arc<dyn TruncationStrategy>>,
}

/// What a provider reported of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedUsage {
    /// Tokens of the request and its answer.
    pub tokens: u64,
    /// The id of the last message that they cover: the answer.
    pub through: String,
}

/// What a model accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextWindow {
    /// Tokens of request and answer.
    pub tokens: u64,
    /// How many of them are for the answer.
    pub reserve: u64,
}

/// A request that fits.
#[derive(Clone, Debug)]
pub struct FittingRequest {
    /// What goes to the model: each result behind its call, no call left open.
    pub messages: Vec<Message>,
    /// Tokens of the whole request, about.
    pub tokens: u64,
    /// The overlay that now shows the history shorter, if this call has laid one.
    pub overlay_id: Option<String>,
    /// Why the view was left as it is although the strategy should have shortened it.
    pub refused: Option<Error>,
    /// True where the messages are fewer than the view for this one call.
    pub is_for_this_call: bool,
}

impl ContextWindow {
    /// What a request may have.
    pub(crate) fn room(self) -> Result<u64> {
        let room = self
            .tokens
            .checked_sub(self.reserve)
            .filter(|room| *room > 0);
        room.ok_or_else(|| {
            let reason = format!(
                "must be less than the window of {} tokens, not {}",
                self.tokens, self.reserve
            );
            Error::invalid("window.reserve", reason)
        })
    }
}
