//! The events of storage and of turns as scripts and the feed see them: one row each.

use super::listeners::{EventListeners, EventMapping};
use crate::event::EventPayload;
use crate::feed::FeedListener;
use crate::log_words::EchoFilter;
use ambit_storage::event::EventBus;
use ambit_storage::{
    BulkReport, Context, Error, Json, Result, SaveReport, SessionIdentity, suggestion,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

/// An event that scripts can listen to.
pub struct EventDefinition {
    /// Its name, which is that of the function that hears of it.
    pub name: &'static str,
    /// When it is told, in a line.
    pub about: &'static str,
    /// What it says beside what every event says.
    pub fields: &'static [&'static str],
    /// Which of that a listener may change.
    pub changed: &'static [&'static str],
    /// Makes a script's function listen to it.
    pub listen: fn(&Arc<EventListeners>, &EventBus),
    /// Makes the feed listen to it, which tells of what has happened alone.
    pub feed: Option<fn(&FeedListener, &EventBus)>,
}

/// Makes rows. Each field is shown by a function; those in brackets may be changed.
macro_rules! events {
    ($($phase:ident $name:ident {
        $($field:ident: $show:ident,)*
    } [$($changed:ident)*])+) => {
        /// The events that scripts can listen to.
        pub const EVENTS: &[EventDefinition] = &[
            $(EventDefinition {
                name: stringify!($name),
                about: <known::$name as ambit_storage::event::Event>::ABOUT,
                fields: &[$(stringify!($field)),*],
                changed: &[$(stringify!($changed)),*],
                listen: |listeners, bus| events!(
                    @$phase listeners, bus, $name, [$(($field, $show))*], [$($changed)*]
                ),
                feed: events!(@feed $phase $name, [$(($field, $show))*]),
            },)+
        ];
    };
    (@feed before $name:ident, $fields:tt) => { None };
    (@feed after $name:ident, $fields:tt) => {
        Some(|listener, bus| events!(@after listener, bus, $name, $fields, []))
    };
    (@after $listeners:ident, $bus:ident, $name:ident, [$(($field:ident, $show:ident))*], []) => {
        $listeners.after::<known::$name>($bus, |_event| {
            EventPayload::from_iter([$((stringify!($field).to_owned(), $show(&_event.$field)),)*])
        })
    };
    (@before $listeners:ident, $bus:ident, $name:ident, [$(($field:ident, $show:ident))*], [$($changed:ident)*]) => {
        $listeners.before::<known::$name>($bus, EventMapping {
            payload: |_event| {
                EventPayload::from_iter([$((stringify!($field).to_owned(), $show(&_event.$field)),)*])
            },
            change: |_event, name, _value| match name {
                $(stringify!($changed) => {
                    _event.$changed = read(name, _value)?;
                    Ok(true)
                })*
                _ => Ok(false),
            },
        })
    };
}

events! {
    after ContextCreated { context: context, } []
    after StorageRegistered { context: context, prefix: plain, } []
    before ContextReading { context: context, } []
    after ContextRead { context: context, } []
    before ContextSaving { context: context, staged: plain, } [staged]
    after ContextSaved { context: context, report: saved, } []
    before ContextClearing { context: context, } []
    after ContextCleared { context: context, } []
    before ContextRemoving { context: context, } []
    after ContextRemoved { context: context, report: removed, } []
    before IdentityAdding { storage: plain, identity: plain, labels: plain, } [identity labels]
    after IdentityAdded { identity: plain, id: plain, } []
    before IdentityRemoving { identity: plain, } []
    after IdentityRemoved { identity: plain, } []
    before IdentityStorageSaving { storage: plain, adding: plain, removing: plain, } []
    after IdentityStorageSaved { storage: plain, } []
    after IdentityStorageLoaded { storage: plain, identities: plain, } []
    before MessageAdding { storage: plain, message: plain, } [message]
    after MessageAdded { message: plain, sequence: plain, } []
    after ChatHistoryLoaded { storage: plain, count: plain, messages: plain, } []
    before ChatHistorySaving { storage: plain, messages: plain, } [messages]
    after ChatHistorySaved { storage: plain, sequences: plain, } []
    before ChatHistoryTruncating { strategy: plain, tokens_before: plain, tokens_planned: plain, } []
    after ChatHistoryTruncated {
        strategy: plain, tokens_before: plain, tokens_planned: plain, replaced: range, remaining: plain, overlay_id: plain,
    } []
    after UsageRecorded { record: plain, } []
    after AgentInitialized { } []
    after AgentCleared { } []
    after EngineError { provider: plain, error: plain, retried: plain, } []
    after ConversationStarted { } []
    after ConversationEnded { status: plain, message: plain, } []
    before BeforeReinjectingInstructions { instructions: plain, } [instructions]
    before BeforeSend { message: plain, } [message]
    after AfterSend { message: plain, } []
    before BeforeResponse { request: plain, } [request]
    after AfterResponse { response: plain, } []
    before BeforeToolExecution { tool: plain, call_id: plain, arguments: plain, } [arguments]
    after AfterToolExecution { tool: plain, call_id: plain, arguments: plain, result: plain, error: plain, } []
    after ToolChanged { tool: plain, added: plain, } []
    before BeforeStructuredOutput { response: plain, } [response]
    before BeforeSaveHistory { messages: plain, } []
}

/// Has the feed listen to each event that it tells of.
pub fn listen_for_feed(listener: &FeedListener, bus: &EventBus) {
    for listen in EVENTS.iter().filter_map(|row| row.feed) {
        listen(listener, bus);
    }
}

/// Reads names of events of the feed, with commas between them.
pub fn feed_types(text: &str) -> crate::Result<Vec<&'static str>> {
    let known = || EVENTS.iter().filter(|row| row.feed.is_some());
    let one = |name: &str| {
        let found = known().find(|row| row.name == name);
        let hint = suggestion::hint(name, known().map(|row| row.name));
        let refused = || {
            crate::Error::invalid(
                "type",
                format!("type \"{name}\" is no event of the feed{hint}"),
            )
        };
        found.map(|row| row.name).ok_or_else(refused)
    };
    text.split(',').map(|name| one(name.trim())).collect()
}

/// All events by name.
mod known {
    pub use crate::event::*;
    pub use ambit_storage::event::*;
}

fn plain<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn context(context: &Context) -> Value {
    json!({"identity": context.identity(), "storages": context.names(), "is_temporary": context.is_temporary()})
}

fn saved(report: &SaveReport) -> Value {
    let degraded = report.degraded.iter();
    let degraded = degraded.map(|(store, reason)| json!({"store": store, "reason": reason}));
    json!({
        "written": report.written, "rows_added": report.rows_added, "degraded": degraded.collect::<Vec<Value>>(),
    })
}

fn removed(report: &BulkReport) -> Value {
    let why =
        |identity: &SessionIdentity, reason: &str| json!({"identity": identity, "reason": reason});
    let skipped = report
        .skipped
        .iter()
        .map(|(identity, reason)| why(identity, reason));
    let failed = report.failed.iter().map(|(identity, error)| {
        let error = crate::Error::from(error.clone());
        why(identity, &error.message)
    });
    json!({
        "done": report.done, "unchanged": report.unchanged, "skipped": skipped.collect::<Vec<_>>(),
        "failed": failed.collect::<Vec<_>>(), "shared_with": report.shared_with,
    })
}

fn range(range: &std::ops::RangeInclusive<u64>) -> Value {
    json!([range.start(), range.end()])
}

/// A changed field in its own type. Why it is none goes into the log, without what the field says.
fn read<T: FromScript>(name: &str, value: Value) -> Result<T> {
    let said = EchoFilter::of(&value);
    T::of(value).map_err(|reason| {
        let reason = said.apply(&reason);
        Error::invalid(name, format!("cannot be that: {reason}"))
    })
}

/// What a script's value becomes.
trait FromScript: Sized {
    fn of(value: Value) -> std::result::Result<Self, String>;
}

impl FromScript for Json {
    fn of(value: Value) -> std::result::Result<Self, String> {
        Self::of(&value).map_err(|error| error.to_string())
    }
}

macro_rules! from_json {
    ($($kind:ty),+) => {$(
        impl FromScript for $kind {
            fn of(value: Value) -> std::result::Result<Self, String> {
                parsed(value)
            }
        }
    )+};
}

from_json!(
    ambit_storage::SessionIdentity,
    std::collections::BTreeMap<String, String>,
    std::collections::BTreeMap<String, Vec<Json>>,
    Vec<Json>,
    crate::chat::ChatMessage,
    Vec<crate::chat::ChatMessage>,
    crate::chat::ModelCall,
    Value
);

fn parsed<T: DeserializeOwned>(value: Value) -> std::result::Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}
