//! The memory of a conversation, and the events of its index row.

use super::Context;
use crate::Result;
use crate::bus::EventMetadata;
use crate::directory::TrackRequest;
use crate::memory::{ChatMemoryOwner, Memory, MemorySettings, RowListener, RowTracking, SCOPE};
use crate::session::ambit::Ambit;
use crate::session::events::{IdentityAdded, IdentityAdding};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Context {
    /// What the conversation remembers, `ctx.memory.chat`: one for all who are in the conversation.
    pub fn memory(&self) -> Result<Memory> {
        self.memory_with(self.ambit().settings().memory)
    }

    /// The same memory, under other settings.
    pub fn memory_with(&self, settings: MemorySettings) -> Result<Memory> {
        let history = self.session.state().history.clone();
        let identity = history.identity.with_scope(SCOPE)?;
        let placement = &history.placement;
        let mut tracking = None;
        if !self.is_temporary() {
            let index = self.ambit().stores().index()?;
            let is_elsewhere = index.names() != placement.names();
            let track = self.session.track(&identity, placement);
            tracking = Some(RowTracking {
                track,
                index: is_elsewhere.then(|| index.driver().clone()),
            });
        }
        let conversation = ChatMemoryOwner { identity, tracking };
        let memory = Memory::chat(
            placement.driver().clone(),
            &self.session.tenant,
            Some(conversation),
            settings,
        )?;
        if self.is_temporary() {
            let clock = &self.ambit().stores().options().clock;
            return Ok(memory.temporary(clock, self.ambit().settings().temporary_life));
        }
        let events = MemoryRowEvents {
            ambit: self.ambit().clone(),
            about: self.about(),
            labels: self.session.state().memory_labels.clone(),
        };
        Ok(memory.with_row_listener(Arc::new(events)))
    }
}

/// The events of the row of a session's memory. It does not hold the session, whose lease ends with it, whoever still has the memory.
struct MemoryRowEvents {
    ambit: Ambit,
    about: EventMetadata,
    labels: Arc<Mutex<Option<BTreeMap<String, String>>>>,
}

impl MemoryRowEvents {
    fn about(&self) -> EventMetadata {
        let clock = &self.ambit.stores().options().clock;
        self.about.next(clock.now())
    }
}

impl RowListener for MemoryRowEvents {
    fn adding<'a>(
        &'a self,
        row: &'a TrackRequest,
    ) -> BoxFuture<'a, Result<BTreeMap<String, String>>> {
        Box::pin(async move {
            let known = self.labels.lock().clone();
            if let Some(labels) = known {
                return Ok(labels);
            }
            let event = IdentityAdding {
                about: self.about(),
                storage: SCOPE.to_owned(),
                identity: row.identity.clone(),
                labels: row.labels.clone(),
            };
            // Whatever a listener makes of the identity: it is that of the history.
            let labels = self.ambit.bus().ask(event).await?.labels;
            *self.labels.lock() = Some(labels.clone());
            Ok(labels)
        })
    }

    fn added<'a>(&'a self, row: &'a TrackRequest, id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let event = IdentityAdded {
                about: self.about(),
                identity: row.identity.clone(),
                id: id.to_owned(),
            };
            self.ambit.bus().notify(event).await;
        })
    }
}
