//! Who listens, what a listener answers, and what keeps it from holding up or breaking an operation.

use super::depth::deeper;
use crate::{Error, Result};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The answer of a *before* listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing against it.
    Continue,
    /// The operation must not happen, and why.
    Veto(String),
}

impl Verdict {
    /// The operation must not happen, and why.
    pub fn veto(reason: impl Into<String>) -> Self {
        Self::Veto(reason.into())
    }
}

/// What an error of a *before* listener means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The operation fails with it.
    #[default]
    Fail,
    /// What the listener changed is undone, and the operation goes on.
    Ignore,
}

/// Turns listeners on and off: what nobody hears is not made, and costs nothing.
#[derive(Clone, Debug, Default)]
pub struct ListenerSwitch(Arc<AtomicBool>);

impl ListenerSwitch {
    /// On or off, from the next event on.
    pub fn set(&self, is_on: bool) {
        self.0.store(is_on, Ordering::Release);
    }

    /// Whether it is on.
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl PartialEq for ListenerSwitch {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ListenerSwitch {}

/// How a listener is treated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerOptions {
    /// Its name in messages and logs; an empty one is replaced by its number among the event's listeners.
    pub name: String,
    /// What an error of it means.
    pub on_error: OnError,
    /// How long it may take for one event.
    pub deadline: Duration,
    /// It listens only while this is on; without one always.
    pub switch: Option<ListenerSwitch>,
}

impl Default for ListenerOptions {
    fn default() -> Self {
        Self {
            name: String::new(),
            on_error: OnError::Fail,
            deadline: Duration::from_secs(10),
            switch: None,
        }
    }
}

pub(super) type BeforeListener<E> =
    dyn for<'a> Fn(&'a mut E) -> BoxFuture<'a, Result<Verdict>> + Send + Sync;
pub(super) type AfterListener<E> = dyn Fn(Arc<E>) -> BoxFuture<'static, Result<()>> + Send + Sync;

/// A listener, `F` being `BeforeListener` or `AfterListener` of one event.
pub(super) struct Listener<F: ?Sized> {
    pub options: ListenerOptions,
    pub call: Arc<F>,
}

impl<F: ?Sized> Listener<F> {
    /// Whether it listens now.
    pub fn is_on(&self) -> bool {
        self.options
            .switch
            .as_ref()
            .is_none_or(ListenerSwitch::is_on)
    }
}

impl<F: ?Sized> Clone for Listener<F> {
    fn clone(&self) -> Self {
        Self {
            options: self.options.clone(),
            call: Arc::clone(&self.call),
        }
    }
}

/// All listeners: for each `F` an `Arc<Vec<Listener<F>>>`, in the order of registration.
#[derive(Default)]
pub(super) struct ListenerRegistry(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl ListenerRegistry {
    pub fn of<F: ?Sized + Send + Sync + 'static>(&self) -> Option<Arc<Vec<Listener<F>>>> {
        let listeners = Arc::clone(self.0.get(&TypeId::of::<F>())?);
        listeners.downcast().ok()
    }

    /// Those who are being asked or told at this moment do not see the new one.
    pub fn add<F: ?Sized + Send + Sync + 'static>(&mut self, mut listener: Listener<F>) {
        let mut listeners = self.of::<F>().unwrap_or_default().to_vec();
        if listener.options.name.is_empty() {
            listener.options.name = format!("listener {}", listeners.len() + 1);
        }
        listeners.push(listener);
        self.0.insert(TypeId::of::<F>(), Arc::new(listeners));
    }

    /// Whether somebody listens now.
    pub fn has<F: ?Sized + Send + Sync + 'static>(&self) -> bool {
        let listeners = self.of::<F>();
        listeners.is_some_and(|listeners| listeners.iter().any(Listener::is_on))
    }
}

/// The listener's answer; being late, panicking or being too deep inside other listeners is an error like any
/// other.
pub(super) async fn guarded<'a, T>(
    options: &ListenerOptions,
    event: &'static str,
    call: impl FnOnce() -> BoxFuture<'a, Result<T>> + Send,
) -> Result<T> {
    let work = AssertUnwindSafe(async { call().await }).catch_unwind();
    let work = deeper(event, work)?;
    let ListenerOptions { name, deadline, .. } = options;
    match tokio::time::timeout(*deadline, work).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_panic)) => Err(Error::internal(format!(
            "listener \"{name}\" of {event} panicked"
        ))),
        Err(_late) => Err(Error::Unavailable {
            what: format!("listener \"{name}\" of {event} (no answer within {deadline:?})"),
            source: None,
        }),
    }
}
