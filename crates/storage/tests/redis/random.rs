//! Random batches on two stores: both must answer and hold the same.

use crate::Failure;
use crate::draft::{Dice, Draft, Hope, draft};
use crate::view::blur;
use ambit_storage::StoredValue;
use ambit_storage::address::ValueKey;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, Head, WriteOutcome};
use ambit_storage::clock::{Clock, Millis};
use ambit_storage::driver::{Driver, LogRange, ValuePart};
use ambit_storage::operation::{Operation, epoch_of};
use std::sync::Arc;
use std::time::Duration;

/// How far the clock is moved at a time.
pub const STEP: Duration = Duration::from_secs(40 * 60);

/// One store and the numbers it gave.
pub struct Side {
    pub driver: Arc<dyn Driver>,
    /// When the run began, by the clock that is moved.
    pub begun: Millis,
}

impl Side {
    async fn epoch(&self, key: &ValueKey) -> Result<u64, Failure> {
        let entry = self.driver.get(key, ValuePart::Whole).await?;
        Ok(entry
            .and_then(|entry| epoch_of(&StoredValue::from(entry.value)))
            .unwrap_or(1))
    }

    async fn batch(&self, draft: &Draft) -> Result<Batch, Failure> {
        let mut batch = Batch::of(draft.writes.clone());
        for write in &mut batch.writes {
            if let BatchWrite::Apply {
                key,
                op: Operation::Renew { epoch } | Operation::Release { epoch },
                ..
            } = write
            {
                *epoch = self.epoch(key).await?;
            }
        }
        for hope in &draft.checks {
            batch.checks.push(match hope.clone() {
                Hope::Head(log, right) => {
                    let head = self.driver.read(&log, LogRange::head()).await?.head;
                    let wrong = head.map_or(Some(Head::new(3, 3)), |_| None);
                    BatchCheck::head(log, if right { head } else { wrong })
                }
                Hope::Version(key, right) => {
                    let entry = self.driver.get(&key, ValuePart::Nothing).await?;
                    let version = entry.map(|entry| entry.version);
                    let wrong = version.map_or(Some(3), |_| None);
                    BatchCheck::version(key, if right { version } else { wrong })
                }
                Hope::Lease(key, right) => {
                    let epoch = self.epoch(&key).await? + u64::from(!right);
                    BatchCheck::Lease { key, epoch }
                }
            });
        }
        Ok(batch)
    }

    async fn try_commit(&self, draft: &Draft) -> Result<String, Failure> {
        let outcome = self.driver.commit(self.batch(draft).await?).await;
        Ok(blur(&match outcome {
            Ok(outcomes) => outcomes.iter().map(spell).collect::<Vec<_>>().join("; "),
            Err(error) => format!("{error}"),
        }))
    }
}

fn spell(outcome: &WriteOutcome) -> String {
    match outcome {
        WriteOutcome::Applied { output, version } => format!("{output:?} {}", version.is_some()),
        other => format!("{other:?}"),
    }
}

/// Runs as many batches on both sides; the first difference is the failure.
pub async fn compare(
    left: &Side,
    right: &Side,
    clock: &Clock,
    seed: u64,
    count: u64,
) -> Result<(), Failure> {
    let mut dice = Dice(seed);
    for number in 0..count {
        let draft = draft(&mut dice, number);
        let (a, b) = (
            left.try_commit(&draft).await?,
            right.try_commit(&draft).await?,
        );
        if a != b {
            let what = format!("{:?}", draft.writes);
            return Err(format!("seed {seed}, batch {number}: {what}\n  {a}\n  {b}").into());
        }
        if dice.below(12) == 0 {
            clock.advance(STEP);
        }
        if dice.below(40) == 0 {
            let (a, b) = (
                left.driver.sweep(10_000).await?,
                right.driver.sweep(10_000).await?,
            );
            assert_eq!(a, b, "seed {seed}, swept after {number}");
        }
        if dice.below(8) == 0 {
            let (a, b) = (left.view().await?, right.view().await?);
            if let Some((a, b)) = a.iter().zip(&b).find(|(a, b)| a != b) {
                let what = format!("{:?}", draft.writes);
                return Err(format!("seed {seed}, after {number}: {what}\n  {a}\n  {b}").into());
            }
            if a.len() != b.len() {
                return Err(format!("seed {seed}, after {number}: {a:#?}\n{b:#?}").into());
            }
        }
    }
    let findings = right.driver.check().await?;
    if findings.is_empty() {
        Ok(())
    } else {
        Err(findings.join("\n").into())
    }
}
