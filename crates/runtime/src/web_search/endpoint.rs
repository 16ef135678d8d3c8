//! Requests to providers: to one host, within limits, and again where that may help.

use super::WebProviderContext;
use super::error::WebSearchFailure;
use crate::net::{
    AllowList, AllowedHost, HostEntry, HttpClient, HttpLimits, HttpRequest, HttpResponse, NetError,
    NetErrorKind,
};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

/// The pauses before the second and the third try.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];
/// What a provider may ask to wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Bytes of an answer.
const BODY: usize = 4 << 20;
/// Redirects within the host.
const REDIRECTS: usize = 3;
/// The most that `timeout` means.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Where a provider is asked.
pub struct WebEndpoint {
    http: HttpClient,
    url: Url,
    timeout: Duration,
}

/// One request of a provider.
#[derive(Clone, Default)]
pub struct WebRequest {
    /// Its headers, beside those of JSON.
    pub headers: Vec<(String, String)>,
    /// What is added to the address.
    pub query: Vec<(String, String)>,
    /// What is sent.
    pub body: Option<Value>,
}

impl WebEndpoint {
    /// The endpoint at this address, on another host where the settings name one. Nothing but that host is reached.
    pub fn of(context: &WebProviderContext<'_>, address: &str) -> Result<Self, WebSearchFailure> {
        let settings = context.settings;
        let url = Url::parse(address).ok().filter(is_http);
        let url = url.ok_or_else(|| invalid("\"web.http.url\" is no address of a web server"))?;
        let url = match settings.host.trim() {
            "" => url,
            host => at_host(&url, host)?,
        };
        if url.scheme() != "https" && !settings.private {
            return Err(invalid(
                "only https is allowed, unless \"web.private\" is true",
            ));
        }
        let host = HostEntry {
            host: url.origin().ascii_serialization(),
            private: settings.private,
            messages: false,
        };
        let hosts = AllowList::parse("web.host", &[AllowedHost(host)]);
        let hosts = hosts.map_err(|_| invalid("its host cannot be reached"))?;
        let timeout = settings.timeout.min(LONGEST);
        let limits = HttpLimits {
            at_once: 1,
            // The time of all tries together ends a request earlier.
            time: timeout * 2,
            body: BODY,
            redirects: REDIRECTS,
        };
        Ok(Self {
            http: context.http.for_hosts(Arc::new(hosts), limits),
            url,
            timeout,
        })
    }

    /// Sends a `GET`, and returns the JSON of the answer.
    pub async fn get(&self, request: WebRequest) -> Result<Value, WebSearchFailure> {
        self.send("GET", request).await
    }

    /// Sends a `POST`, and returns the JSON of the answer.
    pub async fn post(&self, request: WebRequest) -> Result<Value, WebSearchFailure> {
        self.send("POST", request).await
    }

    /// Sends a request, up to three times, and returns the JSON of the answer.
    pub async fn send(&self, method: &str, request: WebRequest) -> Result<Value, WebSearchFailure> {
        let end = Instant::now() + self.timeout;
        let request = self.http_request(method, request);
        let mut pauses = PAUSES.into_iter();
        loop {
            let sent = timeout_at(end, self.try_once(request.clone())).await;
            let failure = match sent {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(failure)) => failure,
                Err(_) => return Err(WebSearchFailure::TimedOut),
            };
            let pause = pauses.next().and_then(|least| pause(&failure, least));
            match pause.filter(|pause| Instant::now() + *pause < end) {
                Some(pause) => sleep(pause).await,
                None => return Err(failure),
            }
        }
    }

    fn http_request(&self, method: &str, request: WebRequest) -> HttpRequest {
        let mut url = self.url.clone();
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(request.query);
        }
        let mut headers = request.headers;
        let mut add = |name: &str| {
            let is_set = |(own, _): &(String, String)| own.eq_ignore_ascii_case(name);
            if !headers.iter().any(is_set) {
                headers.push((name.to_owned(), "application/json".to_owned()));
            }
        };
        add("accept");
        if request.body.is_some() {
            add("content-type");
        }
        HttpRequest {
            method: method.to_owned(),
            url: url.into(),
            headers,
            body: request.body.map(|body| body.to_string().into_bytes()),
            ..HttpRequest::default()
        }
    }

    async fn try_once(&self, request: HttpRequest) -> Result<Value, WebSearchFailure> {
        let opened = self.http.open(request).await;
        let mut opened =
            opened.map_err(|error| failure_of(&error, WebSearchFailure::RedirectLoop))?;
        let head = &opened.head;
        if !(200..300).contains(&head.status) {
            return Err(WebSearchFailure::Status {
                status: head.status,
                retry_after: retry_after(head),
            });
        }
        if !is_json(head) {
            return Err(WebSearchFailure::Unreadable);
        }
        let mut body = Vec::new();
        loop {
            let chunk = opened.chunk().await;
            let chunk = chunk.map_err(|error| failure_of(&error, WebSearchFailure::TooLarge))?;
            match chunk {
                Some(chunk) => body.extend(chunk),
                None => break,
            }
        }
        serde_json::from_slice(&body).map_err(|_| WebSearchFailure::Unreadable)
    }
}

/// The same place on another host.
fn at_host(url: &Url, host: &str) -> Result<Url, WebSearchFailure> {
    let text = match host.contains("://") {
        true => host.to_owned(),
        false => format!("https://{host}"),
    };
    let is_origin = |host: &Url| {
        is_http(host)
            && host.path() == "/"
            && host.query().is_none()
            && host.fragment().is_none()
            && host.username().is_empty()
            && host.password().is_none()
    };
    let host = Url::parse(&text).ok().filter(is_origin);
    let mut host =
        host.ok_or_else(|| invalid("\"web.host\" is no host such as https://host:port"))?;
    host.set_path(url.path());
    host.set_query(url.query());
    Ok(host)
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

fn invalid(what: &str) -> WebSearchFailure {
    WebSearchFailure::InvalidSetting(what.to_owned())
}

/// What a failed request means. Its own text names hosts, which a redirect may have made of a key.
fn failure_of(error: &NetError, limit: WebSearchFailure) -> WebSearchFailure {
    match error.kind {
        NetErrorKind::Denied => WebSearchFailure::Denied,
        NetErrorKind::Invalid => {
            invalid("the request cannot be made of the settings and the query")
        }
        NetErrorKind::Limited => limit,
        NetErrorKind::Failed => WebSearchFailure::Connection,
    }
}

/// How long to wait before the next try; none if there is to be none.
fn pause(failure: &WebSearchFailure, least: Duration) -> Option<Duration> {
    match failure {
        WebSearchFailure::Connection => Some(least),
        WebSearchFailure::Status {
            status: 500 | 502 | 503 | 504,
            ..
        } => Some(least),
        WebSearchFailure::Status {
            status: 429,
            retry_after: Some(after),
        } if *after <= LONGEST_PAUSE => Some(least.max(*after)),
        _ => None,
    }
}

fn header<'a>(head: &'a HttpResponse, name: &str) -> Option<&'a str> {
    let found = head.headers.iter().find(|(own, _)| own == name);
    found.map(|(_, value)| value.trim())
}

/// The seconds that a provider asks to wait. A date is further away than is waited for.
fn retry_after(head: &HttpResponse) -> Option<Duration> {
    let seconds = header(head, "retry-after")?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn is_json(head: &HttpResponse) -> bool {
    let kind = header(head, "content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json")
}
