//! What a model can do, as its connector says, and what becomes of a call that asks for more.

use super::ModelCall;
use crate::chat::{ChatMessage, DroppedParts};
use crate::config::{Setting, ValueKind};
use crate::error::{Error, Result};
use crate::llm::Connector;
use ambit_storage::suggestion;
use serde_json::Value;

/// What a model can do.
///
/// A connector that names no ability at all is taken to have all of them: its provider refuses what it cannot do. One
/// that names some has these only, except `streaming` and `json`, which are there unless they are said to be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the keys of the file")]
pub struct ModelCapabilities {
    /// Pictures.
    pub vision: VisionFormat,
    /// Calls of tools.
    pub tool_calls: bool,
    /// Sound.
    pub audio: bool,
    /// Thinking that can be steered.
    pub reasoning: bool,
    /// Answers in pieces.
    pub streaming: bool,
    /// Answers in JSON.
    pub json: bool,
    /// Tokens of a request: the window.
    pub max_input_tokens: Option<u64>,
    /// Tokens of an answer.
    pub max_output_tokens: Option<u64>,
}

/// Whether a model sees pictures, and how they are written for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VisionFormat {
    /// It does not.
    #[default]
    None,
    /// As OpenAI writes them.
    OpenAi,
    /// As Anthropic writes them.
    Claude,
}

impl Setting for VisionFormat {
    const KIND: ValueKind =
        ValueKind::Either(&[ValueKind::Boolean, ValueKind::OneOf(&["openai", "claude"])]);

    fn read(value: Value) -> Option<Self> {
        match value {
            Value::Bool(false) => Some(Self::None),
            Value::Bool(true) => Some(Self::OpenAi),
            Value::String(form) if form == "claude" => Some(Self::Claude),
            Value::String(_) => Some(Self::OpenAi),
            _ => None,
        }
    }
}

/// The abilities that a choice of connectors can ask for.
pub const NAMES: &[&str] = &[
    "vision",
    "audio",
    "tool_calls",
    "reasoning",
    "json",
    "streaming",
];

impl ModelCapabilities {
    /// Of a connector.
    pub fn of(connector: &Connector) -> Self {
        let named = &connector.options.provider.common.capabilities;
        let flags = [
            named.tool_calls,
            named.audio,
            named.reasoning,
            named.streaming,
            named.json,
            named.multimodal,
        ];
        let is_silent = named.vision.is_none() && flags.iter().all(Option::is_none);
        let has_media = is_silent || named.multimodal == Some(true);
        let usual = match has_media {
            true => VisionFormat::OpenAi,
            false => VisionFormat::None,
        };
        Self {
            vision: named.vision.unwrap_or(usual),
            tool_calls: named.tool_calls.unwrap_or(is_silent),
            audio: named.audio.unwrap_or(has_media),
            reasoning: named.reasoning.unwrap_or(is_silent),
            streaming: named.streaming.unwrap_or(true),
            json: named.json.unwrap_or(true),
            max_input_tokens: named.max_input_tokens,
            max_output_tokens: named.max_output_tokens,
        }
    }

    /// Whether it has an ability of this name.
    pub fn has(&self, name: &str) -> Result<bool> {
        match name {
            "vision" => Ok(self.vision != VisionFormat::None),
            "audio" => Ok(self.audio),
            "tool_calls" => Ok(self.tool_calls),
            "reasoning" => Ok(self.reasoning),
            "json" => Ok(self.json),
            "streaming" => Ok(self.streaming),
            other => {
                let hint = suggestion::hint(other, NAMES.iter().copied());
                let names = NAMES.join(", ");
                Err(Error::invalid(
                    "filters",
                    format!("unknown capability \"{other}\"{hint}; there are {names}"),
                ))
            }
        }
    }
}

/// What was left out of a call because its model cannot do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingCapability {
    /// What the trace says of it.
    pub note: String,
    /// The tools, or the option.
    pub dropped: DroppedParts,
}

/// Leaves out of a call what its model cannot do, and says what. Media are not left out: see [`lacking`] and [`refuse`].
pub fn leave_out(connector: &Connector, call: &mut ModelCall) -> Vec<MissingCapability> {
    let can = ModelCapabilities::of(connector);
    let id = &connector.id;
    let reason = |name: &str| format!("no_capability:{name}");
    let mut missing = Vec::new();
    if !can.tool_calls && !call.tools.is_empty() {
        let count = call.tools.len();
        let names = call.tools.iter().map(|tool| tool.name.as_str());
        missing.push(MissingCapability {
            note: format!(
                "connector \"{id}\" has no capability tool_calls: {count} tools are not offered"
            ),
            dropped: DroppedParts::tools(names, &reason("tool_calls")),
        });
        call.tools.clear();
    }
    let options = [
        ("tool_choice", can.tool_calls, "tool_calls"),
        ("reasoning_effort", can.reasoning, "reasoning"),
        ("response_format", can.json, "json"),
        ("audio", can.audio, "audio"),
    ];
    for (option, has, name) in options {
        if !has && call.options.remove(option) {
            missing.push(MissingCapability {
                note: format!("connector \"{id}\" has no capability {name}: {option} is not sent"),
                dropped: DroppedParts::option(option, &reason(name)),
            });
        }
    }
    missing
}

/// The places of parts that this model cannot take, as `(message, part, ability)`.
pub fn lacking(
    can: ModelCapabilities,
    messages: &[ChatMessage],
) -> Vec<(usize, usize, &'static str)> {
    let mut lacking = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        for (part, content) in message.content.parts().iter().enumerate() {
            match content.kind() {
                "image_url" if can.vision == VisionFormat::None => {
                    lacking.push((at, part, "vision"));
                }
                "input_audio" if !can.audio => lacking.push((at, part, "audio")),
                _ => {}
            }
        }
    }
    lacking
}

/// Refuses media that a model cannot take, by name.
pub fn refuse(connector: &Connector, messages: &[ChatMessage]) -> Result<()> {
    let can = ModelCapabilities::of(connector);
    let Some((message, part, ability)) = lacking(can, messages).into_iter().next() else {
        return Ok(());
    };
    let id = &connector.id;
    let what = match ability {
        "vision" => "an image",
        _ => "audio",
    };
    Err(Error::invalid(
        format!("messages[{message}].content[{part}]"),
        format!(
            "connector \"{id}\" has no capability {ability}, and messages[{message}].content[{part}] is {what}; \
             set uses.{ability}, or choose a connector that has it"
        ),
    ))
}
