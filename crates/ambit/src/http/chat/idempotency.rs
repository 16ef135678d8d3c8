//! Turns of requests with an idempotency key: of several with one key, whichever node they reach, one is run and all are answered.
//!
//! A value in the store, the claim, names the turn before it starts, and is renewed until it has started. So a turn that has begun is
//! found by whoever repeats its request, even if its node died at that moment, and of a node that died before that somebody takes
//! the claim over. The turn has the id that the first claim gave it, whoever starts it, and its first commit is refused where one of
//! this id has begun: a node that was only slow does not run the request once more (decision 0052).

use super::response::{AnsweringTurn, join};
use crate::http::idempotency::{LIFETIME, RepeatableRequest, refused};
use crate::http::{SharedState, rate_limits};
use crate::status::status;
use ambit_runtime::chats::is_short_lived;
use ambit_runtime::{Error, ErrorCode, Result, TurnRequest};
use ambit_storage::clock::{Clock, Millis, to_millis};
use ambit_storage::driver::Driver;
use ambit_storage::ids;
use ambit_storage::lease::LEASE_LIFE;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tracing::Instrument;

/// What these requests are, among those that may have a key.
pub const KIND: &str = "turn";
/// How often a claim is renewed while its turn waits to start, and how soon again where the store fails.
const RENEWAL: Duration = Duration::from_secs(3);
const RENEWAL_RETRY: Duration = Duration::from_millis(500);
/// How often a repetition looks whether the first request's turn has started, or its conversation is free.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What is stored under a key.
#[derive(Clone, Serialize, Deserialize)]
struct TurnClaim {
    /// The turn, from the first claim on.
    request_id: String,
    /// Nobody else starts the turn: it has begun, or nobody else could see that. If it is not there, it is there no more.
    has_begun: bool,
    /// Until when nobody takes the claim over.
    until: Millis,
    /// The request that has claimed the key last.
    #[serde(default)]
    holder: String,
}

impl TurnClaim {
    fn renew(&mut self, clock: &Clock) {
        self.until = clock.now() + to_millis(LEASE_LIFE);
    }
}

/// Starts a turn for the request, or joins that of the request that it repeats.
pub async fn start(
    server: &SharedState,
    request: TurnRequest,
    repeatable: RepeatableRequest,
) -> Result<AnsweringTurn> {
    let who = request.authorized.clone();
    let clock = server.runtime.stores().options().clock.clone();
    loop {
        let stored = repeatable.read::<TurnClaim>(&*server.store).await?;
        let version = stored.as_ref().map(|stored| stored.version);
        let earlier = stored.map(|stored| stored.outcome);
        if let Some(claim) = &earlier {
            match join(server, &who, &claim.request_id).await {
                Err(error) if error.code == ErrorCode::NotFound => {}
                joined => return joined,
            }
            if clock.now() < claim.until {
                sleep(POLL_INTERVAL).await;
                continue;
            }
            // To run it again would bring back what somebody removed on purpose.
            if claim.has_begun {
                return Err(refused(
                    "the request of this Idempotency-Key ran, and what came of it was removed since; to ask again, use a new key",
                ));
            }
        }
        let request_id = earlier.map(|claim| claim.request_id);
        let mut claim = TurnClaim {
            request_id: request_id
                .or_else(|| request.id.clone())
                .unwrap_or_else(|| ids::ordered(&clock)),
            has_begun: is_short_lived(&request),
            until: 0,
            holder: ids::unguessable(),
        };
        claim.renew(&clock);
        let claimed = repeatable.claim(&*server.store, version, &claim).await?;
        let Some(claimed) = claimed else {
            continue;
        };
        let held = HeldClaim {
            repeatable,
            version: claimed,
            claim,
            is_first: version.is_none(),
        };
        // Who leaves now must not leave a claim without its turn; the task ends when the turn has started.
        let ran = tokio::spawn(run(server.clone(), request, held).in_current_span()).await;
        return ran.map_err(|_| Error::internal("starting the turn failed"))?;
    }
}

/// A claim that this request holds.
struct HeldClaim {
    repeatable: RepeatableRequest,
    version: u64,
    claim: TurnClaim,
    /// Nobody else has tried to start the turn before.
    is_first: bool,
}

impl HeldClaim {
    /// Renews the claim until this is dropped, also where the store fails now and then.
    async fn keep_renewing(&mut self, server: &SharedState) -> Infallible {
        let clock = &server.runtime.stores().options().clock;
        let mut pause = RENEWAL;
        loop {
            sleep(pause).await;
            self.claim.renew(clock);
            pause = match self.write(&*server.store).await {
                Ok(true) => RENEWAL,
                // It was taken over. Who begins the turn is decided by its first commit.
                Ok(false) => pending().await,
                Err(error) => {
                    tracing::warn!(%error, "the claim of an idempotency key was not renewed");
                    RENEWAL_RETRY
                }
            };
        }
    }

    /// Stores the claim; false where somebody has taken it over.
    async fn write(&mut self, store: &dyn Driver) -> Result<bool> {
        loop {
            let version = Some(self.version);
            let written = self.repeatable.claim(store, version, &self.claim).await?;
            if let Some(version) = written {
                self.version = version;
                return Ok(true);
            }
            if !self.find(store).await? {
                return Ok(false);
            }
        }
    }

    /// Finds the version that the claim has after a write of this holder was done without an answer; false where somebody has
    /// taken it over.
    async fn find(&mut self, store: &dyn Driver) -> Result<bool> {
        let stored = self.repeatable.read::<TurnClaim>(store).await?;
        let own = stored.filter(|stored| stored.outcome.holder == self.claim.holder);
        let Some(own) = own else {
            return Ok(false);
        };
        self.version = own.version;
        Ok(true)
    }

    /// Notes that the turn has begun, whoever holds the claim by now: that will not change.
    async fn settle(mut self, server: &SharedState) {
        self.claim.has_begun = true;
        self.claim.until = 0;
        self.repeatable.keep(&*server.store, &self.claim).await;
    }

    /// Gives the claim up unless somebody has taken it over. The key is free again where it is sure that no turn has begun and nobody
    /// else may begin it; otherwise whoever comes next tries to start the same turn.
    async fn give_up(mut self, server: &SharedState, error: &Error) -> Result<()> {
        let store = &*server.store;
        if !self.is_first || status(error).is_server_error() {
            self.claim.has_begun = false;
            self.claim.until = 0;
            return self.write(store).await.map(drop);
        }
        while !self.repeatable.release(store, self.version).await? {
            if !self.find(store).await? {
                break;
            }
        }
        Ok(())
    }
}

/// Starts the turn that the claim names; gives the claim up if it does not start.
async fn run(
    server: SharedState,
    mut request: TurnRequest,
    mut held: HeldClaim,
) -> Result<AnsweringTurn> {
    let id = held.claim.request_id.clone();
    request.id = Some(id.clone());
    request.reserves_id_for = Some(LIFETIME);
    let started = tokio::select! {
        started = start_or_join(&server, &request, &id, held.is_first) => started,
        never = held.keep_renewing(&server) => match never {},
    };
    match started {
        Ok(started) => {
            held.settle(&server).await;
            Ok(started)
        }
        Err(error) => {
            if let Err(failed) = held.give_up(&server, &error).await {
                tracing::error!(
                    "an idempotency key is not free although its request has failed: {failed}"
                );
            }
            Err(error)
        }
    }
}

/// Starts the turn of this id, or joins it where it has begun. A node that held the claim before may have the conversation longer
/// than the claim, without a turn: that is waited for.
async fn start_or_join(
    server: &SharedState,
    request: &TurnRequest,
    id: &str,
    is_first: bool,
) -> Result<AnsweringTurn> {
    // One that others have tried to start was counted then.
    if is_first {
        rate_limits::count_turn(server, &request.authorized).await?;
    }
    let end = Instant::now() + LEASE_LIFE;
    loop {
        let error = match server.runtime.start(request.clone()).await {
            Ok(started) => {
                return Ok(AnsweringTurn {
                    started,
                    backlog_end: 0,
                    leaving: None,
                });
            }
            Err(error) => error,
        };
        // Another node that held the claim may have begun it, or this one did and the store's answer was lost.
        if let Ok(joined) = join(server, &request.authorized, id).await {
            return Ok(joined);
        }
        if is_first || error.code != ErrorCode::ChatBusy || Instant::now() >= end {
            return Err(error);
        }
        sleep(POLL_INTERVAL).await;
    }
}
