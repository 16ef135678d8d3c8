//! Titles of chats: behind the first turn the agent that `uses.title` names is asked for one. Nobody waits for it, and what
//! goes wrong leaves the chat with the beginning of its first message.

use crate::chat::ChatMessage;
use crate::chats::{self, UntitledChat};
use crate::error::{Error, ErrorCode, Result};
use crate::journal::TurnIds;
use crate::loaded_app::LoadedApp;
use crate::log_words::EchoFilter;
use crate::request::TurnRequest;
use crate::runtime_core::RuntimeCore;
use crate::trace::Trace;
use crate::turn::Turn;
use crate::turn::agent_run::AgentRun;
use crate::turn::next::TurnResponse;
use crate::turn::request_context::TurnSettings;
use crate::turn::turn_parts::TurnParts;
use crate::uses::{UsesAsker, UsesFailure, UsesRequest, UsesTarget, words};
use ambit_storage::LiveAgent;
use ambit_storage::storage::StorageState;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Titles that are written at once; where more are wanted, chats keep the beginning of their first message.
pub(crate) const CONCURRENT_TITLES: usize = 8;
/// How long writing one may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Letters of what was asked and of what was answered that the agent sees.
const EXCERPT: usize = 4_000;

/// Has the title of a chat written.
struct TitleWriter {
    core: Arc<RuntimeCore>,
    loaded: Arc<LoadedApp>,
    request: TurnRequest,
    ids: TurnIds,
    settings: TurnSettings,
    target: UsesTarget,
    /// What is asked for.
    wanted: UsesRequest,
    /// The trace of the turn, and how many calls of models it has made.
    trace: Trace,
    calls: u64,
}

impl Turn {
    /// Has a title written for a chat that has begun with this turn, if an agent is named for that.
    pub(super) fn start_title(&self, response: &TurnResponse) {
        let Self {
            context,
            conversation,
            ..
        } = self;
        let is_temporary = conversation.session.context().is_temporary();
        let is_kept = !context.request.skip.history && !is_temporary;
        let is_first = conversation.history.is_empty() && is_kept;
        let uses = &context.loaded.app.defaults.uses;
        let named = uses.get("title").map_or("", String::as_str);
        if !is_first || matches!(named, "" | "disabled") {
            return;
        }
        let id = context.id().to_owned();
        let Ok(permit) = context.core.titles.clone().try_acquire_owned() else {
            tracing::debug!(request.id = id, "too many titles are being written");
            return;
        };
        let asked = excerpt(&context.request, response);
        let (said, disclosure) = (EchoFilter::of(&json!(asked)), context.disclosure());
        let writer = TitleWriter::of(self, named, asked);
        context.core.spawn(async move {
            let _permit = permit;
            let written = match writer {
                Ok(writer) => writer.write().await,
                Err(error) => Err(error),
            };
            if let Err(error) = written {
                tracing::warn!(
                    request.id = id,
                    error.code = %error.code,
                    error.message = said.logged(&error.to_string(), disclosure),
                    "a chat keeps the beginning of its first message as its title"
                );
            }
        });
    }
}

impl TitleWriter {
    fn of(turn: &Turn, named: &str, message: ChatMessage) -> Result<Self> {
        let context = &turn.context;
        let target = UsesTarget::read(&context.loaded.app, named);
        Ok(Self {
            core: context.core.clone(),
            loaded: context.loaded.clone(),
            request: context.request.clone(),
            ids: context.ids.clone(),
            settings: context.settings.clone(),
            target: target.map_err(|why| Error::new(ErrorCode::ConfigError, why))?,
            wanted: UsesRequest {
                key: "title",
                arguments: json!({"messages": [message]}),
                messages: vec![message],
            },
            trace: turn.output.trace.clone(),
            calls: turn.journal.usage.totals().calls,
        })
    }

    async fn write(self) -> Result<()> {
        // The turn has given the conversation back, and may not be the only one there: what is used is booked apart from it.
        let request = &self.request;
        let ambit = self.loaded.acting_as(&request.authorized.caller());
        let session = chats::open_for(&ambit, request, &request.agent).await?;
        let (space, driver) = session.context().place();
        let chat = UntitledChat::read(driver, space).await?;
        let (target, wanted) = (self.target.clone(), self.wanted.clone());
        let turn = self.turn(session.clone())?;
        let run = AgentRun::first(&turn)?;
        let client = turn.uses_client(&run, "title", turn.output.root.clone())?;
        let answer = timeout(PATIENCE, client.ask(&target, wanted)).await;
        turn.journal.usage.wait_for_calls().await;
        if session.history().state().await? == StorageState::Absent {
            // The chat was removed meanwhile, and what is kept of it does not begin anew.
            session.context().discard();
            return Ok(());
        }
        let booked = session.context().save().await;
        let slow = |_| Error::new(ErrorCode::Timeout, "the agent has not answered in time");
        let answer = answer.map_err(slow).and_then(|asked| {
            asked.map_err(|failure| match failure {
                UsesFailure::Unknown(why) => Error::new(ErrorCode::ConfigError, why),
                UsesFailure::Failed(error) => error,
            })
        });
        let title = answer.as_ref().map(title).unwrap_or_default();
        let title = Some(title.as_str()).filter(|title| !title.is_empty());
        // What the calls were made of is of the chat as it was, so it is stored on the conditions of the title, if there is none too.
        let noted = turn.journal.usage.take_behind();
        let stored = chat.retitle(title, noted).await;
        answer?;
        stored?;
        booked?;
        Ok(())
    }

    /// A turn that is not begun: whoever is asked from inside it finds what it was like.
    fn turn(self, session: LiveAgent) -> Result<Turn> {
        let (_, hooks) = self.loaded.agent(&self.request.agent)?;
        let clock = self.core.stores.options().clock.clone();
        let parts = TurnParts {
            limits: *hooks.limits(),
            core: self.core,
            loaded: self.loaded,
            session,
            request: self.request,
            ids: self.ids,
            started_at: clock.now(),
        };
        let mut turn = parts.behind(self.trace, self.calls)?;
        turn.context.settings = self.settings;
        Ok(turn)
    }
}

/// The beginning of what was asked and of what was answered, as a message.
fn excerpt(request: &TurnRequest, response: &TurnResponse) -> ChatMessage {
    let question = chats::opening(&request.messages);
    let answer = match &response.next {
        Value::Null => {
            let completion = response.completion.as_ref();
            let content = completion.map(|completion| completion.content.words());
            content.unwrap_or_default()
        }
        next => words(next),
    };
    let beginning = |text: &str| text.chars().take(EXCERPT).collect::<String>();
    let (question, answer) = (beginning(&question), beginning(&answer));
    ChatMessage::user(format!("user: {question}\n\nassistant: {answer}"))
}

/// The title in an answer, without the quotes that models like to put around it.
fn title(answer: &Value) -> String {
    let named = answer.get("title").filter(|title| title.is_string());
    let text = words(named.unwrap_or(answer));
    let quotes = ['"', '\'', '“', '”', '「', '」', '«', '»'];
    text.trim().trim_matches(quotes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_found_in_answers() {
        for (answer, expected) in [
            (json!(" \"A cat\" \n"), "A cat"),
            (json!({"title": "“A cat”"}), "A cat"),
            (json!({"text": "A cat"}), "A cat"),
            (json!(null), ""),
        ] {
            assert_eq!(title(&answer), expected);
        }
    }
}
