//! The processor time of threads.

use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Processor time of the calling thread since it began.
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanos)
}

/// The processor time of one thread, for others to read. Only Linux tells; it lags behind by a few milliseconds.
#[derive(Debug, Clone)]
pub struct ThreadClock(Option<Arc<Path>>);

impl ThreadClock {
    /// The calling thread's.
    pub fn own() -> Self {
        let folder = std::fs::canonicalize("/proc/thread-self").ok();
        Self(folder.map(|folder| folder.join("schedstat").into()))
    }

    /// What the thread has used since it began; `None` where the system does not say.
    pub fn read(&self) -> Option<Duration> {
        let text = std::fs::read_to_string(self.0.as_ref()?).ok()?;
        let nanos = text.split(' ').next()?.parse().ok()?;
        Some(Duration::from_nanos(nanos))
    }
}
