//! What the writer of a log and its readers share.

use super::row::Row;
use super::state::{Due, Phase, State};
use super::{Options, Place};
use crate::error::{Code, Error, Result};
use ambit_storage::batch::{Batch, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedMutexGuard, watch};

/// The first wait after a write that failed, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

pub(super) struct Shared {
    pub place: Place,
    state: Mutex<State>,
    /// Changes when entries are stored or the log ends.
    pub grown: watch::Sender<()>,
    /// Rings when there may be something to store.
    work: Notify,
    /// Held by the one who is storing.
    pen: Arc<tokio::sync::Mutex<()>>,
}

impl Shared {
    pub fn new(place: Place, options: Options, stored: u64) -> Arc<Self> {
        Arc::new(Self {
            place,
            state: Mutex::new(State::new(options, stored)),
            grown: watch::channel(()).0,
            work: Notify::new(),
            pen: Arc::default(),
        })
    }

    /// Looks at the state, or changes what nobody is waiting for.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes whoever has to do with it.
    pub fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let (due, shown) = (state.due(), state.last());
        let was_open = matches!(state.phase, Phase::Open);
        let done = change(&mut state);
        let is_changed = state.due() != due;
        let has_grown = state.last() != shown || was_open != matches!(state.phase, Phase::Open);
        drop(state);
        if is_changed {
            self.work.notify_one();
        }
        if has_grown {
            self.grown.send_replace(());
        }
        done
    }

    /// Stops writing here, unless the log has ended.
    pub fn leave(&self, error: Error) {
        self.change(|state| {
            if matches!(state.phase, Phase::Open) {
                state.phase = Phase::Left(error);
            }
        });
    }

    pub async fn pen(&self) -> OwnedMutexGuard<()> {
        self.pen.clone().lock_owned().await
    }

    /// The write that stores these rows.
    pub fn write(&self, rows: &[Row]) -> Option<Write> {
        let is_written = !rows.is_empty() && self.state().options.is_persistent;
        is_written.then(|| Write::Append {
            log: self.place.log.clone(),
            entries: rows.iter().map(Row::entry).collect(),
        })
    }

    /// Stores all that is waiting.
    pub async fn store(&self) -> Result<()> {
        let pen = self.pen().await;
        if let Phase::Left(error) = &self.state().phase {
            return Err(error.clone());
        }
        let rows = self.change(State::take);
        if let Some(write) = self.write(&rows) {
            let beside = std::mem::take(&mut self.state().beside);
            let mut batch = Batch::of(beside.iter().cloned().chain([write]));
            batch.checks.extend(self.place.check.clone());
            if let Err(error) = self.place.driver.commit(batch).await {
                self.state().beside.splice(..0, beside);
                return Err(error.into());
            }
        }
        self.change(|state| state.stored(rows.len()));
        drop(pen);
        Ok(())
    }

    /// Stores what is waiting, step by step, until the log ends or cannot be written any more.
    pub async fn keep_storing(self: Arc<Self>) {
        let mut pause = PAUSES.0;
        while self.is_due().await {
            let Err(error) = self.store().await else {
                pause = PAUSES.0;
                continue;
            };
            if !is_passing(&error) {
                tracing::warn!(log = %self.place.log, %error, "a stream is not written any more");
                return self.leave(error);
            }
            tracing::warn!(log = %self.place.log, %error, "a step of a stream was not stored; trying again");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Waits until a step is due; false when there will be none.
    async fn is_due(&self) -> bool {
        loop {
            let due = self.state().due();
            match due {
                Due::Over => return false,
                Due::Now => return true,
                Due::Never => self.work.notified().await,
                Due::At(time) => tokio::select! {
                    () = tokio::time::sleep_until(time) => return true,
                    () = self.work.notified() => {}
                },
            }
        }
    }
}

/// True where the same write may succeed later.
fn is_passing(error: &Error) -> bool {
    matches!(
        error.code,
        Code::Unavailable | Code::Partial | Code::ChatBusy | Code::Conflict
    )
}
