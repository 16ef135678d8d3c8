//! What a turn gives to its parts: listeners, the scope of scripts, a voice.

use super::Turn;
use super::leg::Leg;
use crate::ctx::{Memories, Properties, Scope};
use crate::error::Result;
use crate::journal::Step;
use crate::live::{Stop, interrupt_event};
use crate::message;
use crate::outbox::Speaker;
use crate::runtime::Interrupt;
use ambit_storage::event::{About, After, Before};
use ambit_storage::memory::Memory;
use ambit_storage::memory::SCOPE;
use serde_json::{Value, json};
use std::sync::Arc;

impl Turn {
    pub(super) fn now(&self) -> i64 {
        self.core.stores.options().clock.now()
    }

    /// What the events of this turn say.
    pub(super) fn about(&self) -> About {
        let identity = self.session.context().identity().clone();
        let mut about = About::new(self.request.authorized.tenant(), identity, self.now());
        about.turn_id = Some(self.ids.request_id.clone());
        about.caller_id.clone_from(&self.request.authorized.user_id);
        about
    }

    pub(super) fn hears<E: ambit_storage::event::Event>(&self) -> bool {
        self.loaded.ambit.bus().is_heard::<E>()
    }

    pub(super) async fn ask<E: Before>(&self, event: E) -> Result<E> {
        Ok(self.loaded.ambit.bus().ask(event).await?)
    }

    pub(super) async fn announce<E: After>(&self, event: E) {
        self.loaded.ambit.bus().tell(event).await;
    }

    /// The voice of this agent's models and tools.
    pub(super) fn speaker(&self, leg: &Leg) -> Speaker {
        self.outbox.speaker(&leg.agent.id, leg.call.skip.output)
    }

    /// What the scripts of this agent reach.
    pub(super) fn scope(&self, leg: &Leg) -> Result<Arc<Scope>> {
        let request = &self.request;
        let stores = &self.core.stores;
        let tenant = request.authorized.tenant();
        let driver = stores.for_scope(SCOPE)?.driver().clone();
        let settings = self.core.memory;
        let user = request.authorized.user_id.as_deref();
        let team = request.authorized.team_id.as_deref();
        let memories = Memories {
            user: Memory::user(driver.clone(), tenant, user, settings)?,
            team: Memory::team(driver, tenant, team, settings)?,
            chat: self.session.context().memory()?,
            context: self.memory.clone(),
        };
        let identity = self.session.context().identity();
        let properties = Properties {
            chat_id: self.ids.chat_id.clone(),
            assistant_id: leg.agent.id.clone(),
            request_id: self.ids.request_id.clone(),
            context_id: self.ids.context_id.clone(),
            locale: self.settings.locale.clone(),
            theme: self.settings.theme.clone(),
            route: self.settings.route.clone(),
            accept: request.origin.accept.clone(),
            referer: leg.referer(self),
            client: json!(request.origin.client),
            metadata: self.settings.metadata.clone(),
            authorized: request.authorized.clone(),
            identity: json!({
                "agent_name": identity.agent_name(), "chat_name": identity.chat_name(), "user_id": identity.user_id(),
                "group": identity.group(), "scope": identity.scope(), "key": identity.key(),
            }),
        };
        Ok(Arc::new(Scope::new(properties, memories, self.speaker(leg), self.trace.clone(), (self.loaded.app.clone(), leg.agent.clone()))))
    }

    /// Takes messages that came in while the turn ran: they count before this round. True where there were any.
    pub(super) async fn take_added(&mut self, leg: usize, round: usize) -> Result<bool> {
        let added = self.live.take_added();
        if added.is_empty() {
            return Ok(false);
        }
        self.store_answers().await?;
        let mut messages = Vec::new();
        for interrupt in added {
            self.outbox.frame(interrupt_event(&interrupt));
            self.settings.metadata.extend(interrupt.metadata);
            for (at, chat) in interrupt.messages.into_iter().enumerate() {
                let mut stored = message::from_chat(&format!("messages[{at}]"), &chat)?;
                stored.turn_id = Some(self.ids.request_id.clone());
                stored.extras.insert("type".to_owned(), "user_input".into());
                if !self.request.skip.history {
                    self.session.history().add_message(stored).await?;
                }
                messages.push(chat);
            }
        }
        self.record(Step::Added { leg, round, messages }).await?;
        Ok(true)
    }

    /// After a forced interrupt with messages: what was said stays, and counts for the next call with them.
    pub(super) async fn take_in_what_was_added(&mut self) {
        self.live.go_on();
    }

    /// What a reason to stop means: a wish from another node may come with messages.
    pub(super) async fn meaning_of(&self, stop: Stop) -> Stop {
        stop
    }
}

impl Leg {
    /// `ctx.referer` of this agent.
    pub(super) fn referer(&self, turn: &Turn) -> String {
        match self.at {
            0 => turn.request.origin.referer.clone(),
            _ => "agent".to_owned(),
        }
    }
}

/// An interrupt that stops the work at once.
pub(crate) fn is_restart(interrupt: &Interrupt) -> bool {
    interrupt.is_forced && !interrupt.messages.is_empty()
}

/// Nothing, as JSON.
pub(super) const NOTHING: Value = Value::Null;
