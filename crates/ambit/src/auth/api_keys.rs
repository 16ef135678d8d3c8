//! API keys: made by the operator, each for one fixed caller. A key is shown once, when it is made; what is stored is its
//! hash, so that nobody who reads the store can call with it.

use super::RequestCaller;
use super::verified_caller::{CallerSource, SessionCredential, VerifiedCaller};
use ambit_runtime::StorageError;
use ambit_runtime::lock::lock;
use ambit_runtime::{Authorized, Result};
use ambit_storage::address::{self, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, ValueEntry};
use ambit_storage::clock::{Clock, Millis};
use ambit_storage::driver::{Driver, ValuePart, ValueScan};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, ids};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// How every key begins, so that one is recognised wherever it turns up.
pub const PREFIX: &str = "ambit_";
/// Keys read at a time.
const PAGE: usize = 1_000;

/// A use is stored if none was for this long.
const USE_STEP: Millis = 60_000;
/// So many keys are remembered whose use is stored. Where they are more, all are forgotten, and stored once more.
const MAX_NOTED: usize = 10_000;

/// The keys of an installation.
#[derive(Clone)]
pub struct ApiKeys {
    store: Arc<dyn Driver>,
    /// When this process last stored the use of a key, by its hash.
    noted: Arc<Mutex<HashMap<String, Millis>>>,
}

/// A key, and when it was last used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKeyUse {
    /// Whom it stands for.
    pub record: ApiKeyRecord,
    /// To the minute.
    pub last_used_at: Option<Millis>,
}

/// Whom a key stands for, as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKeyRecord {
    /// The key's name for people; not the key.
    pub id: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The person it acts for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// Their team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_id: Option<String>,
    /// Their tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Its roles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// Its scopes, separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// When it was made.
    pub created_at: Millis,
    /// The person who made it over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// When it ends, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
}

impl ApiKeys {
    /// The keys in this store.
    pub fn new(store: Arc<dyn Driver>) -> Self {
        let noted = Arc::default();
        Self { store, noted }
    }

    /// Makes a key for this caller. The answer is the key, which is kept nowhere.
    pub async fn make(&self, grant: ApiKeyRecord) -> Result<String> {
        Ok(self.make_recorded(grant).await?.0)
    }

    /// The same, with what is stored of the key.
    pub async fn make_recorded(&self, mut grant: ApiKeyRecord) -> Result<(String, ApiKeyRecord)> {
        let secret = format!("{PREFIX}{}{}", ids::unguessable(), ids::unguessable());
        let now = Clock::default().now();
        grant.id = ids::ordered(&Clock::default());
        grant.created_at = now;
        let key = place(&secret);
        let write = BatchWrite::Apply {
            key: key.clone(),
            op: Operation::Set(Json::of(&grant)?.into()),
            life: grant.expires_at.map(|end| (end - now).max(1)),
        };
        let version = None;
        let batch = Batch::of([write]).checking(BatchCheck::Version { key, version });
        self.store.commit(batch).await?;
        Ok((secret, grant))
    }

    /// All keys with their last use, the oldest first.
    pub async fn list_uses(&self) -> Result<Vec<ApiKeyUse>> {
        let mut uses = HashMap::new();
        for (hash, entry) in self.all_of(&Space::api_key_uses()).await? {
            uses.insert(hash, entry.value.to::<Millis>()?);
        }
        let mut keys = Vec::new();
        for (hash, entry) in self.all().await? {
            keys.push(ApiKeyUse {
                record: entry.value.to()?,
                last_used_at: uses.get(&hash).copied(),
            });
        }
        keys.sort_by(|one, other| one.record.id.cmp(&other.record.id));
        Ok(keys)
    }

    /// Stores that the key with this hash is used now. A store that fails keeps nobody from calling.
    pub(super) async fn note_use(&self, hash: &str) {
        let now = Clock::default().now();
        if !self.is_new_use(hash, now) {
            return;
        }
        let write = Json::of(&now).map(|now| BatchWrite::Apply {
            key: Space::api_key_uses().key(hash),
            op: Operation::Set(now.into()),
            life: None,
        });
        let stored = match write {
            Ok(write) => self.store.commit(Batch::of([write])).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = stored {
            tracing::warn!(%error, "when an API key was used could not be stored");
        }
    }

    fn is_new_use(&self, hash: &str, now: Millis) -> bool {
        let mut noted = lock(&self.noted);
        let last = noted.get(hash);
        if last.is_some_and(|last| now - last < USE_STEP) {
            return false;
        }
        if noted.len() >= MAX_NOTED {
            noted.clear();
        }
        noted.insert(hash.to_owned(), now);
        true
    }

    /// All keys, the oldest first.
    pub async fn list(&self) -> Result<Vec<ApiKeyRecord>> {
        let mut grants = Vec::new();
        for (_, entry) in self.all().await? {
            grants.push(entry.value.to::<ApiKeyRecord>()?);
        }
        grants.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(grants)
    }

    /// Ends the key with this id; false if there is none.
    pub async fn remove(&self, id: &str) -> Result<bool> {
        for (name, entry) in self.all().await? {
            if entry.value.to::<ApiKeyRecord>()?.id == id {
                let spaces = [Space::api_keys(), Space::api_key_uses()];
                let writes = spaces.map(|space| {
                    let (key, op, life) = (space.key(name.as_str()), Operation::Del, None);
                    BatchWrite::Apply { key, op, life }
                });
                self.store.commit(Batch::of(writes)).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn all(&self) -> Result<Vec<(String, ValueEntry)>, StorageError> {
        self.all_of(&Space::api_keys()).await
    }

    async fn all_of(&self, space: &Space) -> Result<Vec<(String, ValueEntry)>, StorageError> {
        let mut all: Vec<(String, ValueEntry)> = Vec::new();
        loop {
            let scan = ValueScan {
                after: all.last().map(|(name, _)| name.clone()),
                ..ValueScan::first(Pattern::all(), PAGE, ValuePart::Whole)
            };
            let page = self.store.scan(space, &scan).await?;
            let is_last = page.len() < PAGE;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// What is known of the key with this hash.
    pub(super) async fn find(&self, hash: &str) -> Result<Option<ApiKeyRecord>> {
        let key = Space::api_keys().key(hash);
        let stored = self.store.get(&key, ValuePart::Whole).await?;
        let grant = stored.map(|stored| stored.value.to::<ApiKeyRecord>());
        Ok(grant.transpose()?)
    }
}

impl ApiKeyRecord {
    /// The caller that the key with this hash stands for, and what a session of theirs is made of.
    pub(super) fn verified(self, hash: String) -> VerifiedCaller {
        let id = self.id.clone();
        VerifiedCaller {
            expires_at: self.expires_at,
            key_ends_at: self.expires_at,
            caller: self.caller(),
            source: CallerSource::Key,
            credential: Some(SessionCredential::Key { id, hash }),
        }
    }

    /// The caller that the key stands for.
    pub fn caller(self) -> RequestCaller {
        let mut claims = Map::from_iter([("client_id".to_owned(), Value::from(self.id))]);
        claims.extend(self.scope.map(|scope| ("scope".to_owned(), scope.into())));
        let authorized = Authorized {
            user_id: self.user_id,
            team_id: self.team_id,
            tenant_id: self.tenant_id,
            claims,
            ..Authorized::default()
        };
        RequestCaller {
            authorized,
            roles: self.roles,
        }
    }
}

/// Where a key's grant is kept: under its hash. The key has 200 random bits, so that a plain hash gives nothing away.
fn place(secret: &str) -> ValueKey {
    Space::api_keys().key(hash(secret))
}

/// The hash that a key is stored by.
pub(super) fn hash(secret: &str) -> String {
    address::digest(&[secret])
}
