//! Google's generateContent.

mod contents;
pub(super) mod decode;

use super::connector::{ProviderOptions, ThinkingOptions};
use super::endpoint::{ModelEndpoint, ProxyClients, ServiceDefaults, text, wrong_option};
use super::{
    AnswerStream, EncodedCall, ModelCall, ModelCapabilities, ModelFailure, Provider, ProviderEntry,
    stream,
};
use crate::chat::{ToolChoice, ToolDefinition};
use crate::llm::Connector;
use async_trait::async_trait;
use decode::GeminiDecoder;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The row of the table.
pub const ROW: ProviderEntry = ProviderEntry {
    kind: "gemini",
    open,
    by_address: &[],
    options: Some(&[
        "temperature",
        "top_p",
        "max_tokens",
        "max_completion_tokens",
        "stop",
        "presence_penalty",
        "frequency_penalty",
        "seed",
        "response_format",
        "reasoning_effort",
        "tool_choice",
    ]),
};

fn open(connector: &Connector, clients: &ProxyClients) -> Result<Arc<dyn Provider>, ModelFailure> {
    let model = text(&connector.options.provider.model);
    let model = model.ok_or_else(|| wrong_option(connector, "model", "is missing"))?;
    let model = model.strip_prefix("models/").unwrap_or(model);
    let capabilities = ModelCapabilities::of(connector);
    let method = match capabilities.streaming {
        true => "streamGenerateContent",
        false => "generateContent",
    };
    let service = ServiceDefaults {
        host: "https://generativelanguage.googleapis.com",
        root: "/v1beta",
        path: &format!("/models/{model}:{method}"),
        key: ("x-goog-api-key", ""),
    };
    let mut endpoint = ModelEndpoint::of(connector, clients, &service)?;
    if capabilities.streaming {
        endpoint.url.query_pairs_mut().append_pair("alt", "sse");
    }
    Ok(Arc::new(GeminiProvider {
        endpoint: Arc::new(endpoint),
        is_older: ["gemini-1", "gemini-2"]
            .iter()
            .any(|start| model.starts_with(start)),
        options: connector.options.provider.clone(),
        capabilities,
    }))
}

struct GeminiProvider {
    endpoint: Arc<ModelEndpoint>,
    /// Before version 3: thinking is a number of tokens, and thoughts need not come back.
    is_older: bool,
    options: ProviderOptions,
    capabilities: ModelCapabilities,
}

#[async_trait]
impl Provider for GeminiProvider {
    fn encode<'a>(&self, call: &'a ModelCall) -> Result<EncodedCall<'a>, ModelFailure> {
        self.endpoint.encode(call, self.body(call), "gemini/1")
    }

    async fn send(&self, encoded: &EncodedCall<'_>) -> Result<AnswerStream, ModelFailure> {
        stream::send_call(&self.endpoint, encoded, GeminiDecoder::default()).await
    }
}

impl GeminiProvider {
    fn body(&self, call: &ModelCall) -> Result<Map<String, Value>, ModelFailure> {
        let conversation = contents::encode(&call.messages, !self.is_older)?;
        let mut body = Map::new();
        let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
        put("contents", json!(conversation.contents));
        if !conversation.system.is_empty() {
            let parts = json!([{"text": conversation.system}]);
            put("systemInstruction", json!({"parts": parts}));
        }
        if !call.tools.is_empty() {
            let declarations: Vec<Value> = call.tools.iter().map(declaration).collect();
            put("tools", json!([{"functionDeclarations": declarations}]));
            let calling = calling(call.options.tool_choice.as_ref());
            put("toolConfig", json!({"functionCallingConfig": calling}));
        }
        let generation = self.generation(call);
        if !generation.is_empty() {
            put("generationConfig", generation.into());
        }
        Ok(body)
    }

    fn generation(&self, call: &ModelCall) -> Map<String, Value> {
        let settings = &self.options;
        let options = &call.options;
        let mut sent = Map::new();
        let mut put = |name: &str, value: Value| sent.insert(name.to_owned(), value);
        let configured = settings.temperature.clone();
        configured.map(|number| put("temperature", number.0.into()));
        for (name, number) in [
            ("temperature", &options.temperature),
            ("topP", &options.top_p),
            ("seed", &options.seed),
            ("presencePenalty", &options.presence_penalty),
            ("frequencyPenalty", &options.frequency_penalty),
        ] {
            number.clone().map(|number| put(name, number.into()));
        }
        let limit = call.limit(settings.max_tokens);
        let limit = limit.or(self.capabilities.max_output_tokens);
        limit.map(|limit| put("maxOutputTokens", limit.into()));
        call.stops().map(|stops| put("stopSequences", stops));
        if let Some(format) = &options.response_format {
            if matches!(format.kind.as_str(), "json_object" | "json_schema") {
                put("responseMimeType", "application/json".into());
            }
            let schema = format.schema().cloned();
            schema.map(|schema| put("responseJsonSchema", schema));
        }
        let effort = options.reasoning_effort.as_deref();
        let thinking = self.thinking(settings.thinking.as_ref(), effort);
        thinking.map(|thinking| put("thinkingConfig", thinking));
        sent
    }

    /// What the connector says about thinking, or else what the effort asks for.
    fn thinking(&self, thinking: Option<&ThinkingOptions>, effort: Option<&str>) -> Option<Value> {
        if let Some(thinking) = thinking {
            if thinking.kind == "disabled" {
                return Some(json!({"thinkingBudget": 0}));
            }
            let mut sent = json!({"includeThoughts": true});
            if let Some(budget) = thinking.budget_tokens {
                sent["thinkingBudget"] = budget.into();
            }
            return Some(sent);
        }
        let effort = effort?;
        if !self.is_older {
            return Some(json!({"includeThoughts": true, "thinkingLevel": effort}));
        }
        let budget = match effort {
            "none" => return Some(json!({"thinkingBudget": 0})),
            "minimal" | "low" => 1_024,
            "medium" => 8_192,
            _ => 24_576,
        };
        Some(json!({"includeThoughts": true, "thinkingBudget": budget}))
    }
}

fn declaration(tool: &ToolDefinition) -> Value {
    let mut sent = Map::new();
    let mut put = |name: &str, value: Value| sent.insert(name.to_owned(), value);
    put("name", tool.name.as_str().into());
    let description = tool.description.as_deref();
    description.map(|text| put("description", text.into()));
    let schema = tool.parameters.clone();
    schema.map(|schema| put("parametersJsonSchema", schema));
    Value::Object(sent)
}

fn calling(choice: Option<&ToolChoice>) -> Value {
    let function = choice.and_then(ToolChoice::function);
    match (function, choice.and_then(ToolChoice::mode)) {
        (Some(name), _) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
        (None, Some("required")) => json!({"mode": "ANY"}),
        (None, Some("none")) => json!({"mode": "NONE"}),
        _ => json!({"mode": "AUTO"}),
    }
}
