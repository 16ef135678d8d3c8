//! Where things are kept: spaces, logs and keys. Every physical name in Ambit is spelled in this file, but
//! for the storage keys of identities, which these encode themselves.

pub use crate::identity::{StorageKeyParts, decode_storage_key};

use crate::data_kind::DataKind;
use crate::identity::{SessionIdentity, part};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// The tenant of an installation without tenants.
pub const DEFAULT_TENANT: &str = "default";

/// Everything one owner keeps: one scoped identity, one user's memory, an internal ledger. Removed as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Space {
    /// The partition above all identities.
    pub tenant: String,
    /// The owner: a `storage_key`, or one of the tags below.
    pub path: String,
}

/// A sequence of entries in a space.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LogKey {
    /// Who owns it.
    pub space: Space,
    /// Which log of the owner.
    pub name: String,
}

/// A versioned value in a space.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ValueKey {
    /// Who owns it.
    pub space: Space,
    /// Which value of the owner.
    pub name: String,
}

/// The value of an index that says what is in it: without it nothing of the index is found.
pub const INDEX_MANIFEST: &str = "manifest";

/// The log that holds a storage's items: what `clear` empties and an index row counts.
pub const ITEMS: &str = "items";
/// The log of overlays that make the view of `items`.
pub const OVERLAYS: &str = "overlays";
/// Chunks of items above the inline limit.
pub const BLOBS: &str = "blobs";
/// The value that counts the erasures of single items.
pub const ERASURES: &str = "erasures";
/// The value that names the rows from which a history has copies of messages.
pub const COPY_SOURCES: &str = "copy_sources";
/// The value with what persons changed of a conversation; below it, what else is known besides the index row.
pub const CHAT: &str = "chat";

/// What spaces hold, whatever its name. What belongs to turns is named before it.
pub const SPACE_KINDS: &[DataKind] = &[
    kind("messages", "%/s:chatHistory"),
    kind("usage", "%/s:usage"),
    kind("memory", "%/s:memory"),
    kind("memory", "m:%"),
    kind("stores of programs", "s:%"),
    kind("indexes of conversations", "i:recall%"),
    kind("indexes of memory", "i:values%"),
    kind("knowledge", "k:%"),
    kind("leases", "l:%"),
    kind("Ambit's own lists", "i:%"),
];

const fn kind(name: &'static str, path: &'static str) -> DataKind {
    let entry = "%";
    DataKind { name, path, entry }
}

/// Begins the paths of the spaces of leases.
const OF_LEASE: &str = "l:";

impl Space {
    /// The space of one identity.
    pub fn of(tenant: &str, identity: &SessionIdentity) -> Self {
        Self::new(tenant, identity.storage_key())
    }

    /// What a user keeps across sessions.
    pub fn user_memory(tenant: &str, user_id: &str) -> Self {
        Self::new(tenant, format!("m:user/{}", part('u', user_id)))
    }

    /// What a team keeps across sessions.
    pub fn team_memory(tenant: &str, team_id: &str) -> Self {
        Self::new(tenant, format!("m:team/{}", part('t', team_id)))
    }

    /// What a user keeps for programs that have a framework of their own.
    pub fn user_store(tenant: &str, user_id: &str) -> Self {
        Self::new(tenant, format!("s:user/{}", part('u', user_id)))
    }

    /// What a team keeps for programs that have a framework of their own.
    pub fn team_store(tenant: &str, team_id: &str) -> Self {
        Self::new(tenant, format!("s:team/{}", part('t', team_id)))
    }

    /// What one request keeps until it ends.
    pub fn request_memory(tenant: &str, context_id: &str) -> Self {
        Self::new(tenant, format!("m:request/{}", part('r', context_id)))
    }

    /// What a named store of the app keeps. It is the app's own: all tenants share it.
    pub fn store(id: &str) -> Self {
        Self::new(DEFAULT_TENANT, format!("m:store/{}", part('n', id)))
    }

    /// The tenant's usage sums.
    pub fn usage_sums(tenant: &str) -> Self {
        Self::new(tenant, "i:usage")
    }

    /// Ambit's own settings in a store.
    pub fn settings(tenant: &str) -> Self {
        Self::new(tenant, "i:settings")
    }

    /// The turns under way in a store, whoever runs them: a name begins with the digest of the conversation's space, and
    /// goes with that space.
    pub fn turns() -> Self {
        Self::new(DEFAULT_TENANT, "i:turns")
    }

    /// What turns that have ended leave behind for a time, by the end of that time.
    pub fn ended_turns() -> Self {
        Self::new(DEFAULT_TENANT, "i:left")
    }

    /// The turns that have ended and whose traces no collector has yet, by the time of their end.
    pub fn unsent_turns() -> Self {
        Self::new(DEFAULT_TENANT, "i:unsent")
    }

    /// Which conversation a request of the tenant belongs to, by the request's id.
    pub fn requests(tenant: &str) -> Self {
        Self::new(tenant, "i:requests")
    }

    /// Which histories of the tenant have copies of messages of others, by the ids of the index rows that those come from, and what is
    /// erased of these rows.
    pub fn copies(tenant: &str) -> Self {
        Self::new(tenant, "i:copies")
    }

    /// Which conversations of one person all members of a team may use, by the id of their index rows.
    pub fn shares(tenant: &str, team_id: &str) -> Self {
        Self::new(tenant, format!("i:shares/{}", part('t', team_id)))
    }

    /// The index of the words of an owner's conversations, as far as these drivers keep them: a person's all together, others
    /// each by itself. Who it is about stands only in a digest.
    pub fn recall(tenant: &str, identity: &SessionIdentity, drivers: &[String]) -> Self {
        let owner = match identity.user_id() {
            Some(user) => part('u', user),
            None => identity.base().storage_key(),
        };
        let drivers = drivers.join(",");
        Self::new(tenant, format!("i:recall/{}", digest(&[&drivers, &owner])))
    }

    /// Which owners of all tenants have an index of conversations in a store that is to get vectors.
    pub fn recall_indexes() -> Self {
        Self::new(DEFAULT_TENANT, "i:recall")
    }

    /// One task of looking after the indexes of conversations and memories in a store, whose lease one node of all takes.
    pub fn index_upkeep(task: &str) -> Self {
        Self::new(DEFAULT_TENANT, format!("i:upkeep/{}", part('n', task)))
    }

    /// The index of the words of a memory, as far as these drivers keep it. Whose it is stands only in a digest.
    pub fn memory_index(memory: &Self, drivers: &[String]) -> Self {
        let of = digest(&[&drivers.join(","), &memory.path]);
        Self::new(memory.tenant.as_str(), format!("i:values/{of}"))
    }

    /// Which memories of all tenants have an index in a store.
    pub fn memory_indexes() -> Self {
        Self::new(DEFAULT_TENANT, "i:values")
    }

    /// What a tenant's callers have asked under an idempotency key.
    pub fn repeats(tenant: &str) -> Self {
        Self::new(tenant, "i:repeats")
    }

    /// The last events of a tenant, for those who follow them.
    pub fn events(tenant: &str) -> Self {
        Self::new(tenant, "i:events")
    }

    /// The keys of programs that call this installation, by their hashes.
    pub fn api_keys() -> Self {
        Self::new(DEFAULT_TENANT, "i:keys")
    }

    /// The sessions of browsers that have logged in, by the hashes of their cookies.
    pub fn browser_sessions() -> Self {
        Self::new(DEFAULT_TENANT, "i:sessions")
    }

    /// Whom callers act as for a time, by the hashes of their tokens.
    pub fn assumed_callers() -> Self {
        Self::new(DEFAULT_TENANT, "i:assumed")
    }

    /// What callers have done of late, where nodes share limits of it.
    pub fn rate_limits() -> Self {
        Self::new(DEFAULT_TENANT, "i:rate-limits")
    }

    /// The nodes of an installation that run now.
    pub fn nodes() -> Self {
        Self::new(DEFAULT_TENANT, "i:nodes")
    }

    /// When API keys were last used, by their hashes.
    pub fn api_key_uses() -> Self {
        Self::new(DEFAULT_TENANT, "i:key-uses")
    }

    /// The collections of a tenant, and which documents they have; without a tenant those that are files of the app.
    pub fn collections(tenant: Option<&str>) -> Self {
        Self::knowledge(tenant, "collections")
    }

    /// What one collection keeps of its documents, by a key that no other collection ever has.
    pub fn collection(tenant: Option<&str>, key: &str) -> Self {
        Self::knowledge(tenant, &format!("collection/{}", part('n', key)))
    }

    /// One of the indexes of a collection.
    pub fn collection_index(tenant: Option<&str>, key: &str, version: u32) -> Self {
        Self::knowledge(tenant, &format!("index/{version}/{}", part('n', key)))
    }

    /// The jobs of a tenant's collections.
    pub fn knowledge_jobs(tenant: Option<&str>) -> Self {
        Self::knowledge(tenant, "jobs")
    }

    /// The collections of all tenants that have something to be done.
    pub fn knowledge_work() -> Self {
        Self::new(DEFAULT_TENANT, "i:knowledge")
    }

    fn knowledge(tenant: Option<&str>, path: &str) -> Self {
        match tenant {
            Some(tenant) => Self::new(tenant, format!("k:{path}")),
            None => Self::new(DEFAULT_TENANT, format!("k:app/{path}")),
        }
    }

    /// Which storages are on their way from one driver to another, by the id of their index rows.
    pub(crate) fn moves() -> Self {
        Self::new(DEFAULT_TENANT, "i:moves")
    }

    /// When each temporary session of a (temporary) tenant ends.
    pub(crate) fn temporary_sessions(tenant: &str) -> Self {
        Self::new(tenant, "i:temporary")
    }

    /// Where a chain remembers removals that not every driver has acknowledged.
    pub fn tombstones(tenant: &str) -> Self {
        Self::new(tenant, "i:tombstones")
    }

    /// The lease that guards this space. It is a space of its own, so that clearing the data keeps it.
    pub fn lease(&self) -> ValueKey {
        let path = format!("{OF_LEASE}{}", self.path);
        Self::new(self.tenant.as_str(), path).key("lease")
    }

    /// The space that the lease of this one guards, if this is the space of a lease.
    #[cfg(feature = "sqlite")]
    pub(crate) fn guarded(&self) -> Option<Self> {
        let path = self.path.strip_prefix(OF_LEASE)?;
        Some(Self::new(self.tenant.as_str(), path))
    }

    /// A log of this space.
    pub fn log(&self, name: impl Into<String>) -> LogKey {
        LogKey {
            space: self.clone(),
            name: name.into(),
        }
    }

    /// A value of this space.
    pub fn key(&self, name: impl Into<String>) -> ValueKey {
        ValueKey {
            space: self.clone(),
            name: name.into(),
        }
    }

    /// A name without content: the SHA-256 of tenant and path, in hex.
    pub fn digest(&self) -> String {
        digest(&[&self.tenant, &self.path])
    }

    pub(crate) fn new(tenant: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            tenant: tenant.into(),
            path: path.into(),
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.tenant, self.path)
    }
}

impl fmt::Display for LogKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.space, self.name)
    }
}

impl fmt::Display for ValueKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.space, self.name)
    }
}

/// The partition of a tenant's temporary sessions, which no lasting storage shares.
pub(crate) fn temporary_tenant(tenant: &str) -> String {
    format!("{tenant}/temporary")
}

/// The hex SHA-256 of the parts, each with its length, so that no two lists of parts give the same bytes.
pub fn digest(parts: &[&str]) -> String {
    hex(&hash(parts))
}

/// Bytes in lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What `digest` spells in hex.
pub(crate) fn hash(parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}
