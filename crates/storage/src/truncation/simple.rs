//! The strategy `simple`: what is old goes.

use super::{Room, Source, StandIn, TruncationStrategy, Unit, cut};
use async_trait::async_trait;

/// Keeps the newest messages; nothing stands for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Simple;

#[async_trait]
impl TruncationStrategy for Simple {
    fn name(&self) -> &str {
        "simple"
    }

    fn keep_messages(&self) -> usize {
        10
    }

    fn plan(&self, view: &[Unit], room: &Room) -> Vec<usize> {
        cut(view, room)
    }

    async fn stand_in(&self, _source: &Source) -> Option<StandIn> {
        None
    }
}
