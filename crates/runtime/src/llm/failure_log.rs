//! Failures of calls of models in the log: each once, with the provider's words but for what they repeat of the call.

use super::retry::RetryNotice;
use super::{Connector, ModelCall, ModelFailure};
use crate::error::{Disclosure, Error};
use crate::log_words::EchoFilter;
use serde_json::json;
use std::sync::OnceLock;

/// The most letters of what a provider says of a failure.
const MESSAGE: usize = 4096;

/// Writes the failures of a call, and passes on what may be told of them.
pub(crate) struct FailureLog<'a> {
    disclosure: Disclosure,
    connector: &'a Connector,
    call: &'a ModelCall,
    /// What the call says, once something has failed.
    said: OnceLock<EchoFilter>,
}

/// A failure that is in the log.
pub(crate) struct LoggedFailure(pub ModelFailure);

impl From<LoggedFailure> for Error {
    fn from(failure: LoggedFailure) -> Self {
        Self {
            is_logged: true,
            ..failure.0.into()
        }
    }
}

impl<'a> FailureLog<'a> {
    /// Of this call; the disclosure says how much is passed on.
    pub fn new(disclosure: Disclosure, connector: &'a Connector, call: &'a ModelCall) -> Self {
        Self {
            disclosure,
            connector,
            call,
            said: OnceLock::new(),
        }
    }

    /// A try failed, and another one follows.
    pub fn retried(&self, retry: &RetryNotice) -> RetryNotice {
        tracing::warn!(
            connector.id = self.connector.id,
            attempt = retry.attempt,
            pause.seconds = retry.pause.as_secs_f64(),
            error.kind = ?retry.failure.kind,
            error.message = self.words(&retry.failure),
            "a call of a model failed and is made again"
        );
        retry.disclosed(self.disclosure)
    }

    /// The call failed.
    pub fn failed(&self, failure: ModelFailure) -> LoggedFailure {
        tracing::warn!(
            connector.id = self.connector.id,
            error.code = %failure.code(),
            error.kind = ?failure.kind,
            error.message = self.words(&failure),
            "a call of a model failed"
        );
        LoggedFailure(failure.disclosed(self.disclosure))
    }

    fn words(&self, failure: &ModelFailure) -> String {
        let said = || EchoFilter::of(&json!(self.call.messages));
        let message: String = failure.message.chars().take(MESSAGE).collect();
        self.said.get_or_init(said).apply(&message)
    }
}
