//! The stored history as a turn sees it.

use super::client_results;
use crate::app::AppAgent;
use crate::chat_message;
use crate::error::Result;
use crate::loaded_app::LoadedApp;
use crate::request::TurnRequest;
use ambit_storage::LiveAgent;
use ambit_storage::storage::{Message, for_model};
use serde_json::Value;
use std::borrow::Borrow;

/// How many messages of history a model sees where nothing else is said.
const HISTORY: usize = 20;
/// As much of a history as is ever loaded.
const WHOLE: usize = 100_000;

/// The end of the stored history, as models know it; empty where the turn leaves history alone.
pub(super) async fn load(
    loaded: &LoadedApp,
    agent: &AppAgent,
    session: &LiveAgent,
    request: &TurnRequest,
) -> Result<Vec<Message>> {
    if request.skip.history {
        return Ok(Vec::new());
    }
    let wanted = size(loaded, agent)?;
    // A client that sends everything again sends more than the model is shown.
    let loaded = session
        .history()
        .tail(wanted.max(2 * request.messages.len()))
        .await?;
    Ok(loaded)
}

/// How many messages of history a model of this agent sees. Where long conversations are made shorter, that is what bounds
/// them.
pub(super) fn size(loaded: &LoadedApp, agent: &AppAgent) -> Result<usize> {
    let usual = match loaded.truncates(&agent.id)? {
        true => WHOLE,
        false => HISTORY,
    };
    let sizes = [agent.history_size, loaded.app.defaults.history_size];
    Ok(sizes.into_iter().flatten().next().unwrap_or(usual))
}

/// Stored messages as a model may see them: calls and results in pairs, and what is only for show left out.
pub(super) fn chat_view(messages: &[impl Borrow<Message>]) -> Vec<Value> {
    let paired = for_model(messages);
    paired.iter().filter_map(chat_message::to_chat).collect()
}

/// The same, but for the results that are `sent` now.
pub(super) fn with_answers(messages: &[Message], sent: &[Value]) -> Vec<Value> {
    let paired = client_results::awaiting(for_model(messages), sent);
    paired.iter().filter_map(chat_message::to_chat).collect()
}
