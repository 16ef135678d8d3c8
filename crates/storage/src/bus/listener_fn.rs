//! What can be a listener: functions whose futures can be sent between threads.
//!
//! `AsyncFn` says what an `async` closure takes and gives, from which the types of its arguments are inferred, and stable Rust
//! has no way to say that its futures are `Send`. The traits with a `Fn` bound and a named future say that.

use super::Verdict;
use crate::Result;
use std::sync::Arc;

/// A function that is asked before an event: `async |event| { … }` or an `async fn`.
///
/// A closure that keeps state of its own cannot lend it to a future; [`EventBus::before`](super::EventBus::before) takes one that
/// clones the state and gives a boxed future.
pub trait BeforeFn<E>:
    AsyncFn(&mut E) -> Result<Verdict> + for<'a> SendBeforeFn<'a, E> + 'static
{
}

impl<E, F> BeforeFn<E> for F where
    F: AsyncFn(&mut E) -> Result<Verdict> + for<'a> SendBeforeFn<'a, E> + 'static
{
}

/// A function that is told after an event: `async |event| { … }`, an `async fn`, or a closure that clones its state into an
/// `async move` block.
pub trait AfterFn<E>: AsyncFn(Arc<E>) -> Result<()> + SendAfterFn<E> + 'static {}

impl<E, F> AfterFn<E> for F where F: AsyncFn(Arc<E>) -> Result<()> + SendAfterFn<E> + 'static {}

/// The future of a [`BeforeFn`] can be sent.
pub trait SendBeforeFn<'a, E: 'a>:
    Fn(&'a mut E) -> <Self as SendBeforeFn<'a, E>>::Future + Send + Sync
{
    /// What the function gives.
    type Future: Future<Output = Result<Verdict>> + Send + 'a;
}

impl<'a, E, F, T> SendBeforeFn<'a, E> for F
where
    E: 'a,
    F: Fn(&'a mut E) -> T + Send + Sync,
    T: Future<Output = Result<Verdict>> + Send + 'a,
{
    type Future = T;
}

/// The future of an [`AfterFn`] can be sent.
pub trait SendAfterFn<E>: Fn(Arc<E>) -> <Self as SendAfterFn<E>>::Future + Send + Sync {
    /// What the function gives.
    type Future: Future<Output = Result<()>> + Send + 'static;
}

impl<E, F, T> SendAfterFn<E> for F
where
    F: Fn(Arc<E>) -> T + Send + Sync,
    T: Future<Output = Result<()>> + Send + 'static,
{
    type Future = T;
}
