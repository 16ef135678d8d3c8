//! Requests that are sent again: the key that names one, where what came of it is kept, and the refusal of another request under
//! the same key.

use ambit_runtime::{Authorized, Error, ErrorCode, Result, StorageError};
use ambit_storage::Json;
use ambit_storage::address::{self, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, WriteOutcome};
use ambit_storage::clock::to_millis;
use ambit_storage::driver::{Driver, ValuePart};
use ambit_storage::operation::Operation;
use axum::http::HeaderMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The header of a client's own key.
const HEADER: &str = "idempotency-key";
/// Bytes of one.
const MAX_LENGTH: usize = 255;
/// How long a repetition gets what came of the first request.
pub const LIFETIME: Duration = Duration::from_secs(24 * 3_600);

/// What names a request that is sent again.
#[derive(Clone, Debug)]
pub enum IdempotencyKey {
    /// What the client says in the header.
    Header(String),
    /// What names of a protocol say, where there is no header.
    Derived {
        /// The protocol.
        protocol: &'static str,
        /// The names.
        name: String,
    },
}

impl IdempotencyKey {
    /// The key in the header, if there is one.
    pub fn of(headers: &HeaderMap) -> Result<Option<Self>> {
        let Some(key) = headers.get(HEADER) else {
            return Ok(None);
        };
        match std::str::from_utf8(key.as_bytes()) {
            Ok("") => Ok(None),
            Ok(key) if key.len() <= MAX_LENGTH => Ok(Some(Self::Header(key.to_owned()))),
            _ => {
                let message = format!("{HEADER} must be UTF-8 of at most {MAX_LENGTH} bytes");
                Err(Error::invalid(HEADER, message))
            }
        }
    }

    /// Where what comes of a caller's requests of a kind is kept. A header never names the place of a derived key.
    fn place(&self, who: &Authorized, kind: &str) -> ValueKey {
        let (protocol, name) = match self {
            Self::Header(key) => ("", key),
            Self::Derived { protocol, name } => (*protocol, name),
        };
        let client = who.claims.get("client_id").and_then(|claim| claim.as_str());
        let caller = [who.user_id.as_deref(), who.team_id.as_deref(), client];
        let [user, team, client] = caller.map(Option::unwrap_or_default);
        Space::repeats(who.tenant())
            .key(address::digest(&[kind, user, team, client, protocol, name]))
    }
}

/// What is kept under a key.
#[derive(Serialize, Deserialize)]
struct IdempotencyRecord<T> {
    /// Of the request.
    fingerprint: String,
    /// What came of it so far.
    outcome: T,
}

/// What came of a request so far, as it is stored.
pub struct StoredOutcome<T> {
    /// What came of it.
    pub outcome: T,
    /// The version of the value.
    pub version: u64,
}

/// A request with a key.
pub struct RepeatableRequest {
    place: ValueKey,
    fingerprint: String,
}

impl RepeatableRequest {
    /// A caller's request of a kind; equal requests have equal fingerprints.
    pub fn new(key: &IdempotencyKey, who: &Authorized, kind: &str, fingerprint: String) -> Self {
        Self {
            place: key.place(who, kind),
            fingerprint,
        }
    }

    /// What came of it so far, if it was sent before. Another request under its key is refused.
    pub async fn read<T: DeserializeOwned>(
        &self,
        store: &dyn Driver,
    ) -> Result<Option<StoredOutcome<T>>> {
        let Some(stored) = store.get(&self.place, ValuePart::Whole).await? else {
            return Ok(None);
        };
        let record: IdempotencyRecord<T> = stored.value.to()?;
        if record.fingerprint != self.fingerprint {
            return Err(refused(
                "this Idempotency-Key belongs to another request; repeat that request, or use a new key",
            ));
        }
        Ok(Some(StoredOutcome {
            outcome: record.outcome,
            version: stored.version,
        }))
    }

    /// Stores an outcome where the value still has this version, and returns the new one; `None` where others were first.
    pub async fn claim<T: Serialize>(
        &self,
        store: &dyn Driver,
        version: Option<u64>,
        outcome: &T,
    ) -> Result<Option<u64>> {
        let batch = Batch::of([self.set(outcome)?]).checking(self.check(version));
        let done = match store.commit(batch).await {
            Err(StorageError::Conflict { .. }) => return Ok(None),
            done => done?,
        };
        match done.into_iter().next() {
            Some(WriteOutcome::Applied {
                version: Some(version),
                ..
            }) => Ok(Some(version)),
            other => Err(Error::internal(format!(
                "a store answered {other:?} to an idempotency key that was written"
            ))),
        }
    }

    /// The outcome that is stored, or else this new one, which is from now on.
    pub async fn read_or_claim<T: DeserializeOwned + Serialize>(
        &self,
        store: &dyn Driver,
        new: impl Fn() -> T,
    ) -> Result<T> {
        loop {
            if let Some(stored) = self.read(store).await? {
                return Ok(stored.outcome);
            }
            let new = new();
            if self.claim(store, None, &new).await?.is_some() {
                return Ok(new);
            }
        }
    }

    /// Stores what came of it. The request has been run: where that fails, the log alone is told.
    pub async fn keep<T: Serialize>(&self, store: &dyn Driver, outcome: &T) {
        let kept = match self.set(outcome) {
            Ok(write) => store.commit(Batch::of([write])).await.map_err(Error::from),
            Err(error) => Err(error),
        };
        if let Err(error) = kept {
            tracing::error!("an idempotency key does not say what came of its request: {error}");
        }
    }

    /// Gives up a claim of this version: nothing came of the request. False where the value has another one.
    pub async fn release(&self, store: &dyn Driver, version: u64) -> Result<bool> {
        let delete = BatchWrite::apply(self.place.clone(), Operation::Del, None);
        let batch = Batch::of([delete]).checking(self.check(Some(version)));
        match store.commit(batch).await {
            Err(StorageError::Conflict { .. }) => Ok(false),
            done => {
                done?;
                Ok(true)
            }
        }
    }

    /// Holds where the value has this version.
    pub fn check(&self, version: Option<u64>) -> BatchCheck {
        BatchCheck::version(self.place.clone(), version)
    }

    /// Writes an outcome.
    pub fn set<T: Serialize>(&self, outcome: &T) -> Result<BatchWrite> {
        let record = IdempotencyRecord {
            fingerprint: self.fingerprint.clone(),
            outcome,
        };
        let set = Operation::Set(Json::of(&record)?.into());
        let life = Some(to_millis(LIFETIME));
        Ok(BatchWrite::apply(self.place.clone(), set, life))
    }
}

/// The refusal of a request for its key.
pub fn refused(message: &str) -> Error {
    Error::new(ErrorCode::Conflict, message).with_param(HEADER)
}

#[cfg(test)]
mod tests {
    use super::IdempotencyKey;
    use ambit_runtime::Authorized;
    use std::collections::HashSet;

    #[test]
    fn no_two_keys_of_callers_kinds_and_protocols_have_one_place() {
        let derived = |protocol| IdempotencyKey::Derived {
            protocol,
            name: "k".to_owned(),
        };
        let keys = [
            IdempotencyKey::Header("k".to_owned()),
            derived("ag-ui"),
            derived("ai-sdk"),
        ];
        let user = |user: &str, team: Option<&str>| Authorized {
            user_id: Some(user.to_owned()),
            team_id: team.map(str::to_owned),
            ..Authorized::default()
        };
        let callers = [user("a", None), user("b", None), user("a", Some("t"))];
        let mut places = HashSet::new();
        for key in &keys {
            for who in &callers {
                for kind in ["turn", "store"] {
                    places.insert(format!("{:?}", key.place(who, kind)));
                }
            }
        }
        assert_eq!(places.len(), keys.len() * callers.len() * 2);
    }
}
