//! How a runtime ends.

use super::Runtime;
use crate::error::Result;
use crate::lock::lock;
use crate::turn_info::TurnStopReason;
use crate::{nodes, telemetry, turn};
use futures::future::BoxFuture;
use std::time::Duration;

/// How long a collector may take for what is sent last.
const LAST_TELEMETRY: Duration = Duration::from_secs(3);

impl Runtime {
    /// Takes no more requests, gives running turns this long, and leaves the rest to be taken up later.
    pub fn close<'a>(&'a self, grace: Duration) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            *lock(&self.0.is_closing) = true;
            let running = self.0.turns.all();
            let all_done = futures::future::join_all(running.iter().map(|live| live.ended()));
            if tokio::time::timeout(grace, all_done).await.is_err() {
                let left = self.0.turns.all();
                left.iter()
                    .for_each(|live| live.stop(TurnStopReason::NodeClosing));
                futures::future::join_all(left.iter().map(|live| live.ended())).await;
            }
            self.0.making.feed.close().await;
            let last = telemetry::send_last(&self.0);
            // What is not sent by then is sent by another node, or after the next start.
            let last = tokio::time::timeout(LAST_TELEMETRY, last);
            let _ = tokio::join!(last, self.0.making.pool.close());
            drop(lock(&self.0.knowledge_worker).take());
            if let Some(base) = self.0.knowledge.get() {
                turn::store_hits(base).await;
            }
            let mut tasks = std::mem::take(&mut *lock(&self.0.tasks));
            tasks.shutdown().await;
            nodes::leave(&self.0).await;
            let sweepers = std::mem::take(&mut *lock(&self.0.sweepers));
            for sweeper in sweepers {
                sweeper.stop().await;
            }
            self.0.making.opened.close().await
        })
    }
}
