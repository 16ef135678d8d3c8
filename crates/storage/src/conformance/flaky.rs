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
    reads: AtomicU64,
    writes: AtomicU64,
    answers: AtomicU64,
}

impl Flaky {
    /// A driver that does not fail yet.
    pub fn new(inner: Arc<dyn Driver>) -> Self {
        Self {
            inner,
            reads: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            answers: AtomicU64::new(0),
        }
    }

    /// The next so many calls of this kind fail.
    pub fn fail(&self, fault: Fault, times: u64) {
        self.left(fault).store(times, Ordering::SeqCst);
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

    fn left(&self, fault: Fault) -> &AtomicU64 {
        match fault {
            Fault::Read => &self.reads,
            Fault::Write => &self.writes,
            Fault::Answer => &self.answers,
        }
    }

    fn meet(&self, fault: Fault) -> Result<()> {
        let less = |left: u64| left.checked_sub(1);
        match self
            .left(fault)
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        {
            Ok(_) => Err(Error::Unavailable {
                what: format!("the store (told to fail: {fault:?})"),
                source: None,
            }),
            Err(_) => Ok(()),
        }
    }
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
        self.meet(Fault::Read)?;
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
