//! The strategy `symbolise`: one line stands for each exchange that is old.

use super::summary::beside_stand_in;
use super::{
    MessageUnit, StandIn, StandInSource, Summariser, SummaryForm, TruncationBudget,
    TruncationStrategy, cut, estimate,
};
use crate::message::Message;
use crate::usage::UsageRecord;
use crate::{Error, Result};
use async_trait::async_trait;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Keeps the newest messages; a line stands for each exchange of the others, behind the lines that were there.
#[derive(Clone, Debug)]
pub struct SymbolTruncation {
    by: Arc<dyn Summariser>,
    batch: NonZeroUsize,
}

const BATCH: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9);

impl SymbolTruncation {
    /// Lines by this summariser, ten exchanges at a time.
    pub fn new(by: Arc<dyn Summariser>) -> Self {
        Self { by, batch: BATCH }
    }

    /// The same with another number of exchanges at a time.
    pub fn in_batches_of(self, batch: NonZeroUsize) -> Self {
        Self { batch, ..self }
    }

    async fn lines(&self, source: &StandInSource, usage: &mut Vec<UsageRecord>) -> Result<String> {
        let mut lines: Vec<String> = Vec::new();
        if let Some(previous) = &source.previous {
            lines.extend(previous.lines().map(str::to_owned));
        }
        for batch in source.exchanges.chunks(self.batch.get()) {
            let part = StandInSource {
                exchanges: batch.to_vec(),
                previous: None,
                tokens: source.tokens,
            };
            let made = self.by.summarise(&part, SummaryForm::Lines).await;
            usage.extend(made.usage);
            let text = made.text?;
            let new = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let new: Vec<String> = new.map(str::to_owned).collect();
            if new.len() != batch.len() {
                let reason = format!(
                    "must be one for each exchange: {} came for {}",
                    new.len(),
                    batch.len()
                );
                return Err(Error::invalid("lines", reason));
            }
            lines.extend(new);
        }
        Ok(newest(&lines, source.tokens))
    }
}

/// As many of the newest lines as there is room for, and at least one.
fn newest(lines: &[String], room: u64) -> String {
    let mut room = room;
    let fits = |line: &&String| {
        let tokens = estimate(&Message::user(line.as_str()));
        let left = room.checked_sub(tokens);
        room = left.unwrap_or_default();
        left.is_some()
    };
    let count = lines.iter().rev().take_while(fits).count().max(1);
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[async_trait]
impl TruncationStrategy for SymbolTruncation {
    fn name(&self) -> &str {
        "symbolise"
    }

    fn keep_messages(&self) -> usize {
        5
    }

    fn plan(&self, view: &[MessageUnit], room: &TruncationBudget) -> Vec<usize> {
        cut(view, &beside_stand_in(room))
    }

    async fn stand_in(&self, source: &StandInSource) -> Option<StandIn> {
        let mut usage = Vec::new();
        let text = self.lines(source, &mut usage).await;
        Some(StandIn { text, usage })
    }
}
