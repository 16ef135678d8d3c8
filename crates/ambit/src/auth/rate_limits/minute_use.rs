//! What was done within the last minute, by the usual estimate of a sliding window: all of the present minute of the clock, and of the
//! one before the share that the last sixty seconds still reach into.

use ambit_storage::clock::{Clock, Millis};

/// Milliseconds of a minute.
const MINUTE: u64 = 60_000;

/// A minute of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClockMinute {
    /// How many there were before it since 1970.
    pub number: i64,
    /// Milliseconds until it ends, which is the share of the minute before that still counts.
    pub left: u64,
}

/// What was done in a minute of the clock, and in the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MinuteUse {
    pub previous: u64,
    pub current: u64,
}

impl ClockMinute {
    /// The present one.
    pub fn now() -> Self {
        Self::at(Clock::default().now())
    }

    fn at(now: Millis) -> Self {
        let length = MINUTE.cast_signed();
        Self {
            number: now.div_euclid(length),
            left: MINUTE - now.rem_euclid(length).cast_unsigned(),
        }
    }
}

impl MinuteUse {
    /// The milliseconds until one more fits into `most` within a minute, if nothing else is done; none where it fits now.
    pub fn wait(self, most: u64, now: ClockMinute) -> Option<u64> {
        let Some(free) = most.checked_sub(self.current.saturating_add(1)) else {
            // What is done in this minute counts in the next one, first whole and then less and less.
            let fits = share(self.current, most.saturating_sub(1));
            return Some(now.left + MINUTE - fits);
        };
        let wait = now.left.saturating_sub(share(self.previous, free));
        (wait > 0).then_some(wait)
    }
}

/// The largest part of a minute, in milliseconds, of which no more than `free` counts where `count` was done in all of it.
fn share(count: u64, free: u64) -> u64 {
    let part = (u128::from(free) * u128::from(MINUTE)).checked_div(u128::from(count));
    let part = part.and_then(|part| u64::try_from(part).ok());
    part.map_or(MINUTE, |part| part.min(MINUTE))
}

#[cfg(test)]
mod tests {
    use super::{ClockMinute, MINUTE, MinuteUse};

    #[test]
    fn a_minute_before_counts_by_the_share_that_is_left_of_it() {
        for (previous, current, left, most, expected) in [
            (0, 0, MINUTE, 4, None),
            (0, 3, MINUTE, 4, None),
            // All were done a moment before the border: a quarter of the minute must pass for the first of the next.
            (4, 0, MINUTE, 4, Some(15_000)),
            (4, 0, 45_000, 4, None),
            (4, 1, 45_000, 4, Some(15_000)),
            (4, 1, 30_000, 4, None),
            (4, 3, 1, 4, Some(1)),
            // All were done in this minute: its end, and then the same.
            (0, 4, 1_000, 4, Some(16_000)),
            (0, 4, MINUTE, 4, Some(75_000)),
            (0, 1, 1, 1, Some(60_001)),
            // More was done than is allowed, as tokens are.
            (0, 400, 1_000, 4, Some(60_550)),
            (u64::MAX, 0, 30_000, 4, Some(30_000)),
            (0, 0, 30_000, 0, Some(30_000)),
        ] {
            let done = MinuteUse { previous, current };
            let now = ClockMinute { number: 7, left };
            assert_eq!(done.wait(most, now), expected, "{done:?} {left} {most}");
        }
    }

    #[test]
    fn a_time_is_in_one_minute() {
        for (now, number, left) in [
            (0, 0, MINUTE),
            (59_999, 0, 1),
            (60_000, 1, MINUTE),
            (-1, -1, 1),
        ] {
            assert_eq!(ClockMinute::at(now), ClockMinute { number, left });
        }
    }
}
