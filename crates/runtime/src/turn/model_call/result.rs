//! What came of a call of a model.

use crate::error::Error;
use crate::llm::{LoggedFailure, ModelAnswer};
use ambit_storage::storage::Cost;

/// Why there is no answer.
pub(super) enum ModelCallFailure {
    /// This connector has none, and has shown nothing: another may have one.
    TryNext(Error),
    /// No other connector may be asked.
    Final(Error),
}

impl From<Error> for ModelCallFailure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

/// What came of one call, as far as it came.
pub(super) struct ModelCallResult {
    pub answer: ModelAnswer,
    /// What it has cost, where that is known.
    pub cost: Option<Cost>,
    pub failure: Option<ModelCallFailure>,
}

impl ModelCallFailure {
    pub fn error(&self) -> &Error {
        match self {
            Self::TryNext(error) | Self::Final(error) => error,
        }
    }

    /// Whether another connector is asked.
    pub fn is_retried(&self) -> bool {
        matches!(self, Self::TryNext(_))
    }
}

impl ModelCallResult {
    /// Of a call that failed before anything was said. `has_others` tells whether there is another connector to ask.
    pub fn failed(failure: LoggedFailure, has_others: bool) -> Self {
        let failed = match has_others && failure.0.is_of_connector() {
            true => ModelCallFailure::TryNext,
            false => ModelCallFailure::Final,
        };
        Self {
            answer: ModelAnswer::default(),
            cost: None,
            failure: Some(failed(failure.into())),
        }
    }
}
