//! What the writer of a log and its readers share.

use super::row::StreamRow;
use super::state::{StoreDeadline, StreamPhase, StreamState};
use super::{StreamOptions, StreamTarget};
use crate::error::{Error, ErrorCode, Result};
use crate::lock::lock;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::backoff;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;
use tokio::sync::{Notify, OwnedMutexGuard, watch};

/// The wait after a write that failed, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

pub(super) struct SharedStream {
    pub place: StreamTarget,
    state: Mutex<StreamState>,
    /// Changes when entries are stored or the log ends.
    pub grown: watch::Sender<()>,
    /// Rings when there may be something to store.
    work: Arc<Notify>,
    /// Held by the one who is storing. Whoever takes two takes the one of the log that stores both first.
    store_lock: Arc<tokio::sync::Mutex<()>>,
    /// The log whose steps are stored with this one's.
    companion: OnceLock<Arc<Self>>,
}

/// Which of what is waiting is stored.
type RowTaker = fn(&mut StreamState) -> Vec<StreamRow>;

/// What was waiting, for a batch of its taker. Nobody else stores meanwhile; dropped without `stored`, it waits again.
pub struct PendingWrites {
    /// The writes for the batch; none where nothing is waiting or nothing is kept.
    pub writes: Vec<BatchWrite>,
    shared: Arc<SharedStream>,
    rows: usize,
    _pen: OwnedMutexGuard<()>,
}

impl PendingWrites {
    /// The batch is committed: readers may see the entries.
    pub fn stored(self) {
        self.shared.change(|state| state.stored(self.rows));
    }
}

impl SharedStream {
    pub fn new(place: StreamTarget, options: StreamOptions, stored: u64) -> Arc<Self> {
        Arc::new(Self {
            place,
            state: Mutex::new(StreamState::new(options, stored)),
            grown: watch::channel(()).0,
            work: Arc::default(),
            store_lock: Arc::default(),
            companion: OnceLock::new(),
        })
    }

    /// A log of the same store that leaves the storing to this one. There can be one such log.
    pub fn new_companion(
        &self,
        place: StreamTarget,
        options: StreamOptions,
        stored: u64,
    ) -> Arc<Self> {
        let other = Arc::new(Self {
            place,
            state: Mutex::new(StreamState::new(options, stored)),
            grown: watch::channel(()).0,
            work: self.work.clone(),
            store_lock: Arc::default(),
            companion: OnceLock::new(),
        });
        self.companion.get_or_init(|| other).clone()
    }

    /// Looks at the state, or changes what nobody is waiting for.
    pub fn state(&self) -> MutexGuard<'_, StreamState> {
        lock(&self.state)
    }

    /// Changes the state and wakes whoever has to do with it.
    pub fn change<T>(&self, change: impl FnOnce(&mut StreamState) -> T) -> T {
        let mut state = self.state();
        let (due, shown) = (state.due(), state.last());
        let was_open = matches!(state.phase, StreamPhase::Open);
        let done = change(&mut state);
        let is_changed = state.due() != due;
        let has_grown =
            state.last() != shown || was_open != matches!(state.phase, StreamPhase::Open);
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
    pub fn abandon(&self, error: Error) {
        self.change(|state| {
            if matches!(state.phase, StreamPhase::Open) {
                state.phase = StreamPhase::Abandoned(error);
            }
        });
    }

    /// What is waiting here, for a batch of whoever takes it.
    pub async fn take(self: &Arc<Self>) -> PendingWrites {
        self.take_by(StreamState::take).await
    }

    async fn take_by(self: &Arc<Self>, take: RowTaker) -> PendingWrites {
        let pen = self.store_lock.clone().lock_owned().await;
        let rows: Vec<StreamRow> = self.change(take);
        PendingWrites {
            writes: self.write(&rows).into_iter().collect(),
            rows: rows.len(),
            shared: self.clone(),
            _pen: pen,
        }
    }

    /// The write that stores these rows.
    fn write(&self, rows: &[StreamRow]) -> Option<BatchWrite> {
        let is_written = !rows.is_empty() && self.state().options.is_persistent;
        is_written.then(|| BatchWrite::Append {
            log: self.place.log.clone(),
            entries: rows.iter().map(StreamRow::entry).collect(),
        })
    }

    /// Stores all that is waiting here and in the log beside.
    pub async fn store(self: &Arc<Self>) -> Result<()> {
        self.store_by(StreamState::take).await
    }

    async fn store_by(self: &Arc<Self>, take: RowTaker) -> Result<()> {
        let mut taken = vec![self.take_by(take).await];
        if let StreamPhase::Abandoned(error) = &self.state().phase {
            return Err(error.clone());
        }
        let other = self.companion.get();
        if let Some(other) = other.filter(|other| other.is_open()) {
            taken.push(other.take_by(take).await);
        }
        let mut writes = Vec::new();
        for taken in &mut taken {
            writes.append(&mut taken.writes);
        }
        if !writes.is_empty() {
            let staged = std::mem::take(&mut self.state().staged);
            let beside = staged.iter().map(|(_, write)| write.clone());
            let mut batch = Batch::of(beside.chain(writes));
            batch.checks.extend(self.place.check.clone());
            if let Err(error) = self.place.driver.commit(batch).await {
                self.state().staged.splice(..0, staged);
                return Err(error.into());
            }
        }
        taken.into_iter().for_each(PendingWrites::stored);
        Ok(())
    }

    fn is_open(&self) -> bool {
        matches!(self.state().phase, StreamPhase::Open)
    }

    /// Stores what is waiting, step by step, until the log ends or cannot be written any more.
    pub async fn keep_storing(self: Arc<Self>) {
        let mut failures = 0;
        while self.is_due().await {
            let Err(error) = self.store_by(StreamState::take_step).await else {
                failures = 0;
                continue;
            };
            if !is_passing(&error) {
                tracing::warn!(log = %self.place.log, %error, "a stream is not written any more");
                self.companion
                    .get()
                    .iter()
                    .for_each(|other| other.abandon(error.clone()));
                return self.abandon(error);
            }
            tracing::warn!(log = %self.place.log, %error, "a step of a stream was not stored; trying again");
            failures += 1;
            tokio::time::sleep(backoff(FIRST_PAUSE, LONGEST_PAUSE, failures)).await;
        }
    }

    /// How soon something must be stored, here or beside.
    fn due(&self) -> StoreDeadline {
        let own = self.state().due();
        match self.companion.get().map(|other| other.state().due()) {
            Some(other) => own.sooner(other),
            None => own,
        }
    }

    /// Waits until a step is due; false when there will be none.
    async fn is_due(&self) -> bool {
        loop {
            match self.due() {
                StoreDeadline::Over => return false,
                StoreDeadline::Now => return true,
                StoreDeadline::Never => self.work.notified().await,
                StoreDeadline::At(time) => tokio::select! {
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
        ErrorCode::Unavailable | ErrorCode::Partial | ErrorCode::ChatBusy | ErrorCode::Conflict
    )
}
