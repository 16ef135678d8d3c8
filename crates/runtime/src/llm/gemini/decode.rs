//! Chunks of Google's streams; an answer in one piece is one chunk.

use super::super::stream::{AnswerDecoder, read, unreadable};
use super::super::{AnswerPiece, ModelFailure, ModelFailureKind, TokenUsage};
use crate::chat::ReasoningPart;
use serde_json::Value;

/// Reads one answer.
#[derive(Default)]
pub struct GeminiDecoder {
    has_started: bool,
    finish_reason: Option<String>,
    calls: usize,
}

impl AnswerDecoder for GeminiDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<AnswerPiece>) -> Result<(), ModelFailure> {
        read(data)?.map_or(Ok(()), |chunk| self.chunk(&chunk, out))
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<AnswerPiece>) -> Result<(), ModelFailure> {
        self.chunk(body, out)?;
        if self.finish_reason.is_none() {
            return Err(unreadable(&body.to_string()));
        }
        self.end(out);
        Ok(())
    }

    /// There is no other end marker than a reason to finish.
    fn end(&mut self, out: &mut Vec<AnswerPiece>) {
        let Some(reason) = &self.finish_reason else {
            return;
        };
        let finish_reason = match reason.as_str() {
            "MAX_TOKENS" => "length",
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "IMAGE_SAFETY" => "content_filter",
            _ if self.calls > 0 => "tool_calls",
            _ => "stop",
        };
        out.push(AnswerPiece::End {
            finish_reason: finish_reason.to_owned(),
        });
    }
}

impl GeminiDecoder {
    fn chunk(&mut self, chunk: &Value, out: &mut Vec<AnswerPiece>) -> Result<(), ModelFailure> {
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(ModelFailure::of_event(chunk));
        }
        if !chunk.is_object() {
            return Err(unreadable(&chunk.to_string()));
        }
        if !std::mem::replace(&mut self.has_started, true) {
            let text = |key: &str| chunk[key].as_str().map(str::to_owned);
            out.push(AnswerPiece::Start {
                id: text("responseId"),
                model: text("modelVersion"),
            });
        }
        out.extend(usage(&chunk["usageMetadata"]).map(AnswerPiece::Usage));
        if let Some(reason) = chunk["promptFeedback"]["blockReason"].as_str() {
            let what = format!("the provider blocked the prompt: {reason}");
            return Err(ModelFailure::new(ModelFailureKind::ContentFilter, what));
        }
        let candidate = &chunk["candidates"][0];
        let parts = candidate["content"]["parts"].as_array();
        for part in parts.into_iter().flatten() {
            self.part(part, out);
        }
        match candidate["finishReason"].as_str() {
            Some(reason @ ("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL")) => {
                let what = format!("the provider could not read what the model wrote: {reason}");
                Err(ModelFailure::temporary(what))
            }
            Some(reason) => {
                self.finish_reason = Some(reason.to_owned());
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn part(&mut self, part: &Value, out: &mut Vec<AnswerPiece>) {
        if let Some(function) = part["functionCall"].as_object() {
            let function = Value::Object(function.clone());
            return self.call(&function, &part["thoughtSignature"], out);
        }
        let text = part["text"].as_str().unwrap_or_default();
        if !text.is_empty() {
            out.push(match part["thought"] == true {
                true => AnswerPiece::Reasoning(text.to_owned()),
                false => AnswerPiece::Text(text.to_owned()),
            });
        }
        if part["thoughtSignature"].is_string() {
            let signature = part["thoughtSignature"].clone();
            let part = ReasoningPart::new("thought_signature");
            out.push(AnswerPiece::ReasoningPart(
                part.with("signature", signature),
            ));
        }
    }

    fn call(&mut self, function: &Value, signature: &Value, out: &mut Vec<AnswerPiece>) {
        let index = self.calls;
        self.calls += 1;
        let text = |key: &str| function[key].as_str().unwrap_or_default().to_owned();
        out.push(AnswerPiece::ToolCall {
            index,
            id: text("id"),
            name: text("name"),
        });
        let arguments = function.get("args").filter(|args| !args.is_null());
        out.push(AnswerPiece::Arguments {
            index,
            text: arguments.map_or_else(|| "{}".to_owned(), Value::to_string),
        });
        let mut part = ReasoningPart::new("function_call").with("call", index);
        for (key, value) in [("id", &function["id"]), ("signature", signature)] {
            if value.is_string() {
                part = part.with(key, value.clone());
            }
        }
        out.push(AnswerPiece::ReasoningPart(part));
    }
}

fn usage(usage: &Value) -> Option<TokenUsage> {
    let count = |key: &str| usage[key].as_i64();
    let sum =
        |one: Option<i64>, other: Option<i64>| one.unwrap_or(0).saturating_add(other.unwrap_or(0));
    let prompt = count("promptTokenCount")?;
    let thoughts = count("thoughtsTokenCount");
    let mut all = TokenUsage::of(
        sum(Some(prompt), count("toolUsePromptTokenCount")),
        sum(count("candidatesTokenCount"), thoughts),
    );
    all.total_tokens = count("totalTokenCount").unwrap_or(all.total_tokens);
    if let Some(cached) = count("cachedContentTokenCount") {
        all.prompt_tokens_details
            .insert("cached_tokens".to_owned(), cached.into());
    }
    if let Some(thoughts) = thoughts {
        all.completion_tokens_details
            .insert("reasoning_tokens".to_owned(), thoughts.into());
    }
    Some(all)
}
