//! Anthropic's messages.

pub(super) mod decode;
mod messages;

use super::connector::ProviderOptions;
use super::endpoint::{ModelEndpoint, ProxyClients, ServiceDefaults};
use super::{
    AnswerStream, EncodedCall, ModelCall, ModelCapabilities, ModelFailure, Provider, ProviderEntry,
    stream,
};
use crate::chat::{ToolChoice, ToolDefinition};
use crate::llm::Connector;
use async_trait::async_trait;
use decode::AnthropicDecoder;
use messages::AnthropicConversation;
use serde_json::{Map, Number, Value, json};
use std::sync::Arc;

/// The row of the table.
pub const ROW: ProviderEntry = ProviderEntry {
    kind: "anthropic",
    open,
    by_address: &["image_url", "file"],
    options: Some(&[
        "temperature",
        "top_p",
        "max_tokens",
        "max_completion_tokens",
        "stop",
        "response_format",
        "reasoning_effort",
        "tool_choice",
        "parallel_tool_calls",
        "user",
    ]),
};

const SERVICE: ServiceDefaults<'_> = ServiceDefaults {
    host: "https://api.anthropic.com",
    root: "/v1",
    path: "/messages",
    key: ("x-api-key", ""),
};

/// Tokens of an answer where nothing says how many: the protocol wants a number.
const TOKENS: u64 = 4096;

fn open(connector: &Connector, clients: &ProxyClients) -> Result<Arc<dyn Provider>, ModelFailure> {
    let endpoint = ModelEndpoint::of(connector, clients, &SERVICE)?;
    Ok(Arc::new(AnthropicProvider {
        endpoint: Arc::new(endpoint.with("anthropic-version", "2023-06-01")),
        options: connector.options.provider.clone(),
        capabilities: ModelCapabilities::of(connector),
    }))
}

struct AnthropicProvider {
    endpoint: Arc<ModelEndpoint>,
    options: ProviderOptions,
    capabilities: ModelCapabilities,
}

#[async_trait]
impl Provider for AnthropicProvider {
    fn encode<'a>(&self, call: &'a ModelCall) -> Result<EncodedCall<'a>, ModelFailure> {
        self.endpoint.encode(call, self.body(call), "anthropic/1")
    }

    async fn send(&self, encoded: &EncodedCall<'_>) -> Result<AnswerStream, ModelFailure> {
        stream::send_call(&self.endpoint, encoded, AnthropicDecoder::default()).await
    }
}

impl AnthropicProvider {
    fn body(&self, call: &ModelCall) -> Result<Map<String, Value>, ModelFailure> {
        let settings = &self.options;
        let options = &call.options;
        let mut body = Map::new();
        let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
        let AnthropicConversation {
            system,
            messages,
            lacks_thinking,
        } = messages::encode(&call.messages, options.response_format.as_ref())?;
        if !settings.model.is_empty() {
            put("model", settings.model.as_str().into());
        }
        put("messages", json!(messages));
        if !system.is_empty() {
            put("system", system.into());
        }
        let choice = tool_choice(call);
        let is_forced = choice["type"] == "any" || choice["type"] == "tool";
        if !call.tools.is_empty() {
            put("tools", call.tools.iter().map(tool).collect());
            put("tool_choice", choice);
        }
        // Neither a forced call nor a round that began without thoughts may be gone on with thinking.
        let thinking = thinking(settings, options.reasoning_effort.as_deref());
        let thinking = thinking.filter(|_| !is_forced && !lacks_thinking);
        put("max_tokens", self.limit(call, thinking.as_ref()).into());
        if thinking.is_none() {
            let wanted = options.temperature.as_ref().and_then(Number::as_f64);
            let configured = || settings.temperature.as_ref()?.0.as_f64();
            let temperature = wanted.or_else(configured);
            // OpenAI's scale goes to 2.
            temperature.map(|value| put("temperature", value.clamp(0.0, 1.0).into()));
            let top_p = options.top_p.clone();
            top_p.map(|value| put("top_p", value.into()));
        }
        thinking.map(|value| put("thinking", value));
        call.stops().map(|stops| put("stop_sequences", stops));
        let user = options.user.as_ref();
        user.map(|user| put("metadata", json!({"user_id": user})));
        put("stream", true.into());
        Ok(body)
    }

    /// Tokens of the answer; thoughts come on top.
    fn limit(&self, call: &ModelCall, thinking: Option<&Value>) -> u64 {
        let limit = call.limit(self.options.max_tokens);
        let limit = limit
            .or(self.capabilities.max_output_tokens)
            .unwrap_or(TOKENS);
        match thinking.and_then(|thinking| thinking["budget_tokens"].as_u64()) {
            Some(budget) if limit <= budget => limit.saturating_add(budget),
            _ => limit,
        }
    }
}

/// What the connector says about thinking, or else what the effort asks for; nothing where it is off.
fn thinking(settings: &ProviderOptions, effort: Option<&str>) -> Option<Value> {
    if let Some(thinking) = &settings.thinking {
        return (thinking.kind != "disabled").then(|| thinking.to_json());
    }
    let budget = match effort? {
        "low" => 2_048,
        "medium" => 8_192,
        "high" | "xhigh" => 16_384,
        _ => return None,
    };
    Some(json!({"type": "enabled", "budget_tokens": budget}))
}

fn tool_choice(call: &ModelCall) -> Value {
    let choice = call.options.tool_choice.as_ref();
    let function = choice.and_then(ToolChoice::function);
    let mut choice = match (function, choice.and_then(ToolChoice::mode)) {
        (Some(name), _) => json!({"type": "tool", "name": name}),
        (None, Some("required")) => json!({"type": "any"}),
        (None, Some("none")) => json!({"type": "none"}),
        _ => json!({"type": "auto"}),
    };
    let parallel = call.options.parallel_tool_calls;
    if parallel == Some(false) && choice["type"] != "none" {
        choice["disable_parallel_tool_use"] = true.into();
    }
    choice
}

fn tool(tool: &ToolDefinition) -> Value {
    let parameters = tool.parameters.as_ref().and_then(Value::as_object);
    let mut schema = parameters.cloned().unwrap_or_default();
    schema.entry("type").or_insert("object".into());
    let mut sent = json!({"name": tool.name, "input_schema": schema});
    if let Some(description) = &tool.description {
        sent["description"] = description.as_str().into();
    }
    sent
}
