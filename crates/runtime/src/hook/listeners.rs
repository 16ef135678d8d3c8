//! Listeners of an agent: the functions of `src/events.ts`, each named like its event.

use super::agent_script::{AgentScript, AgentScriptLoader};
use super::events::EVENTS;
use crate::event::{EventPayload, described};
use crate::log_words::EchoFilter;
use ambit_storage::event::{After, Before, EventBus, ListenerOptions, Verdict};
use ambit_storage::{Error, Result};
use futures::FutureExt;
use serde_json::Value;
use std::sync::Arc;

/// The listeners of one agent. They hear of that agent's sessions alone.
pub struct EventListeners {
    script: AgentScript,
}

/// How scripts see an event, and what they may change of it.
pub struct EventMapping<E> {
    /// Its fields.
    pub payload: fn(&E) -> EventPayload,
    /// Puts a changed field; false for one that cannot be changed.
    pub change: fn(&mut E, &str, Value) -> Result<bool>,
}

impl EventListeners {
    /// Compiles an agent's listeners; `None` if it has none.
    pub fn load(loader: &AgentScriptLoader<'_>) -> crate::error::Result<Option<Arc<Self>>> {
        let script = loader.load(loader.agent.listeners.as_ref())?;
        Ok(script.map(|script| Arc::new(Self { script })))
    }

    /// Listens to each event that the script has a function for.
    pub fn register(self: &Arc<Self>, bus: &EventBus) {
        for row in EVENTS {
            if self.script.has(row.name) {
                (row.listen)(self, bus);
            }
        }
    }

    /// Asks the script before an event of this type.
    pub fn before<E: Before>(self: &Arc<Self>, bus: &EventBus, mapping: EventMapping<E>) {
        let own = Arc::clone(self);
        let mapping = Arc::new(mapping);
        bus.before_with(self.options(), move |event: &mut E| {
            let (own, mapping) = (Arc::clone(&own), Arc::clone(&mapping));
            async move { own.ask(event, &mapping).await }.boxed()
        });
    }

    /// Tells the script after an event of this type.
    pub fn after<E: After>(self: &Arc<Self>, bus: &EventBus, payload: fn(&E) -> EventPayload) {
        let own = Arc::clone(self);
        bus.after_with(self.options(), move |event: Arc<E>| {
            let own = Arc::clone(&own);
            async move {
                if event.about().agent_name == own.script.agent() {
                    let given = described(event.about(), payload(&event));
                    let told = own.call(E::NAME, given).await;
                    told.map_err(|error| own.failure(E::NAME, &error, payload(&event)))?;
                }
                Ok(())
            }
            .boxed()
        });
    }

    fn options(&self) -> ListenerOptions {
        ListenerOptions {
            name: self.script.shown_name().to_owned(),
            ..ListenerOptions::default()
        }
    }

    async fn ask<E: Before>(&self, event: &mut E, mapping: &EventMapping<E>) -> Result<Verdict> {
        if event.about().agent_name != self.script.agent() {
            return Ok(Verdict::Continue);
        }
        let payload = described(event.about(), (mapping.payload)(event));
        let answer = self.call(E::NAME, payload.clone()).await;
        let answer =
            answer.map_err(|error| self.failure(E::NAME, &error, (mapping.payload)(event)))?;
        let wrong = |reason: String| {
            let field = format!("{} {}", self.script.shown_name(), E::NAME);
            Error::invalid(field, reason)
        };
        let fields = match answer {
            Value::Null => return Ok(Verdict::Continue),
            Value::Object(fields) => fields,
            _ => {
                let what = "must return nothing, changed fields or {veto: reason}";
                return Err(wrong(what.to_owned()));
            }
        };
        if let Some(reason) = fields.get("veto").filter(|reason| !reason.is_null()) {
            let reason = reason.as_str().filter(|reason| !reason.is_empty());
            let reason = reason.ok_or_else(|| wrong("must return a text as veto".to_owned()))?;
            return Ok(Verdict::veto(reason));
        }
        for (name, value) in fields {
            match payload.get(&name) {
                None if name == "veto" => {}
                None => {
                    let known: Vec<&str> = payload.keys().map(String::as_str).collect();
                    let known = known.join(", ");
                    let what = format!("returned the unknown field \"{name}\"; known are {known}");
                    return Err(wrong(what));
                }
                Some(before) if *before == value => {}
                Some(_) => {
                    (mapping.change)(event, &name, value)?;
                }
            }
        }
        Ok(Verdict::Continue)
    }

    async fn call(&self, name: &str, given: EventPayload) -> crate::error::Result<Value> {
        let outcome = self.script.call(name, vec![Value::Object(given)]).await?;
        Ok(outcome.and_then(|it| it.value).unwrap_or_default())
    }

    /// Why a function has failed. It goes into the log, and events tell what people and models say: that is left out.
    fn failure(&self, name: &str, error: &crate::error::Error, told: EventPayload) -> Error {
        let message = EchoFilter::of(&Value::Object(told)).apply(&error.message);
        Error::internal(format!("{} {name}: {message}", self.script.shown_name()))
    }
}
