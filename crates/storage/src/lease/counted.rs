//! Leases of conversations, counted: how many are held, how many were lost, and how long turns waited for them.

use super::{Lease, LeaseEnd, OnBusy};
use crate::Result;
use crate::address::ValueKey;
use crate::driver::Driver;
use crate::time_counts::TimeCounts;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Instant;

/// What was counted of the leases of conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseCounts {
    /// How many are held.
    pub held: u64,
    /// How many are asked for and not granted yet.
    pub waiting: u64,
    /// How many were lost while they were held.
    pub lost: u64,
    /// How long was waited for those that were taken.
    pub waits: TimeCounts,
}

/// Counts leases. The clones count together.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeaseCounters(Arc<Mutex<LeaseCounts>>);

impl LeaseCounters {
    /// What has been counted so far.
    pub fn counts(&self) -> LeaseCounts {
        self.0.lock().clone()
    }

    /// Takes a lease that counts as held until what is answered is dropped.
    pub async fn take(
        &self,
        driver: Arc<dyn Driver>,
        key: ValueKey,
        on_busy: OnBusy,
    ) -> Result<CountedLease> {
        let asked = Instant::now();
        let request = LeaseRequest::begin(self);
        let taken = Lease::take(driver, key, on_busy).await;
        drop(request);
        let lease = taken?;
        let mut counts = self.0.lock();
        counts.held += 1;
        counts.waits.add(asked.elapsed());
        drop(counts);
        let counters = self.clone();
        Ok(CountedLease { lease, counters })
    }
}

/// A lease that is asked for, until this is dropped.
struct LeaseRequest<'a>(&'a LeaseCounters);

impl<'a> LeaseRequest<'a> {
    fn begin(counters: &'a LeaseCounters) -> Self {
        counters.0.lock().waiting += 1;
        Self(counters)
    }
}

impl Drop for LeaseRequest<'_> {
    fn drop(&mut self) {
        self.0.0.lock().waiting -= 1;
    }
}

/// A lease that counts as held.
pub(crate) struct CountedLease {
    pub lease: Lease,
    counters: LeaseCounters,
}

impl Drop for CountedLease {
    fn drop(&mut self) {
        let is_lost = *self.lease.held.ended.borrow() == Some(LeaseEnd::Lost);
        let mut counts = self.counters.0.lock();
        counts.held -= 1;
        counts.lost += u64::from(is_lost);
    }
}
