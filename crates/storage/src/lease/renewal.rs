//! What a holder does for its lease while it works.

use super::{LEASE_LIFE, LeaseEnd, LeaseTerm, interrupt_request};
use crate::Error;
use crate::address::ValueKey;
use crate::batch::Batch;
use crate::driver::{Driver, ValuePart};
use crate::operation::Operation;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The holder renews it this long after it last asked for it, a third of its life: the rest is for a store that is slow.
const RENEWAL: Duration = Duration::from_secs(3);
/// From one look of the holder after its lease, and for those who want to interrupt it, to the next; and at most.
const LOOK: Duration = Duration::from_millis(100);
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// What a look was late and took is followed by a pause of so many times that.
const REST: u32 = 20;

/// Renews the lease and watches for a wish to interrupt it; ends when the lease is lost.
pub(super) async fn look_after(
    driver: Arc<dyn Driver>,
    key: ValueKey,
    LeaseTerm { epoch, mut asked }: LeaseTerm,
    tell: watch::Sender<Option<LeaseEnd>>,
) {
    let (mut pause, mut wished) = (LOOK, false);
    loop {
        let due = Instant::now() + pause;
        tokio::time::sleep(pause).await;
        if asked.elapsed() >= RENEWAL {
            let now = Instant::now();
            match driver
                .commit(Batch::of([Operation::Renew { epoch }.on(&key)]))
                .await
            {
                Ok(_) => asked = now,
                Err(error)
                    if asked.elapsed() < LEASE_LIFE && !matches!(error, Error::Fenced { .. }) => {}
                Err(_) => {
                    tell.send_replace(Some(LeaseEnd::Lost));
                    return;
                }
            }
        }
        if !wished
            && matches!(
                driver
                    .get(&key.space.key(interrupt_request(epoch)), ValuePart::Nothing)
                    .await,
                Ok(Some(_))
            )
        {
            wished = true;
            tell.send_replace(Some(LeaseEnd::Interrupted));
        }
        pause = pause_behind(due.elapsed());
    }
}

/// Until the next look, where the last one was done so long after it was due. A node may hold thousands of leases: where it is
/// busy, looking after them must not be what keeps it from renewing them in time.
fn pause_behind(late: Duration) -> Duration {
    late.saturating_mul(REST).clamp(LOOK, LONGEST_LOOK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_come_late_come_less_often() {
        let pauses = [0, 5, 6, 20, 50, 9_000].map(|late| {
            let pause = pause_behind(Duration::from_millis(late));
            pause.as_millis()
        });
        assert_eq!(pauses, [100, 100, 120, 400, 1_000, 1_000]);
    }
}
