//! The turns of one conversation, the newest first.

use crate::error::Result;
use crate::journal::TurnKeys;
use crate::turn_info::TurnInfo;
use ambit_storage::Ambit;
use ambit_storage::address::Space;
use ambit_storage::directory::IndexRow;
use ambit_storage::driver::{Direction, Driver, ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use std::collections::VecDeque;
use std::sync::Arc;

/// Values read in one go: what is known of a turn has others beside it.
const BATCH: usize = 16;

/// The turns that are known of a conversation.
pub(super) struct ConversationTurns {
    pub row: IndexRow,
    driver: Arc<dyn Driver>,
    space: Space,
    /// The next ones.
    read: VecDeque<TurnInfo>,
    /// The name behind which the scan goes on.
    after: Option<String>,
    is_over: bool,
}

impl ConversationTurns {
    /// Those whose ids come before this one, if it is given. The first of them is read.
    pub async fn open(ambit: &Ambit, row: IndexRow, before: Option<&str>) -> Result<Self> {
        let driver = ambit.stores().chain(&row.placement)?.driver().clone();
        let space = Space::of(&row.tenant, &row.identity);
        let after = before.map(|id| TurnKeys::new(space.clone(), id).info().name);
        let mut turns = Self {
            row,
            driver,
            space,
            read: VecDeque::new(),
            after,
            is_over: false,
        };
        turns.fill().await?;
        Ok(turns)
    }

    /// The next turn, if there is one.
    pub fn first(&self) -> Option<&TurnInfo> {
        self.read.front()
    }

    /// Takes the next turn.
    pub async fn next(&mut self) -> Result<Option<TurnInfo>> {
        let next = self.read.pop_front();
        self.fill().await?;
        Ok(next)
    }

    async fn fill(&mut self) -> Result<()> {
        while self.read.is_empty() && !self.is_over {
            let pattern = TurnKeys::new(self.space.clone(), "*").info().name;
            let scan = ValueScan {
                after: self.after.take(),
                direction: Direction::Backward,
                ..ValueScan::first(Pattern::parse(&pattern), BATCH, ValuePart::Whole)
            };
            let found = self.driver.scan(&self.space, &scan).await?;
            self.is_over = found.len() < BATCH;
            self.after = found.last().map(|(name, _)| name.clone());
            for (name, entry) in found {
                // Deeper names are what the turn itself keeps.
                if name.matches('/').count() == 1 {
                    self.read.push_back(entry.value.to()?);
                }
            }
        }
        Ok(())
    }
}
