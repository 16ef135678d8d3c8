//! Whose keys a request is about, and where they are.

use super::super::ServerState;
use ambit_runtime::{Authorized, DataAccess, Error, ErrorCode, Result};
use ambit_storage::address::{Space, ValueKey};
use ambit_storage::clock::Clock;
use ambit_storage::driver::Driver;
use ambit_storage::pattern::Pattern;
use serde::Deserialize;
use serde::de::{self, Deserializer};
use std::sync::Arc;
use utoipa::ToSchema;

/// Letters of a space's name.
const NAME: usize = 32;

/// The name of a space: `[a-z][a-z0-9-]{0,31}`.
#[derive(Clone, Debug, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, pattern = "^[a-z][a-z0-9-]{0,31}$")]
pub struct SpaceName(String);

impl<'de> Deserialize<'de> for SpaceName {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let name = String::deserialize(reader)?;
        let is_letter = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
        match begins && name.len() <= NAME && name.bytes().all(is_letter) {
            true => Ok(Self(name)),
            false => Err(de::Error::custom(
                "must be 1 to 32 of the letters a-z, 0-9 and -, the first of them one of a-z",
            )),
        }
    }
}

/// Whose keys they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SpaceOwner {
    /// The caller's own.
    User,
    /// Those of the caller's team.
    Team,
}

/// One space of one owner.
#[derive(Clone)]
pub struct StoreSpace {
    /// What keeps it.
    pub driver: Arc<dyn Driver>,
    /// The time.
    pub clock: Clock,
    /// All spaces of the owner, so that they go together.
    pub owned: Space,
    /// What the names of its values begin with; no name of a space begins another one's names.
    begins: String,
}

impl StoreSpace {
    /// The space of this name that the caller means.
    pub fn open(
        server: &ServerState,
        who: &Authorized,
        name: &SpaceName,
        owner: SpaceOwner,
    ) -> Result<Self> {
        let access = DataAccess::person(who);
        let tenant = access.tenant();
        let owned = match owner {
            SpaceOwner::User => access
                .user()
                .map(|user| Space::user_store(tenant, user))
                .ok_or_else(|| nobody("no user; use credentials that name one"))?,
            SpaceOwner::Team => access
                .member_of()
                .map(|team| Space::team_store(tenant, team))
                .ok_or_else(|| nobody("in no team; use the owner \"user\""))?,
        };
        Ok(Self {
            driver: server.store.clone(),
            clock: server.runtime.stores().options().clock.clone(),
            owned,
            begins: format!("{}/", name.0),
        })
    }

    /// Where the value of a key is.
    pub fn place(&self, key: &str) -> ValueKey {
        self.owned.key(self.name(key))
    }

    /// The name of a key's value.
    pub fn name(&self, key: &str) -> String {
        format!("{}{key}", self.begins)
    }

    /// The key of a value with this name.
    pub fn key<'a>(&self, name: &'a str) -> &'a str {
        name.strip_prefix(&self.begins).unwrap_or(name)
    }

    /// The values whose keys begin with this.
    pub fn pattern(&self, prefix: &str) -> Pattern {
        Pattern::starting_with(self.name(prefix))
    }
}

fn nobody(why: &str) -> Error {
    let message = format!("the caller is {why}");
    Error::new(ErrorCode::PermissionDenied, message)
}
