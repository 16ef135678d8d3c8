//! Calling a model again when it failed before anything was shown.

use super::{AnswerPiece, AnswerStream, EncodedCall, ModelFailure, Provider};
use crate::error::Disclosure;
use ambit_storage::clock::backoff;
use futures::stream::{self, StreamExt};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Calls in all.
const TRIES: u32 = 3;
/// The pause before the second call; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// What a provider may ask us to wait.
const LONGEST: Duration = Duration::from_secs(60);

/// A call that failed and is made again.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryNotice {
    /// The try that failed, from 1.
    pub attempt: u32,
    /// How.
    pub failure: ModelFailure,
    /// The pause before the next one.
    pub pause: Duration,
}

/// A try that failed before another one.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedTry {
    /// How.
    pub error: String,
    /// From the beginning of the first try to that of the next one.
    pub next: Duration,
}

impl RetryNotice {
    /// The same as it is passed on.
    pub fn disclosed(&self, disclosure: Disclosure) -> Self {
        let failure = self.failure.clone();
        Self {
            failure: failure.disclosed(disclosure),
            ..self.clone()
        }
    }

    /// What is known of the try that failed, the first of which began then.
    pub fn failed(&self, began: Instant) -> FailedTry {
        FailedTry {
            error: self.failure.to_string(),
            next: began.elapsed() + self.pause,
        }
    }
}

/// Calls a model; when its network, its rate limit or its server fails before the first piece that shows anything, calls
/// it again: three tries in all, and none where the pause before it would reach the deadline. Returns when something is to be
/// shown; a failure here means that nothing was. Dropping the future or the stream ends the call.
pub async fn call(
    provider: &dyn Provider,
    encoded: &EncodedCall<'_>,
    deadline: Option<Instant>,
    on_retry: &mut (dyn FnMut(&RetryNotice) + Send),
) -> Result<AnswerStream, ModelFailure> {
    let mut attempt = 1;
    loop {
        let failure = match begin(provider, encoded).await {
            Ok(pieces) => return Ok(pieces),
            Err(failure) => failure,
        };
        let Some(pause) = pause(attempt, &failure, deadline) else {
            return Err(failure);
        };
        on_retry(&RetryNotice {
            attempt,
            failure,
            pause,
        });
        sleep(pause).await;
        attempt += 1;
    }
}

/// Calls once, up to the first piece that shows anything or the end.
async fn begin(
    provider: &dyn Provider,
    encoded: &EncodedCall<'_>,
) -> Result<AnswerStream, ModelFailure> {
    let mut pieces = provider.send(encoded).await?;
    let mut first = Vec::new();
    while let Some(item) = pieces.next().await {
        let piece = item?;
        let is_enough = piece.shows() || matches!(piece, AnswerPiece::End { .. });
        first.push(Ok(piece));
        if is_enough {
            break;
        }
    }
    Ok(stream::iter(first).chain(pieces).boxed())
}

/// How long to wait before the next try; none if there is to be none.
pub(super) fn pause(
    attempt: u32,
    failure: &ModelFailure,
    deadline: Option<Instant>,
) -> Option<Duration> {
    if attempt >= TRIES || !failure.is_repeatable() {
        return None;
    }
    let pause = backoff(PAUSE, LONGEST, attempt);
    // Clients that failed together must not come back together.
    let pause = pause.mul_f64(rand::random_range(1.0..2.0));
    let pause = pause.max(failure.retry_after.unwrap_or_default());
    // What a provider asks for may be longer than time can be counted.
    if pause > LONGEST {
        return None;
    }
    let is_in_time = deadline.is_none_or(|deadline| Instant::now() + pause < deadline);
    is_in_time.then_some(pause)
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, ModelFailure, pause};

    #[test]
    fn a_provider_may_ask_for_more_time_than_can_be_counted() {
        let failure = ModelFailure {
            retry_after: Some(Duration::from_secs(u64::MAX)),
            ..ModelFailure::temporary("busy")
        };
        assert_eq!(pause(0, &failure, Some(Instant::now())), None);
        assert_eq!(pause(0, &failure, None), None);
    }
}
