//! What calls of models use: what one call used is counted even where nobody waits for its end, and what the calls from inside
//! a turn used is counted to the turn.

use super::fork::Done;
use super::{Turn, fit};
use crate::error::Result;
use crate::llm::{self, Answer, Usage};
use ambit_storage::LiveAgent;
use ambit_storage::storage::UsageRecord;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// How long calls that were cancelled may take to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the calls from inside a turn have used, and how many of them have not ended.
pub(super) struct Spent {
    usage: Mutex<Usage>,
    running: watch::Sender<usize>,
}

impl Default for Spent {
    fn default() -> Self {
        Self {
            usage: Mutex::default(),
            running: watch::Sender::new(0),
        }
    }
}

impl Spent {
    /// What was used so far.
    pub fn usage(&self) -> Usage {
        self.lock().clone()
    }

    /// Counts the tokens of one more call.
    pub fn add(&self, usage: &Usage) {
        self.lock().add(usage);
    }

    /// A call that has begun; it ends when this is dropped.
    pub fn begin(self: &Arc<Self>) -> Running {
        self.running.send_modify(|running| *running += 1);
        Running(self.clone())
    }

    /// Waits until nothing of the calls that were cancelled runs any more, so that what they used is known.
    pub async fn settled(&self) {
        let mut running = self.running.subscribe();
        let none = running.wait_for(|running| *running == 0);
        // One that does not let go counts with what is known of it now.
        let _ = timeout(PATIENCE, none).await;
    }

    fn lock(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call from inside a turn, until it has ended.
pub(super) struct Running(Arc<Spent>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running -= 1);
    }
}

/// One answer as it comes. Dropped before its end, it books what was used until then: as the provider said, else estimated.
pub(super) struct Meter<'a> {
    pub answer: Answer,
    call: &'a llm::Call,
    provider: &'a str,
    session: LiveAgent,
    spent: Arc<Spent>,
    request_id: String,
    is_over: bool,
}

impl<'a> Meter<'a> {
    /// For a call that the provider has begun to answer.
    pub fn start(turn: &Turn, call: &'a llm::Call, provider: &'a str) -> Self {
        Self {
            answer: Answer::default(),
            call,
            provider,
            session: turn.session.clone(),
            spent: turn.spent.clone(),
            request_id: turn.ids.request_id.clone(),
            is_over: false,
        }
    }

    /// The answer came to its end, and is the caller's to book.
    pub fn finish(mut self) -> Answer {
        self.is_over = true;
        std::mem::take(&mut self.answer)
    }
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.answer.usage = estimated(self.call, &self.answer);
        self.spent.add(&self.answer.usage);
        let booked = book(
            &self.session,
            (&self.request_id, self.provider),
            &self.answer,
        );
        if let Err(error) = booked {
            tracing::warn!(turn.id = self.request_id, %error, "what a cancelled call has used is not booked");
        }
    }
}

/// What a call that was broken off has used: what the provider has said so far may be less than what it has sent.
fn estimated(call: &llm::Call, answer: &Answer) -> Usage {
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    let said = &answer.usage;
    let request = match said.prompt_tokens {
        0 => count(fit::tokens(&call.messages) + fit::of_tools(&call.tools)),
        said => said,
    };
    let has_spoken = *answer
        != Answer {
            id: answer.id.clone(),
            model: answer.model.clone(),
            usage: said.clone(),
            ..Answer::default()
        };
    let spoken = match has_spoken {
        true => count(fit::tokens(&[answer.message()])),
        false => 0,
    };
    let total = Usage::of(request, said.completion_tokens.max(spoken));
    Usage {
        total_tokens: total.total_tokens.max(said.total_tokens),
        prompt_tokens_details: said.prompt_tokens_details.clone(),
        completion_tokens_details: said.completion_tokens_details.clone(),
        ..total
    }
}

impl Turn {
    /// Books what a call of a model has used.
    pub(super) fn book(&self, answer: &Answer, provider: &str) -> Result<()> {
        let record = book(&self.session, (&self.ids.request_id, provider), answer)?;
        match (&self.fork, record) {
            (Some(fork), Some(record)) => fork.keep(Done::Used(Box::new(record))),
            _ => Ok(()),
        }
    }

    /// Books once more what a call from inside the turn has used in an earlier attempt, with which all that it had booked was
    /// lost.
    pub(super) fn book_again(&self, record: &UsageRecord) -> Result<()> {
        self.spent.add(&Usage {
            total_tokens: record.total_tokens.unwrap_or_default(),
            ..Usage::of(record.prompt_tokens, record.completion_tokens)
        });
        self.session.context().usage().record(record.clone())?;
        Ok(())
    }
}

fn book(
    session: &LiveAgent,
    (request_id, provider): (&str, &str),
    answer: &Answer,
) -> Result<Option<UsageRecord>> {
    let Some(mut record) = answer.record(provider) else {
        return Ok(None);
    };
    record.turn_id = Some(request_id.to_owned());
    session.context().usage().record(record.clone())?;
    Ok(Some(record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_provider_has_said_counts_before_an_estimate() {
        let call = llm::Call {
            messages: vec![json!({"role": "user", "content": "one two three four"})],
            ..llm::Call::default()
        };
        let answer = |text: &str, usage: Usage| Answer {
            text: text.to_owned(),
            usage,
            ..Answer::default()
        };
        let silent = estimated(&call, &answer("", Usage::default()));
        assert!(silent.prompt_tokens > 4, "{silent:?}");
        assert_eq!(silent, Usage::of(silent.prompt_tokens, 0));
        let spoken = estimated(&call, &answer("one two three four", Usage::default()));
        assert_eq!(spoken.prompt_tokens, silent.prompt_tokens);
        assert!(spoken.completion_tokens > 4, "{spoken:?}");
        assert_eq!(
            estimated(&call, &answer("one", Usage::of(70, 90))),
            Usage::of(70, 90)
        );
        let begun = estimated(&call, &answer("one two three four", Usage::of(70, 1)));
        assert_eq!(begun, Usage::of(70, spoken.completion_tokens));
    }

    #[tokio::test]
    async fn calls_that_have_not_ended_are_waited_for() {
        let spent = Arc::new(Spent::default());
        let running = spent.begin();
        let mut settled = std::pin::pin!(spent.settled());
        assert!(futures::poll!(settled.as_mut()).is_pending());
        drop(running);
        settled.await;
    }
}
