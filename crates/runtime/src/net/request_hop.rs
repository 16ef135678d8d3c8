//! One hop of a request, and where an answer sends it on to.

use super::client::HttpRequest;
use super::{NetError, NetErrorKind};
use reqwest::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONTENT_LANGUAGE, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    LOCATION, RANGE, USER_AGENT,
};
use reqwest::{Method, StatusCode};
use url::Url;

/// One request on its way to one host.
pub struct RequestHop {
    /// Its method.
    pub method: Method,
    /// Where.
    pub url: Url,
    /// What it carries.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Option<Vec<u8>>,
}

/// What a request may carry to a host that the script did not name. Anything else may be a secret.
const HARMLESS: [HeaderName; 6] = [
    ACCEPT,
    ACCEPT_LANGUAGE,
    CONTENT_LANGUAGE,
    CONTENT_TYPE,
    RANGE,
    USER_AGENT,
];

/// What only the connection itself may say.
const OWN: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl RequestHop {
    /// The first, as it is asked for.
    pub fn first(request: HttpRequest) -> Result<Self, NetError> {
        let method = request.method.to_ascii_uppercase();
        let method = Method::from_bytes(method.as_bytes()).ok().filter(|method| {
            // One opens a tunnel and the other shows what was sent.
            *method != Method::CONNECT && *method != Method::TRACE
        });
        let method = method.ok_or_else(|| {
            NetError::invalid(format!("method \"{}\" is not possible", request.method))
        })?;
        let url = Url::parse(&request.url).ok().filter(is_http);
        // Not shown as it is: it may hold a password.
        let url = url.ok_or_else(|| NetError::invalid("the URL is not one of http or https"))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let wrong = || NetError::invalid(format!("invalid header \"{name}\""));
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            if OWN.contains(&key.as_str()) {
                continue;
            }
            headers.append(key, HeaderValue::from_str(value).map_err(|_| wrong())?);
        }
        Ok(Self {
            method,
            url,
            headers,
            body: request.body,
        })
    }

    /// The hop that an answer asks for.
    pub fn next(&self, response: &reqwest::Response) -> Option<Result<Self, NetError>> {
        let status = response.status();
        let moves = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
        let location = response.headers().get(LOCATION).filter(|_| moves)?;
        Some(self.sent_on(status, location))
    }

    fn sent_on(&self, status: StatusCode, location: &HeaderValue) -> Result<Self, NetError> {
        let target = std::str::from_utf8(location.as_bytes()).ok();
        let url = target
            .and_then(|target| self.url.join(target).ok())
            .filter(is_http);
        let url = url.ok_or_else(|| {
            NetError::new(
                NetErrorKind::Failed,
                "the answer points to no URL of http or https",
            )
        })?;
        let becomes_get = match status {
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        let mut headers = self.headers.clone();
        if becomes_get {
            headers.remove(CONTENT_TYPE);
            headers.remove(CONTENT_LANGUAGE);
        }
        if url.origin() != self.url.origin() {
            let kept = HARMLESS.into_iter().filter_map(|name| {
                let value = headers.get(&name)?.clone();
                Some((name, value))
            });
            headers = kept.collect();
        }
        Ok(Self {
            method: if becomes_get {
                Method::GET
            } else {
                self.method.clone()
            },
            url,
            headers,
            body: self.body.clone().filter(|_| !becomes_get),
        })
    }
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}
