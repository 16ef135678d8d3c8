//! Titles of chats: behind the first turn the agent that `uses.title` names is asked for one. Nobody waits for it, and what
//! goes wrong leaves the chat with the beginning of its first message.

use super::agent_run::AgentRun;
use super::next::TurnResponse;
use super::open::TurnParts;
use super::usage::TurnUsage;
use super::{Turn, TurnSettings, offered_tools};
use crate::error::{Error, ErrorCode, Result};
use crate::journal::TurnIds;
use crate::loaded_app::LoadedApp;
use crate::outbox::Outbox;
use crate::request::TurnRequest;
use crate::runtime::RuntimeCore;
use crate::stream::{self, StreamWriter};
use crate::trace::Trace;
use crate::uses::{UsesClient, UsesFailure, UsesRequest, UsesTarget, words};
use crate::{chat_message, chats};
use ambit_storage::LiveAgent;
use ambit_storage::storage::StorageState;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Titles that are written at once; where more are wanted, chats keep the beginning of their first message.
pub(crate) const AT_ONCE: usize = 8;
/// How long writing one may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Letters of what was asked and of what was answered that the agent sees.
const EXCERPT: usize = 4_000;

/// What it takes to write a title.
struct TitleWriter {
    core: Arc<RuntimeCore>,
    loaded: Arc<LoadedApp>,
    request: TurnRequest,
    ids: TurnIds,
    settings: TurnSettings,
    value: String,
    wanted: UsesRequest,
}

impl Turn {
    /// Has a title written for a chat that has begun with this turn, if an agent is named for that.
    pub(super) fn entitle(&self, response: &TurnResponse) {
        let is_kept = !self.request.skip.history && !self.session.context().is_temporary();
        let is_first = self.history.is_empty() && is_kept;
        let named = self.loaded.app.defaults.uses.get("title");
        let named = named.and_then(Value::as_str).unwrap_or_default();
        if !is_first || matches!(named, "" | "disabled") {
            return;
        }
        let Ok(permit) = self.core.titles.clone().try_acquire_owned() else {
            tracing::debug!(
                turn.id = self.ids.request_id,
                "too many titles are being written"
            );
            return;
        };
        let entitling = self.entitling(named, response);
        self.core.spawn(async move {
            let _permit = permit;
            entitling.run().await;
        });
    }

    fn entitling(&self, named: &str, response: &TurnResponse) -> TitleWriter {
        let mut asked = self.request.messages.iter();
        let asked = asked.find(|chat| chat["role"] == "user");
        let asked = asked.map(chat_message::text).unwrap_or_default();
        let answered = match &response.next {
            Value::Null => chat_message::content_text(response.completion.get("content")),
            next => words(next),
        };
        let excerpt = |text: &str| text.chars().take(EXCERPT).collect::<String>();
        let text = format!(
            "user: {}\n\nassistant: {}",
            excerpt(&asked),
            excerpt(&answered)
        );
        let message = json!({"role": "user", "content": text});
        TitleWriter {
            core: self.core.clone(),
            loaded: self.loaded.clone(),
            request: self.request.clone(),
            ids: self.ids.clone(),
            settings: self.settings.clone(),
            value: named.to_owned(),
            wanted: UsesRequest {
                key: "title",
                arguments: json!({"messages": [message]}),
                messages: vec![message],
            },
        }
    }
}

impl TitleWriter {
    async fn run(self) {
        let id = self.ids.request_id.clone();
        if let Err(error) = self.write().await {
            tracing::warn!(turn.id = id, %error, "a chat keeps the beginning of its first message as its title");
        }
    }

    async fn write(self) -> Result<()> {
        let means = UsesTarget::read(&self.loaded.app, &self.value);
        let means = means.map_err(|why| Error::new(ErrorCode::ConfigError, why))?;
        // The turn has given the conversation back, and may not be the only one there: what is used is booked apart from it.
        let who = &self.request.authorized;
        let ambit = self.loaded.acting_as(&who.caller());
        let chat = Some(self.ids.chat_id.as_str());
        let session = chats::open(&ambit, who, &self.request.agent, chat).await?;
        let wanted = self.wanted.clone();
        let turn = self.turn(session.clone())?;
        let answer = timeout(PATIENCE, turn.asking()?.ask(&means, wanted)).await;
        turn.usage.wait_for_calls().await;
        if session.history().state().await? == StorageState::Absent {
            // The chat was removed meanwhile, and what is kept of it does not begin anew.
            session.context().discard();
            return Ok(());
        }
        let booked = session.context().save().await;
        let slow = |_| Error::new(ErrorCode::Timeout, "the agent has not answered in time");
        let answer = answer.map_err(slow)?.map_err(|missed| match missed {
            UsesFailure::Unknown(why) => Error::new(ErrorCode::ConfigError, why),
            UsesFailure::Failed(error) => error,
        })?;
        let title = title(&answer);
        if !title.is_empty() {
            let (space, driver) = session.context().place();
            chats::retitle(driver.as_ref(), &space, &title).await?;
        }
        booked?;
        Ok(())
    }

    /// A turn that is not begun: whoever is asked from inside it finds what it was like. Nothing of it is kept.
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
        let names = parts.names();
        let log = StreamWriter::open(
            parts.place(names.events()),
            stream::StreamOptions::transient(),
        );
        let trace = Trace::off(&names.request_id);
        let outbox = Outbox::new(log.clone(), parts.limits.outbox, clock);
        let inside = (TurnUsage::new(parts.session.clone(), names, None), None);
        let mut turn = parts.turn(outbox, (trace, log), inside)?;
        turn.settings = self.settings;
        Ok(turn)
    }
}

impl Turn {
    fn asking(&self) -> Result<UsesClient> {
        let leg = AgentRun::first(self)?;
        let step = ("title", self.root());
        Ok(UsesClient {
            scope: self.scope_below(&leg, step.clone())?,
            toolbox: self.core.tools(&self.loaded),
            caller: offered_tools::caller(self, &leg, step)?,
        })
    }
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
