//! Upkeep in the background, in steps so short that writers hardly wait: a store's expired values are erased, or an
//! installation's sessions are looked after.

use crate::Result;
use crate::driver::Driver;
use crate::index_sweep::{IndexSweep, IndexSweepReport};
use crate::session::Ambit;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How the sweeper works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweeperOptions {
    /// From one round to the next. Expired data is gone within two of these.
    pub interval: Duration,
    /// The most values that one step erases, or rows that it looks at.
    pub step: usize,
}

impl Default for SweeperOptions {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(60),
            step: 100,
        }
    }
}

/// What a sweeper has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweeperReport {
    /// Rounds ended, failed ones included.
    pub rounds: u64,
    /// Rounds that ended with an error.
    pub failures: u64,
    /// Values erased.
    pub values: u64,
    /// Temporary sessions ended.
    pub temporary: u64,
    /// What became of the rows of the index.
    pub index: IndexSweepReport,
}

/// What a sweeper works on.
enum SweeperTarget {
    Values(Arc<dyn Driver>),
    Sessions(Ambit, Box<IndexSweep>),
}

/// Sweeps one store, or looks after one installation's sessions, until it is stopped or dropped.
#[derive(Debug)]
pub struct Sweeper {
    task: JoinHandle<()>,
    stop: watch::Sender<bool>,
    progress: watch::Receiver<SweeperReport>,
}

impl Sweeper {
    /// Erases the expired values of a store. Starts with a round at once.
    pub fn start(driver: Arc<dyn Driver>, options: SweeperOptions) -> Self {
        Self::run(SweeperTarget::Values(driver), options)
    }

    /// Ends temporary sessions of the caller's tenant, removes what was idle for longer than the settings keep it, and
    /// sweeps index rows without data. A round walks over the whole index: ten minutes between two are often enough.
    pub fn of_sessions(ambit: &Ambit, options: SweeperOptions) -> Self {
        Self::run(
            SweeperTarget::Sessions(ambit.clone(), Box::new(ambit.index_sweep())),
            options,
        )
    }

    fn run(on: SweeperTarget, options: SweeperOptions) -> Self {
        let (stop, stopped) = watch::channel(false);
        let (report, progress) = watch::channel(SweeperReport::default());
        let task = tokio::spawn(work(on, options, stopped, report));
        Self {
            task,
            stop,
            progress,
        }
    }

    /// What it has done so far; changes at the end of each round.
    pub fn progress(&self) -> watch::Receiver<SweeperReport> {
        self.progress.clone()
    }

    /// Ends it behind the step it is at; when this returns, it touches the store no more.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        if let Err(error) = (&mut self.task).await {
            tracing::warn!(error.message = %error, "the sweeper had ended before it was stopped");
        }
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn work(
    mut on: SweeperTarget,
    options: SweeperOptions,
    mut stopped: watch::Receiver<bool>,
    report: watch::Sender<SweeperReport>,
) {
    while !*stopped.borrow() {
        let mut done = SweeperReport::default();
        let ended = on.end_temporary(&mut done).await;
        let walked = on.walk(options.step.max(1), &stopped, &mut done).await;
        let outcome = ended.and(walked);
        if let Err(error) = &outcome {
            tracing::warn!(error.message = %error, "a sweep failed; it is tried again next time");
        }
        report.send_modify(|swept| {
            swept.rounds += 1;
            swept.failures += u64::from(outcome.is_err());
            swept.values += done.values;
            swept.temporary += done.temporary;
            swept.index.add(done.index);
        });
        let pause = stopped.wait_for(|is_stopped| *is_stopped);
        if tokio::time::timeout(options.interval, pause).await.is_ok() {
            return;
        }
    }
}

impl SweeperTarget {
    async fn end_temporary(&self, done: &mut SweeperReport) -> Result<()> {
        if let Self::Sessions(ambit, _) = self {
            done.temporary = ambit.sweep_temporary().await?;
        }
        Ok(())
    }

    /// Steps until nothing is left to do in this round. Others get a turn between the steps.
    async fn walk(
        &mut self,
        step: usize,
        stopped: &watch::Receiver<bool>,
        done: &mut SweeperReport,
    ) -> Result<()> {
        while !*stopped.borrow() {
            let is_last = match self {
                Self::Values(driver) => {
                    let erased = driver.sweep(step).await?;
                    done.values += erased;
                    erased < step as u64
                }
                Self::Sessions(_, patrol) => {
                    let walked = patrol.step(step).await?;
                    done.index.add(walked.unwrap_or_default());
                    walked.is_none()
                }
            };
            if is_last {
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}
