//! Events in two phases: a *before* listener may change the event or veto it, an *after* listener is told.

mod depth;
mod listener_fn;
mod listeners;

pub(crate) use depth::same as at_same_depth;
pub use listener_fn::{AfterFn, BeforeFn};
pub use listeners::{ListenerOptions, ListenerSwitch, OnError, Verdict};

use crate::clock::Millis;
use crate::debug::opaque_debug;
use crate::identity::SessionIdentity;
use crate::{Error, Result};
use futures::future::BoxFuture;
use listeners::{AfterListener, BeforeListener, Listener, ListenerRegistry, guarded};
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What every event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventMetadata {
    /// Unique.
    pub event_id: String,
    /// When it happened; orders nothing.
    pub at: Millis,
    /// The partition.
    pub tenant: String,
    /// The agent at work.
    pub agent_name: String,
    /// The identity it is about.
    pub identity: SessionIdentity,
    /// The turn, inside one.
    pub turn_id: Option<String>,
    /// Who acts, if it is not the system.
    pub caller_id: Option<String>,
}

impl EventMetadata {
    /// An event of the system about this identity, outside a turn.
    pub fn new(tenant: impl Into<String>, identity: SessionIdentity, at: Millis) -> Self {
        Self {
            event_id: event_id(),
            at,
            tenant: tenant.into(),
            agent_name: identity.agent_name().to_owned(),
            identity,
            turn_id: None,
            caller_id: None,
        }
    }

    /// The same for another event: only the id and the time are new.
    pub fn next(&self, at: Millis) -> Self {
        Self {
            event_id: event_id(),
            at,
            ..self.clone()
        }
    }
}

fn event_id() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// Something that happens. Each type is in one phase: [`Before`] or [`After`].
pub trait Event: Clone + Send + Sync + 'static {
    /// Its name, in listeners' registrations, messages and logs.
    const NAME: &'static str;

    /// When it is told, in a line.
    const ABOUT: &'static str;

    /// What every event says.
    fn about(&self) -> &EventMetadata;
}

/// Asked ahead of a write: listeners may change the fields marked ✎ in its type's documentation, or veto.
pub trait Before: Event {}

/// Told once the change is durable.
pub trait After: Event {}

/// The listeners of one Ambit. Cheap to clone; clones share their listeners.
#[derive(Clone, Default)]
pub struct EventBus {
    shared: Arc<EventBusInner>,
    /// Listeners of several installations, which come before this one's own.
    parent: Option<Arc<EventBusInner>>,
}

opaque_debug!(EventBus, |this| failures: this.failures());

#[derive(Default)]
struct EventBusInner {
    listeners: RwLock<ListenerRegistry>,
    failures: AtomicU64,
}

impl EventBus {
    /// Returns a bus without listeners of its own. Those of `parent` are asked and told first, also those that are added to it
    /// later.
    pub fn with_parent(parent: &Self) -> Self {
        Self {
            shared: Arc::default(),
            parent: Some(parent.shared.clone()),
        }
    }

    /// Asks this listener before each `E`; an error of it fails the operation.
    pub fn before<E: Before>(
        &self,
        listener: impl for<'a> Fn(&'a mut E) -> BoxFuture<'a, Result<Verdict>> + Send + Sync + 'static,
    ) {
        self.before_with(ListenerOptions::default(), listener);
    }

    /// The same with a name, a deadline, or errors that are passed over.
    pub fn before_with<E: Before>(
        &self,
        options: ListenerOptions,
        listener: impl for<'a> Fn(&'a mut E) -> BoxFuture<'a, Result<Verdict>> + Send + Sync + 'static,
    ) {
        self.add::<BeforeListener<E>>(options, Arc::new(listener));
    }

    /// Tells this listener after each `E`.
    pub fn after<E: After>(&self, listener: impl AfterFn<E>) {
        self.after_with(ListenerOptions::default(), listener);
    }

    /// The same with a name or a deadline. Errors are passed over in any case: the change has happened.
    pub fn after_with<E: After>(&self, options: ListenerOptions, listener: impl AfterFn<E>) {
        let listener = move |event| -> BoxFuture<'static, Result<()>> { Box::pin(listener(event)) };
        self.add::<AfterListener<E>>(options, Arc::new(listener));
    }

    /// Asks the listeners in the order of their registration. The answer is the event as they left it; a veto or an
    /// error ends the round, and the operation must not happen.
    pub async fn ask<E: Before>(&self, mut event: E) -> Result<E> {
        for listeners in self.listeners::<BeforeListener<E>>() {
            for listener in listeners.iter().filter(|listener| listener.is_on()) {
                self.ask_one(listener, &mut event).await?;
            }
        }
        Ok(event)
    }

    async fn ask_one<E: Before>(
        &self,
        listener: &Listener<BeforeListener<E>>,
        event: &mut E,
    ) -> Result<()> {
        let Listener { options, call } = listener;
        let kept = (options.on_error == OnError::Ignore).then(|| event.clone());
        let answer = guarded(options, E::NAME, || call(event)).await;
        match (answer, kept) {
            (Ok(Verdict::Continue), _) => Ok(()),
            (Ok(Verdict::Veto(reason)), _) => {
                log_veto::<E>(options, event.about());
                Err(Error::Vetoed {
                    event: E::NAME,
                    listener: options.name.clone(),
                    reason,
                })
            }
            (Err(error), None) => Err(error),
            (Err(error), Some(kept)) => {
                *event = kept;
                self.failed::<E>(options, event.about(), &error);
                Ok(())
            }
        }
    }

    /// Tells the listeners, in the order of their registration. What fails in one is logged and counted, and the
    /// others are told all the same.
    pub async fn notify<E: After>(&self, event: E) {
        let mut lists = self.listeners::<AfterListener<E>>().peekable();
        if lists.peek().is_none() {
            return;
        }
        let event = Arc::new(event);
        for listeners in lists {
            for listener in listeners.iter().filter(|listener| listener.is_on()) {
                self.notify_one(listener, &event).await;
            }
        }
    }

    async fn notify_one<E: After>(&self, listener: &Listener<AfterListener<E>>, event: &Arc<E>) {
        let Listener { options, call } = listener;
        let answer = guarded(options, E::NAME, || call(Arc::clone(event))).await;
        if let Err(error) = answer {
            self.failed::<E>(options, event.about(), &error);
        }
    }

    /// True where somebody listens to `E`: an event that nobody hears need not be made.
    pub fn has_listeners<E: Event>(&self) -> bool {
        self.buses().any(|bus| {
            let listeners = bus.listeners.read();
            listeners.has::<BeforeListener<E>>() || listeners.has::<AfterListener<E>>()
        })
    }

    /// The names of those who are asked about `E` now, in their order.
    pub fn names<E: Before>(&self) -> Vec<String> {
        let lists = self.listeners::<BeforeListener<E>>();
        let mut names = Vec::new();
        for listeners in lists {
            let listening = listeners.iter().filter(|listener| listener.is_on());
            names.extend(listening.map(|listener| listener.options.name.clone()));
        }
        names
    }

    /// How many listeners have failed without failing an operation.
    pub fn failures(&self) -> u64 {
        self.shared.failures.load(Ordering::Relaxed)
    }

    fn add<F: ?Sized + Send + Sync + 'static>(&self, options: ListenerOptions, call: Arc<F>) {
        self.shared
            .listeners
            .write()
            .add(Listener { options, call });
    }

    /// The listeners of the parent, then the bus's own.
    fn listeners<F: ?Sized + Send + Sync + 'static>(
        &self,
    ) -> impl Iterator<Item = Arc<Vec<Listener<F>>>> {
        self.buses().filter_map(|bus| bus.listeners.read().of())
    }

    fn buses(&self) -> impl Iterator<Item = &EventBusInner> {
        let parent = self.parent.as_deref();
        parent.into_iter().chain([&*self.shared])
    }

    fn failed<E: Event>(&self, options: &ListenerOptions, about: &EventMetadata, error: &Error) {
        self.shared.failures.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            event.name = E::NAME,
            event.id = about.event_id,
            event.listener = options.name,
            session.key = about.identity.key(),
            agent.id = about.agent_name,
            request.id = about.turn_id,
            error.message = %error,
            "a listener failed"
        );
    }
}

/// Says who has stopped what. Why is for whoever asked: it may be in their words.
fn log_veto<E: Event>(options: &ListenerOptions, about: &EventMetadata) {
    tracing::info!(
        event.name = E::NAME,
        event.id = about.event_id,
        event.listener = options.name,
        session.key = about.identity.key(),
        agent.id = about.agent_name,
        request.id = about.turn_id,
        "a listener vetoed"
    );
}
