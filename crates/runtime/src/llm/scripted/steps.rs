//! What a rule says, step by step.

use super::super::{AnswerPiece, TokenUsage};
use super::conversation::ScriptedConversation;
use super::rule::{RuleSettings, RuleToolCall};
use serde_json::Value;

/// A step of a scripted answer.
pub enum ScriptedStep {
    /// A chunk: counted, and delayed.
    Chunk(AnswerPiece),
    /// What takes no time.
    Mark(AnswerPiece),
    /// The stream breaks off.
    Cut,
}

/// All steps of an answer; without a rule it echoes.
pub fn steps(
    rule: Option<&RuleSettings>,
    conversation: &ScriptedConversation<'_>,
    usage: Option<&TokenUsage>,
) -> Vec<ScriptedStep> {
    let mut steps = Vec::new();
    let reasoning = rule.and_then(|rule| rule.reasoning.as_deref());
    steps.extend(chunks(
        reasoning.unwrap_or_default(),
        AnswerPiece::Reasoning,
    ));
    steps.extend(chunks(&reply(rule, conversation), AnswerPiece::Text));
    let calls = rule
        .map(|rule| rule.tool_calls.as_slice())
        .unwrap_or_default();
    for (index, call) in calls.iter().enumerate() {
        steps.extend(tool_call(index, call, conversation.calls()));
    }
    let words = steps
        .iter()
        .filter(|step| matches!(step, ScriptedStep::Chunk(_)))
        .count();
    if let Some(most) = rule.and_then(|rule| rule.cut_after) {
        cut(&mut steps, most);
        return steps;
    }
    let counted = || TokenUsage::of(count(conversation.words()), count(words));
    steps.push(ScriptedStep::Mark(AnswerPiece::Usage(
        usage.cloned().unwrap_or_else(counted),
    )));
    let usual = if calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    let finish_reason = rule.and_then(|rule| rule.finish_reason.as_deref());
    steps.push(ScriptedStep::Mark(AnswerPiece::End {
        finish_reason: finish_reason.unwrap_or(usual).to_owned(),
    }));
    steps
}

fn reply(rule: Option<&RuleSettings>, conversation: &ScriptedConversation<'_>) -> String {
    let Some(rule) = rule else {
        return format!("echo: {}", conversation.last_user);
    };
    match (&rule.reply, &rule.json) {
        (Some(reply), _) => conversation.fill(reply),
        (None, Some(json)) => json.to_string(),
        (None, None) => String::new(),
    }
}

/// A text in words, each with the space behind it.
fn chunks(text: &str, piece: fn(String) -> AnswerPiece) -> Vec<ScriptedStep> {
    let mut words: Vec<String> = Vec::new();
    for part in text.split_inclusive(char::is_whitespace) {
        match words.last_mut() {
            Some(word) if part.trim().is_empty() => word.push_str(part),
            _ => words.push(part.to_owned()),
        }
    }
    words
        .into_iter()
        .map(|word| ScriptedStep::Chunk(piece(word)))
        .collect()
}

fn tool_call(index: usize, call: &RuleToolCall, before: usize) -> [ScriptedStep; 2] {
    let id = match call.id.as_str() {
        "" => format!("call_{}", before + index + 1),
        given => given.to_owned(),
    };
    let text = match &call.arguments {
        Value::String(text) => text.clone(),
        Value::Null => "{}".to_owned(),
        value => value.to_string(),
    };
    let name = call.name.clone();
    [
        ScriptedStep::Mark(AnswerPiece::ToolCall { index, id, name }),
        ScriptedStep::Chunk(AnswerPiece::Arguments { index, text }),
    ]
}

/// Keeps so many chunks.
fn cut(steps: &mut Vec<ScriptedStep>, most: usize) {
    let chunks = steps.iter().enumerate();
    let mut chunks = chunks.filter(|(_, step)| matches!(step, ScriptedStep::Chunk(_)));
    let end = match most.checked_sub(1) {
        None => Some(0),
        Some(last) => chunks.nth(last).map(|(at, _)| at + 1),
    };
    steps.truncate(end.unwrap_or(steps.len()));
    steps.push(ScriptedStep::Cut);
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
