//! What all tests here need.

use ambit_runtime::app::Connector;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::config::Setting;
use ambit_runtime::llm::connector::ConnectorOptions;
use ambit_runtime::llm::{
    AnswerPiece, AnswerStream, ModelAnswer, ModelCall, ModelFailure, Provider, ProviderCache,
};
use futures::StreamExt;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

pub const KEY: &str = "sk-canary-1234567890";

/// A connector of this type with these options.
pub fn connector(kind: &str, options: Value) -> Arc<Connector> {
    Arc::new(Connector {
        id: "test.model".to_owned(),
        file: "connectors/test/model.conn.yao".to_owned(),
        kind: kind.to_owned(),
        label: "Test".to_owned(),
        fallback: Vec::new(),
        options: ConnectorOptions::read(options).unwrap(),
    })
}

pub fn open(kind: &str, options: Value) -> Arc<dyn Provider> {
    ProviderCache::new()
        .open(&connector(kind, options))
        .unwrap()
}

/// Why a connector cannot be opened.
pub fn refused(kind: &str, options: Value) -> ModelFailure {
    ProviderCache::new()
        .open(&connector(kind, options))
        .err()
        .expect("a connector that cannot be opened")
}

/// A call with one message of the user.
pub fn asking(text: &str) -> ModelCall {
    ModelCall {
        messages: vec![ChatMessage::user(text)],
        ..ModelCall::default()
    }
}

/// Messages, tools or options of this JSON.
pub fn typed<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).unwrap()
}

/// Encodes a call and sends it.
pub async fn begin(
    provider: &dyn Provider,
    call: &ModelCall,
) -> Result<AnswerStream, ModelFailure> {
    provider.send(&provider.encode(call)?).await
}

/// All pieces of an answer, and how it failed if it did.
pub async fn pieces(
    provider: &dyn Provider,
    call: &ModelCall,
) -> (Vec<AnswerPiece>, Option<ModelFailure>) {
    let mut stream = match begin(provider, call).await {
        Ok(stream) => stream,
        Err(failure) => return (Vec::new(), Some(failure)),
    };
    let mut pieces = Vec::new();
    while let Some(item) = stream.next().await {
        match item {
            Ok(piece) => pieces.push(piece),
            Err(failure) => {
                assert!(stream.next().await.is_none(), "nothing follows a failure");
                return (pieces, Some(failure));
            }
        }
    }
    assert!(
        matches!(pieces.last(), Some(AnswerPiece::End { .. })),
        "{pieces:?}"
    );
    (pieces, None)
}

/// The whole answer.
pub async fn answer(provider: &dyn Provider, call: &ModelCall) -> ModelAnswer {
    let (pieces, failure) = pieces(provider, call).await;
    assert_eq!(failure, None);
    fold(&pieces)
}

pub fn fold(pieces: &[AnswerPiece]) -> ModelAnswer {
    let mut answer = ModelAnswer::default();
    pieces.iter().for_each(|piece| answer.take(piece));
    answer
}

/// How a call fails.
pub async fn failure(provider: &dyn Provider, call: &ModelCall) -> ModelFailure {
    pieces(provider, call).await.1.expect("a failure")
}
