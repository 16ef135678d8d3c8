//! Turns that nobody runs any more: found by the note that each open turn leaves, and gone on with from their journal.

mod orphaned_turn;

use crate::error::{ErrorCode, Result};
use crate::journal::{JournalStep, OpenTurn};
use crate::live_turn::LiveTurns;
use crate::runtime_core::RuntimeCore;
use ambit_storage::LiveAgent;
use ambit_storage::address::Space;
use ambit_storage::clock::backoff;
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::lease::OnBusy;
use ambit_storage::pattern::Pattern;
use ambit_telemetry::table;
use futures::future::BoxFuture;
use orphaned_turn::OrphanedTurn;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// At most so many turns are taken up at once, where they do not end within their pause: a node that was too busy for so many
/// as it had would be so once more, and late with their leases again.
const AT_ONCE: usize = 64;
/// Until a turn that could not be taken up, or was left again, is tried again, first and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The open turns of the conversation with this digest, or of all with an empty one.
pub(super) async fn open_turns(driver: &Arc<dyn Driver>, digest: &str) -> Result<Vec<OpenTurn>> {
    let pattern = match digest {
        "" => Pattern::all(),
        digest => Pattern::parse(&format!("{digest}/*")),
    };
    let space = Space::turns();
    let mut pages = ValuePages::of(driver.as_ref(), &space, pattern, ValuePart::Whole);
    let mut open = Vec::new();
    while let Some(page) = pages.next().await? {
        for (_, entry) in page {
            open.push(entry.value.to()?);
        }
    }
    Ok(open)
}

/// Turns that were not finished although this node has tried: they could not be taken up, as when their agent is gone or does
/// not load, or were left again, as when their lease could not be renewed. They wait for longer each time.
#[derive(Default)]
pub(crate) struct RecoveryBackoff(HashMap<String, RecoveryPause>);

struct RecoveryPause {
    failures: u32,
    end: Instant,
}

impl RecoveryBackoff {
    fn is_early(&self, request_id: &str) -> bool {
        let pause = self.0.get(request_id);
        pause.is_some_and(|pause| Instant::now() < pause.end)
    }

    /// How many run here that were taken up within their pause.
    fn fresh(&self, turns: &LiveTurns) -> usize {
        let is_fresh = |id: &&String| self.is_early(id) && turns.get(id).is_some();
        self.0.keys().filter(is_fresh).count()
    }

    /// Begins the pause before the next try, and returns its length.
    fn note(&mut self, request_id: &str) -> Duration {
        let before = self.0.get(request_id);
        let failures = before.map_or(0, |pause| pause.failures).saturating_add(1);
        let length = backoff(FIRST_PAUSE, LONGEST_PAUSE, failures);
        let end = Instant::now() + length;
        self.0
            .insert(request_id.to_owned(), RecoveryPause { failures, end });
        length
    }
}

/// Takes up open turns that nobody holds, as many as may be at once. The answer is how many there were.
pub(crate) async fn recover_all(
    core: &Arc<RuntimeCore>,
    backoff: &mut RecoveryBackoff,
) -> Result<usize> {
    let (mut taken, mut seen) = (0, HashSet::new());
    let room = AT_ONCE.saturating_sub(backoff.fresh(&core.turns));
    for driver in core.stores.drivers().values() {
        for open in open_turns(driver, "").await? {
            let id = &open.request_id;
            seen.insert(id.clone());
            if taken == room || core.turns.get(id).is_some() || backoff.is_early(id) {
                continue;
            }
            match take_up(core, driver, &open).await {
                Ok(true) => {
                    // For the case that it is left once more; one that ends is not seen again.
                    backoff.note(id);
                    taken += 1;
                }
                Ok(false) => {}
                Err(error) if error.code == ErrorCode::Unavailable => return Err(error),
                Err(error) => {
                    let pause = backoff.note(id);
                    tracing::warn!(request.id = id, %error, ?pause, "an open turn could not be taken up; it is tried again");
                }
            }
        }
    }
    backoff.0.retain(|id, _| seen.contains(id));
    Ok(taken)
}

/// Goes on with a turn; false where somebody holds its conversation, or it has ended meanwhile.
fn take_up<'a>(
    core: &'a Arc<RuntimeCore>,
    driver: &'a Arc<dyn Driver>,
    open: &'a OpenTurn,
) -> BoxFuture<'a, Result<bool>> {
    Box::pin(async move {
        // A live lease, and a turn that has ended since its note was read, are seen without a write.
        let lease = driver.get(&open.space.lease(), ValuePart::Nothing).await?;
        if lease.is_some() || driver.get(&open.key(), ValuePart::Nothing).await?.is_none() {
            return Ok(false);
        }
        let Some(orphan) = OrphanedTurn::read(driver, open).await? else {
            return Ok(false);
        };
        let session = orphan.session(core).await?;
        let context = session.context().clone();
        match context.begin_turn(OnBusy::Reject).await {
            Err(ambit_storage::Error::Busy { .. }) => return Ok(false),
            begun => begun?,
        }
        let is_resumed = resume(core, driver, open, session).await;
        if !matches!(is_resumed, Ok(true)) {
            context.discard();
            context.end_turn().await?;
        }
        is_resumed
    })
}

/// Goes on with a turn whose conversation is held; false where it has ended meanwhile.
async fn resume(
    core: &Arc<RuntimeCore>,
    driver: &Arc<dyn Driver>,
    open: &OpenTurn,
    session: LiveAgent,
) -> Result<bool> {
    if driver.get(&open.key(), ValuePart::Nothing).await?.is_none() {
        return Ok(false);
    }
    // Whoever had the conversation until now may have gone on since the journal was read first.
    let Some(orphan) = OrphanedTurn::read(driver, open).await? else {
        return Ok(false);
    };
    let is_hopeless = orphan.is_hopeless();
    let mut turn = orphan.turn(core, session).await?;
    let note = turn.context.request_note(&turn.conversation, None)?;
    let open = turn.context.open_note(&turn.conversation);
    turn.conversation.stage([note, open.write()?]);
    turn.record(JournalStep::Attempt).await?;
    let context = &turn.context;
    core.turns.insert(context.id(), context.live.clone());
    tracing::info!(
        request.id = context.id(),
        "an interrupted turn is taken up again"
    );
    count(core, if is_hopeless { "closed" } else { "resumed" });
    match is_hopeless {
        // A turn that could not be closed has been logged, and is taken up again.
        true => core.spawn(async move { drop(turn.give_up().await) }),
        false => core.spawn(turn.run()),
    }
    Ok(true)
}

/// Closes what an earlier turn of a conversation has left open, now that its lease is ours. The conversation stays held. The answer
/// is which turns these were.
pub(super) async fn settle_orphans(
    core: &Arc<RuntimeCore>,
    session: &LiveAgent,
) -> Result<Vec<String>> {
    let (space, driver) = session.context().place();
    let mut settled = Vec::new();
    for open in open_turns(&driver, &space.digest()).await? {
        if let Some(orphan) = OrphanedTurn::read(&driver, &open).await? {
            // Boxed: most turns find none, and their futures are smaller so.
            let settle = Box::pin(async {
                let mut turn = orphan.turn(core, session.clone()).await?;
                turn.conversation.is_held_by_next = true;
                turn.settle().await
            });
            settle.await?;
            settled.push(open.request_id);
            count(core, "closed");
        }
    }
    Ok(settled)
}

fn count(core: &RuntimeCore, result: &str) {
    core.metrics().count(&table::TURN_RECOVERIES, [result]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_cannot_be_taken_up_waits_longer_each_time() {
        let mut backoff = RecoveryBackoff::default();
        assert!(!backoff.is_early("a"));
        for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            let pause = backoff.note("a");
            assert_eq!(pause, Duration::from_secs(seconds));
            assert!(backoff.is_early("a") && !backoff.is_early("b"));
            tokio::time::advance(pause).await;
            assert!(!backoff.is_early("a"));
        }
    }
}
