//! How often somebody may be refused at the login before they have to wait.

use ambit_runtime::lock::lock;
use ambit_runtime::{Error, ErrorCode, Result};
use serde_json::json;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// So many logins of an address are refused in `WINDOW`; the next ones are not looked at.
const MAX_REFUSED: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// So many networks are remembered. Where they are more, all are forgotten.
const MAX_NETWORKS: usize = 10_000;

/// The refused logins of each network, since the first of them within a minute.
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
        let refused = all.get(&address.map(network));
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
        if all.len() >= MAX_NETWORKS {
            all.clear();
        }
        let since = Instant::now();
        let refused = all
            .entry(address.map(network))
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

/// What an address is counted by: of IPv6 a subscriber has all addresses of a /64. Those of one link, and of IPv4 behind a translator,
/// are many people's.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if address.is_unicast_link_local() || is_translated(address) => {
            address.into()
        }
        IpAddr::V6(address) => {
            let prefix = u128::from(address) >> 64 << 64;
            Ipv6Addr::from(prefix).into()
        }
        v4 => v4,
    }
}

/// Whether it is of NAT64's `64:ff9b::/96`.
fn is_translated(address: Ipv6Addr) -> bool {
    matches!(address.segments(), [0x64, 0xff9b, 0, 0, 0, 0, ..])
}

#[cfg(test)]
mod tests {
    use super::{LoginLimit, MAX_REFUSED};

    #[test]
    fn addresses_of_one_subscriber_are_counted_together() {
        for (refused, other, is_same) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("::ffff:192.0.2.1", "::ffff:192.0.2.2", false),
            ("2001:db8:0:1::1", "2001:db8:0:1:ffff:ffff:ffff:ffff", true),
            ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
            ("fe80::1", "fe80::2", false),
            ("64:ff9b::c000:201", "64:ff9b::c000:202", false),
        ] {
            let limit = LoginLimit::default();
            for _ in 0..MAX_REFUSED {
                limit.count(Some(refused.parse().unwrap()));
            }
            let checked = limit.check(Some(other.parse().unwrap()));
            assert_eq!(checked.is_err(), is_same, "{refused} {other}");
        }
    }
}
