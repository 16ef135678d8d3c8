//! HTTP to providers: shared connections, time limits, and what a failed request means.

use super::failure::ModelFailureKind;
use super::secrets::Secrets;
use super::{EncodedCall, ModelCall, ModelFailure};
use crate::llm::Connector;
use crate::lock::lock;
use crate::net::{OutgoingTrace, tls};
use bytes::Bytes;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Proxy, Response, redirect};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::timeout;
use url::Url;

/// Until a connection is there.
const CONNECT: Duration = Duration::from_secs(10);
/// What is said of a provider's address that is none.
pub const NO_ADDRESS: &str = "is no address such as https://host/v1";
/// Bytes of an error's body that are looked at.
const ERROR_BODY: usize = 64 << 10;
/// Fields of a body that encoders add of themselves.
const ADDED: [&str; 3] = ["stream", "stream_options", "max_tokens"];

/// Clients that share their connections: one for each way out.
#[derive(Default)]
pub struct ProxyClients(Mutex<BTreeMap<String, Client>>);

impl ProxyClients {
    /// The client that goes out through this proxy; directly where it is empty.
    pub fn through(&self, proxy: &str) -> Result<Client, ModelFailure> {
        let mut clients = lock(&self.0);
        if let Some(client) = clients.get(proxy) {
            return Ok(client.clone());
        }
        let client = build_client(proxy)?;
        clients.insert(proxy.to_owned(), client.clone());
        Ok(client)
    }
}

fn build_client(proxy: &str) -> Result<Client, ModelFailure> {
    let builder = Client::builder()
        .tls_backend_preconfigured(tls().map_err(|error| client_failure(&error))?)
        .connect_timeout(CONNECT)
        // A redirect would carry keys in headers of our own to another host.
        .redirect(redirect::Policy::none())
        // The environment is not ours to read; a connector says its proxy.
        .no_proxy()
        .user_agent(concat!("ambit/", env!("CARGO_PKG_VERSION")));
    let builder = match proxy {
        "" => builder,
        url => {
            let wrong =
                |_| ModelFailure::permanent("option \"http_proxy\" is no address of an HTTP proxy");
            builder.proxy(Proxy::all(url).map_err(wrong)?)
        }
    };
    builder.build().map_err(|error| client_failure(&error))
}

fn client_failure(error: &dyn std::error::Error) -> ModelFailure {
    ModelFailure::permanent(format!("no HTTP client can be made: {error}"))
}

/// How a protocol is reached where a connector does not say otherwise.
pub struct ServiceDefaults<'a> {
    /// The provider's own host.
    pub host: &'a str,
    /// The path that a bare origin gets.
    pub root: &'a str,
    /// Where calls go below that.
    pub path: &'a str,
    /// The header of the key, and what stands in front of the key there.
    pub key: (&'a str, &'a str),
}

/// Where a connector's requests go, and how.
pub struct ModelEndpoint {
    /// Where calls go.
    pub url: Url,
    client: Client,
    headers: HeaderMap,
    /// What is added to each body.
    extra: Map<String, Value>,
    connector: String,
    secrets: Secrets,
    silence: Duration,
}

impl ModelEndpoint {
    /// Of a connector: its address, proxy, key, headers and time limit.
    pub fn of(
        connector: &Connector,
        clients: &ProxyClients,
        service: &ServiceDefaults<'_>,
    ) -> Result<Self, ModelFailure> {
        let url = path_below(&base_url(connector, service)?, service.path);
        let options = &connector.options.provider;
        let secrets = Secrets::of(connector);
        let client = clients.through(options.http_proxy.trim());
        let client = client.map_err(|failure| failure.of(&connector.id))?;
        let mut headers = HeaderMap::new();
        if let Some(key) = text(&options.key) {
            let (name, before) = service.key;
            insert_header(&mut headers, name, &format!("{before}{key}")).ok_or_else(|| {
                wrong_option(connector, "key", "holds characters that no header may")
            })?;
        }
        for (name, value) in &options.headers {
            insert_header(&mut headers, name, value).ok_or_else(|| {
                wrong_option(connector, "headers", &format!("cannot send \"{name}\""))
            })?;
        }
        Ok(Self {
            url,
            client,
            headers,
            extra: options.extra_body.clone(),
            connector: connector.id.clone(),
            secrets,
            silence: options.timeout,
        })
    }

    /// With one more header, unless the connector sets it.
    pub fn with(mut self, name: &'static str, value: &'static str) -> Self {
        let value = HeaderValue::from_static(value);
        self.headers.entry(name).or_insert(value);
        self
    }

    /// How long the provider may say nothing.
    pub fn silence(&self) -> Duration {
        self.silence
    }

    /// A call whose body has these fields, or why it cannot be sent.
    pub fn encode<'a>(
        &self,
        call: &'a ModelCall,
        body: Result<Map<String, Value>, ModelFailure>,
        encoder: &'static str,
    ) -> Result<EncodedCall<'a>, ModelFailure> {
        let body = body.map_err(|failure| self.redacted_failure(failure))?;
        let added = ADDED
            .iter()
            .filter_map(|name| Some((*name, body.get(*name)?.clone())));
        Ok(EncodedCall {
            call,
            added: added.collect(),
            bytes: self.body(body),
            encoder,
        })
    }

    /// The bytes of a body of these fields, with what the connector adds to each.
    pub fn body(&self, mut fields: Map<String, Value>) -> Bytes {
        fields.extend(self.extra.clone());
        Value::Object(fields).to_string().into()
    }

    /// Sends a call and waits for the answer to begin.
    pub async fn post(&self, encoded: &EncodedCall<'_>) -> Result<Response, ModelFailure> {
        let trace = encoded.call.trace.as_ref();
        let response = self.send(encoded.bytes.clone(), trace).await?;
        match response.status().is_success() {
            true => Ok(response),
            false => Err(self.status_failure(response).await),
        }
    }

    /// Sends a call and waits for an answer to begin, whatever its status is.
    pub async fn send(
        &self,
        body: Bytes,
        trace: Option<&OutgoingTrace>,
    ) -> Result<Response, ModelFailure> {
        let mut request = self.client.post(self.url.clone());
        for (name, value) in trace.iter().flat_map(|trace| trace.headers(&self.url)) {
            request = request.header(name, value);
        }
        // Headers of the connector take the place of those of the same name.
        let request = request.header(CONTENT_TYPE, "application/json");
        let request = request.headers(self.headers.clone()).body(body);
        let sent = timeout(self.silence, request.send()).await;
        match sent {
            Err(_) => Err(self.redacted_failure(silence_failure(self.silence))),
            Ok(Err(error)) => Err(self.redacted_failure(connection_failure(&error))),
            Ok(Ok(response)) => Ok(response),
        }
    }

    /// What an answer means whose status is no success.
    pub async fn status_failure(&self, response: Response) -> ModelFailure {
        let after = retry_after(response.headers());
        let status = response.status().as_u16();
        let body = timeout(self.silence, error_body(response)).await;
        let mut failure = ModelFailure::of_status(status, &body.unwrap_or_default());
        failure.retry_after = after.or(failure.retry_after);
        self.redacted_failure(failure)
    }

    /// The failure as it may be told: by whom, and without secrets.
    pub fn redacted_failure(&self, failure: ModelFailure) -> ModelFailure {
        failure.without(&self.secrets).of(&self.connector)
    }
}

/// A text that is not blank.
pub fn text(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// Where a connector's provider is. A bare origin gets the path; an address with a path of its own is used as it is.
fn base_url(connector: &Connector, service: &ServiceDefaults<'_>) -> Result<Url, ModelFailure> {
    let wrong = |option| wrong_option(connector, option, NO_ADDRESS);
    let given = connector.options.provider.address().map_err(wrong)?;
    let usual = || Url::parse(service.host).map_err(|_| wrong("host"));
    let mut url = given.map_or_else(usual, Ok)?;
    if url.path() == "/" {
        url.set_path(service.root);
    }
    Ok(url)
}

/// A place below an address, whose query is kept.
fn path_below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url
}

/// An option that cannot be used.
pub fn wrong_option(connector: &Connector, option: &str, why: &str) -> ModelFailure {
    ModelFailure::permanent(format!("option \"{option}\" {why}")).of(&connector.id)
}

/// The provider said nothing for too long.
pub fn silence_failure(limit: Duration) -> ModelFailure {
    ModelFailure::temporary(format!("the provider said nothing for {limit:?}"))
}

/// The provider cannot be reached, or not any longer.
pub fn connection_failure(error: &reqwest::Error) -> ModelFailure {
    let what = match error.is_connect() {
        true => "the provider cannot be reached",
        false => "the connection to the provider broke",
    };
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    let mut why = String::new();
    while let Some(error) = cause {
        why = error.to_string();
        cause = error.source();
    }
    let colon = if why.is_empty() { "" } else { ": " };
    ModelFailure::new(ModelFailureKind::Temporary, format!("{what}{colon}{why}"))
}

fn insert_header(headers: &mut HeaderMap, name: &str, value: &str) -> Option<()> {
    let name = HeaderName::try_from(name).ok()?;
    let mut value = HeaderValue::try_from(value).ok()?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Some(())
}

async fn error_body(mut response: Response) -> String {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > ERROR_BODY {
            break;
        }
    }
    body.truncate(ERROR_BODY);
    String::from_utf8_lossy(&body).into_owned()
}

/// When to come again: milliseconds, seconds or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    if let Some(millis) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(millis / 1_000.0).ok();
    }
    if let Some(seconds) = number(RETRY_AFTER.as_str()) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = headers.get(RETRY_AFTER)?.to_str().ok()?;
    let date = rfc2822::DateTimeParser::new().parse_timestamp(date).ok()?;
    Duration::try_from(date.duration_since(Timestamp::now())).ok()
}
