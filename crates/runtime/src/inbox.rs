//! What people send to a turn that is running, from whichever node: a log, so that nothing taken on is lost with a process.

use crate::error::{Error, Result};
use crate::turn_info::TurnInterrupt;
use crate::turn_info::TurnStopReason;
use ambit_storage::address::LogKey;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, NewEntry};
use ambit_storage::driver::{Driver, LogRange};
use ambit_storage::ids;
use ambit_storage::json::Json;
use std::sync::Arc;

/// Entries read at once: more than anybody sends during one step.
const MOST: usize = 256;

/// What somebody has sent to a turn.
pub(crate) struct ReceivedInterrupt {
    /// Its id, the same however often it is taken in.
    pub id: String,
    /// What was sent.
    pub interrupt: TurnInterrupt,
}

/// One turn's inbox.
#[derive(Clone)]
pub(crate) struct TurnInbox {
    driver: Arc<dyn Driver>,
    log: LogKey,
}

impl TurnInbox {
    pub fn new(driver: Arc<dyn Driver>, log: LogKey) -> Self {
        Self { driver, log }
    }

    /// Puts something in, if this holds.
    pub async fn send(&self, interrupt: &TurnInterrupt, check: Option<BatchCheck>) -> Result<()> {
        let entry = NewEntry {
            id: ids::unguessable(),
            body: Json::of(interrupt)?,
        };
        let mut batch = Batch::of([BatchWrite::Append {
            log: self.log.clone(),
            entries: vec![entry],
        }]);
        batch.checks.extend(check);
        self.driver.commit(batch).await?;
        Ok(())
    }

    /// What came in behind this entry, and the number of the last of it.
    pub async fn read(&self, after: u64) -> Result<(Vec<ReceivedInterrupt>, u64)> {
        let range = LogRange::from(after + 1, MOST);
        let page = self.driver.read(&self.log, range).await?;
        let mut last = after;
        let mut received = Vec::new();
        for entry in page.entries {
            last = entry.seq;
            received.push(ReceivedInterrupt {
                interrupt: entry.body.to()?,
                id: entry.id,
            });
        }
        Ok((received, last))
    }

    /// Waits for something behind this entry that cannot wait for the next step.
    pub async fn forced(&self, after: u64) -> TurnStopReason {
        match self.watch(after).await {
            Ok(stop) => stop,
            Err(error) => {
                // What came in is taken up at the next step all the same.
                tracing::warn!(log = %self.log, %error, "a turn does not hear what is sent to it");
                std::future::pending().await
            }
        }
    }

    async fn watch(&self, mut after: u64) -> Result<TurnStopReason> {
        let mut watch = self.driver.watch(&self.log).await?;
        loop {
            let (received, last) = self.read(after).await?;
            after = last;
            let mut interrupts = received.iter().map(|it| &it.interrupt);
            if let Some(stop) = interrupts.find_map(TurnInterrupt::stops) {
                return Ok(stop);
            }
            if !watch.changed().await {
                return Err(Error::internal("the store has been closed"));
            }
        }
    }
}
