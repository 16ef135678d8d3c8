//! Batches with an idempotency key: of several with one key one is written, and all are answered alike.
//!
//! The key is committed with the batch, so that a batch that was written is never written again. Its answer has the versions that the
//! store gave, and follows in a commit of its own.

use super::super::HttpError;
use super::body::StoreWrite;
use super::item::WriteResult;
use super::space::StoreSpace;
use super::write::{FurtherWrite, WriteFailure, commit_with};
use ambit_runtime::{Authorized, Error, ErrorCode, Result};
use ambit_storage::Json;
use ambit_storage::address::{self, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite};
use ambit_storage::clock::{Millis, to_millis};
use ambit_storage::driver::ValuePart;
use ambit_storage::operation::Operation;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The header.
const HEADER: &str = "idempotency-key";
/// Bytes of a key.
const LENGTH: usize = 255;
/// How long a repetition gets the first batch's answer.
const LIFETIME: Duration = Duration::from_secs(24 * 3_600);
/// How often, and how long in between, a repetition looks for an answer that is about to be stored.
const LOOKS: usize = 40;
const INTERVAL: Duration = Duration::from_millis(50);

/// The idempotency key of a request, if it has one.
pub struct IdempotencyKey(Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        let Some(key) = parts.headers.get(HEADER) else {
            return Ok(Self(None));
        };
        match std::str::from_utf8(key.as_bytes()) {
            Ok(key) if key.len() <= LENGTH => {
                Ok(Self(Some(key.to_owned()).filter(|key| !key.is_empty())))
            }
            _ => {
                let message = format!("{HEADER} must be UTF-8 of at most {LENGTH} bytes");
                Err(Error::invalid(HEADER, message).into())
            }
        }
    }
}

/// A key that a batch is to be written under.
pub struct BatchClaim {
    place: ValueKey,
    fingerprint: String,
}

/// What is stored under a key.
#[derive(Serialize, Deserialize)]
struct BatchClaimRecord {
    fingerprint: String,
    results: Option<Vec<WriteResult>>,
}

impl IdempotencyKey {
    /// The claim of a caller's batch, by the text of its body.
    pub fn claim(self, who: &Authorized, text: &[u8]) -> Option<BatchClaim> {
        let key = self.0?;
        let client = who.claims.get("client_id").and_then(|claim| claim.as_str());
        let user = who.user_id.as_deref().unwrap_or_default();
        let team = who.team_id.as_deref().unwrap_or_default();
        let name = ["store", user, team, client.unwrap_or_default(), &key];
        Some(BatchClaim {
            place: Space::repeats(who.tenant()).key(address::digest(&name)),
            fingerprint: address::digest(&[&String::from_utf8_lossy(text)]),
        })
    }
}

/// Writes a batch unless it was written under this key before.
pub async fn once(
    space: StoreSpace,
    writes: Vec<StoreWrite>,
    claim: BatchClaim,
) -> Result<Vec<WriteResult>> {
    // Who leaves now must not leave a batch without its answer; the task ends with two commits.
    let written = tokio::spawn(async move { claim.write(&space, &writes).await }).await;
    written.map_err(|_| Error::internal("writing a batch failed"))?
}

impl BatchClaim {
    async fn write(&self, space: &StoreSpace, writes: &[StoreWrite]) -> Result<Vec<WriteResult>> {
        for _ in 0..LOOKS {
            match self.stored(space).await? {
                Some(BatchClaimRecord {
                    results: Some(results),
                    ..
                }) => return Ok(results),
                Some(_) => {
                    tokio::time::sleep(INTERVAL).await;
                    continue;
                }
                None => {}
            }
            let further = FurtherWrite {
                check: BatchCheck::version(self.place.clone(), None),
                write: self.set(None)?,
            };
            match commit_with(space, writes, Some(&further)).await {
                Ok(results) => {
                    self.note(space, &results).await;
                    return Ok(results);
                }
                Err(WriteFailure::Refused(error)) if error.code == ErrorCode::Conflict => {
                    // What the first of two changed is what the second one does not expect.
                    match self.stored(space).await? {
                        None => return Err(error),
                        Some(_) => continue,
                    }
                }
                Err(WriteFailure::Refused(error)) => return Err(error),
                Err(WriteFailure::Further) => {}
            }
        }
        let message = "the batch of this Idempotency-Key was written, and its answer was lost; read the keys to see what they hold";
        Err(Error::new(ErrorCode::Conflict, message))
    }

    /// What the key was used for. Another batch under the same key is refused.
    async fn stored(&self, space: &StoreSpace) -> Result<Option<BatchClaimRecord>> {
        let stored = space.driver.get(&self.place, ValuePart::Whole).await?;
        let Some(stored) = stored else {
            return Ok(None);
        };
        let claim: BatchClaimRecord = stored.value.to()?;
        if claim.fingerprint != self.fingerprint {
            let message = "this Idempotency-Key belongs to another batch; repeat that batch, or use a new key";
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        Ok(Some(claim))
    }

    async fn note(&self, space: &StoreSpace, results: &[WriteResult]) {
        let noted = match self.set(Some(results)) {
            Ok(write) => space
                .driver
                .commit(Batch::of([write]))
                .await
                .map_err(Error::from),
            Err(error) => Err(error),
        };
        if let Err(error) = noted {
            tracing::error!("an idempotency key does not say what came of its batch: {error}");
        }
    }

    fn set(&self, results: Option<&[WriteResult]>) -> Result<BatchWrite> {
        let claim = BatchClaimRecord {
            fingerprint: self.fingerprint.clone(),
            results: results.map(<[WriteResult]>::to_vec),
        };
        let life: Millis = to_millis(LIFETIME);
        let set = Operation::Set(Json::of(&claim)?.into());
        Ok(BatchWrite::apply(self.place.clone(), set, Some(life)))
    }
}
