//! How many calls of one caller run at once, on this node.

use super::rpc_error::{RpcError, RpcErrorKind};
use crate::open_counts::{OpenCount, OpenCounts};
use ambit_runtime::Authorized;
use serde_json::json;

/// At most so many.
const MOST: u64 = 64;

/// The calls that run, by caller.
#[derive(Clone, Default)]
pub struct CallLimit(OpenCounts);

/// One call; it counts until this is dropped. A turn that a call has begun keeps it until its end, whoever still waits for it.
pub struct CallPermit {
    _running: OpenCount,
}

impl CallLimit {
    /// Counts one more call, unless the caller has too many.
    pub fn acquire(&self, who: &Authorized) -> Result<CallPermit, RpcError> {
        let caller = json!([who.tenant(), who.user_id, who.team_id]).to_string();
        let Some(running) = self.0.add(caller, 1, MOST) else {
            let message = format!("{MOST} calls of this caller run; wait for one of them to end");
            return Err(RpcError::new(RpcErrorKind::TooManyCalls, message));
        };
        Ok(CallPermit { _running: running })
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
    }

    fn user(name: &str) -> Authorized {
        Authorized {
            user_id: Some(name.to_owned()),
            ..Authorized::default()
        }
    }
}
