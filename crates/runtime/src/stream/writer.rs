//! The writing end of a log.

use super::row;
use super::shared::{PendingWrites, SharedStream, StoreHold};
use super::state::StreamPhase;
use super::{StreamEntry, StreamOptions, StreamReader, StreamTarget};
use crate::error::{Error, ErrorCode, Result};
use ambit_storage::batch::BatchWrite;
use std::sync::Arc;
use tokio::task::JoinHandle;
use tracing::Instrument;

/// Writes one log. The clones are the same log; when the last one is dropped, nothing more is stored, and readers here go on
/// with what the store gets from elsewhere.
#[derive(Clone)]
pub struct StreamWriter(Arc<WriterOwner>);

struct WriterOwner {
    shared: Arc<SharedStream>,
    /// None where another log does it.
    storing: Option<JoinHandle<()>>,
}

impl Drop for WriterOwner {
    fn drop(&mut self) {
        self.storing.iter().for_each(JoinHandle::abort);
        let what = "the turn is not written here any more";
        self.shared
            .abandon(Error::new(ErrorCode::Unavailable, what));
    }
}

/// A log that goes on where it was left.
pub struct ResumedStream {
    /// The log.
    pub log: StreamWriter,
    /// All that is stored of it.
    pub entries: Vec<StreamEntry>,
    /// Whether it has its last entry; nothing can be added then.
    pub is_ended: bool,
}

impl StreamWriter {
    /// A new log. The first step is not stored at once, so that the turn's first batch can take it along.
    pub fn open(place: StreamTarget, options: StreamOptions) -> Self {
        Self::storing(SharedStream::new(place, options, 0))
    }

    /// A new log of the same store whose steps are stored together with this one's. There can be one beside a log.
    pub fn open_companion(&self, place: StreamTarget, options: StreamOptions) -> Self {
        Self::stored_by(self.0.shared.new_companion(place, options, 0))
    }

    /// Takes up a log that another process, or this one before, has left.
    pub async fn resume(place: StreamTarget, options: StreamOptions) -> Result<ResumedStream> {
        resume(&place.clone(), |last| {
            Self::storing(SharedStream::new(place, options, last))
        })
        .await
    }

    /// The same for a log whose steps are stored together with this one's.
    pub async fn resume_companion(
        &self,
        place: StreamTarget,
        options: StreamOptions,
    ) -> Result<ResumedStream> {
        resume(&place.clone(), |last| {
            Self::stored_by(self.0.shared.new_companion(place, options, last))
        })
        .await
    }

    fn storing(shared: Arc<SharedStream>) -> Self {
        let storing = shared.clone().keep_storing().in_current_span();
        let storing = Some(tokio::spawn(storing));
        Self(Arc::new(WriterOwner { shared, storing }))
    }

    fn stored_by(shared: Arc<SharedStream>) -> Self {
        let storing = None;
        Self(Arc::new(WriterOwner { shared, storing }))
    }

    /// Adds an entry, one JSON text, and returns its number. Never waits; readers see it once it is stored.
    pub fn append(&self, text: impl Into<Arc<str>>) -> u64 {
        self.0.shared.change(|state| state.append(text.into()))
    }

    /// Adds an entry that `extend` can add to until it is stored. `close` ends its text.
    pub fn append_open(&self, text: String, close: String) -> u64 {
        let shared = &self.0.shared;
        shared.change(|state| state.append_open(text, close))
    }

    /// Adds to the text of an open entry; false where it is stored already and needs another entry.
    pub fn extend(&self, number: u64, more: &str) -> bool {
        self.0.shared.change(|state| state.extend(number, more))
    }

    /// Adds the last entry. It is stored by `take_waiting` or `flush` alone, so that nobody sees the end before what
    /// must be stored with it. Entries behind it are dropped.
    pub fn append_last(&self, text: impl Into<Arc<str>>) -> u64 {
        self.0.shared.change(|state| state.append_last(text.into()))
    }

    /// What is waiting, for the turn's own batch: a short turn then costs two commits instead of four. Must not be held while
    /// `flush` is called.
    pub async fn take_waiting(&self) -> PendingWrites {
        self.hold().await.take()
    }

    /// Keeps everybody else from storing anything here, or in the log beside, until what is waiting is taken. Once the last entry
    /// is there, what is staged waits with it, and the log beside would be stored without what belongs to it.
    pub async fn hold(&self) -> StoreHold {
        self.0.shared.hold().await
    }

    /// Has this written with the next step that is stored here, all or nothing.
    pub fn stage_write(&self, write: BatchWrite) {
        self.0.shared.state().staged.add(write);
    }

    /// The number of the last write that was staged beside the entries.
    pub fn last_staged(&self) -> u64 {
        self.0.shared.state().staged.last()
    }

    /// What was staged beside the entries and was stored with them since this was last asked.
    pub fn take_stored(&self) -> Vec<BatchWrite> {
        self.0.shared.state().staged.take_stored()
    }

    /// What was staged beside the entries, up to this number, has been written elsewhere.
    pub fn clear_staged(&self, last: u64) {
        self.0.shared.state().staged.clear(last);
    }

    /// Stores all that is waiting now, and ends the log if its last entry is among it.
    pub async fn flush(&self) -> Result<()> {
        self.0.shared.store().await
    }

    /// Waits until the log cannot be written any more, and says why. Never returns for a log that ends as it should.
    pub async fn failed(&self) -> Error {
        let mut grown = self.0.shared.grown.subscribe();
        loop {
            if let StreamPhase::Abandoned(error) = &self.0.shared.state().phase {
                return error.clone();
            }
            if grown.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// True where the log is over its budget: details are left out from now on.
    pub fn is_full(&self) -> bool {
        self.0.shared.state().is_full()
    }

    /// The number of the last entry that readers can see.
    pub fn last(&self) -> u64 {
        self.0.shared.state().last()
    }

    /// The number of the last entry, whether readers can see it or not.
    pub fn written(&self) -> u64 {
        self.0.shared.state().written()
    }

    /// Follows the log behind this number.
    pub fn reader(&self, after: u64) -> Result<StreamReader> {
        StreamReader::live(self.0.shared.clone(), after)
    }
}

/// What is stored of a log, and the log behind it.
async fn resume(
    place: &StreamTarget,
    open: impl FnOnce(u64) -> StreamWriter,
) -> Result<ResumedStream> {
    let stored = row::read_all(place.driver.as_ref(), &place.log).await?;
    let stored = stored.unwrap_or_default();
    let log = open(stored.last_in_rows);
    log.0.shared.change(|state| state.restore(&stored));
    Ok(ResumedStream {
        log,
        entries: stored.entries,
        is_ended: stored.is_ended,
    })
}
