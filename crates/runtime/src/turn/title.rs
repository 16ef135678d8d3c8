//! Titles of chats: behind the first turn the agent that `uses.title` names is asked for one. Nobody waits for it, and what
//! goes wrong leaves the chat with the beginning of its first message.

use super::fork::Asker;
use super::leg::Leg;
use super::meter::Spent;
use super::next::Response;
use super::{Turn, tools};
use crate::access::Authorized;
use crate::ctx::Scope;
use crate::error::{Code, Error, Result};
use crate::runtime::Core;
use crate::tool::Caller;
use crate::trace::Trace;
use crate::uses::{Asking, Means, Missed, Wanted, words};
use crate::{chats, message};
use ambit_storage::storage::State;
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
struct Entitling {
    core: Arc<Core>,
    value: String,
    wanted: Wanted,
    scope: Scope,
    caller: Caller,
    asker: Asker,
    agent: String,
    who: Authorized,
    chat: String,
}

impl Turn {
    /// Has a title written for a chat that has begun with this turn, if an agent is named for that.
    pub(super) fn entitle(&self, response: &Response) {
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
        let id = self.ids.request_id.clone();
        match self.entitling(named, response) {
            Ok(entitling) => self.core.spawn(async move {
                let _permit = permit;
                entitling.run(&id).await;
            }),
            Err(error) => tell(&id, &error),
        }
    }

    fn entitling(&self, named: &str, response: &Response) -> Result<Entitling> {
        let leg = Leg::first(self)?;
        let node = Trace::off(&self.ids.request_id).root();
        let mut asked = self.request.messages.iter();
        let asked = asked.find(|chat| chat["role"] == "user");
        let asked = asked.map(message::text).unwrap_or_default();
        let answered = match &response.next {
            Value::Null => message::content_text(response.completion.get("content")),
            next => words(next),
        };
        let excerpt = |text: &str| text.chars().take(EXCERPT).collect::<String>();
        let text = format!(
            "user: {}\n\nassistant: {}",
            excerpt(&asked),
            excerpt(&answered)
        );
        let message = json!({"role": "user", "content": text});
        Ok(Entitling {
            core: self.core.clone(),
            value: named.to_owned(),
            wanted: Wanted {
                key: "title",
                arguments: json!({"messages": [message]}),
                messages: vec![message],
            },
            scope: Scope::clone(&*self.scope_below(&leg, ("title", node.clone()))?),
            caller: tools::caller(self, &leg, ("title", node))?,
            asker: self.asker(&leg, "title"),
            agent: self.request.agent.clone(),
            who: self.request.authorized.clone(),
            chat: self.ids.chat_id.clone(),
        })
    }
}

impl Entitling {
    async fn run(self, request_id: &str) {
        if let Err(error) = self.write().await {
            tell(request_id, &error);
        }
    }

    async fn write(mut self) -> Result<()> {
        let loaded = self.core.loaded();
        let means = Means::read(&loaded.app, &self.value);
        let means = means.map_err(|why| Error::new(Code::ConfigError, why))?;
        // The turn has given the conversation back, and may not be the only one there: what is used is booked apart from it.
        let ambit = loaded.acting_as(&self.who.caller());
        let session = chats::open(&ambit, &self.who, &self.agent, Some(&self.chat)).await?;
        self.asker.session = session.clone();
        let spent = Arc::new(Spent::default());
        self.asker.spent = spent.clone();
        self.asker.calls = None;
        self.scope.ask = Arc::new(self.asker);
        let asking = Asking {
            scope: Arc::new(self.scope),
            toolbox: self.core.tools(&loaded),
            caller: self.caller,
        };
        let answer = timeout(PATIENCE, asking.ask(&means, self.wanted)).await;
        spent.settled().await;
        if session.history().state().await? == State::Absent {
            // The chat was removed meanwhile, and what is kept of it does not begin anew.
            session.context().discard();
            return Ok(());
        }
        let booked = session.context().save().await;
        let slow = |_| Error::new(Code::Timeout, "the agent has not answered in time");
        let answer = answer.map_err(slow)?.map_err(|missed| match missed {
            Missed::Unknown(why) => Error::new(Code::ConfigError, why),
            Missed::Failed(error) => error,
        })?;
        let title = title(&answer);
        if !title.is_empty() {
            let (space, driver) = session.context().place();
            chats::retitle(driver.as_ref(), &space, &title).await?;
        }
        booked?;
        Ok(())
    }
}

/// The title in an answer, without the quotes that models like to put around it.
fn title(answer: &Value) -> String {
    let named = answer.get("title").filter(|title| title.is_string());
    let text = words(named.unwrap_or(answer));
    let quotes = ['"', '\'', '“', '”', '「', '」', '«', '»'];
    text.trim().trim_matches(quotes).trim().to_owned()
}

fn tell(request_id: &str, error: &Error) {
    tracing::warn!(turn.id = request_id, %error, "a chat keeps the beginning of its first message as its title");
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
