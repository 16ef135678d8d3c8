//! What the models of a turn have said so far.

use super::Turn;
use super::agent_run::AgentRun;
use crate::frame::MessageStatus;
use crate::llm::ModelAnswer;
use serde_json::Value;
use std::collections::HashSet;

/// What the models of a turn have said.
#[derive(Default)]
pub(super) struct TurnAnswers {
    /// The connector that was called last.
    pub connector: Option<String>,
    /// Why the last answer ended.
    pub finish_reason: String,
    /// The shown messages that the history has already.
    pub stored: HashSet<String>,
    /// Calls made.
    pub calls: usize,
    /// `payload.tools`.
    pub tools: Vec<Value>,
    /// Answers that are not in the history yet, with the messages in which they were shown.
    pub answers: Vec<AnswerRecord>,
    /// Stored answers of which listeners have not heard yet.
    pub sent: Vec<Value>,
    /// The answer has a form of its own.
    pub is_structured: bool,
    /// The messages in which tool calls were shown, by the call's id.
    pub calls_shown: Vec<(String, String)>,
}

/// An answer and how it was shown.
pub(super) struct AnswerRecord {
    pub answer: ModelAnswer,
    pub agent: String,
    /// The messages, in order; the first is where the answer stands.
    pub shown: Vec<String>,
}

/// Keeps an answer for the history, as far as it came.
pub(super) fn keep_answer(
    turn: &mut Turn,
    leg: &AgentRun,
    (answer, status): (&ModelAnswer, MessageStatus),
    shown: Vec<String>,
) {
    let is_whole = status == MessageStatus::Completed;
    let mut answer = answer.clone();
    if is_whole {
        turn.answers
            .calls_shown
            .extend(calls_shown(turn, &answer, &shown));
    }
    if !is_whole {
        // Nobody will run what was asked for in a broken answer.
        answer.tool_calls.clear();
    }
    let says =
        !(answer.text.is_empty() && answer.reasoning.is_empty() && answer.tool_calls.is_empty());
    if says || (is_whole && answer != ModelAnswer::default()) {
        turn.answers.answers.push(AnswerRecord {
            answer,
            agent: leg.agent.id.clone(),
            shown,
        });
    }
}

/// The calls of an answer, each with the message in which it was shown.
fn calls_shown(turn: &Turn, answer: &ModelAnswer, shown: &[String]) -> Vec<(String, String)> {
    let is_call = |id: &&String| {
        let shown = turn.outbox.message(id);
        shown.is_some_and(|shown| shown.kind == "tool_call")
    };
    let calls = answer.tool_calls.iter().map(|call| call.id.clone());
    calls.zip(shown.iter().filter(is_call).cloned()).collect()
}
