//! Vectors of texts, by connectors of models: one request for some texts, its answer judged strictly.

mod answer;
mod hashed;

use super::endpoint::{ModelEndpoint, ProxyClients, ServiceDefaults};
use super::retry;
use super::{Connector, ModelFailure, ModelFailureKind, TokenUsage};
use ambit_storage::storage::UsageRecord;
use answer::EmbeddingReply;
use reqwest::Response;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// Bytes of an answer.
const BODY: usize = 32 << 20;

/// The longest vectors that can be asked for.
const LONGEST: u32 = 1 << 16;

/// Types of connectors that make vectors, and where their service is unless the connector says it; nowhere, where the vectors
/// are made here.
const EMBEDDERS: &[(&str, Option<&str>)] = &[
    ("openai", Some("https://api.openai.com")),
    ("ollama", Some("http://127.0.0.1:11434/v1")),
    ("scripted", None),
];

/// Asks connectors for vectors, with the connections of a node.
#[derive(Default)]
pub struct EmbeddingClient {
    clients: ProxyClients,
}

/// Texts whose vectors are wanted.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingCall<'a> {
    /// Who is asked.
    pub connector: &'a Connector,
    /// How long the vectors are to be.
    pub dimensions: Option<u32>,
    /// The texts; at most 64, or 32,000 tokens.
    pub texts: &'a [String],
    /// When nobody waits any more, tries again included.
    pub deadline: Instant,
}

/// The vectors of some texts.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddingAnswer {
    /// The model that made them, as the connector calls it.
    pub model: String,
    /// One for each text, all of one length.
    pub vectors: Vec<Vec<f32>>,
    /// What was used for them.
    pub usage: TokenUsage,
}

/// Why there are no vectors.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct EmbeddingError {
    /// By meaning.
    pub kind: EmbeddingErrorKind,
    /// Who failed and how; without secrets.
    pub message: String,
}

/// By meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingErrorKind {
    /// A text was refused; without it the others may do.
    Refused,
    /// It may work later.
    Unavailable,
    /// It does not work until somebody changes the settings.
    Permanent,
}

impl EmbeddingClient {
    /// One vector for each text, in their order. Dropping the future ends the request.
    pub async fn embed(&self, call: &EmbeddingCall<'_>) -> Result<EmbeddingAnswer, EmbeddingError> {
        let kind = call.connector.kind.as_str();
        let mut embedders = EMBEDDERS.iter();
        let Some((_, host)) = embedders.find(|(known, _)| *known == kind) else {
            return Err(no_embedder(call.connector).into());
        };
        if call
            .dimensions
            .is_some_and(|count| !(1..=LONGEST).contains(&count))
        {
            let message = format!("\"dimensions\" must be 1 to {LONGEST}");
            return Err(ModelFailure::permanent(message)
                .of(&call.connector.id)
                .into());
        }
        if call.texts.is_empty() {
            return Ok(EmbeddingAnswer {
                model: call.model(),
                vectors: Vec::new(),
                usage: TokenUsage::default(),
            });
        }
        let Some(host) = host else {
            return Ok(hashed::answer(call));
        };
        let service = ServiceDefaults {
            host,
            root: "/v1",
            path: "/embeddings",
            key: ("authorization", "Bearer "),
        };
        let endpoint = ModelEndpoint::of(call.connector, &self.clients, &service)?;
        let tries = call.try_until_answered(&endpoint);
        timeout_at(call.deadline, tries).await.unwrap_or_else(|_| {
            let late = ModelFailure::temporary("the embedding took too long");
            Err(endpoint.redacted_failure(late).into())
        })
    }
}

impl EmbeddingCall<'_> {
    /// The model, by its name in the connector's options.
    fn model(&self) -> String {
        self.connector.model().to_owned()
    }

    async fn try_until_answered(
        &self,
        endpoint: &ModelEndpoint,
    ) -> Result<EmbeddingAnswer, EmbeddingError> {
        let body = endpoint.body(self.body());
        let mut attempt = 1;
        loop {
            let (failure, is_refused) = match endpoint.send(body.clone(), None).await {
                Ok(response) if response.status().is_success() => {
                    return self.answer(endpoint, response).await;
                }
                Ok(response) => {
                    let is_refused = matches!(response.status().as_u16(), 400 | 413 | 422);
                    let failure = endpoint.status_failure(response).await;
                    (failure, is_refused)
                }
                Err(failure) => (failure, false),
            };
            let Some(pause) = retry::pause(attempt, &failure, Some(self.deadline)) else {
                let is_refused = is_refused && failure.kind != ModelFailureKind::Unusable;
                let mut error = EmbeddingError::from(failure);
                if is_refused {
                    error.kind = EmbeddingErrorKind::Refused;
                }
                return Err(error);
            };
            sleep(pause).await;
            attempt += 1;
        }
    }

    fn body(&self) -> Map<String, Value> {
        let model = self.model();
        let fields = [
            ("model", (!model.is_empty()).then(|| json!(model))),
            ("input", Some(json!(self.texts))),
            ("encoding_format", Some(json!("float"))),
            ("dimensions", self.dimensions.map(Value::from)),
        ];
        let given = fields.into_iter();
        let given = given.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        given.collect()
    }

    /// The answer, if each of its vectors can be used.
    async fn answer(
        &self,
        endpoint: &ModelEndpoint,
        response: Response,
    ) -> Result<EmbeddingAnswer, EmbeddingError> {
        let read = async {
            let body = whole_body(endpoint, response).await?;
            let reply = EmbeddingReply::read(&body)?;
            reply.answer(self)
        };
        let read: Result<EmbeddingAnswer, ModelFailure> = read.await;
        read.map_err(|failure| endpoint.redacted_failure(failure).into())
    }
}

impl EmbeddingAnswer {
    /// What was used, to be booked; nothing where nothing was.
    pub fn record(&self, connector: &str) -> Option<UsageRecord> {
        let is_used = self.usage != TokenUsage::default();
        is_used.then(|| usage_record(connector, &self.model, &self.usage))
    }
}

/// What a connector has used for vectors, to be booked.
pub fn usage_record(connector: &str, model: &str, usage: &TokenUsage) -> UsageRecord {
    UsageRecord {
        prompt_tokens: usage.prompt_tokens,
        total_tokens: Some(usage.total_tokens),
        model_name: Some(model.to_owned()).filter(|model| !model.is_empty()),
        provider_name: Some(connector.to_owned()),
        purpose: Some("search".to_owned()),
        ..UsageRecord::default()
    }
}

async fn whole_body(
    endpoint: &ModelEndpoint,
    mut response: Response,
) -> Result<Vec<u8>, ModelFailure> {
    let silence = endpoint.silence();
    let mut body = Vec::new();
    loop {
        let chunk = timeout(silence, response.chunk()).await;
        let chunk = chunk.map_err(|_| super::endpoint::silence_failure(silence))?;
        let chunk = chunk.map_err(|error| super::endpoint::connection_failure(&error))?;
        let Some(chunk) = chunk else {
            return Ok(body);
        };
        body.extend_from_slice(&chunk);
        if body.len() > BODY {
            let what = format!("the provider's embeddings have more than {BODY} bytes");
            return Err(ModelFailure::temporary(what));
        }
    }
}

fn no_embedder(connector: &Connector) -> ModelFailure {
    let known: Vec<&str> = EMBEDDERS.iter().map(|(kind, _)| *kind).collect();
    let (kind, known) = (&connector.kind, known.join(", "));
    let message =
        format!("type \"{kind}\" makes no embeddings; connectors of type {known} make them");
    ModelFailure::permanent(message).of(&connector.id)
}

impl From<ModelFailure> for EmbeddingError {
    fn from(failure: ModelFailure) -> Self {
        let kind = match failure.kind {
            ModelFailureKind::Temporary
            | ModelFailureKind::RateLimited
            | ModelFailureKind::Broken => EmbeddingErrorKind::Unavailable,
            ModelFailureKind::ContentFilter | ModelFailureKind::TooLong => {
                EmbeddingErrorKind::Refused
            }
            ModelFailureKind::Unusable | ModelFailureKind::Permanent => {
                EmbeddingErrorKind::Permanent
            }
        };
        Self {
            kind,
            message: failure.message,
        }
    }
}
