//! Keys that an issuer publishes. They are asked for when a token needs them, kept, and asked for again when a token names one
//! that is not among them; never so often that somebody with made-up tokens keeps the issuer busy, and never for long.

use super::issuer::published;
use super::token::IssuerKey;
use ambit_runtime::lock::lock;
use ambit_runtime::{Error, ErrorCode, Result, net};
use jsonwebtoken::Algorithm;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serde_json::Value;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;

/// How long the issuer has for its answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// From one question to the next, whatever came of it.
const RETRY_PAUSE: Duration = Duration::from_secs(10);
/// So old are keys when they are asked for again, although they are known.
const MAX_FRESH_AGE: Duration = Duration::from_secs(60 * 60);
/// So old are keys when they no longer count: one that was withdrawn does not live on because the issuer is away.
const MAX_USABLE_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes of a set of keys.
const MAX_BYTES: usize = 256 << 10;

/// The place where an issuer publishes its keys.
pub struct RemoteKeySet {
    url: Url,
    client: Client,
    allowed: Option<Vec<Algorithm>>,
    cache: Mutex<KeyCache>,
    /// One asks at a time; others wait for what it is told.
    fetch_lock: AsyncMutex<()>,
}

/// What was told last.
#[derive(Clone, Default)]
struct KeyCache {
    keys: Arc<Vec<IssuerKey>>,
    fetched_at: Option<Instant>,
    requested_at: Option<Instant>,
}

impl KeyCache {
    fn is_younger(&self, age: Duration) -> bool {
        self.fetched_at.is_some_and(|told| told.elapsed() < age)
    }

    fn has(&self, id: Option<&str>) -> bool {
        let mut keys = self.keys.iter();
        self.is_younger(MAX_USABLE_AGE)
            && keys.any(|key| id.is_none() || key.id.is_none() || key.id.as_deref() == id)
    }
}

impl RemoteKeySet {
    /// Keys at an address, of which these algorithms count. Nothing is asked before a token needs it.
    pub fn at(url: &str, allowed: Option<Vec<Algorithm>>) -> Result<Self, String> {
        let url: Url = url
            .parse()
            .map_err(|error| format!("is no address: {error}"))?;
        let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_local(&url));
        if !is_safe {
            return Err(
                "must begin with https://: who changes the answer on its way could sign tokens"
                    .to_owned(),
            );
        }
        let failed = |error: &dyn std::error::Error| format!("cannot be asked: {error}");
        let client = Client::builder()
            .tls_backend_preconfigured(net::tls().map_err(|error| failed(&error))?)
            .timeout(TIMEOUT)
            // The file names the host that is trusted; an answer names no other.
            .redirect(Policy::none())
            .no_proxy()
            .user_agent(concat!("ambit/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self {
            url,
            client: client.map_err(|error| failed(&error))?,
            allowed,
            cache: Mutex::default(),
            fetch_lock: AsyncMutex::default(),
        })
    }

    /// The keys, newly asked for if none of them has this id.
    pub async fn keys(&self, id: Option<&str>) -> Result<Arc<Vec<IssuerKey>>> {
        let held = self.held();
        if held.has(id) && held.is_younger(MAX_FRESH_AGE) {
            return Ok(held.keys);
        }
        let turn = match held.has(id) {
            true => self.fetch_lock.try_lock().ok(),
            false => Some(self.fetch_lock.lock().await),
        };
        if turn.is_some() && !self.is_settled(id) {
            self.ask().await;
        }
        let held = self.held();
        match held.is_younger(MAX_USABLE_AGE) {
            true => Ok(held.keys),
            false => Err(Error::new(
                ErrorCode::Unavailable,
                "the keys of the token's issuer cannot be read now; send the request again",
            )),
        }
    }

    /// Whether there is nothing to ask, or it is too early.
    fn is_settled(&self, id: Option<&str>) -> bool {
        let held = self.held();
        let is_early = held
            .requested_at
            .is_some_and(|asked| asked.elapsed() < RETRY_PAUSE);
        is_early || (held.has(id) && held.is_younger(MAX_FRESH_AGE))
    }

    fn held(&self) -> KeyCache {
        lock(&self.cache).clone()
    }

    async fn ask(&self) {
        self.change(|held| held.requested_at = Some(Instant::now()));
        match self.fetch().await {
            Ok(keys) => self.change(|held| {
                held.keys = Arc::new(keys);
                held.fetched_at = Some(Instant::now());
            }),
            Err(error) => {
                // The rest of the address may hold a secret.
                let host = self.url.host_str().unwrap_or_default();
                tracing::warn!("the keys of the issuer at {host} cannot be read: {error}");
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut KeyCache)) {
        change(&mut lock(&self.cache));
    }

    async fn fetch(&self) -> Result<Vec<IssuerKey>, String> {
        let failed = |error: reqwest::Error| error.without_url().to_string();
        let answer = self.client.get(self.url.clone()).send().await;
        let mut answer = answer.map_err(failed)?;
        if !answer.status().is_success() {
            return Err(format!("it answers {}", answer.status()));
        }
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(failed)? {
            body.extend_from_slice(&piece);
            if body.len() > MAX_BYTES {
                return Err(format!("its answer is larger than {MAX_BYTES} bytes"));
            }
        }
        let set: Value =
            serde_json::from_slice(&body).map_err(|_| "its answer is not JSON".to_owned())?;
        let keys = published(&set, self.allowed.as_deref());
        match keys.ok_or("its answer is no set of keys")? {
            keys if keys.is_empty() => Err("none of its keys can be used here".to_owned()),
            keys => Ok(keys),
        }
    }
}

/// Whether an address is on this machine, where nobody is in between.
fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
