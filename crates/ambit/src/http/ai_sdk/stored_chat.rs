//! What is stored of a chat, as far as a request of the AI SDK names it.

use super::user_message;
use ambit_runtime::chats::{ChatMessageView, ChatName, ChatTurn, ChatTurnReader};
use ambit_runtime::public_id;
use ambit_runtime::{Authorized, ErrorCode, Result, Runtime};
use ambit_storage::storage::{Message, ToolResult};

/// How many turns back a message is looked for that a request does not name: what is further back is taken for new.
const LOOK: usize = 200;

/// The end of a chat, read further back where that is needed.
#[derive(Default)]
pub struct StoredChat {
    /// Nothing where there is no such chat.
    reader: Option<ChatTurnReader>,
    /// The turns that were read, oldest first.
    pub turns: Vec<ChatTurn>,
    is_whole: bool,
}

/// How far back a message is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SearchDepth {
    /// As far as clients usually go.
    Usual,
    /// To the chat's beginning.
    Whole,
}

/// A message that a request names.
pub enum NamedMessage {
    /// A person's, and the turn that it began.
    User(Box<Message>),
    /// An answer.
    Answer,
}

/// A call of a tool of the client's.
pub struct StoredCall<'a> {
    /// The call as it is shown.
    pub shown: &'a ChatMessageView,
    /// What the client has sent for it.
    pub result: Option<&'a ToolResult>,
    /// A turn has followed, which took the call for one that did not finish.
    pub is_passed: bool,
}

impl StoredCall<'_> {
    /// Whether nothing has come of it.
    pub fn is_open(&self) -> bool {
        self.result.is_none()
            && !self.is_passed
            && self
                .shown
                .props
                .get("status")
                .is_some_and(|it| it == "pending")
    }
}

impl StoredChat {
    /// Opens the chat of this name, if the caller has one.
    pub async fn open(runtime: &Runtime, who: &Authorized, name: ChatName<'_>) -> Result<Self> {
        let ambit = runtime.contexts(who);
        let reader = match ChatTurnReader::open(&ambit, who, name, None).await {
            Ok(reader) => Some(reader),
            Err(error) if error.code == ErrorCode::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut chat = Self {
            is_whole: reader.is_none(),
            reader,
            turns: Vec::new(),
        };
        chat.read_older().await?;
        Ok(chat)
    }

    /// What differs whenever anything was stored in between.
    pub fn state(&self) -> String {
        let reader = self.reader.as_ref();
        reader.map_or_else(String::new, |reader| {
            format!("{} {}", reader.row_id(), reader.count())
        })
    }

    /// The turn that the chat is busy with.
    pub async fn running(&self) -> Result<Option<String>> {
        match &self.reader {
            Some(reader) => reader.running().await,
            None => Ok(None),
        }
    }

    /// Reads further back; false where there is nothing more.
    pub async fn read_older(&mut self) -> Result<bool> {
        let Some(reader) = self.reader.as_mut().filter(|_| !self.is_whole) else {
            return Ok(false);
        };
        let mut older = reader.older().await?;
        self.is_whole = older.is_empty();
        older.append(&mut self.turns);
        self.turns = older;
        Ok(!self.is_whole)
    }

    /// The newest message that a client knows by this id.
    pub async fn find(&mut self, id: &str, depth: SearchDepth) -> Result<Option<NamedMessage>> {
        if id.is_empty() {
            return Ok(None);
        }
        let mut seen = 0;
        loop {
            let unseen = self.turns.len() - seen;
            let mut newest_first = self.turns[..unseen].iter().rev();
            if let Some(found) = newest_first.find_map(|turn| named(turn, id)) {
                return Ok(Some(found));
            }
            seen = self.turns.len();
            let is_enough = depth == SearchDepth::Usual && seen >= LOOK;
            if is_enough || !self.read_older().await? {
                return Ok(None);
            }
        }
    }

    /// The newest turn of an answer that took results of the client's tools.
    pub fn last_continuation(&self, answer: &str) -> Option<&ChatTurn> {
        let mut newest_first = self.turns.iter().rev();
        newest_first
            .find(|turn| turn.superseded_by.is_none() && turn.continues.as_deref() == Some(answer))
    }

    /// The turn that answers what this one began with: itself, or that which has taken its place last.
    pub fn answering(&self, request_id: &str) -> String {
        let mut answering = request_id.to_owned();
        for turn in &self.turns {
            if turn.request_id == answering
                && let Some(by) = &turn.superseded_by
            {
                answering.clone_from(by);
            }
        }
        answering
    }

    /// Reads as far back as an answer begins.
    pub async fn read_answer(&mut self, answer: &str) -> Result<()> {
        while !self.turns.iter().any(|turn| turn.request_id == answer) {
            if !self.read_older().await? {
                break;
            }
        }
        Ok(())
    }

    /// A call, by the id that clients know.
    pub fn call(&self, id: &str) -> Option<StoredCall<'_>> {
        call(&self.turns, id)
    }
}

fn named(turn: &ChatTurn, id: &str) -> Option<NamedMessage> {
    let mut inputs = turn.input.iter().rev();
    let input = inputs.find(|input| {
        input.message.tool_result.is_none() && user_message::id(&input.message) == id
    });
    if let Some(input) = input {
        return Some(NamedMessage::User(Box::new(input.message.clone())));
    }
    let is_answer = match turn.request_id.is_empty() {
        true => turn.shown.iter().any(|shown| shown.id == id),
        false => turn.superseded_by.is_none() && turn.answer_id() == id,
    };
    is_answer.then_some(NamedMessage::Answer)
}

/// A call among these turns, by the id that clients know, with the result that a later one has brought.
pub fn call<'a>(turns: &'a [ChatTurn], id: &str) -> Option<StoredCall<'a>> {
    let (turn_id, _) = public_id::split_call_id(id)?;
    let at = turns.iter().position(|turn| turn.request_id == turn_id)?;
    let mut shown = turns[at].shown.iter();
    let is_it = |shown: &&ChatMessageView| {
        shown.kind == "tool_call" && public_id::call_id(turn_id, &shown.message_id) == id
    };
    let shown = shown.find(is_it)?;
    let provider_id = shown.props.get("id").and_then(|id| id.as_str())?;
    let later = &turns[at + 1..];
    let is_passed = later.iter().any(|turn| turn.superseded_by.is_none());
    let result = later.iter().find_map(|turn| {
        let mut results = turn
            .input
            .iter()
            .filter_map(|it| it.message.tool_result.as_ref());
        results.find(|result| result.call_id == provider_id)
    });
    Some(StoredCall {
        shown,
        result,
        is_passed,
    })
}

/// The id by which clients know the call that a result among these turns is of: the last one of its provider's id.
pub fn answered_call(before: &[ChatTurn], result: &ToolResult) -> Option<String> {
    let shown = before.iter().rev().flat_map(|turn| turn.shown.iter().rev());
    let mut calls = shown.filter(|shown| shown.kind == "tool_call");
    let call = calls.find(|shown| {
        let id = shown.props.get("id").and_then(|id| id.as_str());
        id == Some(&result.call_id)
    })?;
    Some(public_id::call_id(&call.request_id, &call.message_id))
}
