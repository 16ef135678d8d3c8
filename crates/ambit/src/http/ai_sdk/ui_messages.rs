//! The UI messages of a chat: what people sent, and what clients hold of answers after their streams.

use super::stored_chat::answered_call;
use super::{tool_results, turn_chunks, user_message};
use crate::format::ai_sdk::{
    AiSdkVersion, MessageFold, UiMessage, UiRole, output_chunk, sent_parts,
};
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
    /// The client's.
    pub version: AiSdkVersion,
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
        let mut answers = Answers::default();
        let mut placed = Vec::new();
        for (at, turn) in turns.iter().enumerate() {
            for input in &turn.input {
                placed.extend(said(input));
                answers.take_result(&turns[..at], input);
            }
            if turn.request_id.is_empty() {
                placed.extend(self.stored_alone(turn));
            } else if turn.superseded_by.is_none() && running != Some(&turn.request_id) {
                let chunks = turn_chunks::of(self.server, self.who, turn, self.version);
                let fold = answers.of(turn, self.version);
                chunks.await?.into_iter().for_each(|chunk| fold.push(chunk));
            }
        }
        let working = turns.iter().find(|turn| running == Some(&turn.request_id));
        placed.extend(answers.finish(working.map(ChatTurn::answer_id)));
        placed.retain(|placed| !placed.message.parts.is_empty());
        Ok(placed)
    }

    /// An answer that was stored outside of any turn.
    fn stored_alone(&self, turn: &ChatTurn) -> Option<PlacedMessage> {
        let first = turn.shown.first()?;
        let mut fold = MessageFold::new(self.version);
        let chunks = turn_chunks::of_history(turn, None, self.version);
        chunks.into_iter().for_each(|chunk| fold.push(chunk));
        let mut message = fold.finish();
        message.id.clone_from(&first.id);
        Some(PlacedMessage {
            sequence: first.sequence,
            message,
        })
    }
}

/// Answers as far as their turns have been taken in, by their first turns.
#[derive(Default)]
struct Answers<'a>(IndexMap<&'a str, PlacedAnswer>);

struct PlacedAnswer {
    sequence: u64,
    fold: MessageFold,
}

impl<'a> Answers<'a> {
    /// The answer that a turn is part of.
    fn of(&mut self, turn: &'a ChatTurn, version: AiSdkVersion) -> &mut MessageFold {
        let shown = turn.shown.first().map(|shown| shown.sequence);
        let begun = turn.input.last().map(|input| input.sequence + 1);
        let new = || PlacedAnswer {
            sequence: shown.or(begun).unwrap_or_default(),
            fold: MessageFold::new(version),
        };
        &mut self.0.entry(turn.answer_id()).or_insert_with(new).fold
    }

    /// Puts what a tool of the client has given where its call is.
    fn take_result(&mut self, before: &[ChatTurn], input: &TurnInput) {
        let result = input.message.tool_result.as_ref();
        let call = result.and_then(|result| answered_call(before, result));
        let output = tool_results::output(&input.message);
        if let (Some(call), Some(output)) = (call, output) {
            let chunk = output_chunk(call, output);
            let answers = self.0.values_mut();
            answers.for_each(|answer| answer.fold.push(chunk.clone()));
        }
    }

    /// The messages, but for the one that is under way.
    fn finish(self, working: Option<&str>) -> impl Iterator<Item = PlacedMessage> {
        let ended = self.0.into_iter();
        let ended = ended.filter(move |(id, _)| working != Some(*id));
        ended.map(|(_, answer)| PlacedMessage {
            sequence: answer.sequence,
            message: answer.fold.finish(),
        })
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
