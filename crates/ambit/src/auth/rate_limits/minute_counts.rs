//! What was done of late, by minutes of the clock. Where nodes share PostgreSQL or Redis the counts are values there, which live as
//! long as they count; else they are in memory.

use super::minute_use::{ClockMinute, MinuteUse};
use super::{LimitedCaller, LimitedThing, ReachedLimit};
use ambit_runtime::lock::lock;
use ambit_runtime::{Error, Result};
use ambit_storage::Json;
use ambit_storage::address::{Space, ValueKey};
use ambit_storage::batch::{Batch, BatchWrite, WriteOutcome};
use ambit_storage::clock::to_millis;
use ambit_storage::driver::{Driver, ValuePart};
use ambit_storage::operation::{Operation, OperationOutput};
use futures::future::try_join_all;
use serde_json::Number;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// How long a count in a store lives: its minute and the next one, from whenever it begins.
const LIFE: Duration = Duration::from_secs(120);
/// So many counts are in memory. Where more are needed, further callers are not limited until others count no more.
const MOST_COUNTS: usize = 50_000;

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
    /// The answer where it takes so many milliseconds until more is allowed.
    fn reached(&self, wait: u64) -> ReachedLimit {
        ReachedLimit {
            caller: self.caller,
            thing: self.thing,
            most: self.most,
            retry_after: wait.div_ceil(1000),
        }
    }

    /// What the store counts of it within a minute.
    fn key(&self, minute: i64) -> ValueKey {
        Space::rate_limits().key(format!("{}/{minute}", self.name))
    }
}

/// What was done of late.
pub(super) struct MinuteCounts {
    /// Where the counts are, if nodes share them.
    store: Option<Arc<dyn Driver>>,
    /// The counts, or of those in a store what this node has seen of them.
    known: Mutex<KnownCounts>,
}

#[derive(Default)]
struct KnownCounts {
    uses: HashMap<String, KnownUse>,
    /// In which minute those that count no more were last removed.
    swept: i64,
}

struct KnownUse {
    minute: i64,
    done: MinuteUse,
}

impl MinuteCounts {
    /// Nothing was done so far, or what is in a store that nodes share.
    pub fn new(store: Option<Arc<dyn Driver>>) -> Self {
        let known = Mutex::default();
        Self { store, known }
    }

    /// Counts all of them, or none where there was as much of one as is allowed.
    pub async fn count(&self, uses: &[LimitedUse]) -> Result<Option<ReachedLimit>> {
        self.count_at(uses, ClockMinute::now()).await
    }

    async fn count_at(
        &self,
        uses: &[LimitedUse],
        now: ClockMinute,
    ) -> Result<Option<ReachedLimit>> {
        if let Some(reached) = self.count_known(uses, now) {
            return Ok(Some(reached));
        }
        let Some(store) = &self.store else {
            return Ok(None);
        };
        // Each is counted before it is judged: of two that come together to the last place, one is refused.
        for (at, used) in uses.iter().enumerate() {
            if let Some(wait) = self.count_in_store(store, used, now).await? {
                take_back(store, &uses[..=at], now).await?;
                return Ok(Some(used.reached(wait)));
            }
        }
        Ok(None)
    }

    /// Adds to counts in memory, whatever is allowed; false where they are in a store.
    pub fn add_in_memory(&self, uses: &[LimitedUse]) -> bool {
        let is_here = self.store.is_none();
        if is_here {
            self.known().add(uses, ClockMinute::now());
        }
        is_here
    }

    /// Adds to counts in a store, whatever is allowed.
    pub async fn add_in_store(&self, uses: &[LimitedUse]) -> Result<()> {
        if let Some(store) = &self.store {
            let now = ClockMinute::now();
            let adding = |used: &LimitedUse| add_to(store, used.key(now.number), used.amount);
            try_join_all(uses.iter().map(adding)).await?;
        }
        Ok(())
    }

    /// The limit that is known to be reached; where none is, counts are in memory and go up here.
    fn count_known(&self, uses: &[LimitedUse], now: ClockMinute) -> Option<ReachedLimit> {
        let mut known = self.known();
        for used in uses {
            let done = known.done(&used.name, now.number);
            if let Some(wait) = done.wait(used.most, now) {
                return Some(used.reached(wait));
            }
        }
        if self.store.is_none() {
            known.add(uses, now);
        }
        None
    }

    /// Adds to a count in the store; returns how long it takes until that would have been allowed, where it is not now.
    async fn count_in_store(
        &self,
        store: &Arc<dyn Driver>,
        used: &LimitedUse,
        now: ClockMinute,
    ) -> Result<Option<u64>> {
        let total = add_to(store, used.key(now.number), used.amount).await?;
        let known = self.known().previous(&used.name, now.number);
        let previous = match known {
            Some(previous) => previous,
            None => stored_count(store, used.key(now.number - 1)).await?,
        };
        let before = MinuteUse {
            previous,
            current: total.saturating_sub(used.amount),
        };
        let wait = before.wait(used.most, now);
        let current = wait.map_or(total, |_| before.current);
        let done = MinuteUse { previous, current };
        self.known().set(&used.name, now.number, done);
        Ok(wait)
    }

    fn known(&self) -> MutexGuard<'_, KnownCounts> {
        lock(&self.known)
    }
}

impl KnownCounts {
    /// What is known to be done in a minute and in the one before; of counts in a store it may be less than was done.
    fn done(&self, name: &str, minute: i64) -> MinuteUse {
        let Some(known) = self.uses.get(name) else {
            return MinuteUse::default();
        };
        match minute - known.minute {
            // A clock that is set back begins nothing anew.
            ..=0 => known.done,
            1 => MinuteUse {
                previous: known.done.current,
                current: 0,
            },
            _ => MinuteUse::default(),
        }
    }

    /// What was done in the minute before this one, where this node has looked in this one.
    fn previous(&self, name: &str, minute: i64) -> Option<u64> {
        let known = self.uses.get(name)?;
        (known.minute == minute).then_some(known.done.previous)
    }

    fn add(&mut self, uses: &[LimitedUse], now: ClockMinute) {
        for used in uses {
            let done = self.done(&used.name, now.number);
            let current = done.current.saturating_add(used.amount);
            self.set(&used.name, now.number, MinuteUse { current, ..done });
        }
    }

    fn set(&mut self, name: &str, minute: i64, done: MinuteUse) {
        if self.uses.len() >= MOST_COUNTS && self.swept != minute {
            self.uses.retain(|_, known| known.minute >= minute - 1);
            self.swept = minute;
        }
        if self.uses.len() < MOST_COUNTS || self.uses.contains_key(name) {
            self.uses.insert(name.to_owned(), KnownUse { minute, done });
        }
    }
}

/// Takes back what was counted and is not done.
async fn take_back(store: &Arc<dyn Driver>, uses: &[LimitedUse], now: ClockMinute) -> Result<()> {
    let counted = uses.iter().filter(|used| used.amount > 0);
    let back = counted.map(|used| {
        let amount = i64::try_from(used.amount).unwrap_or(i64::MAX);
        add_to(store, used.key(now.number), -amount)
    });
    try_join_all(back).await?;
    Ok(())
}

/// Adds to a count in the store, which begins one that is not there; returns what it is now.
async fn add_to(store: &Arc<dyn Driver>, key: ValueKey, amount: impl Into<Number>) -> Result<u64> {
    // Each is a batch of its own: the store joins those that only add.
    let add = Operation::Incr(amount.into());
    let write = BatchWrite::apply(key, add, Some(to_millis(LIFE)));
    let done = store.commit(Batch::of([write])).await?;
    match done.into_iter().next() {
        Some(WriteOutcome::Applied {
            output: OperationOutput::Number(total),
            ..
        }) => number(&total),
        _ => Err(Error::internal("a count of a limit has no number")),
    }
}

async fn stored_count(store: &Arc<dyn Driver>, key: ValueKey) -> Result<u64> {
    let stored = store.get(&key, ValuePart::Whole).await?;
    stored.map_or(Ok(0), |stored| number(&stored.value))
}

fn number(count: &Json) -> Result<u64> {
    let count: i64 = count.to()?;
    Ok(u64::try_from(count).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::{LimitedCaller, LimitedThing};
    use super::{ClockMinute, KnownCounts, LimitedUse, MOST_COUNTS, MinuteCounts, MinuteUse};
    use ambit_storage::Stores;
    use ambit_storage::driver::{Driver, DriverOptions};
    use std::sync::Arc;

    fn used(name: &str, most: u64) -> LimitedUse {
        LimitedUse {
            name: name.to_owned(),
            caller: LimitedCaller::User,
            thing: LimitedThing::Turns,
            most,
            amount: 1,
        }
    }

    fn minute(number: i64, left: u64) -> ClockMinute {
        ClockMinute { number, left }
    }

    fn store() -> Arc<dyn Driver> {
        let stores = Stores::builder(DriverOptions::default()).build().unwrap();
        stores.index().unwrap().driver().clone()
    }

    /// One node, and two that share a store.
    fn installations() -> [Vec<MinuteCounts>; 2] {
        let store = store();
        let sharing = (0..2).map(|_| MinuteCounts::new(Some(store.clone())));
        [vec![MinuteCounts::new(None)], sharing.collect()]
    }

    #[tokio::test]
    async fn no_more_than_the_limit_passes_around_the_border_of_two_minutes() {
        for nodes in installations() {
            let mut turns = nodes.iter().cycle();
            let mut ask = async |now: ClockMinute| {
                let uses = [used("ann", 4)];
                let reached = turns.next().unwrap().count_at(&uses, now).await;
                reached.unwrap().map(|reached| reached.retry_after)
            };
            for _ in 0..4 {
                assert_eq!(ask(minute(7, 1)).await, None);
            }
            for _ in 0..3 {
                assert_eq!(ask(minute(7, 1)).await, Some(16));
            }
            for _ in 0..3 {
                assert_eq!(ask(minute(8, 60_000)).await, Some(15));
            }
            assert_eq!(ask(minute(8, 45_000)).await, None);
            assert_eq!(ask(minute(8, 45_000)).await, Some(15));
            assert_eq!(ask(minute(8, 30_000)).await, None);
            // Of the minute before there are two, of the one before that none.
            assert_eq!(ask(minute(9, 60_000)).await, None);
            assert_eq!(ask(minute(9, 60_000)).await, None);
            assert_eq!(ask(minute(9, 60_000)).await, Some(30));
            for _ in 0..4 {
                assert_eq!(ask(minute(20, 60_000)).await, None);
            }
        }
    }

    #[tokio::test]
    async fn what_is_refused_for_one_limit_is_counted_to_no_other() {
        for nodes in installations() {
            let ask = async |node: &MinuteCounts, uses: &[LimitedUse]| {
                let reached = node.count_at(uses, minute(7, 30_000)).await.unwrap();
                reached.is_some()
            };
            let (first, last) = (&nodes[0], &nodes[nodes.len() - 1]);
            assert!(!ask(last, &[used("tenant", 1)]).await);
            for _ in 0..3 {
                assert!(ask(first, &[used("ann", 2), used("tenant", 1)]).await);
            }
            assert!(!ask(first, &[used("ann", 2)]).await);
            assert!(!ask(first, &[used("ann", 2)]).await);
            assert!(ask(first, &[used("ann", 2)]).await);
        }
    }

    #[test]
    fn a_clock_that_is_set_back_begins_nothing_anew() {
        let mut known = KnownCounts::default();
        known.add(&[used("ann", 2), used("ann", 2)], minute(7, 60_000));
        known.add(&[used("ann", 2)], minute(6, 1));
        let expected = MinuteUse {
            previous: 0,
            current: 3,
        };
        assert_eq!(known.done("ann", 6), expected);
    }

    #[test]
    fn counts_in_memory_are_so_many_at_most() {
        let mut known = KnownCounts::default();
        for number in 0..MOST_COUNTS {
            known.add(&[used(&number.to_string(), 2)], minute(7, 1));
        }
        known.add(&[used("one more", 2), used("7", 2)], minute(7, 1));
        assert_eq!(known.uses.len(), MOST_COUNTS);
        assert_eq!(known.done("7", 7).current, 2);
        assert_eq!(known.done("one more", 7), MinuteUse::default());
        known.add(&[used("one more", 2)], minute(9, 1));
        assert_eq!(known.uses.len(), 1);
    }
}
