//! Events of Anthropic's streams.

use super::super::stream::{AnswerDecoder, push, read, unreadable};
use super::super::{AnswerPiece, ModelFailure, TokenUsage};
use crate::chat::ReasoningPart;
use serde_json::{Value, json};

/// Reads one answer.
#[derive(Default)]
pub struct AnthropicDecoder {
    stop_reason: Option<String>,
    has_ended: bool,
    usage: AnthropicUsage,
    block: AnthropicBlock,
    /// Bytes of text and calls so far: where a thought stands among them.
    text: usize,
    calls: usize,
}

/// Tokens as the provider counts them. Counts come in parts; later ones count.
#[derive(Default)]
struct AnthropicUsage {
    input: i64,
    output: i64,
    cache_read: Option<i64>,
    cache_creation: Option<i64>,
}

impl AnthropicUsage {
    fn take(&mut self, usage: &Value) {
        let count = |key: &str| usage[key].as_i64();
        self.input = count("input_tokens").unwrap_or(self.input);
        self.output = count("output_tokens").unwrap_or(self.output);
        self.cache_read = count("cache_read_input_tokens").or(self.cache_read);
        self.cache_creation = count("cache_creation_input_tokens").or(self.cache_creation);
    }

    fn total(&self) -> TokenUsage {
        let cached = [self.cache_read, self.cache_creation];
        let prompt = cached
            .into_iter()
            .flatten()
            .fold(self.input, i64::saturating_add);
        let mut all = TokenUsage::of(prompt, self.output);
        for (name, count) in [
            ("cached_tokens", self.cache_read),
            ("cache_creation_tokens", self.cache_creation),
        ] {
            let details = &mut all.prompt_tokens_details;
            details.extend(count.map(|count| (name.to_owned(), count.into())));
        }
        all
    }
}

/// The block that is being read.
#[derive(Default)]
enum AnthropicBlock {
    #[default]
    Other,
    Thinking {
        thinking: String,
        signature: String,
    },
    Tool {
        has_arguments: bool,
    },
}

impl AnswerDecoder for AnthropicDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<AnswerPiece>) -> Result<(), ModelFailure> {
        let Some(data) = read(data)? else {
            return Ok(());
        };
        match data["type"].as_str() {
            Some("message_start") => self.start(&data["message"], out),
            Some("content_block_start") => self.begin(&data["content_block"], out),
            Some("content_block_delta") => self.delta(&data["delta"], out),
            Some("content_block_stop") => self.finish(out),
            Some("message_delta") => {
                self.stop(&data["delta"]["stop_reason"]);
                self.count(&data["usage"], out);
            }
            Some("message_stop") => self.end(out),
            Some("error") => return Err(ModelFailure::of_event(&data)),
            Some(_) => {}
            None => return Err(unreadable(&data.to_string())),
        }
        Ok(())
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<AnswerPiece>) -> Result<(), ModelFailure> {
        if body["type"] == "error" {
            return Err(ModelFailure::of_event(body));
        }
        let blocks = body["content"].as_array();
        let blocks = blocks.ok_or_else(|| unreadable(&body.to_string()))?;
        self.start(body, out);
        for block in blocks {
            self.begin(block, out);
            self.finish(out);
        }
        self.stop(&body["stop_reason"]);
        self.end(out);
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<AnswerPiece>) {
        let Some(reason) = &self.stop_reason else {
            return;
        };
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        let finish_reason = match reason.as_str() {
            "max_tokens" | "model_context_window_exceeded" => "length",
            "tool_use" => "tool_calls",
            "refusal" => "content_filter",
            _ => "stop",
        };
        out.push(AnswerPiece::End {
            finish_reason: finish_reason.to_owned(),
        });
    }
}

impl AnthropicDecoder {
    fn start(&mut self, message: &Value, out: &mut Vec<AnswerPiece>) {
        let text = |key: &str| message[key].as_str().map(str::to_owned);
        out.push(AnswerPiece::Start {
            id: text("id"),
            model: text("model"),
        });
        self.count(&message["usage"], out);
    }

    fn stop(&mut self, reason: &Value) {
        if let Some(reason) = reason.as_str() {
            self.stop_reason = Some(reason.to_owned());
        }
    }

    fn begin(&mut self, block: &Value, out: &mut Vec<AnswerPiece>) {
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        self.block = AnthropicBlock::Other;
        match block["type"].as_str() {
            Some("text") => self.text(&text("text"), out),
            Some("thinking") => {
                let (thinking, signature) = (text("thinking"), text("signature"));
                push(out, &thinking, AnswerPiece::Reasoning);
                self.block = AnthropicBlock::Thinking {
                    thinking,
                    signature,
                };
            }
            Some("redacted_thinking") => {
                let part = ReasoningPart::new("redacted_thinking");
                let part = part.with("data", text("data"));
                self.thought(part, out);
            }
            Some("tool_use") => {
                let index = self.calls;
                self.calls += 1;
                out.push(AnswerPiece::ToolCall {
                    index,
                    id: text("id"),
                    name: text("name"),
                });
                let input = block["input"].as_object().filter(|input| !input.is_empty());
                let whole = input.map(|_| block["input"].to_string());
                self.block = AnthropicBlock::Tool {
                    has_arguments: whole.is_some(),
                };
                out.extend(whole.map(|text| AnswerPiece::Arguments { index, text }));
            }
            _ => {}
        }
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<AnswerPiece>) {
        let text = |key: &str| delta[key].as_str().unwrap_or_default().to_owned();
        match (delta["type"].as_str(), &mut self.block) {
            (Some("text_delta"), _) => self.text(&text("text"), out),
            (Some("thinking_delta"), AnthropicBlock::Thinking { thinking, .. }) => {
                thinking.push_str(&text("thinking"));
                push(out, &text("thinking"), AnswerPiece::Reasoning);
            }
            (Some("signature_delta"), AnthropicBlock::Thinking { signature, .. }) => {
                signature.push_str(&text("signature"));
            }
            (Some("input_json_delta"), AnthropicBlock::Tool { has_arguments }) => {
                let (index, text) = (self.calls - 1, text("partial_json"));
                *has_arguments |= !text.is_empty();
                push(out, &text, |text| AnswerPiece::Arguments { index, text });
            }
            _ => {}
        }
    }

    fn finish(&mut self, out: &mut Vec<AnswerPiece>) {
        match std::mem::take(&mut self.block) {
            AnthropicBlock::Thinking {
                thinking,
                signature,
            } => {
                let part = ReasoningPart::new("thinking").with("thinking", thinking);
                self.thought(part.with("signature", signature), out);
            }
            AnthropicBlock::Tool {
                has_arguments: false,
            } => out.push(AnswerPiece::Arguments {
                index: self.calls - 1,
                text: "{}".to_owned(),
            }),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, out: &mut Vec<AnswerPiece>) {
        self.text += text.len();
        push(out, text, AnswerPiece::Text);
    }

    /// A thought that is wanted back at its position.
    fn thought(&self, mut part: ReasoningPart, out: &mut Vec<AnswerPiece>) {
        if self.text + self.calls > 0 {
            let position = json!({"text": self.text, "calls": self.calls});
            part = part.with("behind", position);
        }
        out.push(AnswerPiece::ReasoningPart(part));
    }

    fn count(&mut self, usage: &Value, out: &mut Vec<AnswerPiece>) {
        if usage.is_object() {
            self.usage.take(usage);
            out.push(AnswerPiece::Usage(self.usage.total()));
        }
    }
}
