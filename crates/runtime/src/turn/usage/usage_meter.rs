//! What one call uses while its answer comes.

use super::TurnUsage;
use crate::app::Connector;
use crate::llm::{ModelAnswer, ModelCall, TokenUsage};
use crate::token_estimate::{of_message, of_tools, tokens};
use crate::turn::Turn;
use crate::turn::model_call::ModelCallTrace;
use std::mem;
use std::sync::Arc;

/// One answer as it comes. Dropped before its end, it books what was used until then: as the provider said, else estimated.
pub(in crate::turn) struct UsageMeter<'a> {
    pub answer: ModelAnswer,
    call: &'a ModelCall,
    connector: &'a Connector,
    purpose: Option<&'static str>,
    usage: Arc<TurnUsage>,
    trace: ModelCallTrace,
    is_finished: bool,
}

impl<'a> UsageMeter<'a> {
    /// For a call that the provider has begun to answer.
    pub fn start(
        turn: &Turn,
        call: &'a ModelCall,
        connector: &'a Connector,
        trace: ModelCallTrace,
    ) -> Self {
        Self {
            answer: ModelAnswer::default(),
            call,
            connector,
            purpose: turn.context.purpose,
            usage: turn.journal.usage.clone(),
            trace,
            is_finished: false,
        }
    }

    /// The answer came to its end, and is the caller's to book.
    pub fn finish(mut self) -> ModelAnswer {
        self.is_finished = true;
        mem::take(&mut self.answer)
    }
}

impl Drop for UsageMeter<'_> {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        self.answer.usage = estimated(self.call, &self.answer);
        self.trace.note(&self.answer, None);
        if let Err(error) = self.usage.book(&self.answer, self.connector, self.purpose) {
            let id = &self.usage.keys.request_id;
            tracing::warn!(request.id = id, %error, "what a cancelled call has used is not booked");
        }
    }
}

/// What a call that was broken off has used: what the provider has said so far may be less than what it has sent.
fn estimated(call: &ModelCall, answer: &ModelAnswer) -> TokenUsage {
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    let reported = &answer.usage;
    let request = match reported.prompt_tokens {
        0 => count(tokens(&call.messages) + of_tools(&call.tools)),
        reported => reported,
    };
    let has_answered = *answer
        != ModelAnswer {
            id: answer.id.clone(),
            model: answer.model.clone(),
            usage: reported.clone(),
            ..ModelAnswer::default()
        };
    let answered = match has_answered {
        true => count(of_message(&answer.message())),
        false => 0,
    };
    let total = TokenUsage::of(request, reported.completion_tokens.max(answered));
    TokenUsage {
        total_tokens: total.total_tokens.max(reported.total_tokens),
        prompt_tokens_details: reported.prompt_tokens_details.clone(),
        completion_tokens_details: reported.completion_tokens_details.clone(),
        ..total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::ChatMessage;

    #[test]
    fn what_a_provider_has_said_counts_before_an_estimate() {
        let call = ModelCall {
            messages: vec![ChatMessage::user("one two three four")],
            ..ModelCall::default()
        };
        let answer = |text: &str, usage: TokenUsage| ModelAnswer {
            text: text.to_owned(),
            usage,
            ..ModelAnswer::default()
        };
        let silent = estimated(&call, &answer("", TokenUsage::default()));
        assert!(silent.prompt_tokens > 4, "{silent:?}");
        assert_eq!(silent, TokenUsage::of(silent.prompt_tokens, 0));
        let spoken = estimated(&call, &answer("one two three four", TokenUsage::default()));
        assert_eq!(spoken.prompt_tokens, silent.prompt_tokens);
        assert!(spoken.completion_tokens > 4, "{spoken:?}");
        assert_eq!(
            estimated(&call, &answer("one", TokenUsage::of(70, 90))),
            TokenUsage::of(70, 90)
        );
        let begun = estimated(&call, &answer("one two three four", TokenUsage::of(70, 1)));
        assert_eq!(begun, TokenUsage::of(70, spoken.completion_tokens));
    }
}
