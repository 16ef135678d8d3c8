//! How soon a log stores its next step: at once behind a quiet time, and never so often that one log keeps the store busy.

use super::StreamOptions;
use std::time::Duration;
use tokio::time::Instant;

/// The least time between the beginnings of two steps. Text that grows more often than a screen is drawn is not read sooner,
/// and at 0.2 ms a commit this is 2.5 % of a core for a source without pauses.
const LEAST: Duration = Duration::from_millis(8);
/// The same behind a batch that the turn itself has stored: what a quick turn says then goes along with its next batch.
const LEAST_BEHIND_BATCH: Duration = Duration::from_millis(25);
/// A step is begun when so many times its duration have passed: a log uses the store at most one part in so many of the time.
const SHARE: u32 = 3;

/// When the last steps were stored, and how long that took.
#[derive(Clone, Copy, Debug)]
pub(super) struct StorePace {
    /// When the last step was begun.
    begun: Instant,
    /// When the last step with rows was begun.
    row_begun: Option<Instant>,
    /// How long a step takes now.
    duration: Duration,
    least: Duration,
}

/// What a step stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    /// Everything, on purpose.
    All,
    /// All that is in no row yet, unless the last entry is among it.
    Row,
    /// What readers have not seen yet, beside the rows.
    Tail,
}

/// How soon the waiting entries must be stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StoreDeadline {
    Never,
    /// Not before this time.
    At(Instant),
    Now,
    /// The log takes no more.
    Over,
}

impl StoreDeadline {
    /// What comes first, for a log that stores another one's steps too. What is over here is not stored from here.
    pub fn sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::Over, _) => Self::Over,
            (Self::Now, _) | (_, Self::Now) => Self::Now,
            (Self::At(own), Self::At(other)) => Self::At(own.min(other)),
            (Self::Never, Self::At(time)) | (Self::At(time), _) => Self::At(time),
            (Self::Never, _) => Self::Never,
        }
    }
}

impl StorePace {
    pub fn new() -> Self {
        Self {
            begun: Instant::now(),
            row_begun: None,
            duration: Duration::ZERO,
            least: LEAST,
        }
    }

    /// A step begins.
    pub fn begin(&mut self, kind: StepKind) {
        self.begun = Instant::now();
        self.least = match kind {
            StepKind::All => LEAST_BEHIND_BATCH,
            StepKind::Row | StepKind::Tail => LEAST,
        };
        if kind != StepKind::Tail {
            self.row_begun = Some(self.begun);
        }
    }

    /// The step is stored. One that took long may be a chance of the disk, one that was quick shows what the store can do.
    pub fn end(&mut self) {
        let took = self.begun.elapsed();
        self.duration = took.min((self.duration + took) / 2);
    }

    /// When the next row may be stored.
    pub fn next_row(&self, options: &StreamOptions) -> Instant {
        self.row_begun.unwrap_or(self.begun) + options.step
    }

    /// When what readers wait for may be stored.
    pub fn next_step(&self, options: &StreamOptions) -> Instant {
        if self.row_begun.is_none() || !options.is_live {
            return self.next_row(options);
        }
        let pause = (self.duration * SHARE).max(self.least);
        self.begun + pause.min(options.step)
    }

    /// When entries that only the tail has become a row, if no others come: the next one would have taken them along.
    pub fn next_row_of_tail(&self, options: &StreamOptions) -> Instant {
        self.next_row(options).max(self.begun + options.step / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::{LEAST, LEAST_BEHIND_BATCH, SHARE, StepKind, StorePace};
    use crate::stream::StreamOptions;
    use std::time::Duration;
    use tokio::time::advance;

    /// How long behind its beginning a step is followed by the next one, after steps that took so long.
    async fn pause(kind: StepKind, durations: &[Duration]) -> Duration {
        let mut pace = StorePace::new();
        pace.begin(StepKind::Row);
        for duration in durations {
            pace.begin(kind);
            advance(*duration).await;
            pace.end();
        }
        pace.next_step(&StreamOptions::default()) - pace.begun
    }

    #[tokio::test(start_paused = true)]
    async fn a_quick_store_is_given_short_steps() {
        let quick = Duration::from_micros(300);
        assert_eq!(pause(StepKind::Tail, &[quick; 5]).await, LEAST);
        assert_eq!(pause(StepKind::Row, &[quick; 5]).await, LEAST);
        assert_eq!(pause(StepKind::All, &[quick]).await, LEAST_BEHIND_BATCH);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_store_is_given_longer_steps_and_never_longer_than_the_longest() {
        let slow = Duration::from_millis(10);
        let paused = pause(StepKind::Tail, &[slow; 20]).await;
        assert!(paused > slow * (SHARE - 1) && paused <= slow * SHARE);
        let away = Duration::from_secs(3);
        let longest = StreamOptions::default().step;
        assert_eq!(pause(StepKind::Tail, &[away; 3]).await, longest);
    }

    #[tokio::test(start_paused = true)]
    async fn one_quick_step_ends_the_long_pauses() {
        let (slow, quick) = (Duration::from_millis(20), Duration::from_millis(1));
        assert_eq!(pause(StepKind::Tail, &[slow, slow, quick]).await, LEAST);
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_step_waits_for_the_first_batch_of_the_turn() {
        let (pace, options) = (StorePace::new(), StreamOptions::default());
        assert_eq!(pace.next_step(&options) - pace.begun, options.step);
    }

    #[tokio::test(start_paused = true)]
    async fn a_log_that_nobody_waits_for_keeps_the_pace_of_rows() {
        let mut pace = StorePace::new();
        pace.begin(StepKind::Row);
        pace.end();
        let options = StreamOptions::companion();
        assert_eq!(pace.next_step(&options) - pace.begun, options.step);
    }
}
