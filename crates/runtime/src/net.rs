//! HTTP for scripts, and for addresses that stand in messages: only to hosts that the app lists, only to addresses that those
//! names may have, and never too much.

mod allow_list;
mod client;
pub mod fetch;
pub mod http;
mod lookup;
mod multipart;
mod outgoing_trace;
mod public_address;
mod request_hop;
mod tls;

pub use allow_list::{AllowList, AllowedHost, HostEntry};
pub use client::{HttpClient, HttpLimits, HttpRequest, HttpResponse, RedirectMode, ResponseStream};
pub use lookup::{AddressLookup, SystemLookup};
pub use outgoing_trace::{OutgoingTrace, TRACEPARENT, TRACESTATE};
pub use tls::tls;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NetError {
    /// By meaning.
    pub kind: NetErrorKind,
    /// What failed and why; without credentials.
    pub message: String,
}

/// By meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetErrorKind {
    /// The host is not listed, or has an address that is not for it.
    Denied,
    /// The request cannot be made.
    Invalid,
    /// Too many at once, too long, too large, or sent on too often.
    Limited,
    /// The host did not answer, or not in HTTP.
    Failed,
}

impl NetError {
    pub(crate) fn denied(host: &str) -> Self {
        Self::new(
            NetErrorKind::Denied,
            format!("host \"{host}\" is not allowed"),
        )
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(NetErrorKind::Invalid, message)
    }

    pub(crate) fn new(kind: NetErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}
