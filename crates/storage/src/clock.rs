//! The time a store sees. Integers given by the store order things; the clock only ends leases and values.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, UTC.
pub type Millis = i64;

/// The machine's clock plus an offset. Tests move the offset instead of waiting; drivers with a clock of their own
/// (PostgreSQL, Redis) add the same offset to it.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    offset: Arc<AtomicI64>,
}

impl Clock {
    /// The present time.
    pub fn now(&self) -> Millis {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        to_millis(since) + self.offset()
    }

    /// How far this clock is ahead of the machine's.
    pub fn offset(&self) -> Millis {
        self.offset.load(Ordering::Relaxed)
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        self.offset.fetch_add(to_millis(by), Ordering::Relaxed);
    }

    /// Sets the clock back, as a wrong time server would.
    pub fn set_back(&self, by: Duration) {
        self.offset.fetch_sub(to_millis(by), Ordering::Relaxed);
    }
}

/// A duration in whole milliseconds; longer than 292 million years counts as that.
pub fn to_millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}

/// The pause behind so many failures: a first one, twice as long with each further failure, and never above the longest.
pub fn backoff(first: Duration, longest: Duration, failures: u32) -> Duration {
    let doubled = 1_u32.checked_shl(failures.saturating_sub(1));
    let pause = first.saturating_mul(doubled.unwrap_or(u32::MAX));
    pause.min(longest)
}
