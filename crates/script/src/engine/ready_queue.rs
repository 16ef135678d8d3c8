//! What waits for a thread: runs that were waiting for something go on before others begin.
//!
//! A run that has begun holds a runtime and a stack. Where many begin at once and wait soon, first come first served would begin
//! all of them before the first one ends, each with a runtime of its own.

use std::collections::VecDeque;

/// How many woken runs in a row may pass those that wait longer.
const PASSING: usize = 8;

/// The runs that wait for a thread.
pub struct ReadyQueue<T> {
    woken: VecDeque<T>,
    others: VecDeque<T>,
    /// How many woken ones have passed the first of the others.
    passed: usize,
}

impl<T> Default for ReadyQueue<T> {
    fn default() -> Self {
        Self {
            woken: VecDeque::new(),
            others: VecDeque::new(),
            passed: 0,
        }
    }
}

impl<T> ReadyQueue<T> {
    pub fn len(&self) -> usize {
        self.woken.len() + self.others.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds one that has what it waited for.
    pub fn push_woken(&mut self, run: T) {
        self.woken.push_back(run);
    }

    /// Adds one that begins, or that gave its thread to others.
    pub fn push(&mut self, run: T) {
        self.others.push_back(run);
    }

    /// Takes the next one.
    pub fn pop(&mut self) -> Option<T> {
        if self.passed < PASSING
            && let Some(run) = self.woken.pop_front()
        {
            self.passed += usize::from(!self.others.is_empty());
            return Some(run);
        }
        self.passed = 0;
        self.others.pop_front().or_else(|| self.woken.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::{PASSING, ReadyQueue};

    #[test]
    fn woken_runs_go_on_before_others_begin() {
        let mut queue = ReadyQueue::default();
        queue.push("first");
        queue.push("second");
        queue.push_woken("woken");
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, ["woken", "first", "second"]);
    }

    #[test]
    fn those_that_begin_are_not_passed_for_ever() {
        let mut queue = ReadyQueue::default();
        queue.push("new");
        for _ in 0..2 * PASSING {
            queue.push_woken("woken");
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order.len(), 2 * PASSING + 1);
        assert_eq!(order.iter().position(|run| *run == "new"), Some(PASSING));
    }
}
