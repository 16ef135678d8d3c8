//! Chunks of a chat completion, as OpenAI writes them and as its many followers do.

use super::super::stream::{AnswerDecoder, push, read, unreadable};
use super::super::{AnswerPiece, ModelFailure, TokenUsage};
use crate::chat::ReasoningPart;
use serde_json::{Map, Value};

/// Reads one answer.
#[derive(Default)]
pub struct OpenAiDecoder {
    has_started: bool,
    finish_reason: Option<String>,
    is_done: bool,
    calls: Vec<PartialToolCall>,
    announced: usize,
    /// The field in which the server thinks, to give its thoughts back under the same name.
    reasoning_field: Option<&'static str>,
}

/// A call of a tool that is being put together.
#[derive(Default)]
struct PartialToolCall {
    /// The server's number of it.
    number: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Its place among those that were told of.
    announced_index: Option<usize>,
}

impl AnswerDecoder for OpenAiDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<AnswerPiece>) -> Result<(), ModelFailure> {
        if data.trim() == "[DONE]" {
            self.is_done = true;
            self.end(out);
            return Ok(());
        }
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

    fn end(&mut self, out: &mut Vec<AnswerPiece>) {
        // A reason to finish says that the answer is whole, even where `[DONE]` was lost.
        if self.finish_reason.is_none() && !self.is_done {
            return;
        }
        for at in 0..self.calls.len() {
            self.announce(at, out);
        }
        let finish_reason = match self.finish_reason.as_deref() {
            Some("length" | "max_tokens" | "model_length") => "length",
            Some("content_filter" | "sensitive") => "content_filter",
            _ if !self.calls.is_empty() => "tool_calls",
            _ => "stop",
        };
        out.push(AnswerPiece::End {
            finish_reason: finish_reason.to_owned(),
        });
    }
}

impl OpenAiDecoder {
    fn chunk(&mut self, chunk: &Value, out: &mut Vec<AnswerPiece>) -> Result<(), ModelFailure> {
        let has_error = chunk.get("error").is_some_and(|error| !error.is_null());
        if has_error || chunk.get("object").is_some_and(|kind| kind == "error") {
            return Err(ModelFailure::of_event(chunk));
        }
        if !chunk.is_object() {
            return Err(unreadable(&chunk.to_string()));
        }
        if !std::mem::replace(&mut self.has_started, true) {
            let text = |key: &str| Some(chunk.get(key)?.as_str()?.to_owned());
            out.push(AnswerPiece::Start {
                id: text("id"),
                model: text("model"),
            });
        }
        out.extend(chunk.get("usage").and_then(usage).map(AnswerPiece::Usage));
        let choices = chunk.get("choices").and_then(Value::as_array);
        let first = choices.into_iter().flatten().find(|choice| {
            let index = choice.get("index").and_then(Value::as_u64);
            index.unwrap_or(0) == 0
        });
        first.map_or(Ok(()), |choice| self.choice(choice, out))
    }

    fn choice(&mut self, choice: &Value, out: &mut Vec<AnswerPiece>) -> Result<(), ModelFailure> {
        let delta = choice.get("delta").or_else(|| choice.get("message"));
        if let Some(delta) = delta {
            self.delta(delta, out);
        }
        match choice.get("finish_reason").and_then(Value::as_str) {
            None | Some("") => Ok(()),
            Some("error" | "insufficient_system_resource") => Err(ModelFailure::temporary(
                "the provider gave up in the middle of the answer",
            )),
            Some(reason) => {
                self.finish_reason = Some(reason.to_owned());
                Ok(())
            }
        }
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<AnswerPiece>) {
        self.reasoning(delta, out);
        match delta.get("content") {
            Some(Value::String(text)) => push(out, text, AnswerPiece::Text),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| content(part, out)),
            _ => {}
        }
        if let Some(text) = delta.get("refusal").and_then(Value::as_str) {
            push(out, text, AnswerPiece::Refusal);
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.call(call, out);
        }
    }

    fn reasoning(&mut self, delta: &Value, out: &mut Vec<AnswerPiece>) {
        let fields = ["reasoning_content", "reasoning"];
        let found = fields.into_iter().find_map(|field| {
            let text = delta.get(field)?.as_str()?;
            (!text.is_empty()).then_some((field, text))
        });
        if let Some((field, text)) = found {
            if self.reasoning_field.is_none() {
                self.reasoning_field = Some(field);
                out.push(AnswerPiece::ReasoningPart(ReasoningPart::new(field)));
            }
            push(out, text, AnswerPiece::Reasoning);
        }
        let details = delta.get("reasoning_details").and_then(Value::as_array);
        for detail in details.into_iter().flatten() {
            let part = ReasoningPart::new("reasoning_details").with("detail", detail.clone());
            out.push(AnswerPiece::ReasoningPart(part));
        }
    }

    fn call(&mut self, delta: &Value, out: &mut Vec<AnswerPiece>) {
        let text = |place: &str| delta.pointer(place).and_then(Value::as_str).unwrap_or("");
        let (id, name) = (text("/id"), text("/function/name"));
        let number = delta.get("index").and_then(Value::as_u64);
        let at = self.which(number, id, name);
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        let arguments = match delta.pointer("/function/arguments") {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            Some(value) => value.to_string(),
        };
        call.arguments.push_str(&arguments);
        if let Some(index) = call.announced_index {
            push(out, &arguments, |text| AnswerPiece::Arguments {
                index,
                text,
            });
        } else if !call.name.is_empty() {
            self.announce(at, out);
        }
    }

    /// The call that a delta belongs to. Numbers may be missing, the same for all calls, or start anywhere.
    fn which(&mut self, number: Option<u64>, id: &str, name: &str) -> usize {
        let known = match number {
            Some(number) => self
                .calls
                .iter()
                .rposition(|call| call.number == Some(number)),
            None if id.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().rposition(|call| call.id == id),
        };
        let is_other = |call: &PartialToolCall| {
            let is_other_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
            let is_whole = || serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
            !name.is_empty()
                && !call.name.is_empty()
                && (is_other_id || number.is_none() && is_whole())
        };
        if let Some(index) = known.filter(|index| !is_other(&self.calls[*index])) {
            return index;
        }
        self.calls.push(PartialToolCall {
            number,
            ..PartialToolCall::default()
        });
        self.calls.len() - 1
    }

    /// Tells of a call and what is known of its arguments, once.
    fn announce(&mut self, at: usize, out: &mut Vec<AnswerPiece>) {
        let call = &mut self.calls[at];
        if call.announced_index.is_some() {
            return;
        }
        let index = self.announced;
        self.announced += 1;
        call.announced_index = Some(index);
        out.push(AnswerPiece::ToolCall {
            index,
            id: call.id.clone(),
            name: call.name.clone(),
        });
        push(out, &call.arguments, |text| AnswerPiece::Arguments {
            index,
            text,
        });
    }
}

/// A part of a content that comes as a list: text, or thoughts that are again a list.
fn content(part: &Value, out: &mut Vec<AnswerPiece>) {
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        push(out, text, AnswerPiece::Text);
    }
    let thoughts = part.get("thinking").and_then(Value::as_array);
    for thought in thoughts.into_iter().flatten() {
        let text = thought.get("text").and_then(Value::as_str);
        push(out, text.unwrap_or_default(), AnswerPiece::Reasoning);
    }
}

fn usage(usage: &Value) -> Option<TokenUsage> {
    let count = |key: &str| usage.get(key).and_then(Value::as_i64);
    let details = |key: &str| {
        let details = usage.get(key).and_then(Value::as_object).cloned();
        details.unwrap_or_default()
    };
    let prompt = count("prompt_tokens");
    let completion = count("completion_tokens");
    let mut all = TokenUsage::of(prompt.or(completion.map(|_| 0))?, completion.unwrap_or(0));
    all.total_tokens = count("total_tokens").unwrap_or(all.total_tokens);
    all.prompt_tokens_details = details("prompt_tokens_details");
    all.completion_tokens_details = details("completion_tokens_details");
    // DeepSeek's name of the same.
    if let Some(cached) = count("prompt_cache_hit_tokens") {
        let details = &mut all.prompt_tokens_details;
        details.entry("cached_tokens").or_insert(cached.into());
    }
    Some(all)
}
