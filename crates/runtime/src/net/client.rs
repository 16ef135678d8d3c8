//! One request, through its redirects, within its limits. Every hop is checked as if it were the first.

use super::allow_list::{AllowList, name};
use super::lookup::{AddressLookup, NotPublicError, PublicLookup, SystemLookup};
use super::public_address::is_public;
use super::request_hop::RequestHop;
use super::{NetError, NetErrorKind, OutgoingTrace, TRACEPARENT, tls};
use crate::{Error, ErrorCode, Result};
use reqwest::header::HeaderValue;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use url::{Host, Url};

/// What requests may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Requests at once.
    pub at_once: usize,
    /// From the start of a request to the end of its answer.
    pub time: Duration,
    /// Bytes of an answer's body.
    pub body: usize,
    /// How often a request may be sent on.
    pub redirects: usize,
}

/// Sends requests to the hosts of one list. Clones share their connections and count together.
#[derive(Clone)]
pub struct HttpClient {
    connections: Arc<HttpConnections>,
    allow: Arc<AllowList>,
    limits: HttpLimits,
    running: Arc<Semaphore>,
    /// What requests say of the trace that they are part of, where their host may know.
    trace: Option<Arc<OutgoingTrace>>,
}

/// Connections to private addresses are never taken for another host's.
struct HttpConnections {
    public: reqwest::Client,
    private: reqwest::Client,
}

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpRequest {
    /// Its method.
    pub method: String,
    /// Where.
    pub url: String,
    /// Its headers, in order; a name may come more than once.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Option<Vec<u8>>,
    /// What an answer that points elsewhere means.
    pub redirect: RedirectMode,
}

/// What an answer that points elsewhere means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedirectMode {
    /// The request goes there.
    #[default]
    Follow,
    /// The request fails.
    Error,
    /// It is the answer.
    Manual,
}

/// An answer with its whole body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// Its status.
    pub status: u16,
    /// What HTTP calls that status.
    pub status_text: String,
    /// Its headers, in order.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// Where it came from.
    pub url: String,
    /// The request was sent on.
    pub redirected: bool,
}

/// An answer whose body is still on its way.
pub struct ResponseStream {
    /// The answer, without a body so far.
    pub head: HttpResponse,
    response: reqwest::Response,
    rest: usize,
    limits: HttpLimits,
    end: Instant,
    _running: OwnedSemaphorePermit,
}

impl HttpResponse {
    /// What it says that its body is; empty where it says nothing.
    pub fn content_type(&self) -> &str {
        let mut headers = self.headers.iter();
        let found = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        found.map_or("", |(_, value)| value)
    }
}

impl HttpClient {
    /// A client for the hosts of a list.
    pub fn new(allow: &AllowList) -> Result<Self> {
        Self::with_lookup(allow, Arc::new(SystemLookup))
    }

    /// A client that finds addresses in another way.
    pub fn with_lookup(allow: &AllowList, lookup: Arc<dyn AddressLookup>) -> Result<Self> {
        let failed = |error: &dyn std::error::Error| {
            Error::new(
                ErrorCode::Internal,
                format!("no HTTP client can be made: {error}"),
            )
        };
        let tls = tls().map_err(|error| failed(&error))?;
        let client = |lookup, is_private| {
            reqwest::Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .dns_resolver(PublicLookup { lookup, is_private })
                .redirect(reqwest::redirect::Policy::none())
                // A proxy would look names up itself, and the environment is not ours to read.
                .no_proxy()
                .referer(false)
                .user_agent(concat!("ambit/", env!("CARGO_PKG_VERSION")))
                .build()
                .map_err(|error| failed(&error))
        };
        let connections = HttpConnections {
            public: client(Arc::clone(&lookup), false)?,
            private: client(lookup, true)?,
        };
        let limits = HttpLimits::default();
        Ok(Self {
            connections: Arc::new(connections),
            allow: Arc::new(allow.clone()),
            running: Arc::new(Semaphore::new(limits.at_once)),
            limits,
            trace: None,
        })
    }

    /// The same connections for one run: with a count of its own, its limits, and only what this list allows too.
    pub fn for_run(&self, limits: HttpLimits, narrower: Option<&AllowList>) -> Self {
        let allow = match narrower {
            Some(list) => Arc::new(self.allow.narrowed(list.clone())),
            None => Arc::clone(&self.allow),
        };
        self.for_hosts(allow, limits)
    }

    /// The same connections for the hosts of another list, with a count of its own and its limits.
    pub fn for_hosts(&self, allow: Arc<AllowList>, limits: HttpLimits) -> Self {
        Self {
            connections: Arc::clone(&self.connections),
            allow,
            limits,
            running: Arc::new(Semaphore::new(limits.at_once)),
            trace: None,
        }
    }

    /// The same, whose requests are part of a trace. What a request itself says of one counts before that.
    pub fn within_trace(self, trace: Option<OutgoingTrace>) -> Self {
        Self {
            trace: trace.map(Arc::new),
            ..self
        }
    }

    /// The same for addresses that stand in messages, and for all that they point on to.
    pub fn for_messages(&self) -> Self {
        Self {
            allow: Arc::new(self.allow.for_messages()),
            ..self.clone()
        }
    }

    /// Gets what an address points to; a status other than success is a failure.
    pub async fn get(&self, url: &str) -> Result<HttpResponse, NetError> {
        let request = HttpRequest {
            method: "GET".to_owned(),
            url: url.to_owned(),
            ..HttpRequest::default()
        };
        let answer = self.send(request).await?;
        if (200..300).contains(&answer.status) {
            return Ok(answer);
        }
        let why = format!("the host answered {} {}", answer.status, answer.status_text);
        Err(NetError::new(NetErrorKind::Failed, why.trim_end()))
    }

    /// Sends a request and waits for its whole answer.
    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, NetError> {
        let mut opened = self.open(request).await?;
        let mut body = Vec::new();
        while let Some(chunk) = opened.chunk().await? {
            body.extend(chunk);
        }
        Ok(HttpResponse {
            body,
            ..opened.head
        })
    }

    /// Sends a request and waits for the head of its answer.
    pub async fn open(&self, request: HttpRequest) -> Result<ResponseStream, NetError> {
        let HttpLimits { at_once, time, .. } = self.limits;
        let running = Arc::clone(&self.running).try_acquire_owned();
        let running =
            running.map_err(|_| limited(format!("at most {at_once} requests at once")))?;
        let end = Instant::now() + time;
        let follow = request.redirect;
        let mut hop = RequestHop::first(request)?;
        for redirects in 0.. {
            let answered = timeout_at(end, self.once(&hop)).await;
            let response = answered.map_err(|_| too_slow(time))??;
            let Some(next) = hop
                .next(&response)
                .filter(|_| follow != RedirectMode::Manual)
            else {
                return Ok(self.opened(response, redirects > 0, end, running));
            };
            if follow == RedirectMode::Error {
                return Err(NetError::new(
                    NetErrorKind::Failed,
                    "the answer points elsewhere",
                ));
            }
            if redirects == self.limits.redirects {
                break;
            }
            hop = next?;
        }
        Err(limited(format!(
            "more than {} redirects",
            self.limits.redirects
        )))
    }

    /// One hop.
    async fn once(&self, hop: &RequestHop) -> Result<reqwest::Response, NetError> {
        let host = name(&hop.url).unwrap_or_default();
        let denied = || NetError::denied(&host);
        let reach = self.allow.allows(&hop.url).ok_or_else(denied)?;
        let address = match hop.url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::from(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::from(address)),
            _ => None,
        };
        // Names are looked up when they are connected to; an address is not looked up.
        if address.is_some_and(|address| !reach.is_private && !is_public(address)) {
            return Err(denied());
        }
        let client = if reach.is_private {
            &self.connections.private
        } else {
            &self.connections.public
        };
        let mut request = client
            .request(hop.method.clone(), hop.url.clone())
            .headers(hop.headers.clone());
        // Each hop by itself: a host that may know may send the request on to one that may not.
        let trace = self.trace.as_ref();
        let trace = trace.filter(|_| !hop.headers.contains_key(TRACEPARENT));
        for (name, value) in trace.iter().flat_map(|trace| trace.headers(&hop.url)) {
            request = request.header(name, value);
        }
        let request = match &hop.body {
            Some(body) => request.body(body.clone()),
            None => request,
        };
        request.send().await.map_err(|error| failed(&error, &host))
    }

    fn opened(
        &self,
        response: reqwest::Response,
        redirected: bool,
        end: Instant,
        running: OwnedSemaphorePermit,
    ) -> ResponseStream {
        let status = response.status();
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = response.headers().iter();
        let head = HttpResponse {
            status: status.as_u16(),
            status_text: status.canonical_reason().unwrap_or_default().to_owned(),
            headers: headers
                .map(|(name, value)| (name.as_str().to_owned(), text(value)))
                .collect(),
            body: Vec::new(),
            url: without_credentials(response.url()),
            redirected,
        };
        ResponseStream {
            head,
            response,
            rest: self.limits.body,
            limits: self.limits,
            end,
            _running: running,
        }
    }
}

impl ResponseStream {
    /// The next part of the body; `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, NetError> {
        let HttpLimits { body, time, .. } = self.limits;
        let too_large = || limited(format!("the body is larger than {body} bytes"));
        if self
            .response
            .content_length()
            .is_some_and(|length| length > body as u64)
        {
            return Err(too_large());
        }
        let arrived = timeout_at(self.end, self.response.chunk()).await;
        let arrived = arrived.map_err(|_| too_slow(time))?;
        let chunk =
            arrived.map_err(|_| NetError::new(NetErrorKind::Failed, "the answer broke off"))?;
        let Some(chunk) = chunk else {
            return Ok(None);
        };
        self.rest = self.rest.checked_sub(chunk.len()).ok_or_else(too_large)?;
        Ok(Some(chunk.into()))
    }
}

fn without_credentials(url: &Url) -> String {
    let mut url = url.clone();
    // They fail only for URLs that cannot have any.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

fn limited(message: String) -> NetError {
    NetError::new(NetErrorKind::Limited, message)
}

fn too_slow(time: Duration) -> NetError {
    limited(format!("no answer within {}s", time.as_secs_f64()))
}

/// What a failed connection means. Its own text may name the URL, and with it a key.
fn failed(error: &reqwest::Error, host: &str) -> NetError {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(inner) = source {
        if inner.is::<NotPublicError>() {
            return NetError::denied(host);
        }
        source = inner.source();
    }
    let what = if error.is_connect() {
        "cannot be reached"
    } else if error.is_builder() {
        return NetError::invalid(format!("the request to host \"{host}\" cannot be made"));
    } else {
        "gave no answer"
    };
    NetError::new(NetErrorKind::Failed, format!("host \"{host}\" {what}"))
}
