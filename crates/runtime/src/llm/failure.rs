//! Why a call of a model failed, and what may be told of it.

use super::secrets::Secrets;
use crate::error::{Disclosure, Error, ErrorCode};
use crate::value_text::value_text;
use serde_json::{Value, json};
use std::time::Duration;

/// Bytes of a provider's own words that a message repeats.
const QUOTED: usize = 500;
/// How Anthropic, Google, vLLM and llama.cpp say that a call is more than the model takes.
const TOO_LONG: [&str; 4] = [
    "prompt is too long",
    "exceeds the maximum number of tokens",
    "maximum context length is",
    "exceeds the available context size",
];

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelFailure {
    /// Whether the same call may succeed later.
    pub kind: ModelFailureKind,
    /// What the provider said.
    pub message: String,
    /// When to try again, if the provider said so.
    pub retry_after: Option<Duration>,
}

/// By meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFailureKind {
    /// Network, 408 or 5xx: may be tried again.
    Temporary,
    /// 429: may be tried again, later.
    RateLimited,
    /// The content was refused.
    ContentFilter,
    /// The key is refused, nothing is paid or the model is not there: trying again does not help, another connector may.
    Unusable,
    /// The call is more than the model takes: trying again does not help.
    TooLong,
    /// The call is wrong: trying again does not help.
    Permanent,
    /// The stream broke off after something was shown, or a chunk could not be read.
    Broken,
}

impl ModelFailure {
    /// A failure of this kind.
    pub fn new(kind: ModelFailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
        }
    }

    /// The call or the connector is wrong.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self::new(ModelFailureKind::Permanent, message)
    }

    /// It may work later.
    pub fn temporary(message: impl Into<String>) -> Self {
        Self::new(ModelFailureKind::Temporary, message)
    }

    /// The stream cannot be read on.
    pub fn broken(message: impl Into<String>) -> Self {
        Self::new(ModelFailureKind::Broken, message)
    }

    /// The same as it is passed on: what a provider says is for developers and for the log.
    pub fn disclosed(self, disclosure: Disclosure) -> Self {
        let public = match self.kind {
            ModelFailureKind::RateLimited => {
                "the model is asked too often; repeat the request later"
            }
            ModelFailureKind::ContentFilter => "the model refuses the content",
            ModelFailureKind::TooLong => "the request is too long for the model; send less",
            ModelFailureKind::Temporary => {
                "the model cannot be reached now; repeat the request later"
            }
            ModelFailureKind::Unusable | ModelFailureKind::Permanent | ModelFailureKind::Broken => {
                "the model failed; the server's log says why"
            }
        };
        match disclosure {
            Disclosure::Full => self,
            Disclosure::Withheld => Self {
                message: public.to_owned(),
                ..self
            },
        }
    }

    /// The failure of a connector, named.
    pub fn of(mut self, connector: &str) -> Self {
        self.message = format!("connector \"{connector}\": {}", self.message);
        self
    }

    /// Without secrets, and with no more than that of the provider's words. Cut before, a secret may be left in part.
    pub fn without(mut self, secrets: &Secrets) -> Self {
        let message = secrets.hide(&self.message);
        self.message = match message.split_once(": ") {
            Some((what, detail)) => format!("{what}: {}", quote(detail)),
            None => message,
        };
        self
    }

    /// Whether the same call may be made again, as long as nothing was shown.
    pub fn is_repeatable(&self) -> bool {
        matches!(
            self.kind,
            ModelFailureKind::Temporary | ModelFailureKind::RateLimited
        )
    }

    /// What whoever asked is told it is.
    pub fn code(&self) -> ErrorCode {
        match self.kind {
            ModelFailureKind::RateLimited => ErrorCode::LlmRateLimited,
            ModelFailureKind::ContentFilter => ErrorCode::LlmContentFilter,
            ModelFailureKind::TooLong => ErrorCode::LimitExceeded,
            ModelFailureKind::Temporary
            | ModelFailureKind::Unusable
            | ModelFailureKind::Permanent
            | ModelFailureKind::Broken => ErrorCode::LlmError,
        }
    }

    /// Whether another connector may do better, as long as nothing was shown. What is wrong with a call or its content is so
    /// everywhere, and what is too much for an agent's own connector is refused.
    pub fn is_of_connector(&self) -> bool {
        !matches!(
            self.kind,
            ModelFailureKind::Permanent
                | ModelFailureKind::TooLong
                | ModelFailureKind::ContentFilter
        )
    }

    /// What an answer with this status means. The body is a provider's, of any shape.
    pub fn of_status(status: u16, body: &str) -> Self {
        let body: Value = serde_json::from_str(body).unwrap_or_else(|_| body.into());
        let kind = kind(Some(status.into()), &body);
        let detail = words(&body);
        let colon = if detail.is_empty() { "" } else { ": " };
        let mut failure = Self::new(
            kind,
            format!("the provider answered {status}{colon}{detail}"),
        );
        failure.retry_after = retry_delay(&body);
        failure
    }

    /// What an error in the middle of a stream means: `{error: {message, type, code}}` or the inner object.
    pub fn of_event(body: &Value) -> Self {
        let error = body.get("error").filter(|error| !error.is_null());
        let error = error.unwrap_or(body);
        let names = ["code", "type", "status"].map(|key| error.get(key));
        let status = names.iter().flatten().find_map(|value| status_of(value));
        let detail = words(body);
        Self::new(
            kind(status, body),
            format!("the provider reported an error: {detail}"),
        )
    }
}

fn kind(status: Option<u64>, body: &Value) -> ModelFailureKind {
    match status {
        Some(429) => ModelFailureKind::RateLimited,
        Some(408 | 500..) => ModelFailureKind::Temporary,
        _ if is_filtered(body) => ModelFailureKind::ContentFilter,
        _ if is_too_long(body) => ModelFailureKind::TooLong,
        Some(401..=404) => ModelFailureKind::Unusable,
        _ if is_key_refused(body) => ModelFailureKind::Unusable,
        _ => ModelFailureKind::Permanent,
    }
}

/// The status that an error's code stands for; providers write numbers or names.
fn status_of(code: &Value) -> Option<u64> {
    if let Some(number) = code.as_u64() {
        return Some(number);
    }
    let name = code.as_str()?;
    match name.to_ascii_lowercase().as_str() {
        "authentication_error" | "invalid_api_key" | "unauthenticated" => Some(401),
        "billing_error" | "insufficient_quota" => Some(402),
        "permission_error" | "permission_denied" => Some(403),
        "not_found_error" | "not_found" | "model_not_found" => Some(404),
        "rate_limit_error" | "rate_limit_exceeded" | "resource_exhausted" => Some(429),
        "overloaded_error"
        | "unavailable"
        | "server_error"
        | "api_error"
        | "internal"
        | "internal_error"
        | "internal_server_error"
        | "timeout_error"
        | "deadline_exceeded" => Some(500),
        number => number.parse().ok(),
    }
}

/// What people are told of an error's body.
fn words(body: &Value) -> String {
    let error = match body {
        // Some servers wrap their error in a list.
        Value::Array(items) => items.first().unwrap_or(body),
        other => other,
    };
    let places = ["/error/message", "/message", "/error", "/detail"];
    let found = places.iter().filter_map(|place| error.pointer(place));
    match found.filter_map(Value::as_str).next() {
        Some(text) => text.to_owned(),
        None => match error {
            Value::Null => String::new(),
            other => value_text(other),
        },
    }
}

/// At most so much of it, on one line.
fn quote(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().find(|(at, _)| *at >= QUOTED) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// What a body calls its error.
fn error_names(body: &Value) -> impl Iterator<Item = &str> {
    let places = ["/error/code", "/error/type", "/code", "/type"];
    let places = places.into_iter();
    places.filter_map(move |place| body.pointer(place)?.as_str())
}

fn is_filtered(body: &Value) -> bool {
    error_names(body).any(|name| matches!(name, "content_filter" | "content_policy_violation"))
}

/// Most have no name for it: their words alone tell it from other calls that are wrong.
fn is_too_long(body: &Value) -> bool {
    let said = words(body);
    error_names(body).any(|name| name == "context_length_exceeded")
        || TOO_LONG.iter().any(|text| said.contains(text))
}

/// Google's way of saying so: its status is 400.
fn is_key_refused(body: &Value) -> bool {
    let details = body.pointer("/error/details").and_then(Value::as_array);
    let mut details = details.into_iter().flatten();
    details.any(|one| {
        one.get("reason")
            .is_some_and(|why| why == "API_KEY_INVALID")
    })
}

/// Google's way of saying when to come again.
fn retry_delay(body: &Value) -> Option<Duration> {
    let details = body.pointer("/error/details")?.as_array()?;
    let delay = details
        .iter()
        .find_map(|one| one.get("retryDelay")?.as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

impl From<ModelFailure> for Error {
    fn from(failure: ModelFailure) -> Self {
        let mut error = Self::new(failure.code(), failure.message);
        if let Some(pause) = failure.retry_after {
            let seconds = pause.as_secs_f64().ceil();
            error.details = Some(Box::new(json!({"retry_after": seconds})));
        }
        error
    }
}
