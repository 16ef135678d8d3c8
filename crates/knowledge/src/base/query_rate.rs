//! How many queries a tenant asks in a second, on this node.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::Instant;

/// Tenants whose bucket is full are forgotten when there are more than this.
const TENANTS: usize = 10_000;

/// A token bucket for each tenant, of as many tokens as it may ask in a second.
#[derive(Default)]
pub(super) struct QueryRate {
    buckets: Mutex<HashMap<String, QueryBucket>>,
}

struct QueryBucket {
    tokens: f64,
    at: Instant,
}

impl QueryRate {
    /// Whether the tenant may ask once more, which then counts.
    pub fn take(&self, tenant: &str, per_second: u32, now: Instant) -> bool {
        let most = f64::from(per_second);
        let filled = |bucket: &QueryBucket| {
            let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
            (bucket.tokens + passed * most).min(most)
        };
        let mut buckets = self.buckets.lock();
        if buckets.len() > TENANTS {
            buckets.retain(|_, bucket| filled(bucket) < most);
        }
        let full = QueryBucket {
            tokens: most,
            at: now,
        };
        let bucket = buckets.entry(tenant.to_owned()).or_insert(full);
        bucket.tokens = filled(bucket);
        bucket.at = now;
        if bucket.tokens < 1.0 {
            return false;
        }
        bucket.tokens -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::QueryRate;
    use std::time::{Duration, Instant};

    #[test]
    fn a_tenant_asks_so_often_in_a_second_and_others_beside_it() {
        let (rate, now) = (QueryRate::default(), Instant::now());
        let asked = |tenant, at| rate.take(tenant, 2, at);
        assert!(asked("a", now) && asked("a", now) && !asked("a", now));
        assert!(asked("b", now));
        let later = now + Duration::from_millis(500);
        assert!(asked("a", later) && !asked("a", later));
    }
}
