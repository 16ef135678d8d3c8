//! Upkeep: expired values are erased in the background, in steps so short that writers hardly wait.

use crate::Result;
use crate::driver::Driver;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How the sweeper works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweeperOptions {
    /// From one round to the next. Expired data is gone within two of these.
    pub interval: Duration,
    /// The most values that one step erases.
    pub step: usize,
}

impl Default for SweeperOptions {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(60),
            step: 500,
        }
    }
}

/// What a sweeper has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Rounds ended, failed ones included.
    pub rounds: u64,
    /// Rounds that ended with an error.
    pub failures: u64,
    /// Values erased.
    pub values: u64,
}

/// Sweeps one store until it is stopped or dropped.
#[derive(Debug)]
pub struct Sweeper {
    task: JoinHandle<()>,
    stop: watch::Sender<bool>,
    progress: watch::Receiver<Swept>,
}

impl Sweeper {
    /// Starts with a round at once.
    pub fn start(driver: Arc<dyn Driver>, options: SweeperOptions) -> Self {
        let (stop, stopped) = watch::channel(false);
        let (report, progress) = watch::channel(Swept::default());
        let task = tokio::spawn(work(driver, options, stopped, report));
        Self {
            task,
            stop,
            progress,
        }
    }

    /// What it has done so far; changes at the end of each round.
    pub fn progress(&self) -> watch::Receiver<Swept> {
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
    driver: Arc<dyn Driver>,
    options: SweeperOptions,
    mut stopped: watch::Receiver<bool>,
    report: watch::Sender<Swept>,
) {
    while !*stopped.borrow() {
        let mut values = 0;
        let outcome = round(&*driver, options.step, &stopped, &mut values).await;
        if let Err(error) = &outcome {
            tracing::warn!(error.message = %error, "a sweep failed; it is tried again next time");
        }
        report.send_modify(|swept| {
            swept.rounds += 1;
            swept.failures += u64::from(outcome.is_err());
            swept.values += values;
        });
        let pause = stopped.wait_for(|is_stopped| *is_stopped);
        if tokio::time::timeout(options.interval, pause).await.is_ok() {
            return;
        }
    }
}

/// Steps until one finds less than it may erase. Others get a turn between the steps.
async fn round(
    driver: &dyn Driver,
    step: usize,
    stopped: &watch::Receiver<bool>,
    values: &mut u64,
) -> Result<()> {
    let step = step.max(1);
    while !*stopped.borrow() {
        let erased = driver.sweep(step).await?;
        *values += erased;
        if erased < step as u64 {
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}
