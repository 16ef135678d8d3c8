//! What the writer of a log and its readers share.

use super::pace::{StepKind, StoreDeadline};
use super::state::{StreamPhase, StreamState, StreamStep};
use super::{StreamOptions, StreamTarget, tail};
use crate::error::{Error, ErrorCode, Result};
use crate::lock::lock;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::backoff;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;
use tokio::sync::{Notify, OwnedMutexGuard, watch};
use tokio::time::Instant;

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

/// What was waiting, for a batch of its taker. Nobody else stores meanwhile; dropped without `stored`, it waits again.
pub struct PendingWrites {
    /// The writes for the batch; none where nothing is waiting or nothing is kept.
    pub writes: Vec<BatchWrite>,
    step: StreamStep,
    hold: StoreHold,
}

/// Keeps others from storing anything of a log, and of the log beside it.
pub struct StoreHold {
    shared: Arc<SharedStream>,
    _guard: OwnedMutexGuard<()>,
}

impl StoreHold {
    /// What is waiting by now, for a batch of the holder.
    pub fn take(self) -> PendingWrites {
        self.take_by(StepKind::All)
    }

    fn take_by(self, kind: StepKind) -> PendingWrites {
        let step = self.shared.change(|state| state.take(kind));
        self.pending(step)
    }

    fn pending(self, step: StreamStep) -> PendingWrites {
        PendingWrites {
            writes: self.shared.writes(&step),
            step,
            hold: self,
        }
    }
}

impl PendingWrites {
    /// The batch is committed: readers may see the entries.
    pub fn stored(self) {
        self.hold.shared.change(|state| state.stored(&self.step));
    }

    /// The batch was refused, and what the log is of with it: nothing is stored here any more.
    pub fn refused(self) {
        let what = "what the stream tells of was refused";
        let error = Error::new(ErrorCode::Unavailable, what);
        self.hold.shared.abandon(error);
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

    /// Nobody else stores anything here or beside until what is waiting is taken, or this is dropped.
    pub async fn hold(self: &Arc<Self>) -> StoreHold {
        let guard = self.store_lock.clone().lock_owned().await;
        StoreHold {
            shared: self.clone(),
            _guard: guard,
        }
    }

    /// The writes that store a step.
    fn writes(&self, step: &StreamStep) -> Vec<BatchWrite> {
        if !self.state().options.is_persistent {
            return Vec::new();
        }
        let log = &self.place.log;
        let rows = (!step.rows.is_empty()).then(|| BatchWrite::Append {
            log: log.clone(),
            entries: step.rows.iter().map(|row| row.entry(log)).collect(),
        });
        let tail = step.tail.as_ref().map(|row| tail::write(log, row));
        let removal = step.removes_tail.then(|| tail::removal(log));
        rows.into_iter().chain(tail).chain(removal).collect()
    }

    /// Stores all that is waiting here and in the log beside.
    pub async fn store(self: &Arc<Self>) -> Result<()> {
        self.store_by(StepKind::All, true).await
    }

    /// Stores what is due. The log beside goes along with rows: nobody waits for it.
    async fn store_due(self: &Arc<Self>) -> Result<()> {
        let own = self.state().step_due();
        let other = self.companion.get();
        let is_beside_due = other.is_some_and(|other| other.state().step_due().is_some());
        match own {
            Some(kind) => {
                let is_beside = is_beside_due || kind == StepKind::Row;
                self.store_by(kind, is_beside).await
            }
            None if is_beside_due => self.store_by(StepKind::Tail, true).await,
            // The turn has stored it meanwhile.
            None => Ok(()),
        }
    }

    async fn store_by(self: &Arc<Self>, kind: StepKind, is_beside: bool) -> Result<()> {
        let hold = self.hold().await;
        let (staged, step) = self.change(|state| {
            // Together: what is staged goes along with the entries that came before it, or behind them.
            let staged = state.take_staged(kind);
            (staged, state.take(kind))
        });
        let mut taken = vec![hold.pending(step)];
        if let StreamPhase::Abandoned(error) = &self.state().phase {
            return Err(error.clone());
        }
        let other = self.companion.get().filter(|_| is_beside);
        if let Some(other) = other.filter(|other| other.is_open()) {
            let kind = match kind {
                StepKind::All => StepKind::All,
                StepKind::Row | StepKind::Tail => StepKind::Row,
            };
            taken.push(other.hold().await.take_by(kind));
        }
        let mut writes = Vec::new();
        for taken in &mut taken {
            writes.append(&mut taken.writes);
        }
        if writes.is_empty() {
            self.state().staged.put_back(staged);
        } else {
            let beside = staged.iter().cloned();
            let mut batch = Batch::of(beside.chain(writes));
            batch.checks.extend(self.place.check.clone());
            if let Err(error) = self.place.driver.commit(batch).await {
                self.state().staged.put_back(staged);
                return Err(error.into());
            }
            self.state().staged.note_stored(staged);
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
            let Err(error) = self.store_due().await else {
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
                // The timer would take its time to say so.
                StoreDeadline::At(time) if time <= Instant::now() => return true,
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
