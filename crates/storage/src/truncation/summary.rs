//! The strategy `summarise`: one summary stands for what is old.

use super::{Form, Room, Source, StandIn, Summarise, TruncationStrategy, Unit, cut};
use async_trait::async_trait;
use std::sync::Arc;

/// Keeps the newest messages; a summary stands for the others and for the summary before.
#[derive(Clone, Debug)]
pub struct Summary {
    by: Arc<dyn Summarise>,
}

impl Summary {
    /// Summaries by this summariser.
    pub fn new(by: Arc<dyn Summarise>) -> Self {
        Self { by }
    }
}

/// What is left of a room when a quarter is set aside for the stand-in.
pub(super) fn beside_stand_in(room: &Room) -> Room {
    let tokens = room.tokens - room.tokens / 4;
    Room {
        tokens,
        ..room.clone()
    }
}

#[async_trait]
impl TruncationStrategy for Summary {
    fn name(&self) -> &str {
        "summarise"
    }

    fn keep_messages(&self) -> usize {
        5
    }

    fn plan(&self, view: &[Unit], room: &Room) -> Vec<usize> {
        cut(view, &beside_stand_in(room))
    }

    async fn stand_in(&self, source: &Source) -> Option<StandIn> {
        Some(self.by.summarise(source, Form::Text).await)
    }
}
