//! The strategy `simple`: what is old goes.

use super::{MessageUnit, StandIn, StandInSource, TruncationBudget, TruncationStrategy, cut};
use async_trait::async_trait;

/// Keeps the newest messages; nothing stands for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimpleTruncation;

#[async_trait]
impl TruncationStrategy for SimpleTruncation {
    fn name(&self) -> &str {
        "simple"
    }

    fn keep_messages(&self) -> usize {
        10
    }

    fn plan(&self, view: &[MessageUnit], room: &TruncationBudget) -> Vec<usize> {
        cut(view, room)
    }

    async fn stand_in(&self, _source: &StandInSource) -> Option<StandIn> {
        None
    }
}
