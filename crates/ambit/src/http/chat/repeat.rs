//! Requests with an idempotency key: of several with one key, whichever node they reach, one is run and all are answered.
//!
//! A value in the store is claimed before the turn starts and names the turn afterwards. A claim whose node died ends by
//! itself.

use super::answer::Begun;
use crate::http::{Server, Shared};
use ambit_runtime::runtime::Started;
use ambit_runtime::{Authorized, Code, Error, Request, Result};
use ambit_storage::address::{self, Key, Space};
use ambit_storage::batch::{Batch, Check, Entry, Outcome, Write};
use ambit_storage::clock::{Millis, to_millis};
use ambit_storage::driver::Part;
use ambit_storage::op::Op;
use ambit_storage::{Error as Stored, Json};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a repetition gets the first request's answer.
const LIFE: Duration = Duration::from_secs(24 * 3600);
/// How long a request may take until its turn has started: longer than it may wait for its conversation.
const CLAIM: Duration = Duration::from_secs(90);
/// How often a repetition looks whether the first request's turn has started.
const LOOK: Duration = Duration::from_millis(50);

/// What is stored under a key.
#[derive(Serialize, Deserialize)]
struct Claim {
    fingerprint: String,
    turn: Option<Turn>,
}

/// The turn of the first request.
#[derive(Clone, Serialize, Deserialize)]
struct Turn {
    request_id: String,
    context_id: String,
    chat_id: String,
    trace_id: String,
    assistant_id: String,
}

/// Starts a turn for the request, or joins that of the request that it repeats.
pub async fn start(
    server: &Shared,
    request: Request,
    key: &str,
    fingerprint: String,
) -> Result<Begun> {
    let who = request.authorized.clone();
    let place = place(&who, key);
    loop {
        let stored = server.store.get(&place, Part::Whole).await?;
        let Some(stored) = stored else {
            let claim = claim(&fingerprint, None)?;
            match put(server, &place, None, Change::Set(claim, CLAIM)).await {
                Ok(version) => {
                    let server = server.clone();
                    let run = run(
                        server,
                        request,
                        Held {
                            place,
                            version,
                            fingerprint,
                        },
                    );
                    // Who leaves now must not leave a claim without its turn; the task ends when the turn has started.
                    let ran = tokio::spawn(run).await;
                    return ran.map_err(|_| Error::internal("starting the turn failed"))?;
                }
                Err(Stored::Conflict { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
        };
        if let Some(turn) = turn(&stored, &fingerprint)? {
            return join(server, &who, turn).await;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// A claim that this request holds.
struct Held {
    place: Key,
    version: Option<u64>,
    fingerprint: String,
}

/// Starts the turn and names it in the claim; gives the claim up if the turn does not start.
async fn run(server: Shared, request: Request, held: Held) -> Result<Begun> {
    let started = server.runtime.start(request).await;
    let change = match &started {
        Ok(started) => Change::Set(claim(&held.fingerprint, Some(named(started)))?, LIFE),
        Err(_) => Change::Delete,
    };
    if let Err(error) = put(&server, &held.place, held.version, change).await {
        tracing::error!("an idempotency key is not kept: {error}");
    }
    Ok(Begun {
        started: started?,
        past: 0,
    })
}

async fn join(server: &Server, who: &Authorized, turn: Turn) -> Result<Begun> {
    let known = server.runtime.turn(who, &turn.request_id).await?;
    let stream = server.runtime.stream(who, &turn.request_id, 0).await?;
    Ok(Begun {
        past: known.last_event,
        started: Started {
            request_id: turn.request_id,
            context_id: turn.context_id,
            chat_id: turn.chat_id,
            trace_id: turn.trace_id,
            assistant_id: turn.assistant_id,
            started_at: known.started_at,
            stream,
        },
    })
}

/// The turn under this key, once it has started. Another request under the same key is refused.
fn turn(stored: &Entry, fingerprint: &str) -> Result<Option<Turn>> {
    let claim: Claim = stored.value.to()?;
    if claim.fingerprint != fingerprint {
        let message = "this Idempotency-Key belongs to another request; repeat that request, or use a new key";
        return Err(Error::new(Code::Conflict, message));
    }
    Ok(claim.turn)
}

fn named(started: &Started) -> Turn {
    Turn {
        request_id: started.request_id.clone(),
        context_id: started.context_id.clone(),
        chat_id: started.chat_id.clone(),
        trace_id: started.trace_id.clone(),
        assistant_id: started.assistant_id.clone(),
    }
}

/// Where a caller's key is kept.
fn place(who: &Authorized, key: &str) -> Key {
    let claim = |name: &str| who.claims.get(name).and_then(|claim| claim.as_str());
    let user = who.user_id.as_deref().unwrap_or_default();
    let client = claim("client_id").unwrap_or_default();
    Space::repeats(who.tenant()).key(address::digest(&[user, client, key]))
}

fn claim(fingerprint: &str, turn: Option<Turn>) -> Result<Json> {
    let fingerprint = fingerprint.to_owned();
    Ok(Json::of(&Claim { fingerprint, turn })?)
}

/// What becomes of a key's value.
enum Change {
    Set(Json, Duration),
    Delete,
}

/// Changes a value that has this version; the answer is the new one.
async fn put(
    server: &Server,
    key: &Key,
    version: Option<u64>,
    change: Change,
) -> Result<Option<u64>, Stored> {
    let (op, life): (Op, Option<Millis>) = match change {
        Change::Set(value, life) => (Op::Set(value.into()), Some(to_millis(life))),
        Change::Delete => (Op::Del, None),
    };
    let key = key.clone();
    let write = Write::Apply {
        key: key.clone(),
        op,
        life,
    };
    let batch = Batch::of([write]).checking(Check::Version { key, version });
    let done = server.store.commit(batch).await?;
    Ok(match done.into_iter().next() {
        Some(Outcome::Applied { version, .. }) => version,
        _ => None,
    })
}
