//! Refuses an agent for a while to a caller whose hooks were ended for their limits again and again: each of them takes all that
//! it may use from the others.

use crate::access::Authorized;
use crate::error::{Error, ErrorCode};
use crate::lock::lock;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// So many hooks that were ended for their limits are too many.
const MOST: usize = 3;

/// In this time.
const WITHIN: Duration = Duration::from_secs(60);

/// How long the agent is refused to the caller then.
const REFUSED: Duration = Duration::from_secs(60);

/// What is known of the hooks of one agent that were ended for their limits, by who had called it. Who has not done so for long
/// is forgotten, so that there are no more callers than hooks that were ended within the time.
#[derive(Debug, Default)]
pub struct HookFuse(Mutex<HashMap<FuseCaller, FuseState>>);

/// Whose hooks they were: of somebody who acts as another their own. A user is one with all of their keys; without a user the
/// key or program tells callers apart.
#[derive(Debug, PartialEq, Eq, Hash)]
struct FuseCaller {
    tenant: String,
    user: Option<String>,
    client: Option<String>,
}

impl FuseCaller {
    fn of(who: &Authorized) -> Self {
        let client = who.claims.get("client_id").and_then(Value::as_str);
        let (user, client) = match who.acted_by() {
            Some(actor) => (actor.user_id, actor.client_id),
            None => (who.user_id.clone(), client.map(str::to_owned)),
        };
        Self {
            tenant: who.tenant().to_owned(),
            client: client.filter(|_| user.is_none()),
            user,
        }
    }
}

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

    /// Forgets what no longer counts; false if nothing is left.
    fn keep_recent(&mut self, now: Instant) -> bool {
        self.ended
            .retain(|ended| now.saturating_duration_since(*ended) < WITHIN);
        !self.ended.is_empty() || self.refused_for(now).is_some()
    }
}

impl HookFuse {
    /// Whether the agent is refused to somebody.
    pub fn is_refused(&self, now: Instant) -> bool {
        let callers = lock(&self.0);
        callers
            .values()
            .any(|state| state.refused_for(now).is_some())
    }

    /// Fails while the agent is refused to this caller.
    pub fn check(&self, who: &Authorized, agent: &str, now: Instant) -> Result<(), Error> {
        let callers = lock(&self.0);
        // Hardly ever there is one, and this is asked before each hook.
        if callers.is_empty() {
            return Ok(());
        }
        let state = callers.get(&FuseCaller::of(who));
        let Some(rest) = state.and_then(|state| state.refused_for(now)) else {
            return Ok(());
        };
        let seconds = rest.as_secs() + 1;
        let message = format!(
            "agent {agent} is refused to the caller for {seconds} s: {MOST} of its hooks were ended for their limits within a minute"
        );
        Err(Error {
            details: Some(Box::new(json!({"retry_after": seconds}))),
            ..Error::new(ErrorCode::Unavailable, message)
        })
    }

    /// Notes how a hook has failed. True if the agent is refused to the caller from now on.
    pub fn note(&self, who: &Authorized, error: &Error, now: Instant) -> bool {
        let is_of_limit = matches!(
            error.code,
            ErrorCode::ScriptCpuLimit | ErrorCode::ScriptTimeout | ErrorCode::ScriptOutOfMemory
        );
        if !is_of_limit {
            return false;
        }
        let mut callers = lock(&self.0);
        callers.retain(|_, state| state.keep_recent(now));
        let state = callers.entry(FuseCaller::of(who)).or_default();
        // Those that had begun before end while the agent is refused.
        if state.refused_for(now).is_some() {
            return false;
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
    use crate::access::Authorized;
    use crate::error::{Error, ErrorCode};
    use serde_json::{Value, json};
    use std::time::{Duration, Instant};

    fn ended() -> Error {
        Error::new(ErrorCode::ScriptCpuLimit, "too long")
    }

    fn caller(fields: Value) -> Authorized {
        serde_json::from_value(fields).unwrap()
    }

    fn ann() -> Authorized {
        caller(json!({"user_id": "ann", "tenant_id": "t1"}))
    }

    #[test]
    fn three_within_a_minute_refuse_for_a_minute() {
        let (fuse, ann, began) = (HookFuse::default(), ann(), Instant::now());
        let second = Duration::from_secs(1);
        let noted = [0, 1, 2].map(|at| fuse.note(&ann, &ended(), began + second * at));
        assert_eq!(noted, [false, false, true]);
        let blown = began + second * 2;
        let refused = fuse.check(&ann, "pet", blown).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unavailable);
        assert_eq!(refused.details.unwrap()["retry_after"], 61);
        assert!(!fuse.note(&ann, &ended(), blown + second));
        assert!(fuse.is_refused(blown + REFUSED - second));
        assert!(fuse.check(&ann, "pet", blown + REFUSED).is_ok());
        // It begins to count anew.
        assert!(!fuse.note(&ann, &ended(), blown + REFUSED));
    }

    #[test]
    fn slower_ones_and_other_failures_refuse_nobody() {
        let (fuse, ann, began) = (HookFuse::default(), ann(), Instant::now());
        for at in 0..10 {
            let now = began + WITHIN / (u32::try_from(MOST).unwrap() - 1) * at;
            assert!(!fuse.note(&ann, &ended(), now), "{at}");
            let own = Error::new(ErrorCode::HookError, "own");
            assert!(!fuse.note(&ann, &own, now), "{at}");
        }
    }

    #[test]
    fn only_who_has_called_the_agent_is_refused_and_is_forgotten_afterwards() {
        let (fuse, now) = (HookFuse::default(), Instant::now());
        let acting = json!({"user_id": "bob", "tenant_id": "t1", "acted_by": {"user_id": "ann", "client_id": null}});
        let key = json!({"user_id": "ann", "tenant_id": "t1", "client_id": "k1"});
        for who in [ann(), caller(key), caller(acting.clone())] {
            fuse.note(&who, &ended(), now);
        }
        for (who, is_refused) in [
            (json!({"user_id": "ann", "tenant_id": "t1"}), true),
            (acting, true),
            (json!({"user_id": "ann", "tenant_id": "t2"}), false),
            (json!({"user_id": "bob", "tenant_id": "t1"}), false),
            (json!({"client_id": "k1", "tenant_id": "t1"}), false),
            (json!({}), false),
        ] {
            let checked = fuse.check(&caller(who.clone()), "pet", now);
            assert_eq!(checked.is_err(), is_refused, "{who}");
        }
        fuse.note(&caller(json!({})), &ended(), now + REFUSED);
        assert_eq!(fuse.0.lock().unwrap().len(), 1);
    }
}
