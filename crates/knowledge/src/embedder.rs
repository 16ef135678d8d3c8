//! Who makes vectors of texts.

use crate::sources::CollectionOwner;
use futures::future::BoxFuture;

/// Makes vectors by the connectors of an app.
pub trait Embedder: Send + Sync {
    /// One vector for each text, in their order. A connector that is not there is a permanent failure.
    fn embed<'a>(
        &'a self,
        request: &'a EmbeddingRequest,
    ) -> BoxFuture<'a, Result<Embeddings, EmbeddingFailure>>;
}

/// Texts whose vectors are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingRequest {
    /// The connector's id.
    pub connector: String,
    /// The length of vectors that is asked for.
    pub dimensions: Option<u32>,
    /// The texts, prefixes included.
    pub texts: Vec<String>,
    /// Whose tokens they are.
    pub payer: EmbeddingPayer,
}

/// On whom the tokens of an embedding are booked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmbeddingPayer {
    /// The turn or request that searches.
    Caller,
    /// The owner of a collection, for its jobs.
    Collection(CollectionOwner),
}

/// The vectors of some texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Embeddings {
    /// The model that made them.
    pub model: String,
    /// One for each text.
    pub vectors: Vec<Vec<f32>>,
    /// How many tokens that took.
    pub tokens: u64,
}

/// Why there are no vectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingFailure {
    /// A text was refused: too long, or of a kind that is not accepted. Others may do.
    #[error("{0}")]
    Refused(String),
    /// It may work later.
    #[error("{0}")]
    Unavailable(String),
    /// It does not work until somebody changes the settings.
    #[error("{0}")]
    Permanent(String),
}
