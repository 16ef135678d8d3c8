//! Where a request comes from, as browsers tell it. Pages of other sites must not use what a browser sends by itself: a cookie, the
//! identity that a proxy adds, or that everybody on this machine is the developer.

use super::AuthRequest;
use super::proxy::TrustedProxy;
use ambit_runtime::{Error, ErrorCode, Result};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, HOST, HeaderName, ORIGIN, TRANSFER_ENCODING};
use std::net::IpAddr;

/// How the page that asks is related to the server (Fetch Metadata).
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FORWARDED_HOST: &str = "x-forwarded-host";
const FORWARDED_SCHEME: &str = "x-forwarded-proto";
const TLS: &str = "https";

/// The address by which a browser knows the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestSite {
    /// `http` or `https`, as a trusted proxy says, else as the server itself is reached.
    pub scheme: String,
    /// The name and perhaps the port.
    pub host: String,
}

impl RequestSite {
    /// The address that a request names.
    pub fn of(asked: AuthRequest<'_>, proxy: Option<&TrustedProxy>) -> Self {
        let (headers, peer) = (asked.headers, asked.peer);
        let trusted = proxy.filter(|proxy| peer.is_some_and(|peer| proxy.is_trusted(peer)));
        let told = |name: &str| trusted.and_then(|_| last(headers, name));
        let scheme = told(FORWARDED_SCHEME);
        let is_tls = scheme.map_or(asked.is_tls, |told| told.eq_ignore_ascii_case(TLS));
        let host = told(FORWARDED_HOST).or_else(|| text(headers, &HOST));
        Self {
            scheme: if is_tls { TLS } else { "http" }.to_owned(),
            host: host.unwrap_or_default().to_ascii_lowercase(),
        }
    }

    /// Whether the way to the browser is encrypted.
    pub fn is_tls(&self) -> bool {
        self.scheme == TLS
    }

    /// The port, which is its scheme's own where none is named.
    pub fn port(&self) -> u16 {
        let named = self.host.rsplit_once(':').map(|(_, port)| port);
        let usual = if self.is_tls() { 443 } else { 80 };
        named.and_then(|port| port.parse().ok()).unwrap_or(usual)
    }

    /// Whether an origin has the name and port of this address.
    pub fn has_origin(&self, origin: &str) -> bool {
        authority(origin).is_some_and(|host| host.eq_ignore_ascii_case(&self.host))
    }
}

/// What a browser says of the page that asks, as far as it says so.
pub struct RequestPage<'a> {
    /// The page's origin.
    pub origin: Option<&'a str>,
    /// `same-origin`, `same-site`, `cross-site` or `none`.
    pub fetch_site: Option<&'a str>,
}

impl<'a> RequestPage<'a> {
    /// What the headers say. What cannot be read is no page's of this server.
    pub fn of(headers: &'a HeaderMap) -> Self {
        Self {
            origin: text(headers, &ORIGIN),
            fetch_site: text(headers, &FETCH_SITE),
        }
    }

    /// Whether the page is of this very address, as far as the browser says so.
    pub fn is_of(&self, origin: &str) -> bool {
        self.fetch_site.is_none_or(|site| site == "same-origin")
            && self.origin.is_none_or(|told| told == origin)
    }
}

/// Keeps pages of other sites, which a developer's browser may be looking at, away from a server that takes everybody for
/// its developer.
pub fn check_development(headers: &HeaderMap) -> Result<()> {
    for name in [HOST, ORIGIN] {
        if text(headers, &name).is_some_and(|value| !is_local(value)) {
            return Err(foreign(format!(
                "in development mode requests come from this machine alone; their {name} is another"
            )));
        }
    }
    let page = RequestPage::of(headers);
    match (page.fetch_site, page.origin) {
        (Some("same-origin" | "none"), _) | (None, None) => Ok(()),
        (Some(site), _) => Err(foreign(format!(
            "in development mode pages of other origins change and read nothing, those of this machine neither: the {FETCH_SITE} of \
             the request is \"{site}\"; a frontend's own server can forward requests"
        ))),
        (None, Some(origin)) => check_port(headers, origin),
    }
}

/// Keeps pages on other ports of this machine from changing something, in browsers without Fetch Metadata. What these send there
/// without a preflight is a GET, whose answer they keep from the page, or a POST, which has a length even where it has no body.
fn check_port(headers: &HeaderMap, origin: &str) -> Result<()> {
    let lengths = [CONTENT_LENGTH, TRANSFER_ENCODING];
    let host = text(headers, &HOST).unwrap_or_default();
    if !lengths.iter().any(|name| headers.contains_key(name)) || is_address(origin, host) {
        return Ok(());
    }
    Err(foreign(format!(
        "in development mode pages of other origins change nothing, those of this machine neither: the {ORIGIN} of the request is \
         \"{origin}\", its {HOST} \"{host}\"; a frontend's own server can forward requests with their {FETCH_SITE}"
    )))
}

/// Whether an origin has this name and port; the port of its scheme may be left out.
fn is_address(origin: &str, host: &str) -> bool {
    let Some((scheme, address)) = origin.split_once("://") else {
        return false;
    };
    let usual = if scheme == TLS { ":443" } else { ":80" };
    let address = address.trim_end_matches(usual);
    address.eq_ignore_ascii_case(host.trim_end_matches(usual))
}

/// Keeps pages of other sites from changing something as the caller whom a proxy names.
pub fn check_proxied(
    method: &str,
    headers: &HeaderMap,
    site: &RequestSite,
    allowed: &[String],
) -> Result<()> {
    let page = RequestPage::of(headers);
    let is_listed = |origin: &str| allowed.iter().any(|known| known == origin);
    if ["GET", "HEAD"].contains(&method) || page.origin.is_some_and(is_listed) {
        return Ok(());
    }
    let is_other = page.origin.is_some_and(|origin| !site.has_origin(origin));
    let is_between = ["same-site", "cross-site"].contains(&page.fetch_site.unwrap_or_default());
    let header = match (is_other, is_between) {
        (false, false) => return Ok(()),
        (true, _) => ORIGIN,
        (false, true) => FETCH_SITE,
    };
    Err(foreign(format!(
        "a page of another site asks for this, as the {header} of the request says; auth.origins of openapi/openapi.yao says which may"
    )))
}

/// `localhost:8080`, `http://127.0.0.1:8080`, `[::1]` and the like.
pub fn is_local(origin: &str) -> bool {
    let host = authority(origin).unwrap_or(origin);
    let address = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_loopback = address
        .parse::<IpAddr>()
        .is_ok_and(|address| address.is_loopback());
    is_loopback || address.eq_ignore_ascii_case("localhost")
}

/// What follows the scheme of an origin.
fn authority(origin: &str) -> Option<&str> {
    origin.split_once("://").map(|(_, host)| host)
}

/// A header; one that is no text counts as an empty one, which nothing allows.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let value = headers.get(name)?;
    Some(value.to_str().unwrap_or_default())
}

/// What the nearest proxy has added to a header.
fn last<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let line = headers.get_all(name).into_iter().next_back()?;
    let text = line.to_str().ok()?.rsplit(',').next()?;
    Some(text.trim())
}

fn foreign(message: String) -> Error {
    Error::new(ErrorCode::PermissionDenied, message)
}
