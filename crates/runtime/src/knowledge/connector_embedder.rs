//! Vectors for collections, by the connectors of the app as it is loaded at that moment.

use super::embedding_usage::{self, EmbeddingAccount};
use crate::app::App;
use crate::call_metrics::count_tokens;
use crate::error::Disclosure;
use crate::llm::embedding::{
    EmbeddingAnswer, EmbeddingCall, EmbeddingClient, EmbeddingError, EmbeddingErrorKind,
};
use crate::loaded_app::LoadedApp;
use crate::log_words::EchoFilter;
use crate::runtime_core::RuntimeCore;
use ambit_knowledge::{Embedder, EmbeddingFailure, EmbeddingPayer, EmbeddingRequest, Embeddings};
use futures::future::BoxFuture;
use serde_json::json;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::Instant;

/// How long vectors may take. Whoever waits for that of a query drops the request before.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Asks the app's connectors.
pub struct ConnectorEmbedder {
    core: Weak<RuntimeCore>,
    client: EmbeddingClient,
}

impl ConnectorEmbedder {
    /// For this runtime.
    pub fn of(core: &Arc<RuntimeCore>) -> Self {
        Self {
            core: Arc::downgrade(core),
            client: EmbeddingClient::default(),
        }
    }

    async fn ask(
        &self,
        app: &App,
        request: &EmbeddingRequest,
    ) -> Result<EmbeddingAnswer, EmbeddingError> {
        let connector = app.model(&request.connector);
        let connector = connector.map_err(|error| EmbeddingError {
            kind: EmbeddingErrorKind::Permanent,
            message: error.message,
        })?;
        let call = EmbeddingCall {
            connector: &connector,
            dimensions: request.dimensions,
            texts: &request.texts,
            deadline: Instant::now() + PATIENCE,
        };
        self.client.embed(&call).await
    }
}

impl Embedder for ConnectorEmbedder {
    fn embed<'a>(
        &'a self,
        request: &'a EmbeddingRequest,
    ) -> BoxFuture<'a, Result<Embeddings, EmbeddingFailure>> {
        Box::pin(async move {
            let Some(core) = self.core.upgrade() else {
                let why = "the server is being stopped".to_owned();
                return Err(EmbeddingFailure::Unavailable(why));
            };
            let loaded: Arc<LoadedApp> = core.loaded();
            let answer = self.ask(&loaded.app, request).await;
            let answer =
                answer.map_err(|error| failure(&error, request, core.making.disclosure))?;
            if let Some(mut record) = answer.record(&request.connector)
                && let EmbeddingPayer::Collection(owner) = &request.payer
            {
                count_tokens(core.metrics(), &request.connector, &answer.usage);
                let connector = loaded.app.model(&request.connector).ok();
                record.cost = connector.and_then(|connector| connector.cost(&record));
                let settings = loaded.ambit.settings();
                let account = EmbeddingAccount {
                    agent: "kb",
                    tenant: owner.tenant.as_deref(),
                    user: owner.user.as_deref(),
                };
                let booked = embedding_usage::book(&core.stores, settings, account, record).await;
                if let Err(error) = booked {
                    tracing::warn!(%error, "what the embeddings of a collection have used is not booked");
                }
            }
            Ok(Embeddings {
                vectors: answer.vectors,
                model: answer.model,
                tokens: u64::try_from(answer.usage.total_tokens).unwrap_or(0),
            })
        })
    }
}

/// The failure as it is passed on; what a provider says is for developers and for the log.
fn failure(
    error: &EmbeddingError,
    request: &EmbeddingRequest,
    disclosure: Disclosure,
) -> EmbeddingFailure {
    let message = match disclosure {
        Disclosure::Full => error.message.clone(),
        Disclosure::Withheld => {
            let said = EchoFilter::of(&json!(request.texts));
            tracing::warn!(
                connector.id = request.connector,
                error.kind = ?error.kind,
                error.message = said.apply(&error.message),
                "texts get no vectors"
            );
            "the embedding connector failed; the server's log says why".to_owned()
        }
    };
    match error.kind {
        EmbeddingErrorKind::Refused => EmbeddingFailure::Refused(message),
        EmbeddingErrorKind::Unavailable => EmbeddingFailure::Unavailable(message),
        EmbeddingErrorKind::Permanent => EmbeddingFailure::Permanent(message),
    }
}
