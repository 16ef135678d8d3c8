//! Anthropic's messages.

pub(super) mod decode;
mod messages;

use super::endpoint::{ModelEndpoint, ProxyClients, ServiceDefaults};
use super::{
    AnswerStream, ModelCall, ModelCapabilities, ModelFailure, Provider, ProviderEntry, stream,
};
use crate::llm::Connector;
use async_trait::async_trait;
use decode::AnthropicDecoder;
use messages::AnthropicConversation;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The row of the table.
pub const ROW: ProviderEntry = ProviderEntry {
    kind: "anthropic",
    open,
    by_address: &["image_url", "file"],
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
        connector: connector.clone(),
        capabilities: ModelCapabilities::of(connector),
    }))
}

struct AnthropicProvider {
    endpoint: Arc<ModelEndpoint>,
    connector: Connector,
    capabilities: ModelCapabilities,
}

#[async_trait]
impl Provider for AnthropicProvider {
    async fn call(&self, call: &ModelCall) -> Result<AnswerStream, ModelFailure> {
        stream::send_call(
            &self.endpoint,
            call,
            self.body(call),
            AnthropicDecoder::default(),
        )
        .await
    }
}

impl AnthropicProvider {
    fn body(&self, call: &ModelCall) -> Result<Map<String, Value>, ModelFailure> {
        let settings = &self.connector.options;
        let option = |name: &str| call.option(name);
        let mut body = Map::new();
        let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
        let AnthropicConversation {
            system,
            messages,
            lacks_thinking,
        } = messages::encode(&call.messages, option("response_format"))?;
        settings
            .get("model")
            .map(|model| put("model", model.clone()));
        put("messages", messages.into());
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
        let thinking = thinking(settings, option("reasoning_effort"));
        let thinking = thinking.filter(|_| !is_forced && !lacks_thinking);
        put("max_tokens", self.limit(call, thinking.as_ref()).into());
        if thinking.is_none() {
            let temperature = option("temperature").or_else(|| settings.get("temperature"));
            let temperature = temperature.and_then(Value::as_f64);
            // OpenAI's scale goes to 2.
            temperature.map(|value| put("temperature", value.clamp(0.0, 1.0).into()));
            option("top_p").map(|value| put("top_p", value.clone()));
        }
        thinking.map(|value| put("thinking", value));
        call.stops().map(|stops| put("stop_sequences", stops));
        option("user").map(|user| put("metadata", json!({"user_id": user})));
        put("stream", true.into());
        Ok(body)
    }

    /// Tokens of the answer; thoughts come on top.
    fn limit(&self, call: &ModelCall, thinking: Option<&Value>) -> u64 {
        let limit = call.limit(&self.connector.options);
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
fn thinking(settings: &Map<String, Value>, effort: Option<&Value>) -> Option<Value> {
    if let Some(thinking) = settings.get("thinking") {
        return (thinking["type"] != "disabled").then(|| thinking.clone());
    }
    let budget = match effort?.as_str()? {
        "low" => 2_048,
        "medium" => 8_192,
        "high" | "xhigh" => 16_384,
        _ => return None,
    };
    Some(json!({"type": "enabled", "budget_tokens": budget}))
}

fn tool_choice(call: &ModelCall) -> Value {
    let choice = call.options.get("tool_choice").unwrap_or(&Value::Null);
    let mut choice = match (choice.as_str(), choice.pointer("/function/name")) {
        (_, Some(name)) => json!({"type": "tool", "name": name}),
        (Some("required"), _) => json!({"type": "any"}),
        (Some("none"), _) => json!({"type": "none"}),
        _ => json!({"type": "auto"}),
    };
    let parallel = call.options.get("parallel_tool_calls");
    if parallel == Some(&Value::Bool(false)) && choice["type"] != "none" {
        choice["disable_parallel_tool_use"] = true.into();
    }
    choice
}

fn tool(tool: &Value) -> Value {
    let function = &tool["function"];
    let parameters = function["parameters"].as_object().cloned();
    let mut schema = parameters.unwrap_or_default();
    schema.entry("type").or_insert("object".into());
    let mut sent = json!({"name": function["name"], "input_schema": schema});
    if let Some(description) = function["description"].as_str() {
        sent["description"] = description.into();
    }
    sent
}
