//! The UI messages of a chat: what people sent, and what clients hold of answers after their streams.

use super::stored_chat::answered_call;
use super::{tool_results, turn_chunks, user_message};
use crate::format::ai_sdk::{MessageFold, UiMessage, UiRole, output_chunk, sent_parts};
use crate::http::ServerState;
use ambit_runtime::chats::{ChatName, ChatTurn, ChatTurnReader, TurnInput};
use ambit_runtime::{Authorized, Result};
use ambit_storage::storage::Role;
use indexmap::IndexMap;

/// Which messages.
pub struct UiMessageWindow {
    /// Only those in front of this place.
    pub before: Option<u64>,
    /// At most so many.
    pub limit: usize,
}

/// Messages, oldest first.
pub struct UiMessagePage {
    pub messages: Vec<UiMessage>,
    /// Where older ones are, if there are any.
    pub next: Option<u64>,
}

/// A message, and its place in the chat.
struct PlacedMessage {
    sequence: u64,
    message: UiMessage,
}

/// Lists messages of a chat.
pub struct UiMessageList<'a> {
    pub server: &'a ServerState,
    pub who: &'a Authorized,
    /// The client knows the keys of version 7.
    pub is_version_7: bool,
}

impl UiMessageList<'_> {
    pub async fn page(
        &self,
        name: ChatName<'_>,
        window: &UiMessageWindow,
    ) -> Result<UiMessagePage> {
        let ambit = self.server.runtime.contexts(self.who);
        let mut reader = ChatTurnReader::open(&ambit, self.who, name, window.before).await?;
        let running = reader.running().await?;
        let mut turns: Vec<ChatTurn> = Vec::new();
        let mut is_whole = false;
        while !is_whole && count(&turns) <= window.limit {
            let mut older = reader.older().await?;
            is_whole = older.is_empty();
            older.append(&mut turns);
            turns = older;
        }
        if !is_whole {
            // The first answer may have begun further back.
            let first = turns.iter().position(|turn| turn.continues.is_none());
            turns.drain(..first.unwrap_or(turns.len()));
        }
        if window.before.is_some()
            && let Some(last) = turns.last_mut()
            && last.shown.is_empty()
        {
            // Its answer is on the page behind this one.
            last.request_id.clear();
        }
        let mut placed = self.placed(&turns, running.as_deref()).await?;
        placed.sort_by_key(|placed| placed.sequence);
        let cut = placed.len().saturating_sub(window.limit);
        let taken = placed.split_off(cut);
        let next = taken.first().map(|first| first.sequence);
        Ok(UiMessagePage {
            next: next.filter(|_| cut > 0 || !is_whole),
            messages: taken.into_iter().map(|placed| placed.message).collect(),
        })
    }

    /// The messages of these turns, but for the answer that is under way.
    async fn placed(
        &self,
        turns: &[ChatTurn],
        running: Option<&str>,
    ) -> Result<Vec<PlacedMessage>> {
        let mut answers: IndexMap<&str, (u64, MessageFold)> = IndexMap::new();
        let mut placed = Vec::new();
        for (at, turn) in turns.iter().enumerate() {
            for input in &turn.input {
                match &input.message.tool_result {
                    None => placed.extend(said(input)),
                    Some(result) => {
                        let call = answered_call(&turns[..at], result);
                        let output = tool_results::output(&input.message);
                        if let (Some(call), Some(output)) = (call, output) {
                            let chunk = output_chunk(call, output);
                            let folds = answers.values_mut();
                            folds.for_each(|(_, fold)| fold.take(chunk.clone()));
                        }
                    }
                }
            }
            let Some(first) = turn.shown.first().filter(|_| turn.request_id.is_empty()) else {
                let is_shown = !turn.request_id.is_empty() && turn.superseded_by.is_none();
                if !is_shown || running == Some(&turn.request_id) {
                    continue;
                }
                let chunks = turn_chunks::of(self.server, self.who, turn, self.is_version_7);
                let sequence = turn.shown.first().map(|shown| shown.sequence);
                let begun = turn.input.last().map(|input| input.sequence + 1);
                let sequence = sequence.or(begun).unwrap_or_default();
                let new = || (sequence, MessageFold::new(self.is_version_7));
                let (_, fold) = answers.entry(turn.answer_id()).or_insert_with(new);
                chunks.await?.into_iter().for_each(|chunk| fold.take(chunk));
                continue;
            };
            let mut fold = MessageFold::new(self.is_version_7);
            let chunks = turn_chunks::of_history(turn, self.is_version_7);
            chunks.into_iter().for_each(|chunk| fold.take(chunk));
            let mut message = fold.finish();
            message.id.clone_from(&first.id);
            placed.push(PlacedMessage {
                sequence: first.sequence,
                message,
            });
        }
        let working = turns.iter().find(|turn| running == Some(&turn.request_id));
        let working = working.map(ChatTurn::answer_id);
        let answers = answers.into_iter().filter(|(id, _)| working != Some(*id));
        placed.extend(answers.map(|(_, (sequence, fold))| PlacedMessage {
            sequence,
            message: fold.finish(),
        }));
        placed.retain(|placed| !placed.message.parts.is_empty());
        Ok(placed)
    }
}

/// At least so many messages come of these turns.
fn count(turns: &[ChatTurn]) -> usize {
    let begun = turns.iter().filter(|turn| turn.continues.is_none());
    begun
        .map(|turn| turn.input.len() + usize::from(!turn.shown.is_empty()))
        .sum()
}

/// What a person said.
fn said(input: &TurnInput) -> Option<PlacedMessage> {
    let stored = &input.message;
    let role = match stored.role {
        Role::User => UiRole::User,
        Role::Assistant => UiRole::Assistant,
        Role::System | Role::Developer => UiRole::System,
        Role::Tool => return None,
    };
    let client = stored.extras.get("client");
    Some(PlacedMessage {
        sequence: input.sequence,
        message: UiMessage {
            id: user_message::id(stored),
            role,
            metadata: client.and_then(|client| client.get("metadata")).cloned(),
            parts: sent_parts(&user_message::parts(stored)),
        },
    })
}
