//! Shared state: the one value of a conversation's memory that the client sees change, and may replace, where the agent's package
//! names it (`client.state`).

use super::Turn;
use super::turn_parts::TurnParts;
use crate::error::Result;
use crate::json_patch::{JsonPointer, diff};
use crate::loaded_app::LoadedApp;
use crate::outbox::Outbox;
use ambit_storage::memory::Memory;
use futures::FutureExt;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Mutex;

/// The shared state of a turn, the agents that it calls included.
pub(super) struct SharedState {
    key: String,
    memory: Memory,
    outbox: Outbox,
    /// The value as the stream tells it so far; none before it has told one.
    told: Mutex<Option<Value>>,
}

impl SharedState {
    /// That of a turn, if the agent that was asked has one.
    pub fn of(parts: &TurnParts, outbox: &Outbox) -> Result<Option<Arc<Self>>> {
        let loaded: &LoadedApp = &parts.loaded;
        let (agent, _) = loaded.agent(&parts.request.agent)?;
        let Some(key) = agent.package.client.state.clone() else {
            return Ok(None);
        };
        let settings = loaded.memory("chat", parts.limits.memory_value);
        Ok(Some(Arc::new(Self {
            key,
            memory: parts.session.context().memory_with(settings)?,
            outbox: outbox.clone(),
            told: Mutex::default(),
        })))
    }

    /// Tells what the turn begins with: what the client has sent, or else what is remembered.
    async fn begin(&self, sent: Option<&Value>) -> Result<()> {
        let state = match sent {
            Some(sent) => sent.clone(),
            None => self.value().await?,
        };
        let mut told = self.told.lock().await;
        self.tell(&mut told, state);
        Ok(())
    }

    /// The memory, which tells of each write of the state before the write returns.
    pub fn watch(self: &Arc<Self>, memory: Memory) -> Memory {
        let state = self.clone();
        memory.with_listener(Arc::new(move || {
            let state = state.clone();
            async move { state.written().await }.boxed()
        }))
    }

    /// Something of the memory was written.
    async fn written(&self) {
        let mut told = self.told.lock().await;
        match self.value().await {
            Ok(value) => self.tell(&mut told, value),
            Err(error) => {
                tracing::warn!(%error, "a change of the shared state is not told to the client");
            }
        }
    }

    async fn value(&self) -> Result<Value> {
        let stored = self.memory.get(&self.key).await?;
        Ok(match stored {
            Some(stored) => stored.to()?,
            None => json!({}),
        })
    }

    /// Tells a value: as a whole at first, then what has changed.
    fn tell(&self, told: &mut Option<Value>, now: Value) {
        let data = match &*told {
            None => json!({"snapshot": now}),
            Some(before) => {
                let delta = diff(&JsonPointer::default(), before, &now);
                if delta.is_empty() {
                    return;
                }
                json!({"delta": delta})
            }
        };
        self.outbox.emit("state", data);
        *told = Some(now);
    }
}

impl Turn {
    /// Tells the client the state that its turn begins with.
    pub(super) async fn tell_shared_state(&self) -> Result<()> {
        let Some(state) = &self.output.shared_state else {
            return Ok(());
        };
        state.begin(self.context.request.state.as_ref()).await
    }

    /// Puts the state that the client has sent into memory. What an earlier attempt at `Create` has made of it does not count.
    pub(super) async fn replace_shared_state(&self) -> Result<()> {
        if let (Some(shared), Some(sent)) = (&self.output.shared_state, &self.context.request.state)
            && !self.context.is_nested()
        {
            shared.memory.set(&shared.key, sent, None).await?;
        }
        Ok(())
    }
}
