//! How many calls of one caller run at once, on this node.

use super::rpc_error::{RpcError, RpcErrorKind};
use ambit_runtime::Authorized;
use ambit_runtime::lock::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// At most so many.
const MOST: usize = 64;

/// The calls that run, by caller.
#[derive(Clone, Default)]
pub struct CallLimit(Arc<Mutex<HashMap<CallerKey, usize>>>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct CallerKey {
    tenant: String,
    user: Option<String>,
    team: Option<String>,
}

/// One call; it counts until this is dropped. A turn that a call has begun keeps it until its end, whoever still waits for it.
pub struct CallPermit {
    limit: CallLimit,
    caller: CallerKey,
}

impl CallLimit {
    /// Counts one more call, unless the caller has too many.
    pub fn acquire(&self, who: &Authorized) -> Result<CallPermit, RpcError> {
        let caller = CallerKey {
            tenant: who.tenant().to_owned(),
            user: who.user_id.clone(),
            team: who.team_id.clone(),
        };
        let mut running = self.running();
        let count = running.entry(caller.clone()).or_default();
        if *count >= MOST {
            let message = format!("{MOST} calls of this caller run; wait for one of them to end");
            return Err(RpcError::new(RpcErrorKind::TooManyCalls, message));
        }
        *count += 1;
        drop(running);
        Ok(CallPermit {
            limit: self.clone(),
            caller,
        })
    }

    fn running(&self) -> MutexGuard<'_, HashMap<CallerKey, usize>> {
        lock(&self.0)
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        let mut running = self.limit.running();
        if let Some(count) = running.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CallLimit, MOST};
    use ambit_runtime::Authorized;

    #[test]
    fn a_caller_has_so_many_calls_at_once_and_others_have_theirs() {
        let (limit, ann) = (CallLimit::default(), user("ann"));
        let mut running: Vec<_> = (0..MOST).map(|_| limit.acquire(&ann).unwrap()).collect();
        assert!(limit.acquire(&ann).is_err());
        assert!(limit.acquire(&user("bob")).is_ok());
        running.pop();
        assert!(limit.acquire(&ann).is_ok());
        running.clear();
        assert!(limit.running().is_empty());
    }

    fn user(name: &str) -> Authorized {
        Authorized {
            user_id: Some(name.to_owned()),
            ..Authorized::default()
        }
    }
}
