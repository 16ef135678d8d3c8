//! The memory of values that a run hands to its host, counted as long as the host has them: parts that they share in the script are
//! copied once for each place where they stand.

use crate::limits::{RunBudget, bytes};
use std::sync::Arc;

/// The memory of some values. It is free again when this is dropped.
pub struct HandedMemory {
    budget: Arc<RunBudget>,
    size: usize,
}

impl HandedMemory {
    /// Nothing so far.
    pub fn new(budget: &Arc<RunBudget>) -> Self {
        Self {
            budget: Arc::clone(budget),
            size: 0,
        }
    }

    /// Counts more; false if the host would have too much of the run.
    pub fn grow(&mut self, size: usize) -> bool {
        let is_counted = self.budget.hand_over(size);
        if is_counted {
            self.size += size;
        }
        is_counted
    }

    /// What is said where it is too much.
    pub fn refusal(&self) -> String {
        let most = bytes(self.budget.limits.handed);
        format!("the host has more than {most} of values of this run")
    }
}

impl Drop for HandedMemory {
    fn drop(&mut self) {
        self.budget.take_back(self.size);
    }
}
