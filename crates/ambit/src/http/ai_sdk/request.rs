//! What a request of the AI SDK means: something new, an edit, an answer that is given again or goes on, or a request that was
//! sent before. The server's history counts, and not the client's copy of it.

use super::body::{SentMessage, UiChatBody, UiTrigger};
use super::stored_chat::{NamedMessage, SearchDepth, StoredChat};
use super::{tool_results, user_message};
use crate::format::ai_sdk::{NAME, UiRole};
use crate::http::chat::check_role;
use crate::http::idempotency::IdempotencyKey;
use ambit_runtime::app::AppAgent;
use ambit_runtime::chat::{ChatMessage, Role};
use ambit_runtime::{Authorized, Error, ErrorCode, Result, Runtime, Supersede, TurnStatus};
use ambit_storage::address;
use ambit_storage::storage::Message;
use serde_json::{Value, json};

/// What is done for a request.
pub enum ChatAction {
    /// A turn begins.
    Start(NewTurn),
    /// The answer is that of this turn, which the request began or continued when it was sent first.
    Join(String),
}

/// A turn that begins.
pub struct NewTurn {
    /// What is said.
    pub messages: Vec<ChatMessage>,
    /// What of the chat it takes the place of.
    pub supersede: Option<Supersede>,
    /// Two requests that are the same in this, and come while the chat is the same, are one.
    pub repetition: Option<Repetition>,
}

/// What makes requests one that come at the same time.
pub struct Repetition {
    /// Equal for the same message of the same chat.
    pub key: IdempotencyKey,
    /// Equal for the same content.
    pub fingerprint: String,
}

/// Finds out what requests mean.
pub struct ChatRequestReader<'a> {
    pub runtime: &'a Runtime,
    pub who: &'a Authorized,
    pub agent: &'a AppAgent,
    /// The chat that the request names.
    pub chat_id: &'a str,
    pub chat: StoredChat,
    /// What of the chat the body says that it takes the place of.
    pub supersede: Option<Supersede>,
}

impl ChatRequestReader<'_> {
    /// What a body means.
    pub async fn read(mut self, body: UiChatBody) -> Result<ChatAction> {
        let message_id = body.message_id.map(|id| id.0);
        let names_one = message_id.is_some() || body.trigger == UiTrigger::RegenerateMessage;
        if names_one && self.supersede.is_some() {
            let message = "supersede stands alone: messageId and regenerate-message say too what is superseded";
            return Err(Error::invalid("supersede", message));
        }
        if body.trigger == UiTrigger::RegenerateMessage {
            return self.regenerate(message_id).await;
        }
        let mut messages = body.messages.unwrap_or_default();
        messages.extend(body.message);
        let Some(last) = messages.last() else {
            if self.supersede.is_some() {
                return Ok(start(Vec::new(), self.supersede));
            }
            let message = "messages must hold at least one message";
            return Err(Error::invalid("messages", message));
        };
        if last.role == UiRole::Assistant {
            return self.go_on(&messages, message_id).await;
        }
        if let Some(id) = &message_id
            && let Some(NamedMessage::User(_)) = self.chat.find(id, SearchDepth::Whole).await?
        {
            let id = id.clone();
            return self.edit(id, &messages);
        }
        // What supersedes something else is no message that comes again.
        if self.supersede.is_some() {
            return self.submit(&messages).await;
        }
        let last_id = last.id().to_owned();
        match self.chat.find(&last_id, SearchDepth::Usual).await? {
            Some(NamedMessage::User(stored)) => self.repeat(&stored, &messages).await,
            _ => self.submit(&messages).await,
        }
    }

    async fn regenerate(&mut self, message_id: Option<String>) -> Result<ChatAction> {
        let supersede = match message_id {
            None => Supersede::LastAnswer,
            Some(id) => match self.chat.find(&id, SearchDepth::Whole).await? {
                Some(NamedMessage::User(_)) => Supersede::Behind(id),
                // One that is unknown is refused by its name.
                Some(NamedMessage::Answer) | None => Supersede::From(id),
            },
        };
        Ok(start(Vec::new(), Some(supersede)))
    }

    /// The last message takes the place of a stored one, and of all behind it.
    fn edit(&self, id: String, messages: &[SentMessage]) -> Result<ChatAction> {
        let new = self.said(messages, messages.len() - 1)?;
        Ok(start(vec![new], Some(Supersede::From(id))))
    }

    /// A message that is stored comes again.
    async fn repeat(&self, stored: &Message, messages: &[SentMessage]) -> Result<ChatAction> {
        let last = &messages[messages.len() - 1];
        if user_message::parts(stored) == last.parts
            && let Some(turn) = &stored.turn_id
        {
            let turn = self.chat.answering(turn);
            let status = match self.runtime.turn(self.who, &turn).await {
                Ok(known) => Some(known.status),
                Err(error) if error.code == ErrorCode::NotFound => None,
                Err(error) => return Err(error),
            };
            if let Some(TurnStatus::Running | TurnStatus::Completed) = status {
                return Ok(ChatAction::Join(turn));
            }
        }
        self.edit(last.id().to_owned(), messages)
    }

    /// Something new is said.
    async fn submit(&mut self, messages: &[SentMessage]) -> Result<ChatAction> {
        let last = messages.len() - 1;
        let mut known = None;
        for (at, message) in messages[..last].iter().enumerate().rev() {
            let found = self.chat.find(message.id(), SearchDepth::Usual).await?;
            if found.is_some() {
                known = Some(at);
                break;
            }
        }
        let is_begun = !self.chat.turns.is_empty();
        let first = match known {
            Some(known) => known + 1,
            None if is_begun => last,
            None => 0,
        };
        let mut new = match known {
            Some(at) if messages[at].role == UiRole::Assistant => {
                self.open_results(messages, at, false)?
            }
            _ => Vec::new(),
        };
        for (at, message) in messages.iter().enumerate().skip(first) {
            if message.role != UiRole::Assistant {
                new.push(self.said(messages, at)?);
            }
        }
        let message = &messages[last];
        let repetition = (!message.id().is_empty()).then(|| {
            let content = Value::from(message.parts.clone()).to_string();
            self.repetition(message.id(), &content)
        });
        Ok(ChatAction::Start(NewTurn {
            messages: new,
            supersede: self.supersede.take(),
            repetition,
        }))
    }

    /// An answer goes on with what tools of the client have given.
    async fn go_on(
        &mut self,
        messages: &[SentMessage],
        message_id: Option<String>,
    ) -> Result<ChatAction> {
        let is_named = |message: &SentMessage| {
            message.role == UiRole::Assistant && Some(message.id()) == message_id.as_deref()
        };
        let named = messages.iter().rposition(is_named);
        let at = named.unwrap_or(messages.len() - 1);
        let answer = &messages[at];
        self.chat.read_answer(answer.id()).await?;
        let results = self.open_results(messages, at, true)?;
        if results.is_empty() {
            return match self.chat.last_continuation(answer.id()) {
                Some(turn) => Ok(ChatAction::Join(turn.request_id.clone())),
                None => Err(nothing_new(answer.id())),
            };
        }
        let ids = results
            .iter()
            .filter_map(|result| result.tool_call_id.as_deref());
        let content: Vec<String> = results.iter().map(|it| it.content.words()).collect();
        let repetition = self.repetition(&ids.collect::<Vec<_>>().join(" "), &content.join("\0"));
        Ok(ChatAction::Start(NewTurn {
            messages: results,
            supersede: self.supersede.take(),
            repetition: Some(repetition),
        }))
    }

    /// What a client's copy of an answer has for calls that nothing has come of. Calls that are not known are told only to be
    /// refused.
    fn open_results(
        &self,
        messages: &[SentMessage],
        at: usize,
        with_unknown: bool,
    ) -> Result<Vec<ChatMessage>> {
        let answer = &messages[at];
        tool_results::refuse_approvals(answer, &format!("messages[{at}]"))?;
        let sent = tool_results::of(answer).into_iter();
        let open = sent.filter(|sent| match self.chat.call(&sent.tool_call_id) {
            Some(call) => call.is_open(),
            None => with_unknown,
        });
        Ok(open.map(tool_results::SentCall::into_message).collect())
    }

    /// What one of the messages says.
    fn said(&self, messages: &[SentMessage], at: usize) -> Result<ChatMessage> {
        let message = &messages[at];
        if message.role == UiRole::System {
            check_role(Role::System, self.agent, &format!("messages[{at}].role"))?;
        }
        user_message::read(message, &format!("messages[{at}]"))
    }

    fn repetition(&self, name: &str, content: &str) -> Repetition {
        let names = json!([self.agent.id, self.chat_id, self.chat.state(), name]);
        Repetition {
            key: IdempotencyKey::Derived {
                protocol: NAME,
                name: names.to_string(),
            },
            fingerprint: address::digest(&[content]),
        }
    }
}

fn start(messages: Vec<ChatMessage>, supersede: Option<Supersede>) -> ChatAction {
    ChatAction::Start(NewTurn {
        messages,
        supersede,
        repetition: None,
    })
}

fn nothing_new(answer: &str) -> Error {
    let message = format!(
        "messages: the message \"{answer}\" has no new result of a tool that the client runs, so there is nothing to go on with"
    );
    Error::invalid("messages", message)
}
