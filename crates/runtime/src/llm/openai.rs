//! OpenAI's chat completions, and all that speak them.

pub(super) mod decode;
mod messages;

use super::connector::{ProviderOptions, ThinkingOptions};
use super::endpoint::{ModelEndpoint, ProxyClients, ServiceDefaults};
use super::{
    AnswerStream, EncodedCall, ModelCall, ModelCapabilities, ModelFailure, Provider, ProviderEntry,
    stream,
};
use crate::chat::{GenerationOptions, ToolDefinition};
use crate::llm::Connector;
use async_trait::async_trait;
use decode::OpenAiDecoder;
use messages::OpenAiDialect;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The row of the table.
pub const ROW: ProviderEntry = ProviderEntry {
    kind: "openai",
    open,
    by_address: &["image_url"],
    options: Some(GenerationOptions::NAMES),
};

fn open(connector: &Connector, clients: &ProxyClients) -> Result<Arc<dyn Provider>, ModelFailure> {
    at(connector, clients, "https://api.openai.com")
}

/// A provider with this host unless the connector names one.
pub fn at(
    connector: &Connector,
    clients: &ProxyClients,
    host: &str,
) -> Result<Arc<dyn Provider>, ModelFailure> {
    let service = ServiceDefaults {
        host,
        root: "/v1",
        path: "/chat/completions",
        key: ("authorization", "Bearer "),
    };
    let endpoint = ModelEndpoint::of(connector, clients, &service)?;
    let capabilities = ModelCapabilities::of(connector);
    let provider = OpenAiProvider {
        dialect: OpenAiDialect {
            is_original: endpoint.url.host_str() == Some("api.openai.com"),
            vision: capabilities.vision,
        },
        endpoint: Arc::new(endpoint),
        options: connector.options.provider.clone(),
        streaming: capabilities.streaming,
    };
    Ok(Arc::new(provider))
}

struct OpenAiProvider {
    endpoint: Arc<ModelEndpoint>,
    dialect: OpenAiDialect,
    options: ProviderOptions,
    streaming: bool,
}

#[async_trait]
impl Provider for OpenAiProvider {
    fn encode<'a>(&self, call: &'a ModelCall) -> Result<EncodedCall<'a>, ModelFailure> {
        self.endpoint.encode(call, Ok(self.body(call)), "openai/1")
    }

    async fn send(&self, encoded: &EncodedCall<'_>) -> Result<AnswerStream, ModelFailure> {
        stream::send_call(&self.endpoint, encoded, OpenAiDecoder::default()).await
    }
}

impl OpenAiProvider {
    fn body(&self, call: &ModelCall) -> Map<String, Value> {
        let settings = &self.options;
        let mut body = Map::new();
        if !settings.model.is_empty() {
            body.insert("model".to_owned(), settings.model.as_str().into());
        }
        let messages = messages::encode(&call.messages, self.dialect);
        body.insert("messages".to_owned(), messages.into());
        let temperature = settings.temperature.clone();
        let temperature = temperature.map(|number| Value::Number(number.0));
        let thinking = settings.thinking.as_ref().map(ThinkingOptions::to_json);
        let configured = [("temperature", temperature), ("thinking", thinking)];
        let configured = configured.into_iter();
        body.extend(configured.filter_map(|(name, value)| Some((name.to_owned(), value?))));
        // Options that are ours, or another protocol's, are not among these.
        body.extend(call.options.known());
        self.limit(&mut body);
        match call.tools.is_empty() {
            // Both are refused where there are no tools.
            true => {
                body.remove("tool_choice");
                body.remove("parallel_tool_calls");
            }
            false => {
                let tools = call.tools.iter().map(ToolDefinition::to_json).collect();
                body.insert("tools".to_owned(), tools);
            }
        }
        if self.streaming {
            body.insert("stream".to_owned(), true.into());
            body.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
        body
    }

    /// One limit of the answer's length, under the name that the server knows.
    fn limit(&self, body: &mut Map<String, Value>) {
        let newer = body.remove("max_completion_tokens");
        let older = body.remove("max_tokens");
        let is_newer = newer.is_some() || self.dialect.is_original;
        let configured = self.options.max_tokens.map(Value::from);
        if let Some(limit) = newer.or(older).or(configured) {
            let name = match is_newer {
                true => "max_completion_tokens",
                false => "max_tokens",
            };
            body.insert(name.to_owned(), limit);
        }
    }
}
