//! When and how a view is made shorter: settings of an agent, a provider and the application, each as far as they go.

use super::TruncationStrategy;
use crate::{Error, Result};
use std::sync::Arc;

/// The part of the threshold that is left free where no setting says so.
pub const DEFAULT_BUFFER: f64 = 0.2;

/// What one level says. What it leaves open, the next level says.
#[derive(Clone, Debug, Default)]
pub struct TruncationSettings {
    /// How; without one on any level nothing is ever cut.
    pub strategy: Option<Arc<dyn TruncationStrategy>>,
    /// From how many tokens on; without one on any level nothing is ever cut.
    pub threshold: Option<u64>,
    /// The part of the threshold that is left free, from 0 to less than 1.
    pub buffer: Option<f64>,
    /// Whether instructions stay; they do where no level says otherwise.
    pub preserve_system: Option<bool>,
    /// How many messages stay at most; the strategy's own number where no level says otherwise.
    pub keep_messages: Option<usize>,
}

/// What all levels say together.
#[derive(Clone, Debug)]
pub struct TruncationRules {
    /// How.
    pub strategy: Arc<dyn TruncationStrategy>,
    /// A request of more tokens than these is cut.
    pub effective: u64,
    /// Whether instructions stay.
    pub preserve_system: bool,
    /// How many messages stay at most.
    pub keep_messages: usize,
}

impl TruncationSettings {
    /// The settings in force, the first level being the strongest: agent, provider, application. `None` where no level
    /// has a strategy, or none has a threshold. A value that breaks a rule is refused on every level.
    pub fn resolve(levels: &[&Self]) -> Result<Option<TruncationRules>> {
        levels.iter().try_for_each(|level| level.check())?;
        let strategy = levels.iter().find_map(|level| level.strategy.clone());
        let threshold = levels.iter().find_map(|level| level.threshold);
        let (Some(strategy), Some(threshold)) = (strategy, threshold) else {
            return Ok(None);
        };
        let buffer = levels.iter().find_map(|level| level.buffer);
        let preserve_system = levels.iter().find_map(|level| level.preserve_system);
        let keep = levels.iter().find_map(|level| level.keep_messages);
        Ok(Some(TruncationRules {
            effective: effective(threshold, buffer.unwrap_or(DEFAULT_BUFFER)),
            preserve_system: preserve_system.unwrap_or(true),
            keep_messages: keep.unwrap_or_else(|| strategy.keep_messages()),
            strategy,
        }))
    }

    fn check(&self) -> Result<()> {
        if self.threshold == Some(0) {
            let reason = "must be at least 1 token; leave it out to switch truncation off";
            return Err(Error::invalid("truncation.threshold", reason));
        }
        match self.buffer {
            Some(buffer) if !(0.0..1.0).contains(&buffer) => {
                let reason = format!("must be at least 0 and less than 1, not {buffer}");
                Err(Error::invalid("truncation.buffer", reason))
            }
            _ => Ok(()),
        }
    }
}

/// ⌊threshold × (1 − buffer)⌋, the buffer taken as the decimal number that was written: 10 × (1 − 0.9) is 1.
fn effective(threshold: u64, buffer: f64) -> u64 {
    const WHOLE: u64 = 1_000_000_000;
    // Between 0 and 10⁹ after the check: the cast is exact.
    let kept = WHOLE - (buffer * WHOLE as f64).round() as u64;
    let effective = u128::from(threshold) * u128::from(kept) / u128::from(WHOLE);
    u64::try_from(effective).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::effective;

    #[test]
    fn effective_is_exact_for_written_decimals() {
        let cases = [
            (1_000, 0.2, 800),
            (10, 0.9, 1),
            (999, 0.1, 899),
            (7, 0.0, 7),
        ];
        for (threshold, buffer, expected) in cases {
            assert_eq!(
                effective(threshold, buffer),
                expected,
                "{threshold} {buffer}"
            );
        }
        assert_eq!(effective(u64::MAX, 0.0), u64::MAX);
    }
}
