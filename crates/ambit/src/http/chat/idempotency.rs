//! Requests with an idempotency key: of several with one key, whichever node they reach, one is run and all are answered.
//!
//! A value in the store names the turn before it starts. So a turn that has begun is found by whoever repeats its request,
//! even if its node died at that moment; a claim whose turn never began is taken over after a time.

use super::response::{AnsweringTurn, join};
use crate::http::{ServerState, SharedState};
use ambit_runtime::StorageError;
use ambit_runtime::{Authorized, Error, ErrorCode, Result, TurnRequest};
use ambit_storage::address::{self, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, ValueEntry, WriteOutcome};
use ambit_storage::clock::{Millis, to_millis};
use ambit_storage::driver::ValuePart;
use ambit_storage::operation::Operation;
use ambit_storage::{Json, ids};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a repetition gets the first request's answer.
const CLAIM_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// How long a request may take until its turn has started: longer than it may wait for its conversation.
const START_TIMEOUT: Duration = Duration::from_secs(90);
/// How often a repetition looks whether the first request's turn has started.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What is stored under a key.
#[derive(Clone, Serialize, Deserialize)]
struct IdempotencyClaim {
    fingerprint: String,
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
    key: &str,
    fingerprint: String,
) -> Result<AnsweringTurn> {
    let who = request.authorized.clone();
    let place = place(&who, key);
    let clock = server.runtime.stores().options().clock.clone();
    loop {
        let stored = server.store.get(&place, ValuePart::Whole).await?;
        let version = stored.as_ref().map(|stored| stored.version);
        if let Some(stored) = stored {
            let claim = claim_of(&stored, &fingerprint)?;
            match join(server, &who, &claim.request_id).await {
                Err(error) if error.code == ErrorCode::NotFound && !claim.has_begun => {}
                Err(error) if error.code == ErrorCode::NotFound => return Err(answer_expired()),
                joined => return joined,
            }
            if clock.now() < claim.until {
                tokio::time::sleep(POLL_INTERVAL).await;
                continue;
            }
        }
        let claim = IdempotencyClaim {
            fingerprint: fingerprint.clone(),
            request_id: ids::ordered(&clock),
            has_begun: false,
            until: clock.now() + to_millis(START_TIMEOUT),
        };
        let change = ClaimChange::Set(&claim);
        let version = match put(server, &place, version, change).await {
            Err(StorageError::Conflict { .. }) => continue,
            put => put?,
        };
        let (server, held) = (
            server.clone(),
            StoredClaim {
                place,
                version,
                claim,
            },
        );
        // Who leaves now must not leave a claim without its turn; the task ends when the turn has started.
        let ran = tokio::spawn(run(server, request, held)).await;
        return ran.map_err(|_| Error::internal("starting the turn failed"))?;
    }
}

/// A claim that this request holds.
struct StoredClaim {
    place: ValueKey,
    version: Option<u64>,
    claim: IdempotencyClaim,
}

/// Starts the turn that the claim names; gives the claim up if it does not start.
async fn run(
    server: SharedState,
    mut request: TurnRequest,
    mut held: StoredClaim,
) -> Result<AnsweringTurn> {
    request.id = Some(held.claim.request_id.clone());
    let started = server.runtime.start(request).await;
    held.claim.has_begun = true;
    let change = match &started {
        Ok(_) => ClaimChange::Set(&held.claim),
        Err(_) => ClaimChange::Delete,
    };
    if let Err(error) = put(&server, &held.place, held.version, change).await {
        tracing::error!("an idempotency key does not say what came of its request: {error}");
    }
    Ok(AnsweringTurn {
        started: started?,
        backlog_end: 0,
    })
}

/// The turn was removed with its chat. To run it again would bring back what somebody removed on purpose.
fn answer_expired() -> Error {
    let message = "the request of this Idempotency-Key ran, and what came of it was removed since; to ask again, use a new key";
    let mut error = Error::new(ErrorCode::Conflict, message);
    error.param = Some("idempotency-key".to_owned());
    error
}

/// What the key was claimed for. Another request under the same key is refused.
fn claim_of(stored: &ValueEntry, fingerprint: &str) -> Result<IdempotencyClaim> {
    let claim: IdempotencyClaim = stored.value.to()?;
    if claim.fingerprint != fingerprint {
        let message = "this Idempotency-Key belongs to another request; repeat that request, or use a new key";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    Ok(claim)
}

/// Where a caller's key is kept.
fn place(who: &Authorized, key: &str) -> ValueKey {
    let claim = |name: &str| who.claims.get(name).and_then(|claim| claim.as_str());
    let user = who.user_id.as_deref().unwrap_or_default();
    let client = claim("client_id").unwrap_or_default();
    Space::repeats(who.tenant()).key(address::digest(&[user, client, key]))
}

/// What becomes of a key's value.
enum ClaimChange<'a> {
    Set(&'a IdempotencyClaim),
    Delete,
}

/// Changes a value that has this version; the answer is the new one.
async fn put(
    server: &ServerState,
    key: &ValueKey,
    version: Option<u64>,
    change: ClaimChange<'_>,
) -> Result<Option<u64>, StorageError> {
    let (op, life): (Operation, Option<Millis>) = match change {
        ClaimChange::Set(claim) => (
            Operation::Set(Json::of(claim)?.into()),
            Some(to_millis(CLAIM_LIFETIME)),
        ),
        ClaimChange::Delete => (Operation::Del, None),
    };
    let key = key.clone();
    let write = BatchWrite::Apply {
        key: key.clone(),
        op,
        life,
    };
    let batch = Batch::of([write]).checking(BatchCheck::Version { key, version });
    let done = server.store.commit(batch).await?;
    Ok(match done.into_iter().next() {
        Some(WriteOutcome::Applied { version, .. }) => version,
        _ => None,
    })
}
