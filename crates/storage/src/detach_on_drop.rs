//! Work that goes on when nobody waits for it any more.

use futures::future::BoxFuture;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::runtime::Handle;

/// Work that its caller does itself, and that becomes a task of its own if the caller leaves: a task from the start
/// would cost every caller a change of threads.
pub(crate) struct DetachOnDrop<T: Send + 'static>(Option<BoxFuture<'static, T>>);

impl<T: Send + 'static> DetachOnDrop<T> {
    pub(crate) fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<T: Send + 'static> Future for DetachOnDrop<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // Taken out, so that work that panics is not gone on with.
        let Some(mut work) = self.0.take() else {
            return Poll::Pending;
        };
        let done = work.as_mut().poll(context);
        if done.is_pending() {
            self.0 = Some(work);
        }
        done
    }
}

impl<T: Send + 'static> Drop for DetachOnDrop<T> {
    fn drop(&mut self) {
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(work);
        }
    }
}
