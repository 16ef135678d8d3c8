//! A driver that fails on demand, around any other.

use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{Batch, BatchWrite, ValueEntry, WriteOutcome};
use crate::directory::{IndexRow, PageRequest, RowFilter};
use crate::driver::{
    DataKind, DataSize, Driver, LogPage, LogRange, LogWatch, ValuePart, ValueScan,
};
use crate::operation::Operation;
use crate::{Error, Result};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A read fails.
    Read,
    /// A write fails and changes nothing.
    Write,
    /// A write is done, and its answer is lost.
    Answer,
}

/// As many calls as never come: the store is down.
const FOR_EVER: u64 = u64::MAX;

/// Which batch loses its race.
type LostRace = fn(&Batch) -> bool;

/// Passes every call on, except those that were told to fail: these are `Unavailable`.
pub struct FlakyDriver {
    inner: Arc<dyn Driver>,
    reads: CallCounter,
    writes: CallCounter,
    answers: CallCounter,
    spared: fn(&ValueKey) -> bool,
    race: Mutex<Option<LostRace>>,
}

/// The calls of one kind.
#[derive(Default)]
struct CallCounter {
    /// How many there were.
    seen: watch::Sender<u64>,
    /// So many pass before one fails.
    passing: AtomicU64,
    /// So many fail then.
    failing: AtomicU64,
}

impl FlakyDriver {
    /// A driver that does not fail yet.
    pub fn new(inner: Arc<dyn Driver>) -> Self {
        Self {
            inner,
            reads: CallCounter::default(),
            writes: CallCounter::default(),
            answers: CallCounter::default(),
            spared: |_| false,
            race: Mutex::new(None),
        }
    }

    /// The same driver, which neither counts nor fails the reading of these values: what a task in the background reads
    /// whenever it likes cannot be counted on.
    pub fn sparing(self, spared: fn(&ValueKey) -> bool) -> Self {
        Self { spared, ..self }
    }

    /// The next so many calls of this kind fail.
    pub fn fail(&self, fault: FaultKind, times: u64) {
        self.fail_after(0, fault, times);
    }

    /// After so many more calls of this kind, so many fail; with `u64::MAX` the store is down for them from then on.
    pub fn fail_after(&self, passing: u64, fault: FaultKind, failing: u64) {
        let calls = self.calls(fault);
        calls.passing.store(passing, Ordering::SeqCst);
        calls.failing.store(failing, Ordering::SeqCst);
    }

    /// The next write like this finds that somebody else was first, and changes nothing.
    pub fn lose_race(&self, is_meant: fn(&Batch) -> bool) {
        *self.race.lock() = Some(is_meant);
    }

    /// How many calls of this kind there were, failed ones included, renewals of leases apart.
    pub fn seen(&self, fault: FaultKind) -> u64 {
        *self.calls(fault).seen.borrow()
    }

    /// Waits until there were so many calls of this kind, failed ones included.
    pub async fn wait_seen(&self, fault: FaultKind, calls: u64) {
        let mut seen = self.calls(fault).seen.subscribe();
        // Who counts is here for as long.
        drop(seen.wait_for(|seen| *seen >= calls).await);
    }

    /// Everything fails until [`FlakyDriver::heal`].
    pub fn go_down(&self) {
        self.fail(FaultKind::Read, FOR_EVER);
        self.fail(FaultKind::Write, FOR_EVER);
    }

    /// Nothing fails any more.
    pub fn heal(&self) {
        for fault in [FaultKind::Read, FaultKind::Write, FaultKind::Answer] {
            self.fail(fault, 0);
        }
    }

    fn calls(&self, fault: FaultKind) -> &CallCounter {
        match fault {
            FaultKind::Read => &self.reads,
            FaultKind::Write => &self.writes,
            FaultKind::Answer => &self.answers,
        }
    }

    fn meet(&self, fault: FaultKind) -> Result<()> {
        let calls = self.calls(fault);
        calls.seen.send_modify(|seen| *seen += 1);
        if take_one(&calls.passing) || !take_one(&calls.failing) {
            return Ok(());
        }
        Err(told_to_fail(fault))
    }

    /// A lease is renewed in the background, whenever its holder comes to it: that is not counted, and fails where all writes do.
    fn meet_renewal(&self) -> Result<()> {
        let is_reached = self.writes.passing.load(Ordering::SeqCst) == 0;
        if is_reached && self.writes.failing.load(Ordering::SeqCst) == FOR_EVER {
            return Err(told_to_fail(FaultKind::Write));
        }
        Ok(())
    }
}

fn told_to_fail(fault: FaultKind) -> Error {
    Error::Unavailable {
        what: format!("the store (told to fail: {fault:?})"),
        source: None,
    }
}

/// Whether a batch does nothing else than to renew a lease.
fn is_renewal(batch: &Batch) -> bool {
    let renews = |write: &BatchWrite| match write {
        BatchWrite::Apply { op, .. } => matches!(op, Operation::Renew { .. }),
        _ => false,
    };
    !batch.writes.is_empty() && batch.writes.iter().all(renews)
}

/// Takes one of what is left; false where nothing is. What never comes to its end stays as it is.
fn take_one(left: &AtomicU64) -> bool {
    let less = |left: u64| match left {
        FOR_EVER => Some(FOR_EVER),
        left => left.checked_sub(1),
    };
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        .is_ok()
}

#[async_trait]
impl Driver for FlakyDriver {
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>> {
        if is_renewal(&batch) {
            self.meet_renewal()?;
            return self.inner.commit(batch).await;
        }
        self.meet(FaultKind::Write)?;
        let is_lost = self.race.lock().take_if(|is_meant| is_meant(&batch));
        if is_lost.is_some() {
            return Err(Error::Conflict {
                what: "the store (told to be behind others)".to_owned(),
                expected: "nobody else".to_owned(),
                found: "somebody".to_owned(),
            });
        }
        let outcomes = self.inner.commit(batch).await?;
        self.meet(FaultKind::Answer)?;
        Ok(outcomes)
    }

    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        self.meet(FaultKind::Read)?;
        self.inner.read(log, range).await
    }

    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>> {
        if !(self.spared)(key) {
            self.meet(FaultKind::Read)?;
        }
        self.inner.get(key, part).await
    }

    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>> {
        self.meet(FaultKind::Read)?;
        self.inner.scan(space, scan).await
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        self.meet(FaultKind::Read)?;
        self.inner.logs(space).await
    }

    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>> {
        self.meet(FaultKind::Read)?;
        self.inner.identities(filter, page).await
    }

    async fn count(&self, filter: &RowFilter) -> Result<u64> {
        self.meet(FaultKind::Read)?;
        self.inner.count(filter).await
    }

    async fn watch(&self, log: &LogKey) -> Result<LogWatch> {
        self.meet(FaultKind::Read)?;
        self.inner.watch(log).await
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        self.meet(FaultKind::Write)?;
        self.inner.sweep(limit).await
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.meet(FaultKind::Read)?;
        self.inner.check().await
    }

    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    async fn size(&self) -> Result<Option<u64>> {
        self.meet(FaultKind::Read)?;
        self.inner.size().await
    }

    async fn contents(&self, kinds: &[DataKind]) -> Result<Option<Vec<DataSize>>> {
        self.meet(FaultKind::Read)?;
        self.inner.contents(kinds).await
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::steps::{acquire, append, apply, entry, must, refusal, space, told};
    use crate::driver::DriverOptions;
    use crate::driver::memory::MemoryDriver;
    use crate::operation::OperationOutput;

    fn flaky() -> FlakyDriver {
        FlakyDriver::new(Arc::new(MemoryDriver::new(DriverOptions::default())))
    }

    async fn add(driver: &FlakyDriver, log: &LogKey) -> Result<Vec<WriteOutcome>> {
        let batch = Batch::of([append(log, &[("a", "1")])]);
        driver.commit(batch).await
    }

    async fn page(driver: &FlakyDriver, log: &LogKey) -> LogPage {
        must(driver.read(log, LogRange::from(1, 9)).await)
    }

    #[tokio::test]
    async fn a_failed_write_changes_nothing_and_the_next_one_succeeds() {
        let driver = flaky();
        let log = space("s").log("items");
        driver.fail(FaultKind::Write, 1);
        assert_eq!(
            refusal(add(&driver, &log).await),
            "the store (told to fail: Write) is unavailable"
        );
        assert_eq!(page(&driver, &log).await, LogPage::default());
        must(add(&driver, &log).await);
        assert_eq!(told(page(&driver, &log).await), [entry(1, "a", "1")]);
    }

    #[tokio::test]
    async fn a_lost_answer_hides_a_write_that_was_done() {
        let driver = flaky();
        let log = space("s").log("items");
        driver.fail(FaultKind::Answer, 1);
        refusal(add(&driver, &log).await);
        assert_eq!(told(page(&driver, &log).await), [entry(1, "a", "1")]);
    }

    #[tokio::test]
    async fn the_call_that_is_told_to_fail_fails_and_all_are_counted() {
        let driver = flaky();
        let log = space("s").log("items");
        driver.fail_after(2, FaultKind::Read, 1);
        let mut answers = Vec::new();
        for _ in 0..4 {
            answers.push(driver.read(&log, LogRange::head()).await.is_ok());
        }
        assert_eq!(answers, [true, true, false, true]);
        assert_eq!(
            (driver.seen(FaultKind::Read), driver.seen(FaultKind::Write)),
            (4, 0)
        );
    }

    #[tokio::test]
    async fn renewals_are_not_counted_and_fail_while_the_store_is_down() {
        let driver = flaky();
        let (log, lease) = (space("s").log("items"), space("s").lease());
        let taken = driver.commit(Batch::of([apply(&lease, acquire("me"))]));
        let [
            WriteOutcome::Applied {
                output: OperationOutput::Epoch(epoch),
                ..
            },
        ] = must(taken.await)[..]
        else {
            panic!("no lease is granted");
        };
        let renew = || driver.commit(Batch::of([apply(&lease, Operation::Renew { epoch })]));
        driver.fail(FaultKind::Write, 1);
        must(renew().await);
        refusal(add(&driver, &log).await);
        assert_eq!(driver.seen(FaultKind::Write), 2);
        driver.go_down();
        refusal(renew().await);
        driver.heal();
        must(renew().await);
    }

    #[tokio::test]
    async fn a_store_that_is_down_fails_until_it_is_healed() {
        let driver = flaky();
        let log = space("s").log("items");
        driver.go_down();
        for _ in 0..3 {
            assert!(driver.read(&log, LogRange::head()).await.is_err());
            assert!(add(&driver, &log).await.is_err());
        }
        driver.heal();
        assert_eq!(page(&driver, &log).await, LogPage::default());
    }
}
