//! A named endpoint of a model, or of a store, and the options of its file.

use super::PROVIDERS;
use super::capabilities::VisionFormat;
use super::scripted::ScriptedOptions;
use crate::config;
use crate::config::{ExactNumber, Setting, ValueKind};
use ambit_storage::ModelPrice;
use ambit_storage::storage::{Cost, UsageRecord};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use url::Url;

/// Types that answer as a model does.
pub const MODELS: &[&str] = &models();

const fn models() -> [&'static str; PROVIDERS.len()] {
    let mut kinds = [""; PROVIDERS.len()];
    let mut at = 0;
    while at < PROVIDERS.len() {
        kinds[at] = PROVIDERS[at].kind;
        at += 1;
    }
    kinds
}

/// Types that keep data.
pub const STORES: &[&str] = &["redis", "sqlite3", "postgres"];

/// Types of Yao's that keep data, and that nothing here can use.
pub const FOREIGN: &[&str] = &["mysql", "mongo"];

/// A named model.
#[derive(Clone, Default)]
pub struct Connector {
    /// Dotted id.
    pub id: String,
    /// Its file, below the app's folder.
    pub file: String,
    /// `openai`, `anthropic`, `gemini`, `ollama`, `scripted` …
    pub kind: String,
    /// What people call it.
    pub label: String,
    /// `options.fallback`: the connectors that are asked when this one fails.
    pub fallback: Vec<String>,
    /// `options`, variables replaced. Holds secrets: never shown or logged.
    pub options: ConnectorOptions,
}

impl Connector {
    /// The model, as its provider calls it.
    pub fn model(&self) -> &str {
        match self.kind.as_str() {
            "scripted" => &self.options.scripted.model,
            _ => &self.options.provider.model,
        }
    }

    /// What a call has cost by the price in its file, which stands over that of the application; nothing where there is none.
    pub fn cost(&self, record: &UsageRecord) -> Option<Cost> {
        let price = self.options.provider.common.price.as_ref()?;
        price.in_micros().cost(record)
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = (&self.id, &self.kind);
        out.debug_tuple("Connector").field(&id).finish()
    }
}

/// The options of a connector, as each kind of connector reads them. Which keys a file may have, its type says.
#[derive(Clone, Default, PartialEq)]
pub struct ConnectorOptions {
    /// For a model of a provider; `common` of it for all models.
    pub provider: ProviderOptions,
    /// For a scripted model.
    pub scripted: ScriptedOptions,
    /// For a store.
    pub store: StoreLocation,
}

impl Setting for ConnectorOptions {
    const KIND: ValueKind = ValueKind::By(
        "type",
        &[
            (&["scripted"], ScriptedOptions::KIND),
            (MODELS, ProviderOptions::KIND),
            (STORES, StoreLocation::KIND),
        ],
    );

    fn read(value: Value) -> Option<Self> {
        Some(Self {
            provider: Setting::read(value.clone())?,
            scripted: Setting::read(value.clone())?,
            store: Setting::read(value)?,
        })
    }
}

config! {
    /// Options of a connector to a model of a provider.
    #[secret]
    pub struct ProviderOptions {
        /// The model, as the provider calls it.
        model: String,
        /// The key of the provider.
        key: String,
        /// The provider's address; a bare origin gets the usual path.
        host: String,
        /// The same as `host`.
        proxy: String,
        /// A proxy for requests to the provider.
        http_proxy: String,
        /// Headers to send.
        headers: BTreeMap<String, String>,
        /// How the model thinks, in Anthropic's words.
        thinking: Option<ThinkingOptions>,
        /// The most tokens of an answer.
        max_tokens: Option<u64>,
        /// How much chance there is in an answer.
        temperature: Option<ExactNumber>,
        /// What is added to each request.
        extra_body: Map<String, Value>,
        /// How long the provider may say nothing.
        timeout: Duration = "120s",
        include { common: CommonModelOptions }
        unused { azure: ": name the deployment's own address in \"host\"", version: " in Ambit" }
    }

    /// Options of all connectors to models.
    pub struct CommonModelOptions {
        /// What the model can do; one that names nothing is taken to have all abilities.
        capabilities: CapabilitySettings,
        /// The connectors that are asked when this one fails, in order.
        fallback: Vec<String>,
        /// What the model costs; it stands over the price that the application has for it.
        price: Option<PriceSettings>,
    }

    /// The price of a million tokens.
    pub struct PriceSettings {
        /// For tokens of requests.
        input: f64,
        /// For tokens of answers.
        output: f64,
        /// The currency's code.
        currency: String = "USD",
    }

    /// How a model thinks.
    pub struct ThinkingOptions {
        /// `enabled`, `adaptive` or `disabled`.
        #[key = "type"]
        kind: String,
        /// The most tokens of thoughts.
        budget_tokens: Option<u64>,
    }

    /// What a model can do.
    pub struct CapabilitySettings {
        /// Pictures: whether, or in whose form.
        vision: Option<VisionFormat>,
        /// Calls of tools.
        tool_calls: Option<bool>,
        /// Sound.
        audio: Option<bool>,
        /// Thinking that can be steered.
        reasoning: Option<bool>,
        /// Answers in pieces.
        streaming: Option<bool>,
        /// Answers in JSON.
        json: Option<bool>,
        /// Pictures and sound.
        multimodal: Option<bool>,
        /// The tokens of a request.
        max_input_tokens: Option<u64>,
        /// The tokens of an answer.
        max_output_tokens: Option<u64>,
    }

    /// Options of a connector to a place that keeps data.
    #[secret]
    pub struct StoreLocation {
        /// The host.
        host: Option<TextOrNumber>,
        /// The port.
        port: Option<TextOrNumber>,
        /// The user.
        user: Option<TextOrNumber>,
        /// The password.
        pass: Option<TextOrNumber>,
        /// The database: its name, or its number in Redis.
        db: Option<TextOrNumber>,
        /// The file, below the app's folder, of the type `sqlite3`.
        file: Option<TextOrNumber>,
        open "Other keys are not looked at."
    }
}

impl ProviderOptions {
    /// Where the provider is: `host`, or `proxy`, which means the same; nothing where neither says it. `Err` is the option that
    /// holds no address.
    pub fn address(&self) -> Result<Option<Url>, &'static str> {
        let given = [("host", &self.host), ("proxy", &self.proxy)];
        let given = given.map(|(option, text)| (option, text.trim()));
        let Some((option, text)) = given.into_iter().find(|(_, text)| !text.is_empty()) else {
            return Ok(None);
        };
        let url = Url::parse(text).ok();
        let url = url.filter(|url| url.has_host() && url.scheme().starts_with("http"));
        url.map(Some).ok_or(option)
    }
}

impl PriceSettings {
    /// In millionths of the currency, as usage is priced.
    fn in_micros(&self) -> ModelPrice {
        let micros = |price: f64| (price * 1e6).round() as i64;
        ModelPrice {
            prompt: micros(self.input),
            completion: micros(self.output),
            currency: self.currency.clone(),
        }
    }
}

impl ThinkingOptions {
    /// As OpenAI's and Anthropic's protocols have it.
    pub fn to_json(&self) -> Value {
        let mut sent = Map::new();
        if !self.kind.is_empty() {
            sent.insert("type".to_owned(), json!(self.kind));
        }
        if let Some(budget) = self.budget_tokens {
            sent.insert("budget_tokens".to_owned(), json!(budget));
        }
        Value::Object(sent)
    }
}

/// A text, or a number as one; what is empty is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextOrNumber(pub String);

impl Setting for TextOrNumber {
    const KIND: ValueKind = ValueKind::Any;

    fn read(value: Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self(text)),
            Value::Number(number) => Some(Self(number.to_string())),
            _ => None,
        }
    }

    fn is_nothing(&self) -> bool {
        self.0.is_empty()
    }
}
