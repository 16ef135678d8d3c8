//! HTTP for scripts, and for addresses that stand in messages: only to hosts that the app lists, only to addresses that those
//! names may have, and never too much.

mod address;
mod allow;
mod client;
pub mod fetch;
mod hop;
pub mod http;
mod lookup;
mod multipart;
mod tls;

pub use allow::AllowList;
pub use client::{Client, Limits, Opened, Redirect, Request, Response};
pub use lookup::{Lookup, System};
pub use tls::tls;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// By meaning.
    pub kind: RefusalKind,
    /// What failed and why; without credentials.
    pub message: String,
}

/// By meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The host is not listed, or has an address that is not for it.
    Denied,
    /// The request cannot be made.
    Invalid,
    /// Too many at once, too long, too large, or sent on too often.
    Limited,
    /// The host did not answer, or not in HTTP.
    Failed,
}

impl Refusal {
    pub(crate) fn denied(host: &str) -> Self {
        Self::new(
            RefusalKind::Denied,
            format!("host \"{host}\" is not allowed"),
        )
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(RefusalKind::Invalid, message)
    }

    pub(crate) fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}
