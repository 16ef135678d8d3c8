//! Which memory an index is of, for those who look after it.

use crate::error::Result;
use ambit_storage::Stores;
use ambit_storage::address::Space;
use ambit_storage::memory::{MemoryLocation, SCOPE};
use serde::{Deserialize, Serialize};

/// Says where upkeep finds a memory that has an index. It goes with the index.
#[derive(Serialize, Deserialize)]
pub(super) struct MemoryIndexNote {
    tenant: String,
    path: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    drivers: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
}

impl MemoryIndexNote {
    pub fn of(location: &MemoryLocation) -> Self {
        Self {
            tenant: location.space.tenant.clone(),
            path: location.space.path.clone(),
            drivers: location.drivers.clone(),
            user: location.user.clone(),
        }
    }

    /// Where the memory is; `None` where this is a copy in the store of this name of the note in another.
    pub fn location(self, stores: &Stores, name: &str) -> Result<Option<MemoryLocation>> {
        let placement = match self.drivers.as_slice() {
            [] => stores.for_scope(SCOPE)?,
            names => stores.chain(names)?,
        };
        let is_here = placement.names().first().is_some_and(|it| it == name);
        Ok(is_here.then(|| MemoryLocation {
            driver: placement.driver().clone(),
            space: Space {
                tenant: self.tenant,
                path: self.path,
            },
            drivers: self.drivers,
            user: self.user,
        }))
    }
}
