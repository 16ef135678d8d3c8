//! What makes the vectors of indexes in a store, and who pays for them.

use super::{AddedVectors, DueTexts, IndexEmbedding, IndexVectors, VectorOutcome};
use crate::error::Result;
use ambit_knowledge::EmbeddingTokens;
use ambit_storage::lease::Lease;
use futures::future::BoxFuture;
use std::sync::Arc;

/// Whose conversations or memory get vectors: they pay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorPayer {
    /// The tenant.
    pub tenant: String,
    /// The person; none where the index is no single person's, or is gone and they may be too.
    pub user: Option<String>,
}

/// Counts what vectors have used to whoever pays.
pub type VectorBooking =
    Arc<dyn Fn(VectorPayer, EmbeddingTokens) -> BoxFuture<'static, ()> + Send + Sync>;

/// The work of the one node that makes the vectors of a store's indexes.
pub struct IndexJob<'a> {
    /// Who makes them.
    pub embedding: &'a IndexEmbedding,
    /// Who pays.
    pub book: &'a VectorBooking,
    /// Under which it is done.
    pub lease: &'a Lease,
}

impl IndexJob<'_> {
    /// Makes the vectors of texts and adds them. False where they do not fit those that are there, so that the index has to be made
    /// anew.
    pub async fn add(
        &self,
        vectors: &mut IndexVectors,
        incarnation: u64,
        due: DueTexts,
        payer: &VectorPayer,
    ) -> Result<bool> {
        let check = self.lease.check();
        let added = vectors.add(self.embedding, incarnation, due, check).await?;
        let AddedVectors { used, outcome } = added;
        if let Some(used) = used {
            let mut payer = payer.clone();
            if matches!(outcome, VectorOutcome::Lost(_)) {
                // Nothing is written about somebody who may just have been erased.
                payer.user = None;
            }
            (self.book)(payer, used).await;
        }
        match outcome {
            VectorOutcome::Stored => Ok(true),
            VectorOutcome::OtherSpace => Ok(false),
            VectorOutcome::Lost(error) => Err(error),
        }
    }
}
