//! Refuses an agent for a while whose hooks were ended for their limits again and again: each of them takes all that it may
//! use from the others.

use crate::error::{Error, ErrorCode};
use crate::lock::lock;
use serde_json::json;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// So many hooks that were ended for their limits are too many.
const MOST: usize = 3;

/// In this time.
const WITHIN: Duration = Duration::from_secs(60);

/// How long the agent is refused then.
const REFUSED: Duration = Duration::from_secs(60);

/// What is known of the hooks of one agent that were ended for their limits.
#[derive(Debug, Default)]
pub struct HookFuse(Mutex<FuseState>);

#[derive(Debug, Default)]
struct FuseState {
    /// When hooks were ended, the oldest first.
    ended: VecDeque<Instant>,
    refused_until: Option<Instant>,
}

impl FuseState {
    fn refused_for(&self, now: Instant) -> Option<Duration> {
        let rest = self.refused_until?.saturating_duration_since(now);
        (!rest.is_zero()).then_some(rest)
    }
}

impl HookFuse {
    /// Whether the agent is refused.
    pub fn is_refused(&self, now: Instant) -> bool {
        lock(&self.0).refused_for(now).is_some()
    }

    /// Fails while the agent is refused.
    pub fn check(&self, agent: &str, now: Instant) -> Result<(), Error> {
        let Some(rest) = lock(&self.0).refused_for(now) else {
            return Ok(());
        };
        let seconds = rest.as_secs() + 1;
        let message = format!(
            "agent {agent} is refused for {seconds} s: {MOST} of its hooks were ended for their limits within a minute"
        );
        Err(Error {
            details: Some(Box::new(json!({"retry_after": seconds}))),
            ..Error::new(ErrorCode::Unavailable, message)
        })
    }

    /// Notes how a hook has failed. True if the agent is refused from now on.
    pub fn note(&self, error: &Error, now: Instant) -> bool {
        let is_of_limit = matches!(
            error.code,
            ErrorCode::ScriptCpuLimit | ErrorCode::ScriptTimeout | ErrorCode::ScriptOutOfMemory
        );
        let mut state = lock(&self.0);
        // Those that had begun before end while the agent is refused.
        if !is_of_limit || state.refused_for(now).is_some() {
            return false;
        }
        let is_old = |ended: &Instant| now.saturating_duration_since(*ended) >= WITHIN;
        while state.ended.front().is_some_and(is_old) {
            state.ended.pop_front();
        }
        state.ended.push_back(now);
        if state.ended.len() < MOST {
            return false;
        }
        state.ended.clear();
        state.refused_until = Some(now + REFUSED);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{HookFuse, MOST, REFUSED, WITHIN};
    use crate::error::{Error, ErrorCode};
    use std::time::{Duration, Instant};

    fn ended() -> Error {
        Error::new(ErrorCode::ScriptCpuLimit, "too long")
    }

    #[test]
    fn three_within_a_minute_refuse_for_a_minute() {
        let (fuse, began) = (HookFuse::default(), Instant::now());
        let second = Duration::from_secs(1);
        let noted = [0, 1, 2].map(|at| fuse.note(&ended(), began + second * at));
        assert_eq!(noted, [false, false, true]);
        let blown = began + second * 2;
        let refused = fuse.check("pet", blown).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unavailable);
        assert_eq!(refused.details.unwrap()["retry_after"], 61);
        assert!(!fuse.note(&ended(), blown + second));
        assert!(fuse.is_refused(blown + REFUSED - second));
        assert!(fuse.check("pet", blown + REFUSED).is_ok());
        // It begins to count anew.
        assert!(!fuse.note(&ended(), blown + REFUSED));
    }

    #[test]
    fn slower_ones_and_other_failures_refuse_nobody() {
        let (fuse, began) = (HookFuse::default(), Instant::now());
        for at in 0..10 {
            let now = began + WITHIN / (u32::try_from(MOST).unwrap() - 1) * at;
            assert!(!fuse.note(&ended(), now), "{at}");
            let own = Error::new(ErrorCode::HookError, "own");
            assert!(!fuse.note(&own, now), "{at}");
        }
    }
}
