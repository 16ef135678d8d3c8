//! The tool calls that are under way. They belong to the turn and not to its work, which is dropped where the turn is broken
//! off: a call that has ended by then has had its effects, and what came of it is not forgotten.

use super::tool_results::ToolCallEnd;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Mutex;
use tokio::task::unconstrained;

/// Calls under way, and those that have ended and are not in the journal.
#[derive(Default)]
pub(super) struct RunningToolCalls {
    /// The lock makes them something that may be looked at from several threads; nobody ever waits for it.
    calls: Mutex<FuturesUnordered<BoxFuture<'static, ToolCallEnd>>>,
    /// The turn is broken off.
    is_over: Arc<AtomicBool>,
    /// What is being settled. Listeners have begun to hear of it.
    pub settling: Option<Arc<ToolCallEnd>>,
    /// What had ended when the turn was broken off.
    pub ended: Vec<ToolCallEnd>,
}

impl RunningToolCalls {
    /// How many have not ended.
    pub fn count(&mut self) -> usize {
        self.calls.get_mut().len()
    }

    /// One more, which is worked on by `next`.
    pub fn begin(&mut self, call: impl Future<Output = ToolCallEnd> + Send + 'static) {
        let is_over = self.is_over.clone();
        let call = async move {
            if is_over.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            call.await
        };
        self.calls.get_mut().push(call.boxed());
    }

    /// Waits until one has ended; `None` where there is none.
    pub async fn next(&mut self) -> Option<ToolCallEnd> {
        self.calls.get_mut().next().await
    }

    /// Breaks off what is under way. What has ended unseen is kept; what has not begun does not begin.
    pub fn stop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        while let Some(Some(ended)) = unconstrained(self.next()).now_or_never() {
            self.ended.push(ended);
        }
        *self = Self {
            settling: self.settling.take(),
            ended: std::mem::take(&mut self.ended),
            ..Self::default()
        };
    }
}
