//! How often somebody may be refused at the login before they have to wait.

use ambit_runtime::lock::lock;
use ambit_runtime::{Error, ErrorCode, Result};
use serde_json::json;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// So many logins of an address are refused in `WINDOW`; the next ones are not looked at.
const MAX_REFUSED: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// So many addresses are remembered. Where they are more, all are forgotten.
const MAX_ADDRESSES: usize = 10_000;

/// The refused logins of each address, since the first of them within a minute.
#[derive(Default)]
pub struct LoginLimit(Mutex<HashMap<Option<IpAddr>, RefusedLogins>>);

struct RefusedLogins {
    since: Instant,
    count: u32,
}

impl LoginLimit {
    /// Refuses an address that has been refused too often.
    pub fn check(&self, address: Option<IpAddr>) -> Result<()> {
        let all = self.all();
        let refused = all.get(&address);
        let Some(refused) = refused.filter(|refused| refused.count >= MAX_REFUSED) else {
            return Ok(());
        };
        let Some(left) = WINDOW.checked_sub(refused.since.elapsed()) else {
            return Ok(());
        };
        let message = "too many logins from this address were refused; wait a minute and try again";
        let mut error = Error::new(ErrorCode::LimitExceeded, message);
        error.status = Some(429);
        error.details = Some(Box::new(json!({ "retry_after": left.as_secs().max(1) })));
        Err(error)
    }

    /// Counts a login that was refused.
    pub fn count(&self, address: Option<IpAddr>) {
        let mut all = self.all();
        if all.len() >= MAX_ADDRESSES {
            all.clear();
        }
        let since = Instant::now();
        let refused = all
            .entry(address)
            .or_insert(RefusedLogins { since, count: 0 });
        if refused.since.elapsed() >= WINDOW {
            *refused = RefusedLogins { since, count: 0 };
        }
        refused.count += 1;
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Option<IpAddr>, RefusedLogins>> {
        lock(&self.0)
    }
}
