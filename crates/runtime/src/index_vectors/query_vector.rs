//! The vectors that a search looks for.

use super::IndexEmbedding;
use crate::search::book_embedding;
use ambit_knowledge::{QueryId, TenantQuery, UnknownVector};
use ambit_search::vectors::{EmbeddingSpace, QueryVector};
use std::collections::HashMap;
use tokio::sync::Mutex;

/// The vectors of one query, one for each space of the indexes that are searched. Each is asked for once, however many indexes
/// there are and however often the search begins again; where there is none, words alone find.
pub struct SearchedVectors<'a> {
    embedding: Option<&'a IndexEmbedding>,
    tenant: &'a str,
    text: &'a str,
    asked: Mutex<HashMap<EmbeddingSpace, Option<QueryVector>>>,
}

impl<'a> SearchedVectors<'a> {
    /// For somebody of a tenant.
    pub fn new(embedding: Option<&'a IndexEmbedding>, tenant: &'a str, text: &'a str) -> Self {
        Self {
            embedding: embedding.filter(|_| !text.trim().is_empty()),
            tenant,
            text,
            asked: Mutex::default(),
        }
    }

    /// The vector for those of an index; `None` where the index has none, or nobody has made it in time.
    pub async fn of(&self, space: Option<&EmbeddingSpace>) -> Option<QueryVector> {
        let (embedding, space) = (self.embedding?, space?);
        // Held over the wait, so that whoever comes meanwhile does not ask too.
        let mut asked = self.asked.lock().await;
        if let Some(known) = asked.get(space) {
            return known.clone();
        }
        let query = TenantQuery {
            tenant: self.tenant.to_owned(),
            id: QueryId {
                space: space.clone(),
                text: self.text.to_owned(),
            },
        };
        let embedder = embedding.embedder.as_ref();
        let found = embedding.queries.vector(embedder, query, None).await;
        if let Some(used) = &found.used {
            book_embedding(&embedding.book, used);
        }
        let vector = found.vector.map_err(|why| warn(&embedding.connector, why));
        let vector = vector.ok();
        asked.insert(space.clone(), vector.clone());
        vector
    }
}

fn warn(connector: &str, why: UnknownVector) {
    let why = match why {
        UnknownVector::Unavailable => "is unavailable",
        UnknownVector::OtherSpace => "answers otherwise than it did for what is stored",
    };
    tracing::warn!(
        connector.id = connector,
        "the embedding connector {why}: words alone find"
    );
}
