//! The events that contexts and storages fire. Fields marked ✎ are the ones a listener may change; changes to others
//! are without effect. A `storage` is named by its prefix, and `identity` in `about` is the one of the session.

use super::context::Context;
use crate::identity::SessionIdentity;
use crate::json::Json;
use crate::report::{BulkReport, SaveReport};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// One struct per event: its phase, `Before` or `After`, what it tells, and its payload behind `about`.
#[macro_export]
macro_rules! events {
    ($($(#[doc = $doc:literal])+ $phase:ident $name:ident {
        $($(#[doc = $field_doc:literal])+ $field:ident: $type:ty,)*
    })+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Debug)]
        pub struct $name {
            /// What every event says.
            pub about: $crate::event::EventMetadata,
            $($(#[doc = $field_doc])+ pub $field: $type,)*
        }

        impl $crate::event::Event for $name {
            const NAME: &'static str = stringify!($name);
            const ABOUT: &'static str = concat!($($doc),+);

            fn about(&self) -> &$crate::event::EventMetadata {
                &self.about
            }
        }

        impl $crate::event::$phase for $name {}
    )+};
}

events! {
    /// A context was made.
    After ContextCreated {
        /// The context.
        context: Context,
    }
    /// A context has a storage more.
    After StorageRegistered {
        /// The context.
        context: Context,
        /// The prefix, by which the context gives the storage.
        prefix: String,
    }
    /// A context is going to read its storages again.
    Before ContextReading {
        /// The context.
        context: Context,
    }
    /// A context has read its storages.
    After ContextRead {
        /// The context.
        context: Context,
    }
    /// A context is going to save: the last chance to change what becomes durable.
    Before ContextSaving {
        /// The context.
        context: Context,
        /// ✎ The staged items of the dirty storages, by prefix.
        staged: BTreeMap<String, Vec<Json>>,
    }
    /// What was staged is durable.
    After ContextSaved {
        /// The context.
        context: Context,
        /// What was written.
        report: SaveReport,
    }
    /// A context is going to stage the clearing of its storages.
    Before ContextClearing {
        /// The context.
        context: Context,
    }
    /// The storages of a context are empty, durably.
    After ContextCleared {
        /// The context.
        context: Context,
    }
    /// A context is going to remove its data and its index rows.
    Before ContextRemoving {
        /// The context.
        context: Context,
    }
    /// The data and the index rows of a context are gone.
    After ContextRemoved {
        /// The context.
        context: Context,
        /// What was removed, as the reports of removals are written.
        report: BulkReport,
    }
}

events! {
    /// An identity is going to be tracked. Fired at every registration, also of one that is tracked already.
    Before IdentityAdding {
        /// The storage.
        storage: String,
        /// ✎ The identity; its scope must stay as it is.
        identity: SessionIdentity,
        /// ✎ The labels of its row.
        labels: BTreeMap<String, String>,
    }
    /// An identity is tracked that was not tracked before.
    After IdentityAdded {
        /// The identity.
        identity: SessionIdentity,
        /// The id of its row.
        id: String,
    }
    /// An identity is going to be removed.
    Before IdentityRemoving {
        /// The identity.
        identity: SessionIdentity,
    }
    /// An identity is removed.
    After IdentityRemoved {
        /// The identity.
        identity: SessionIdentity,
    }
    /// Index rows are going to change.
    Before IdentityStorageSaving {
        /// The storage.
        storage: String,
        /// The identities whose rows will be added or touched.
        adding: Vec<SessionIdentity>,
        /// The identities whose rows will be removed.
        removing: Vec<SessionIdentity>,
    }
    /// Index rows have changed.
    After IdentityStorageSaved {
        /// The storage.
        storage: String,
    }
    /// A page of the index was read.
    After IdentityStorageLoaded {
        /// The storage.
        storage: String,
        /// The page.
        identities: Vec<SessionIdentity>,
    }
}

events! {
    /// A message is going to be added.
    Before MessageAdding {
        /// The storage.
        storage: String,
        /// ✎ The message.
        message: Json,
    }
    /// A message is stored.
    After MessageAdded {
        /// The message.
        message: Json,
        /// Its place in the history.
        sequence: u64,
    }
    /// Messages were read from the store.
    After ChatHistoryLoaded {
        /// The storage.
        storage: String,
        /// How many messages the history has.
        count: u64,
        /// The messages that were read.
        messages: Vec<Json>,
    }
    /// Staged messages are going to be stored.
    Before ChatHistorySaving {
        /// The storage.
        storage: String,
        /// ✎ The staged messages.
        messages: Vec<Json>,
    }
    /// Staged messages are stored.
    After ChatHistorySaved {
        /// The storage.
        storage: String,
        /// Their places in the history.
        sequences: Vec<u64>,
    }
    /// The view of a history is going to change.
    Before ChatHistoryTruncating {
        /// The strategy's name.
        strategy: String,
        /// The tokens of the next request as it is.
        tokens_before: u64,
        /// The tokens it is planned to have.
        tokens_planned: u64,
    }
    /// The view of a history has changed; the archive has not.
    After ChatHistoryTruncated {
        /// The strategy's name.
        strategy: String,
        /// The tokens that the next request would have had.
        tokens_before: u64,
        /// The tokens it was planned to have.
        tokens_planned: u64,
        /// The first and the last sequence that the view leaves out or puts into other words.
        replaced: RangeInclusive<u64>,
        /// How many messages the view has.
        remaining: u64,
        /// The overlay, by which the view can be restored.
        overlay_id: String,
    }
    /// A usage record is stored.
    After UsageRecorded {
        /// The record.
        record: Json,
    }
}

events! {
    /// An agent is ready to work.
    After AgentInitialized {}
    /// The history of an agent was cleared by the agent's own `clear`, durably.
    After AgentCleared {}
    /// A model's provider failed, or a step around it did.
    After EngineError {
        /// The provider.
        provider: String,
        /// What it said, without credentials.
        error: String,
        /// Whether the call is made again.
        retried: bool,
    }
}

impl Context {
    pub(crate) async fn tell_cleared(&self) {
        let event = ContextCleared {
            about: self.about(),
            context: self.clone(),
        };
        self.ambit().bus().notify(event).await;
    }

    pub(crate) async fn tell_saved(&self, report: SaveReport) {
        let event = ContextSaved {
            about: self.about(),
            context: self.clone(),
            report,
        };
        self.ambit().bus().notify(event).await;
    }

    /// Tells that index rows have changed.
    pub(crate) async fn tell_index_saved(&self, storage: String) {
        let about = self.about();
        let event = IdentityStorageSaved { about, storage };
        self.ambit().bus().notify(event).await;
    }
}
