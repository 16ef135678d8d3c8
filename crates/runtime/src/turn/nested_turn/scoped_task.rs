//! Work that ends with whoever waits for it.

use crate::error::{Error, Result};
use tokio::task::JoinHandle;
use tracing::Instrument;

/// A task that ends with whoever waits for it.
pub(super) struct ScopedTask<T>(JoinHandle<T>);

impl<T: Send + 'static> ScopedTask<T> {
    pub fn start(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(tokio::spawn(work.in_current_span()))
    }
}

impl<T> ScopedTask<Result<T>> {
    /// What came of it.
    pub async fn join(&mut self) -> Result<T> {
        let ended = (&mut self.0).await;
        ended.unwrap_or_else(|_| Err(Error::internal("a defect of Ambit ended this call")))
    }
}

impl<T> ScopedTask<T> {
    /// Ends it, and waits until nothing of it runs any more.
    pub async fn stop(&mut self) {
        self.0.abort();
        if !self.0.is_finished() {
            let _ = (&mut self.0).await;
        }
    }
}

impl<T> Drop for ScopedTask<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
