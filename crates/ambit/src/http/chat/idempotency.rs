//! Turns of requests with an idempotency key: of several with one key, whichever node they reach, one is run and all are answered.
//!
//! A value in the store names the turn before it starts. So a turn that has begun is found by whoever repeats its request,
//! even if its node died at that moment; a claim whose turn never began is taken over after a time.

use super::response::{AnsweringTurn, join};
use crate::http::SharedState;
use crate::http::idempotency::{RepeatableRequest, refused};
use ambit_runtime::{Error, ErrorCode, Result, TurnRequest};
use ambit_storage::clock::{Millis, to_millis};
use ambit_storage::ids;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What these requests are, among those that may have a key.
pub const KIND: &str = "turn";
/// How long a request may take until its turn has started: longer than it may wait for its conversation.
const START_TIMEOUT: Duration = Duration::from_secs(90);
/// How often a repetition looks whether the first request's turn has started.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What is stored under a key.
#[derive(Clone, Serialize, Deserialize)]
struct TurnClaim {
    request_id: String,
    /// The turn has begun: if it is not there, it is there no more.
    has_begun: bool,
    /// Until when the turn may still begin.
    until: Millis,
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
        if let Some(claim) = stored.map(|stored| stored.outcome) {
            match join(server, &who, &claim.request_id).await {
                Err(error) if error.code == ErrorCode::NotFound && !claim.has_begun => {}
                // To run it again would bring back what somebody removed on purpose.
                Err(error) if error.code == ErrorCode::NotFound => {
                    return Err(refused(
                        "the request of this Idempotency-Key ran, and what came of it was removed since; to ask again, use a new key",
                    ));
                }
                joined => return joined,
            }
            if clock.now() < claim.until {
                tokio::time::sleep(POLL_INTERVAL).await;
                continue;
            }
        }
        let claim = TurnClaim {
            request_id: ids::ordered(&clock),
            has_begun: false,
            until: clock.now() + to_millis(START_TIMEOUT),
        };
        let claimed = repeatable.claim(&*server.store, version, &claim).await?;
        let Some(version) = claimed else {
            continue;
        };
        let held = HeldClaim {
            repeatable,
            version,
            claim,
        };
        // Who leaves now must not leave a claim without its turn; the task ends when the turn has started.
        let ran = tokio::spawn(run(server.clone(), request, held)).await;
        return ran.map_err(|_| Error::internal("starting the turn failed"))?;
    }
}

/// A claim that this request holds.
struct HeldClaim {
    repeatable: RepeatableRequest,
    version: u64,
    claim: TurnClaim,
}

impl HeldClaim {
    /// Notes whether the turn has begun. Where it has not, the key is free again.
    async fn settle(mut self, server: &SharedState, has_begun: bool) -> Result<()> {
        let store = &*server.store;
        if !has_begun {
            return self.repeatable.release(store, self.version).await;
        }
        self.claim.has_begun = true;
        let version = Some(self.version);
        let claimed = self.repeatable.claim(store, version, &self.claim).await?;
        claimed
            .map(|_| ())
            .ok_or_else(|| Error::internal("another request has taken its key over"))
    }
}

/// Starts the turn that the claim names; gives the claim up if it does not start.
async fn run(
    server: SharedState,
    mut request: TurnRequest,
    held: HeldClaim,
) -> Result<AnsweringTurn> {
    request.id = Some(held.claim.request_id.clone());
    let started = server.runtime.start(request).await;
    if let Err(error) = held.settle(&server, started.is_ok()).await {
        tracing::error!("an idempotency key does not say what came of its request: {error}");
    }
    Ok(AnsweringTurn {
        started: started?,
        backlog_end: 0,
    })
}
