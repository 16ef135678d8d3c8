//! The pages that are being built for callers on this node. How large one becomes is known when it is built: few are built for one
//! caller at once, and the others wait.

use ambit_runtime::lock::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many are built for one caller at once.
const MOST: usize = 4;

/// How many more may be built, by whose they are.
#[derive(Default)]
pub(super) struct PageBuilds(Mutex<HashMap<String, Arc<Semaphore>>>);

/// A page that is being built, until the last clone of this is dropped. The default is one that nobody counts.
#[derive(Clone, Default)]
pub struct PageBuild {
    _counted: Option<Arc<OwnedSemaphorePermit>>,
}

impl PageBuilds {
    /// Waits until one more page may be built for this caller.
    pub async fn begin(&self, caller: String) -> PageBuild {
        let permit = self.permits(caller).acquire_owned().await;
        PageBuild {
            // Nobody closes the semaphore.
            _counted: permit.ok().map(Arc::new),
        }
    }

    /// How many are built or waited for.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        let shares = |permits: &Arc<Semaphore>| Arc::strong_count(permits) - 1;
        self.callers().values().map(shares).sum()
    }

    fn permits(&self, caller: String) -> Arc<Semaphore> {
        let mut callers = self.callers();
        // Whoever builds or waits has a share of theirs.
        callers.retain(|_, permits| Arc::strong_count(permits) > 1);
        let permits = callers.entry(caller);
        permits
            .or_insert_with(|| Arc::new(Semaphore::new(MOST)))
            .clone()
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<String, Arc<Semaphore>>> {
        lock(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, PageBuilds};
    use futures::FutureExt;

    #[tokio::test]
    async fn a_caller_has_so_many_pages_built_at_once_and_others_have_theirs() {
        let builds = PageBuilds::default();
        let begin = |caller: &str| builds.begin(caller.to_owned());
        let mut held = Vec::new();
        for _ in 0..MOST {
            held.push(begin("ann").await);
        }
        assert!(begin("ann").now_or_never().is_none());
        assert!(begin("bob").now_or_never().is_some());
        held.pop();
        let last = begin("ann").now_or_never();
        assert!(last.is_some() && begin("ann").now_or_never().is_none());
        drop((held, last));
        drop(begin("eve").await);
        assert_eq!(builds.callers().len(), 1);
    }
}
