//! What was done within a minute, which begins with the first of it. Where nodes share PostgreSQL or Redis the counts are values there,
//! which live for a minute; else they are in memory.

use super::{LimitedCaller, LimitedThing, ReachedLimit};
use ambit_runtime::{Error, Result};
use ambit_storage::address::{Space, ValueKey};
use ambit_storage::batch::{Batch, BatchWrite, WriteOutcome};
use ambit_storage::clock::{Clock, to_millis};
use ambit_storage::driver::{Driver, ValuePart};
use ambit_storage::operation::{Operation, OperationOutput};
use futures::future::try_join_all;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long things are counted together.
const MINUTE: Duration = Duration::from_secs(60);
/// So many counts are in memory. Where more are needed, further callers are not limited until a minute is over.
const MOST_COUNTS: usize = 50_000;
/// Where there are so many, those that are over are looked for this often at most.
const SWEEP: Duration = Duration::from_secs(1);

/// Something that somebody does, where it is limited.
pub(super) struct LimitedUse {
    /// Names who does what, and is no text of theirs.
    pub name: String,
    pub caller: LimitedCaller,
    pub thing: LimitedThing,
    /// So much is allowed within a minute.
    pub most: u64,
    /// So much is done now.
    pub amount: u64,
}

impl LimitedUse {
    fn reached(&self, left: Duration) -> ReachedLimit {
        ReachedLimit {
            caller: self.caller,
            thing: self.thing,
            most: self.most,
            retry_after: left.as_secs() + 1,
        }
    }

    fn key(&self) -> ValueKey {
        Space::rate_limits().key(self.name.as_str())
    }
}

/// What was done of late.
pub(super) struct MinuteCounts {
    /// Where the counts are, if nodes share them.
    store: Option<Arc<dyn Driver>>,
    /// The counts, or of those in a store the ones of which the limit was reached.
    known: Mutex<KnownCounts>,
}

#[derive(Default)]
struct KnownCounts {
    windows: HashMap<String, CountWindow>,
    /// When those that are over were last removed.
    swept: Option<Instant>,
}

struct CountWindow {
    count: u64,
    ends: Instant,
}

impl MinuteCounts {
    /// Nothing was done so far, or what is in a store that nodes share.
    pub fn new(store: Option<Arc<dyn Driver>>) -> Self {
        let known = Mutex::default();
        Self { store, known }
    }

    /// Counts one after the other, up to one of which there was as much before as is allowed.
    pub async fn count(&self, uses: &[LimitedUse]) -> Result<Option<ReachedLimit>> {
        if let Some(reached) = self.count_known(uses) {
            return Ok(Some(reached));
        }
        let Some(store) = &self.store else {
            return Ok(None);
        };
        // One after the other: what is refused for a user is not counted to the tenant.
        for used in uses {
            let total = add_to(store, used).await?;
            let before = total.saturating_sub(used.amount);
            if before >= used.most {
                let left = left_of(store, used).await?;
                remember(&mut self.known(), used, before, left);
                return Ok(Some(used.reached(left)));
            }
        }
        Ok(None)
    }

    /// Adds to counts in memory, whatever is allowed; false where they are in a store.
    pub fn add_in_memory(&self, uses: &[LimitedUse]) -> bool {
        let is_here = self.store.is_none();
        if is_here {
            add_known(&mut self.known(), uses);
        }
        is_here
    }

    /// Adds to counts in a store, whatever is allowed.
    pub async fn add_in_store(&self, uses: &[LimitedUse]) -> Result<()> {
        if let Some(store) = &self.store {
            try_join_all(uses.iter().map(|used| add_to(store, used))).await?;
        }
        Ok(())
    }

    /// The limit that is known to be reached; where none is, counts are in memory and go up here.
    fn count_known(&self, uses: &[LimitedUse]) -> Option<ReachedLimit> {
        let mut known = self.known();
        for used in uses {
            let window = live(&known, &used.name);
            if window.map_or(0, |(count, _)| count) >= used.most {
                return Some(used.reached(window.map_or(MINUTE, |(_, left)| left)));
            }
        }
        if self.store.is_none() {
            add_known(&mut known, uses);
        }
        None
    }

    fn known(&self) -> MutexGuard<'_, KnownCounts> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A count that is not over, and for how long it goes on.
fn live(known: &KnownCounts, name: &str) -> Option<(u64, Duration)> {
    let window = known.windows.get(name)?;
    let left = window.ends.saturating_duration_since(Instant::now());
    (!left.is_zero()).then_some((window.count, left))
}

fn add_known(known: &mut KnownCounts, uses: &[LimitedUse]) {
    for used in uses {
        let (count, left) = live(known, &used.name).unwrap_or((0, MINUTE));
        remember(known, used, count.saturating_add(used.amount), left);
    }
}

fn remember(known: &mut KnownCounts, used: &LimitedUse, count: u64, left: Duration) {
    let now = Instant::now();
    let is_swept = known.swept.is_some_and(|swept| now - swept < SWEEP);
    if known.windows.len() >= MOST_COUNTS && !is_swept {
        known.windows.retain(|_, window| window.ends > now);
        known.swept = Some(now);
    }
    if known.windows.len() < MOST_COUNTS || known.windows.contains_key(&used.name) {
        let ends = now + left;
        known
            .windows
            .insert(used.name.clone(), CountWindow { count, ends });
    }
}

/// Adds to a count in the store, which begins one that is not there; returns what it is now.
async fn add_to(store: &Arc<dyn Driver>, used: &LimitedUse) -> Result<u64> {
    // Each is a batch of its own: the store joins those that only add.
    let add = Operation::Incr(used.amount.into());
    let write = BatchWrite::apply(used.key(), add, Some(to_millis(MINUTE)));
    let done = store.commit(Batch::of([write])).await?;
    match done.into_iter().next() {
        Some(WriteOutcome::Applied {
            output: OperationOutput::Number(total),
            ..
        }) => Ok(total.to()?),
        _ => Err(Error::internal("a count of a limit has no number")),
    }
}

/// For how long a count in the store goes on.
async fn left_of(store: &Arc<dyn Driver>, used: &LimitedUse) -> Result<Duration> {
    let stored = store.get(&used.key(), ValuePart::Whole).await?;
    let ends = stored.and_then(|stored| stored.expires_at);
    let left = ends.map_or(0, |ends| ends - Clock::default().now());
    let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
    Ok(left.min(MINUTE))
}

#[cfg(test)]
mod tests {
    use super::super::{LimitedCaller, LimitedThing};
    use super::{KnownCounts, LimitedUse, MINUTE, MOST_COUNTS, add_known, live, remember};
    use std::time::Duration;

    fn used(name: &str) -> LimitedUse {
        LimitedUse {
            name: name.to_owned(),
            caller: LimitedCaller::User,
            thing: LimitedThing::Turns,
            most: 2,
            amount: 1,
        }
    }

    #[test]
    fn a_count_is_over_when_its_minute_is() {
        let mut known = KnownCounts::default();
        remember(&mut known, &used("ann"), 5, Duration::ZERO);
        add_known(&mut known, &[used("ann"), used("bob")]);
        add_known(&mut known, &[used("bob")]);
        let count = |name: &str| live(&known, name).unwrap().0;
        assert_eq!((count("ann"), count("bob")), (1, 2));
    }

    #[test]
    fn counts_in_memory_are_so_many_at_most() {
        let mut known = KnownCounts::default();
        for number in 0..MOST_COUNTS {
            remember(&mut known, &used(&number.to_string()), 1, MINUTE);
        }
        add_known(&mut known, &[used("one more"), used("7")]);
        assert_eq!(known.windows.len(), MOST_COUNTS);
        assert_eq!(live(&known, "7").unwrap().0, 2);
        assert!(live(&known, "one more").is_none());
    }
}
