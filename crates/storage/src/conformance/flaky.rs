//! A driver that fails on demand, around any other.

use crate::address::{Key, LogKey, Space};
use crate::batch::{Batch, Entry, Outcome};
use crate::directory::{Filter, PageRequest, Tracked};
use crate::driver::{Driver, Page, Part, Range, Scan, Watch};
use crate::{Error, Result};
use async_trait::async_trait;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A read fails.
    Read,
    /// A write fails and changes nothing.
    Write,
    /// A write is done, and its answer is lost.
    Answer,
}

/// Passes every call on, except those that were told to fail: these are `Unavailable`.
pub struct Flaky {
    inner: Arc<dyn Driver>,
    reads: Calls,
    writes: Calls,
    answers: Calls,
    spared: fn(&Key) -> bool,
}

/// The calls of one kind.
#[derive(Default)]
struct Calls {
    /// How many there were.
    seen: AtomicU64,
    /// So many pass before one fails.
    passing: AtomicU64,
    /// So many fail then.
    failing: AtomicU64,
}

impl Flaky {
    /// A driver that does not fail yet.
    pub fn new(inner: Arc<dyn Driver>) -> Self {
        Self {
            inner,
            reads: Calls::default(),
            writes: Calls::default(),
            answers: Calls::default(),
            spared: |_| false,
        }
    }

    /// The same driver, which neither counts nor fails the reading of these values: what a task in the background reads
    /// whenever it likes cannot be counted on.
    pub fn sparing(self, spared: fn(&Key) -> bool) -> Self {
        Self { spared, ..self }
    }

    /// The next so many calls of this kind fail.
    pub fn fail(&self, fault: Fault, times: u64) {
        self.fail_after(0, fault, times);
    }

    /// After so many more calls of this kind, so many fail.
    pub fn fail_after(&self, passing: u64, fault: Fault, failing: u64) {
        let calls = self.calls(fault);
        calls.passing.store(passing, Ordering::SeqCst);
        calls.failing.store(failing, Ordering::SeqCst);
    }

    /// How many calls of this kind there were, failed ones included.
    pub fn seen(&self, fault: Fault) -> u64 {
        self.calls(fault).seen.load(Ordering::SeqCst)
    }

    /// Everything fails until [`Flaky::heal`].
    pub fn go_down(&self) {
        self.fail(Fault::Read, u64::MAX);
        self.fail(Fault::Write, u64::MAX);
    }

    /// Nothing fails any more.
    pub fn heal(&self) {
        for fault in [Fault::Read, Fault::Write, Fault::Answer] {
            self.fail(fault, 0);
        }
    }

    fn calls(&self, fault: Fault) -> &Calls {
        match fault {
            Fault::Read => &self.reads,
            Fault::Write => &self.writes,
            Fault::Answer => &self.answers,
        }
    }

    fn meet(&self, fault: Fault) -> Result<()> {
        let calls = self.calls(fault);
        calls.seen.fetch_add(1, Ordering::SeqCst);
        if take_one(&calls.passing) || !take_one(&calls.failing) {
            return Ok(());
        }
        Err(Error::Unavailable {
            what: format!("the store (told to fail: {fault:?})"),
            source: None,
        })
    }
}

/// Takes one of what is left; false where nothing is.
fn take_one(left: &AtomicU64) -> bool {
    let less = |left: u64| left.checked_sub(1);
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        .is_ok()
}

#[async_trait]
impl Driver for Flaky {
    async fn commit(&self, batch: Batch) -> Result<Vec<Outcome>> {
        self.meet(Fault::Write)?;
        let outcomes = self.inner.commit(batch).await?;
        self.meet(Fault::Answer)?;
        Ok(outcomes)
    }

    async fn read(&self, log: &LogKey, range: Range) -> Result<Page> {
        self.meet(Fault::Read)?;
        self.inner.read(log, range).await
    }

    async fn get(&self, key: &Key, part: Part) -> Result<Option<Entry>> {
        if !(self.spared)(key) {
            self.meet(Fault::Read)?;
        }
        self.inner.get(key, part).await
    }

    async fn scan(&self, space: &Space, scan: &Scan) -> Result<Vec<(String, Entry)>> {
        self.meet(Fault::Read)?;
        self.inner.scan(space, scan).await
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        self.meet(Fault::Read)?;
        self.inner.logs(space).await
    }

    async fn identities(&self, filter: &Filter, page: &PageRequest) -> Result<Vec<Tracked>> {
        self.meet(Fault::Read)?;
        self.inner.identities(filter, page).await
    }

    async fn count(&self, filter: &Filter) -> Result<u64> {
        self.meet(Fault::Read)?;
        self.inner.count(filter).await
    }

    async fn watch(&self, log: &LogKey) -> Result<Watch> {
        self.meet(Fault::Read)?;
        self.inner.watch(log).await
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        self.meet(Fault::Write)?;
        self.inner.sweep(limit).await
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.meet(Fault::Read)?;
        self.inner.check().await
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::steps::{append, entries, entry, page, refusal, space};
    use crate::conformance::steps::{attempt, must};
    use crate::driver::Options;
    use crate::driver::memory::Memory;

    fn flaky() -> Flaky {
        Flaky::new(Arc::new(Memory::new(Options::default())))
    }

    #[tokio::test]
    async fn a_failed_write_changes_nothing_and_the_next_one_succeeds() {
        let driver = flaky();
        let log = space("s").log("items");
        driver.fail(Fault::Write, 1);
        assert_eq!(
            refusal(attempt(&driver, append(&log, &[("a", "1")])).await),
            "the store (told to fail: Write) is unavailable"
        );
        assert_eq!(page(&driver, &log).await, Page::default());
        must(attempt(&driver, append(&log, &[("a", "1")])).await);
        assert_eq!(entries(&driver, &log).await, [entry(1, "a", "1")]);
    }

    #[tokio::test]
    async fn a_lost_answer_hides_a_write_that_was_done() {
        let driver = flaky();
        let log = space("s").log("items");
        driver.fail(Fault::Answer, 1);
        refusal(attempt(&driver, append(&log, &[("a", "1")])).await);
        assert_eq!(entries(&driver, &log).await, [entry(1, "a", "1")]);
    }

    #[tokio::test]
    async fn the_call_that_is_told_to_fail_fails_and_all_are_counted() {
        let driver = flaky();
        let log = space("s").log("items");
        driver.fail_after(2, Fault::Read, 1);
        let mut answers = Vec::new();
        for _ in 0..4 {
            answers.push(driver.read(&log, Range::head()).await.is_ok());
        }
        assert_eq!(answers, [true, true, false, true]);
        assert_eq!(
            (driver.seen(Fault::Read), driver.seen(Fault::Write)),
            (4, 0)
        );
    }

    #[tokio::test]
    async fn a_store_that_is_down_fails_until_it_is_healed() {
        let driver = flaky();
        let log = space("s").log("items");
        driver.go_down();
        for _ in 0..3 {
            assert!(driver.read(&log, Range::head()).await.is_err());
            assert!(attempt(&driver, append(&log, &[])).await.is_err());
        }
        driver.heal();
        assert_eq!(page(&driver, &log).await, Page::default());
    }
}
