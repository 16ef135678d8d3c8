//! Texts whose vectors are made together, whoever needs them.

use crate::embedder::{Embedder, EmbeddingFailure, EmbeddingRequest};
use ambit_search::vectors::EmbeddingSpace;

/// A text that is refused is cut in half so often.
const HALVINGS: u32 = 2;

/// So many texts are embedded together.
pub const BATCH_TEXTS: usize = 64;

/// The vectors of a batch, all of one space.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddedBatch {
    /// The model that made them.
    pub model: String,
    /// One for each text, in their order; for one that was refused the reason.
    pub vectors: Vec<Result<Vec<f32>, String>>,
    /// How many tokens that took.
    pub tokens: u64,
}

impl EmbeddedBatch {
    /// Makes vectors of texts. Where one of them is refused each is asked for alone.
    pub async fn of(
        embedder: &dyn Embedder,
        request: &EmbeddingRequest,
    ) -> Result<Self, EmbeddingFailure> {
        match ask(embedder, request).await {
            Err(EmbeddingFailure::Refused(_)) => {}
            answered => return answered,
        }
        let mut batch = Self {
            model: String::new(),
            vectors: Vec::new(),
            tokens: 0,
        };
        for text in request.texts.clone() {
            match embedded_alone(embedder, request, text).await {
                Ok(mut one) => {
                    batch.model = one.model;
                    batch.vectors.append(&mut one.vectors);
                    batch.tokens += one.tokens;
                }
                Err(EmbeddingFailure::Refused(reason)) => batch.vectors.push(Err(reason)),
                Err(error) => return Err(error),
            }
        }
        Ok(batch)
    }

    /// What its vectors are, if it has any; `connector` has made them.
    pub fn space(&self, connector: &str) -> Option<EmbeddingSpace> {
        let first = self
            .vectors
            .iter()
            .find_map(|vector| vector.as_ref().ok())?;
        Some(EmbeddingSpace {
            connector: connector.to_owned(),
            model: self.model.clone(),
            dimension: first.len() as u32,
        })
    }
}

/// The vector of one text, or of its beginning where the whole of it is refused.
async fn embedded_alone(
    embedder: &dyn Embedder,
    request: &EmbeddingRequest,
    mut text: String,
) -> Result<EmbeddedBatch, EmbeddingFailure> {
    let alone = |text: String| EmbeddingRequest {
        texts: vec![text],
        ..request.clone()
    };
    for _ in 0..HALVINGS {
        match ask(embedder, &alone(text.clone())).await {
            Err(EmbeddingFailure::Refused(_)) => {
                text.truncate(text.floor_char_boundary(text.len() / 2));
            }
            answered => return answered,
        }
    }
    ask(embedder, &alone(text)).await
}

async fn ask(
    embedder: &dyn Embedder,
    request: &EmbeddingRequest,
) -> Result<EmbeddedBatch, EmbeddingFailure> {
    let answer = embedder.embed(request).await?;
    let wanted = request.texts.len();
    let nonsense = |what: String| Err(EmbeddingFailure::Unavailable(what));
    if answer.vectors.len() != wanted {
        let count = answer.vectors.len();
        return nonsense(format!("{count} vectors were answered for {wanted} texts"));
    }
    let batch = EmbeddedBatch {
        model: answer.model,
        vectors: answer.vectors.into_iter().map(Ok).collect(),
        tokens: answer.tokens,
    };
    let space = batch.space(&request.connector);
    for vector in batch.vectors.iter().flatten() {
        if let Some(Err(error)) = space.as_ref().map(|space| space.check(vector)) {
            return nonsense(error.to_string());
        }
    }
    Ok(batch)
}
