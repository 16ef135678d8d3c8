//! What a node does by itself for as long as it runs: turns that nobody runs are taken up, and what is over is ended.

use crate::error::Result;
use crate::memory_search::erase_gone_values;
use crate::runtime_core::RuntimeCore;
use crate::{retention, turn};
use ambit_storage::Caller;
use ambit_storage::clock::backoff;
use std::sync::Weak;
use std::time::Duration;

/// From one look to the next.
const LOOK: Duration = Duration::from_secs(1);
/// From one look to the next while a store is away.
const LONGEST: Duration = Duration::from_secs(8);
/// Streams and traces are looked at with every so many looks.
const RETENTION: u64 = 10;
/// Temporary conversations too.
const TEMPORARY: u64 = 60;
/// What is gone from memories, in their indexes.
const MEMORIES: u64 = 30;
/// A walk over the whole index.
const INDEX_SWEEP_LOOKS: u64 = 600;
/// Rows of the index in one step of that walk.
const STEP: usize = 100;

/// Takes up turns that nobody runs any more. A store that is away is asked less often.
pub(crate) async fn recover(core: Weak<RuntimeCore>) {
    let (mut failing, mut failures) = (turn::RecoveryBackoff::default(), 0);
    while let Some(core) = core.upgrade() {
        match turn::recover_all(&core, &mut failing).await {
            Ok(_) => failures = 0,
            Err(error) => {
                tracing::warn!(%error, "open turns could not be looked for");
                failures += 1;
            }
        }
        drop(core);
        tokio::time::sleep(backoff(LOOK, LONGEST, failures + 1)).await;
    }
}

/// Ends what is over.
pub(crate) async fn tidy(core: Weak<RuntimeCore>) {
    for look in 0_u64.. {
        let Some(core) = core.upgrade() else {
            return;
        };
        if look.is_multiple_of(RETENTION) {
            retention::drop_due(&core).await;
        }
        if look.is_multiple_of(TEMPORARY) {
            end_temporary(&core).await;
            core.loaded().mcp.close_idle();
        }
        if look.is_multiple_of(MEMORIES) {
            erase_gone_values(&core.stores).await;
        }
        if look.is_multiple_of(INDEX_SWEEP_LOOKS)
            && let Err(error) = sweep_index(&core).await
        {
            tracing::warn!(%error, "conversations that nobody uses could not be looked for");
        }
        drop(core);
        tokio::time::sleep(LOOK).await;
    }
}

/// Ends temporary conversations that have been idle for their time. The answer is how many there were.
pub(crate) async fn end_temporary(core: &RuntimeCore) -> u64 {
    let mut ended = 0;
    for tenant in core.temporary.all() {
        let ambit = core.loaded().acting_as(&Caller::system(tenant));
        match ambit.sweep_temporary().await {
            Ok(count) => ended += count,
            Err(error) => tracing::warn!(%error, "temporary conversations could not be ended"),
        }
    }
    ended
}

/// Removes sessions that were idle for longer than the settings keep them, and rows without data.
async fn sweep_index(core: &RuntimeCore) -> Result<()> {
    let mut patrol = core.loaded().ambit.index_sweep();
    while patrol.step(STEP).await?.is_some() {}
    Ok(())
}
