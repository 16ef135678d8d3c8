//! The strategy `summarise`: one summary stands for what is old.

use super::{
    MessageUnit, StandIn, StandInSource, Summariser, SummaryForm, TruncationBudget,
    TruncationStrategy, cut,
};
use async_trait::async_trait;
use std::sync::Arc;

/// Keeps the newest messages; a summary stands for the others and for the summary before.
#[derive(Clone, Debug)]
pub struct SummaryTruncation {
    by: Arc<dyn Summariser>,
}

impl SummaryTruncation {
    /// Summaries by this summariser.
    pub fn new(by: Arc<dyn Summariser>) -> Self {
        Self { by }
    }
}

/// What is left of a room when a quarter is set aside for the stand-in.
pub(super) fn beside_stand_in(room: &TruncationBudget) -> TruncationBudget {
    let tokens = room.tokens - room.tokens / 4;
    TruncationBudget {
        tokens,
        ..room.clone()
    }
}

#[async_trait]
impl TruncationStrategy for SummaryTruncation {
    fn name(&self) -> &str {
        "summarise"
    }

    fn keep_messages(&self) -> usize {
        5
    }

    fn plan(&self, view: &[MessageUnit], room: &TruncationBudget) -> Vec<usize> {
        cut(view, &beside_stand_in(room))
    }

    async fn stand_in(&self, source: &StandInSource) -> Option<StandIn> {
        Some(self.by.summarise(source, SummaryForm::Text).await)
    }
}
