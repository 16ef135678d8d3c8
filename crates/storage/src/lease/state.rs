//! What a lease is like now, for those who only look.

use super::tickets;
use crate::Result;
use crate::address::ValueKey;
use crate::clock::Millis;
use crate::driver::{Driver, ValuePart};
use crate::operation::LeaseGrant;

/// A lease as it is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaseState {
    /// The number of the grant; nothing where nobody holds it.
    pub epoch: Option<u64>,
    /// When it ends unless it is renewed.
    pub expires_at: Option<Millis>,
    /// How many wait for it.
    pub waiting: usize,
}

impl LeaseState {
    /// The lease with this key.
    pub async fn of(driver: &dyn Driver, key: &ValueKey) -> Result<Self> {
        let waiting = tickets(driver, &key.space).await?.len();
        let Some(entry) = driver.get(key, ValuePart::Whole).await? else {
            return Ok(Self {
                waiting,
                ..Self::default()
            });
        };
        Ok(Self {
            epoch: Some(entry.value.to::<LeaseGrant>()?.epoch),
            expires_at: entry.expires_at,
            waiting,
        })
    }
}
