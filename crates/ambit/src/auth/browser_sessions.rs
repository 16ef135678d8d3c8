//! Sessions of browsers that have logged in at the console. The cookie is kept nowhere: what is stored is its hash, and what was
//! logged in with, so that whoever takes back a key takes back its sessions.

use super::hashed_secret;
use super::openapi_file::SessionSettings;
use super::request_site::{RequestPage, RequestSite};
use super::verified_caller::SessionCredential;
use ambit_runtime::{Result, StorageError};
use ambit_storage::address::{Space, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, ValueEntry};
use ambit_storage::clock::{Clock, Millis, to_millis};
use ambit_storage::driver::{Driver, ValuePart};
use ambit_storage::operation::Operation;
use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HeaderName};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The header without which no cookie counts: pages of other origins cannot send it.
const CONSOLE: HeaderName = HeaderName::from_static("x-ambit-console");
/// A session's last use is stored anew when this part of its idle time has passed.
const USE_STEPS: Millis = 64;

/// The sessions of an installation.
#[derive(Clone)]
pub(super) struct BrowserSessions {
    store: Arc<dyn Driver>,
}

/// A session, as it is stored.
#[derive(Serialize, Deserialize)]
struct SessionRecord {
    credential: SessionCredential,
    /// Where the browser knows the server.
    scheme: String,
    host: String,
    /// The origin of the pages that may use it.
    origin: String,
    used_at: Millis,
    ends_at: Millis,
}

/// A session that has begun.
pub(super) struct NewSession {
    /// The value of `Set-Cookie`.
    pub cookie: String,
    pub ends_at: Millis,
}

/// A session that goes on.
pub(super) struct LiveSession {
    pub credential: SessionCredential,
    pub ends_at: Millis,
}

impl BrowserSessions {
    pub fn new(store: Arc<dyn Driver>) -> Self {
        Self { store }
    }

    /// Begins a session.
    pub async fn begin(
        &self,
        credential: SessionCredential,
        site: RequestSite,
        headers: &HeaderMap,
        settings: &SessionSettings,
    ) -> Result<NewSession> {
        let now = Clock::default().now();
        let (name, attributes) = (cookie_name(&site), attributes(&site));
        let told = RequestPage::of(headers).origin;
        let own = || format!("{}://{}", site.scheme, site.host);
        let record = SessionRecord {
            credential,
            origin: told.map_or_else(own, str::to_owned),
            scheme: site.scheme,
            host: site.host,
            used_at: now,
            ends_at: now.saturating_add(to_millis(settings.max)),
        };
        let (space, life) = (Space::browser_sessions(), record.life(settings));
        let secret = hashed_secret::issue(self.store.as_ref(), &space, &record, life).await?;
        Ok(NewSession {
            cookie: format!("{name}={secret}; {attributes}"),
            ends_at: record.ends_at,
        })
    }

    /// The session whose cookie a request brings, if it counts.
    pub async fn find(
        &self,
        site: &RequestSite,
        headers: &HeaderMap,
        settings: &SessionSettings,
    ) -> Result<Option<LiveSession>> {
        let is_console = headers.get(CONSOLE).is_some_and(|value| value == "1");
        let Some(secret) = cookie(headers, &cookie_name(site)) else {
            return Ok(None);
        };
        if !is_console || !settings.enabled {
            return Ok(None);
        }
        let key = place(secret);
        let Some(stored) = self.store.get(&key, ValuePart::Whole).await? else {
            return Ok(None);
        };
        let record = stored.value.to::<SessionRecord>()?;
        let now = Clock::default().now();
        let idle = to_millis(settings.idle);
        let is_over = now >= record.ends_at || now - record.used_at >= idle;
        let is_same = record.scheme == site.scheme && record.host == site.host;
        if is_over || !is_same || !RequestPage::of(headers).is_of(&record.origin) {
            return Ok(None);
        }
        let found = LiveSession {
            credential: record.credential.clone(),
            ends_at: record.ends_at,
        };
        if now - record.used_at >= idle / USE_STEPS {
            let used = SessionRecord {
                used_at: now,
                ..record
            };
            self.note_use(key, &stored, &used, settings).await?;
        }
        Ok(Some(found))
    }

    /// Stores that a session was used, unless it has ended or somebody else has stored the same.
    async fn note_use(
        &self,
        key: ValueKey,
        seen: &ValueEntry,
        record: &SessionRecord,
        settings: &SessionSettings,
    ) -> Result<()> {
        let write = hashed_secret::write(&key, record, record.life(settings))?;
        let batch = Batch::of([write]);
        let version = Some(seen.version);
        let batch = batch.checking(BatchCheck::Version { key, version });
        match self.store.commit(batch).await {
            Ok(_) | Err(StorageError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the session of a request, if there is one; the answer is the value of `Set-Cookie` that removes its cookie.
    pub async fn end(&self, site: &RequestSite, headers: &HeaderMap) -> Result<Option<String>> {
        let name = cookie_name(site);
        let Some(secret) = cookie(headers, &name) else {
            return Ok(None);
        };
        let (key, op, life) = (place(secret), Operation::Del, None);
        self.store
            .commit(Batch::of([BatchWrite::Apply { key, op, life }]))
            .await?;
        Ok(Some(format!("{name}=; {}; Max-Age=0", attributes(site))))
    }
}

impl SessionRecord {
    /// How long it is stored: until it would have ended unused.
    fn life(&self, settings: &SessionSettings) -> Millis {
        let left = (self.ends_at - self.used_at).min(to_millis(settings.idle));
        left.max(1)
    }
}

/// Where a session is kept: under the hash of its cookie.
fn place(secret: &str) -> ValueKey {
    hashed_secret::place(&Space::browser_sessions(), secret)
}

/// Cookies are the same on all ports of a name. Browsers take `__Host-` from encrypted connections alone, for this name alone.
fn cookie_name(site: &RequestSite) -> String {
    let prefix = if site.is_tls() { "__Host-" } else { "" };
    format!("{prefix}ambit-{}", site.port())
}

fn attributes(site: &RequestSite) -> &'static str {
    match site.is_tls() {
        true => "HttpOnly; SameSite=Strict; Path=/; Secure",
        false => "HttpOnly; SameSite=Strict; Path=/",
    }
}

/// The value of a cookie.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).into_iter();
    let mut pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs.find_map(|(known, value)| (known == name).then_some(value))
}
