//! What people send to a turn that is running, from whichever node: a log, so that nothing taken on is lost with a process.

use crate::error::{Error, Result};
use crate::turn_info::TurnInterrupt;
use crate::turn_info::TurnStopReason;
use ambit_storage::address::LogKey;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, Head, NewEntry};
use ambit_storage::driver::{Driver, LogRange, LogWatch};
use ambit_storage::ids;
use ambit_storage::json::Json;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Entries read at once: more than anybody sends during one step.
const MOST: usize = 256;

/// What somebody has sent to a turn.
pub(crate) struct ReceivedInterrupt {
    /// Its id, the same however often it is taken in.
    pub id: String,
    /// What was sent.
    pub interrupt: TurnInterrupt,
}

/// How much of an inbox has been read.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct InboxPosition {
    /// The number of the last entry that was read.
    pub last: u64,
    /// The generation of the log, where there was one to read.
    generation: Option<u64>,
}

/// One turn's inbox.
pub(crate) struct TurnInbox {
    driver: Arc<dyn Driver>,
    log: LogKey,
    /// Waits for what comes in since the turn listens.
    watch: OnceCell<LogWatch>,
}

impl InboxPosition {
    /// Behind this entry, of a log that has not been read yet.
    pub fn after(last: u64) -> Self {
        Self {
            last,
            generation: None,
        }
    }
}

impl TurnInbox {
    pub fn new(driver: Arc<dyn Driver>, log: LogKey) -> Self {
        Self {
            driver,
            log,
            watch: OnceCell::new(),
        }
    }

    /// Begins to listen, before anybody can send something.
    pub async fn listen(&self) -> Result<()> {
        let watch = || self.driver.watch(&self.log);
        self.watch.get_or_try_init(watch).await?;
        Ok(())
    }

    /// Whether there may be something, as far as it is heard of here yet.
    pub fn has_any(&self) -> bool {
        self.watch.get().is_none_or(LogWatch::has_changed)
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

    /// What came in behind this, and how much has been read with it.
    pub async fn read(
        &self,
        after: InboxPosition,
    ) -> Result<(Vec<ReceivedInterrupt>, InboxPosition)> {
        let range = LogRange::from(after.last + 1, MOST);
        let page = self.driver.read(&self.log, range).await?;
        let mut read = InboxPosition {
            generation: page.head.map(|head| head.generation),
            ..after
        };
        let mut received = Vec::new();
        for entry in page.entries {
            read.last = entry.seq;
            received.push(ReceivedInterrupt {
                interrupt: entry.body.to()?,
                id: entry.id,
            });
        }
        Ok((received, read))
    }

    /// What the last commit of a turn has of it: nothing has come in behind this, and what was read goes.
    pub fn end(&self, read: InboxPosition) -> Batch {
        let head = read.generation.map(|own| Head::new(own, read.last));
        let drop = head.map(|_| BatchWrite::Drop {
            log: self.log.clone(),
        });
        Batch::of(drop).checking(BatchCheck::head(self.log.clone(), head))
    }

    /// Waits for something behind this that cannot wait for the next step.
    pub async fn forced(&self, after: InboxPosition) -> TurnStopReason {
        match self.forced_or_failed(after).await {
            Ok(stop) => stop,
            Err(error) => {
                // What came in is taken up at the next step all the same.
                tracing::warn!(log = %self.log, %error, "a turn does not hear what is sent to it");
                std::future::pending().await
            }
        }
    }

    async fn forced_or_failed(&self, mut after: InboxPosition) -> Result<TurnStopReason> {
        let watch = async || {
            let mut watch = self.driver.watch(&self.log).await?;
            // Something may have been there before.
            watch.mark_changed();
            Ok::<_, Error>(watch)
        };
        let mut watch = self.watch.get_or_try_init(watch).await?.clone();
        while watch.changed().await {
            let (received, read) = self.read(after).await?;
            after = read;
            let mut stops = received.iter().filter_map(|it| it.interrupt.stops());
            if let Some(stop) = stops.next() {
                return Ok(stop);
            }
        }
        Err(Error::internal("the store has been closed"))
    }
}
