//! Why a search of the web failed. No message holds a key, an address or what a provider wrote.

use std::fmt;
use std::time::Duration;

/// A search that failed, and who was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct WebSearchError {
    /// The provider.
    pub provider: String,
    /// Why.
    pub failure: WebSearchFailure,
    /// The variable with the provider's key, as it may be shown.
    pub key_variable: Option<String>,
}

/// Why a search of the web failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebSearchFailure {
    /// There is no such provider.
    UnknownProvider {
        /// What may be meant.
        hint: String,
    },
    /// The variable with the key is not set.
    MissingKey,
    /// A setting cannot be used; the text is about the key.
    InvalidSetting(String),
    /// The host or its address may not be reached.
    Denied,
    /// No connection, or one that broke.
    Connection,
    /// It took too long.
    TimedOut,
    /// The answer points elsewhere again and again.
    RedirectLoop,
    /// The answer has a status of a failure.
    Status {
        /// The status.
        status: u16,
        /// When to ask again, if the provider says so.
        retry_after: Option<Duration>,
    },
    /// The answer has too many bytes.
    TooLarge,
    /// The answer is no JSON, or not of the provider's form.
    Unreadable,
    /// The answer says that the search failed.
    ProviderError,
    /// The app says so itself.
    Scripted(String),
}

impl fmt::Display for WebSearchError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variable = self.key_variable.as_deref().unwrap_or("the key");
        let provider = &self.provider;
        match &self.failure {
            WebSearchFailure::UnknownProvider { hint } => {
                write!(out, "no provider \"{provider}\" searches the web{hint}")
            }
            WebSearchFailure::MissingKey => write!(out, "{provider}: {variable} is not set"),
            WebSearchFailure::InvalidSetting(what) => write!(out, "{provider}: {what}"),
            WebSearchFailure::Denied => out.write_fmt(format_args!(
                "{provider}: refused to connect, only public addresses of its host are allowed"
            )),
            WebSearchFailure::Connection => write!(out, "{provider}: the connection failed"),
            WebSearchFailure::TimedOut => write!(out, "{provider}: timed out"),
            WebSearchFailure::RedirectLoop => write!(out, "{provider}: too many redirects"),
            WebSearchFailure::Status { status, .. } => {
                write!(out, "{provider}: {status}, ")?;
                match status {
                    401 | 403 => write!(out, "check {variable}"),
                    // Tavily has two of its own.
                    402 | 429 | 432 | 433 => out.write_str("limit reached"),
                    500.. => out.write_str("unavailable"),
                    _ => out.write_str("request refused"),
                }
            }
            WebSearchFailure::TooLarge => {
                write!(out, "{provider}: the answer is larger than 4 MiB")
            }
            WebSearchFailure::Unreadable => write!(out, "{provider}: unreadable answer"),
            WebSearchFailure::ProviderError => write!(out, "{provider}: the search failed"),
            WebSearchFailure::Scripted(why) => write!(out, "{provider}: {why}"),
        }
    }
}
