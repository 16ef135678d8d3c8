//! One writer per conversation: a lease that is renewed while its holder works, and what others do meanwhile.

mod counted;
mod renewal;
mod state;

pub use counted::LeaseCounts;
pub(crate) use counted::{CountedLease, LeaseCounters};
pub use state::LeaseState;

use crate::address::{Space, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite, WriteOutcome};
use crate::debug::opaque_debug;
use crate::driver::{Driver, ValuePart, ValueScan};
use crate::json::Json;
use crate::operation::{Operation, OperationOutput};
use crate::pattern::Pattern;
use crate::{Error, Result, ids};
use futures::future::BoxFuture;
use renewal::look_after;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A lease ends this long after its last renewal: soon enough for the next turn to start within 10 s of its holder's death.
pub const LEASE_LIFE: Duration = Duration::from_secs(9);
/// How often those who wait try again.
const RETRY: Duration = Duration::from_millis(20);
/// A waiter that has not been heard of for this long has lost its place.
const TICKET_LIFE: Duration = Duration::from_secs(2);
/// At most so many wait for one conversation.
pub const QUEUE_LENGTH: usize = 32;
/// Waiting ends after this long.
pub const QUEUE_WAIT: Duration = Duration::from_secs(60);

/// What a turn does when another one is running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBusy {
    /// Fail `Busy` at once.
    #[default]
    Reject,
    /// Wait in order of arrival, at most `QUEUE_WAIT`.
    Queue,
    /// Ask the running turn to end, and wait for that.
    Interrupt,
}

/// A lease that is held and renewed until it is released, or until its last clone is dropped and it expires.
#[derive(Clone)]
pub struct Lease {
    held: Arc<LeaseInner>,
}

struct LeaseInner {
    driver: Arc<dyn Driver>,
    key: ValueKey,
    epoch: u64,
    has_waited: bool,
    ended: watch::Receiver<Option<LeaseEnd>>,
    renewal: JoinHandle<()>,
}

/// Why a lease ends before its holder gives it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseEnd {
    /// Another turn asked this one to make room.
    Interrupted,
    /// It has passed on, or could not be renewed in time.
    Lost,
}

impl Lease {
    /// Takes the lease, or waits for it, or fails `Busy`.
    pub fn take(
        driver: Arc<dyn Driver>,
        key: ValueKey,
        on_busy: OnBusy,
    ) -> BoxFuture<'static, Result<Self>> {
        Box::pin(async move {
            let holder = ids::unguessable();
            let waiting = tickets(driver.as_ref(), &key.space).await?.len();
            if waiting > 0 && on_busy == OnBusy::Reject {
                return Err(queued(&key.space, waiting));
            }
            // Whoever comes while others wait goes behind them, even if the lease is free for a moment.
            let taken = match waiting {
                0 => acquire(driver.as_ref(), &key, &holder).await,
                _ => Err(queued(&key.space, waiting)),
            };
            match taken {
                Err(Error::Busy { .. }) if on_busy != OnBusy::Reject => {}
                taken => return Ok(Self::held(driver, key, taken?, false)),
            }
            let place = LeaseTicket::take(driver.clone(), &key.space, &holder).await?;
            let granted = place.wait(&key, on_busy).await;
            place.leave().await;
            Ok(Self::held(driver, key, granted?, true))
        })
    }

    /// The number of the grant.
    pub fn epoch(&self) -> u64 {
        self.held.epoch
    }

    /// Whether somebody else had it first.
    pub fn has_waited(&self) -> bool {
        self.held.has_waited
    }

    /// The condition under which this holder's writes count.
    pub fn check(&self) -> BatchCheck {
        BatchCheck::lease(self.held.key.clone(), self.held.epoch)
    }

    /// Waits until the turn has to stop.
    pub async fn ended(&self) -> LeaseEnd {
        let mut ended = self.held.ended.clone();
        let end = ended
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|end| *end);
        end.unwrap_or(LeaseEnd::Lost)
    }

    /// Gives the lease back; the next turn can start at once.
    pub async fn release(self) -> Result<()> {
        self.held.renewal.abort();
        let end = Batch::of(self.end());
        self.held.driver.commit(end).await.map(|_| ())
    }

    /// The writes that give the lease back, for a batch that does something else too.
    pub(crate) fn end(&self) -> [BatchWrite; 2] {
        let LeaseInner { key, epoch, .. } = self.held.as_ref();
        [
            Operation::Release { epoch: *epoch }.on(key),
            Operation::Del.on(&key.space.key(interrupt_request(*epoch))),
        ]
    }

    /// The same at the end of a turn, which does not look for a request to end that its holder has not seen: that ends by itself.
    pub(crate) fn end_of_turn(&self) -> impl Iterator<Item = BatchWrite> {
        let is_asked = self.held.ended.borrow().is_some();
        let [release, forget] = self.end();
        std::iter::once(release).chain(is_asked.then_some(forget))
    }

    fn held(driver: Arc<dyn Driver>, key: ValueKey, granted: LeaseTerm, has_waited: bool) -> Self {
        let epoch = granted.epoch;
        let (tell, ended) = watch::channel(None);
        let renewal = tokio::spawn(look_after(driver.clone(), key.clone(), granted, tell));
        Self {
            held: Arc::new(LeaseInner {
                driver,
                key,
                epoch,
                has_waited,
                ended,
                renewal,
            }),
        }
    }
}

impl Drop for LeaseInner {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

opaque_debug!(Lease, |this| key: this.held.key, epoch: this.held.epoch);

impl Operation {
    /// This operation on a value that lives as long as leases do.
    fn on(self, key: &ValueKey) -> BatchWrite {
        BatchWrite::apply(key.clone(), self, Some(crate::clock::to_millis(LEASE_LIFE)))
    }
}

/// What a holder knows of its lease.
#[derive(Clone, Copy)]
struct LeaseTerm {
    epoch: u64,
    /// When it was asked for: the store counts its life from this moment or later, however late its answer is heard.
    asked: Instant,
}

/// Takes the lease; where the store fails, so that it may have been granted, it is given back.
async fn acquire(driver: &dyn Driver, key: &ValueKey, holder: &str) -> Result<LeaseTerm> {
    let taken = request_lease(driver, key, holder).await;
    if let Err(error) = &taken
        && error.is_failure()
    {
        give_up(driver, key, holder).await;
    }
    taken
}

async fn request_lease(driver: &dyn Driver, key: &ValueKey, holder: &str) -> Result<LeaseTerm> {
    let asked = Instant::now();
    let outcomes = driver
        .commit(Batch::of([Operation::Acquire {
            holder: holder.to_owned(),
        }
        .on(key)]))
        .await?;
    match outcomes.first() {
        Some(WriteOutcome::Applied {
            output: OperationOutput::Epoch(epoch),
            ..
        }) => Ok(LeaseTerm {
            epoch: *epoch,
            asked,
        }),
        other => Err(Error::internal(format!(
            "a lease was answered with {other:?}"
        ))),
    }
}

/// Gives back a lease that may have been granted although its answer never came; if that fails too, it ends by itself.
async fn give_up(driver: &dyn Driver, key: &ValueKey, holder: &str) {
    let given_back = match request_lease(driver, key, holder).await {
        Ok(LeaseTerm { epoch, .. }) => driver
            .commit(Batch::of([Operation::Release { epoch }.on(key)]))
            .await
            .map(drop),
        // Somebody else holds it.
        Err(Error::Busy { .. }) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(error) = given_back {
        tracing::warn!(lease = %key, %error, "a lease that may be held was not given back");
    }
}

/// The value by which others ask the holder of this epoch to end.
fn interrupt_request(epoch: u64) -> String {
    format!("wish/{epoch}")
}

/// A place in the queue for one lease. The store's version of its ticket says who came first.
struct LeaseTicket {
    driver: Arc<dyn Driver>,
    ticket: ValueKey,
    holder: String,
    version: u64,
}

const TICKETS: &str = "ticket/";

impl LeaseTicket {
    async fn take(driver: Arc<dyn Driver>, space: &Space, holder: &str) -> Result<Self> {
        let ticket = space.key(format!("{TICKETS}{holder}"));
        let waiting = tickets(driver.as_ref(), space).await?;
        if waiting.len() >= QUEUE_LENGTH {
            return Err(queued(space, waiting.len()));
        }
        let mut place = Self {
            driver,
            ticket,
            holder: holder.to_owned(),
            version: 0,
        };
        match place.refresh(0).await {
            Ok(version) => place.version = version,
            Err(error) => {
                // It may stand all the same, and others wait behind it.
                place.leave().await;
                return Err(error);
            }
        }
        Ok(place)
    }

    /// Shows that this waiter is still there; the ticket holds the version it was first given.
    async fn refresh(&self, version: u64) -> Result<u64> {
        let op = Operation::Set(Json::of(&version)?.into());
        let life = Some(crate::clock::to_millis(TICKET_LIFE));
        let outcomes = self
            .driver
            .commit(Batch::of([BatchWrite::apply(
                self.ticket.clone(),
                op,
                life,
            )]))
            .await?;
        match outcomes.first() {
            Some(WriteOutcome::Applied {
                version: Some(version),
                ..
            }) => Ok(*version),
            other => Err(Error::internal(format!(
                "a ticket was answered with {other:?}"
            ))),
        }
    }

    async fn wait(&self, key: &ValueKey, on_busy: OnBusy) -> Result<LeaseTerm> {
        let (started, mut shown) = (Instant::now(), Instant::now());
        let mut wished_for = 0;
        loop {
            if self.is_first(&key.space).await? {
                match acquire(self.driver.as_ref(), key, &self.holder).await {
                    Err(error @ Error::Busy { .. }) if started.elapsed() >= QUEUE_WAIT => {
                        return Err(error);
                    }
                    Err(Error::Busy { .. }) => {}
                    done => return done,
                }
                if on_busy == OnBusy::Interrupt {
                    wished_for = self.ask_to_end(key, wished_for).await?;
                }
            }
            if started.elapsed() >= QUEUE_WAIT {
                let reason = format!("waited {} s in its queue", QUEUE_WAIT.as_secs());
                return Err(Error::busy(key.space.to_string(), reason));
            }
            if shown.elapsed() >= TICKET_LIFE / 4 {
                self.refresh(self.version).await?;
                shown = Instant::now();
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn is_first(&self, space: &Space) -> Result<bool> {
        let waiting = tickets(self.driver.as_ref(), space).await?;
        Ok(waiting.iter().all(|version| *version >= self.version))
    }

    /// Leaves a wish with the present holder, once for each.
    async fn ask_to_end(&self, key: &ValueKey, wished_for: u64) -> Result<u64> {
        Ok(ask_to_end(self.driver.as_ref(), key, wished_for)
            .await?
            .unwrap_or(wished_for))
    }

    /// Gives the place up; where that fails, the ticket ends by itself.
    async fn leave(self) {
        let left = Batch::of([Operation::Del.on(&self.ticket)]);
        if let Err(error) = self.driver.commit(left).await {
            tracing::warn!(lease = %self.ticket.space, error.message = %error, "a place in the queue for a lease was not left");
        }
    }
}

/// Asks whoever holds the lease to end, unless that is the holder of `known`. The answer is the holder's epoch, if there is
/// one.
pub async fn ask_to_end(driver: &dyn Driver, key: &ValueKey, known: u64) -> Result<Option<u64>> {
    let Some(entry) = driver.get(key, ValuePart::Whole).await? else {
        return Ok(None);
    };
    let epoch = entry.value.to::<crate::operation::LeaseGrant>()?.epoch;
    if epoch != known {
        let wish =
            Operation::Set(Json::of(&true)?.into()).on(&key.space.key(interrupt_request(epoch)));
        driver.commit(Batch::of([wish])).await?;
    }
    Ok(Some(epoch))
}

/// The refusal where others wait.
fn queued(space: &Space, waiting: usize) -> Error {
    Error::busy(
        space.to_string(),
        format!("{waiting} turns are waiting for it already"),
    )
}

/// The arrival numbers of all who wait.
async fn tickets(driver: &dyn Driver, space: &Space) -> Result<Vec<u64>> {
    let pattern = Pattern::parse(&format!("{TICKETS}*"));
    let scan = ValueScan::first(pattern, QUEUE_LENGTH * 2, ValuePart::Whole);
    let arrival = |entry: crate::batch::ValueEntry| match entry.value.to::<u64>() {
        Ok(0) => Ok(entry.version),
        version => version,
    };
    driver
        .scan(space, &scan)
        .await?
        .into_iter()
        .map(|(_, entry)| arrival(entry))
        .collect()
}
