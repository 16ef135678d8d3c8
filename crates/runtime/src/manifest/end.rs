//! What came of a call of a model.

use crate::llm::retry::FailedTry;
use crate::llm::{ModelAnswer, TokenUsage};
use ambit_storage::storage::Cost;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Stands between the id of a turn and the number of a call.
const CALL: &str = ".call-";

/// The id of a call of a turn.
pub(crate) fn call_id(request_id: &str, number: u64) -> String {
    format!("{request_id}{CALL}{number}")
}

/// The turn of the call with this id.
pub(crate) fn request_of(call_id: &str) -> Option<&str> {
    call_id.split_once(CALL).map(|(request_id, _)| request_id)
}

/// What came of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ModelCallEnd {
    /// How far it is.
    pub status: ModelCallStatus,
    /// Why the answer ended.
    pub finish_reason: Option<String>,
    /// From the call to the first piece of its answer.
    pub ttft_ms: Option<i64>,
    /// From the call to its end.
    pub duration_ms: Option<i64>,
    /// The tries, in order.
    pub attempts: Vec<CallAttempt>,
    /// What it has used.
    pub usage: Option<TokenUsage>,
    /// Millionths, by currency.
    pub cost: BTreeMap<String, i64>,
}

impl ModelCallEnd {
    /// What an answer tells, as far as it came, and what it has cost. The last try says whether the call has failed.
    pub(crate) fn of(answer: &ModelAnswer, cost: Option<Cost>, attempts: Vec<CallAttempt>) -> Self {
        let last = attempts.last();
        let cost = cost.into_iter();
        Self {
            status: match last.is_some_and(|last| last.error.is_some()) {
                true => ModelCallStatus::Error,
                false => ModelCallStatus::Completed,
            },
            finish_reason: Some(answer.finish_reason.clone()).filter(|it| !it.is_empty()),
            attempts,
            usage: Some(answer.usage.clone()).filter(|usage| *usage != TokenUsage::default()),
            cost: cost.map(|cost| (cost.currency, cost.micros)).collect(),
            ..Self::default()
        }
    }
}

/// How far a call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelCallStatus {
    /// It was sent.
    #[default]
    Running,
    /// It was answered.
    Completed,
    /// It failed.
    Error,
    /// It was broken off, or the process that made it has ended.
    Cancelled,
}

impl ModelCallStatus {
    /// As it is written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One try of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallAttempt {
    /// When it began, in milliseconds since 1970.
    pub at: i64,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// The tries of a call that began at a time, of which all but the last have failed so; `last` says why that has failed, if it has.
pub(crate) fn attempts(at: i64, failed: &[FailedTry], last: Option<String>) -> Vec<CallAttempt> {
    let later = |failed: &FailedTry| {
        let after = i64::try_from(failed.next.as_millis()).unwrap_or(i64::MAX);
        at.saturating_add(after)
    };
    let begun = [at].into_iter().chain(failed.iter().map(later));
    let errors = failed.iter().map(|failed| Some(failed.error.clone()));
    let errors = errors.chain([last]);
    let attempts = begun.zip(errors);
    attempts
        .map(|(at, error)| CallAttempt { at, error })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_try_begins_behind_the_pause_after_the_one_before() {
        let failed = |error: &str, next| FailedTry {
            error: error.to_owned(),
            next: Duration::from_millis(next),
        };
        let attempts = attempts(1_000, &[failed("a", 500), failed("b", 1_600)], None);
        let found: Vec<(i64, Option<&str>)> = attempts
            .iter()
            .map(|attempt| (attempt.at, attempt.error.as_deref()))
            .collect();
        let expected = [(1_000, Some("a")), (1_500, Some("b")), (2_600, None)];
        assert_eq!(found, expected);
    }
}
