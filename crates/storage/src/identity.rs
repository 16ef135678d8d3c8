//! `SessionIdentity`: the immutable tuple that names one storage, and its two renderings.

mod storage_key;

pub(crate) use storage_key::part;
pub use storage_key::{StorageKeyParts, decode_storage_key};

use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names one storage: agent, chat, user, group and scope. Every value is checked at construction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "IdentityRecord", try_from = "IdentityRecord")]
pub struct SessionIdentity {
    agent_name: String,
    chat_name: Option<String>,
    user_id: Option<String>,
    group: Option<String>,
    scope: Option<String>,
}

/// Longest accepted value of one field, in bytes.
pub const MAX_FIELD: usize = 200;

impl SessionIdentity {
    /// Starts an identity of this agent; `build` checks it.
    pub fn builder(agent_name: impl Into<String>) -> IdentityBuilder {
        IdentityBuilder {
            stored: IdentityRecord {
                agent_name: agent_name.into(),
                ..IdentityRecord::default()
            },
        }
    }

    /// The agent.
    pub fn agent_name(&self) -> &str {
        &self.agent_name
    }

    /// The chat, if the session has one.
    pub fn chat_name(&self) -> Option<&str> {
        self.chat_name.as_deref()
    }

    /// The user, if the session belongs to one.
    pub fn user_id(&self) -> Option<&str> {
        self.user_id.as_deref()
    }

    /// The group, if agents share the storage.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// Which storage of the conversation; absent on a base identity.
    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// The same identity with this scope in place of the one it has.
    pub fn with_scope(&self, scope: impl Into<String>) -> Result<Self> {
        self.with(|stored| stored.scope = Some(scope.into()))
    }

    /// The same identity with this chat.
    pub fn with_chat_name(&self, chat_name: impl Into<String>) -> Result<Self> {
        self.with(|stored| stored.chat_name = Some(chat_name.into()))
    }

    /// The same identity with this user.
    pub fn with_user_id(&self, user_id: impl Into<String>) -> Result<Self> {
        self.with(|stored| stored.user_id = Some(user_id.into()))
    }

    /// The same identity with this group.
    pub fn with_group(&self, group: impl Into<String>) -> Result<Self> {
        self.with(|stored| stored.group = Some(group.into()))
    }

    /// The same identity without a group.
    pub fn without_group(&self) -> Self {
        Self {
            group: None,
            ..self.clone()
        }
    }

    /// The same identity without a scope: the conversation itself.
    pub fn base(&self) -> Self {
        Self {
            scope: None,
            ..self.clone()
        }
    }

    /// The rendering for people and logs, `{scope}_{group|agentName}_{userId|chatName|'default'}`. Ambiguous on
    /// purpose; never used to store anything.
    pub fn key(&self) -> String {
        let owner = self.group().unwrap_or(&self.agent_name);
        let session = self.user_id().or(self.chat_name()).unwrap_or("default");
        match self.scope() {
            Some(scope) => format!("{scope}_{owner}_{session}"),
            None => format!("{owner}_{session}"),
        }
    }

    /// The primary key: an injective encoding of (agent or group, user, chat, scope).
    pub fn storage_key(&self) -> String {
        storage_key::storage_key(self)
    }

    /// True where both name the same storage, as two agents of one group do.
    pub fn same_storage(&self, other: &Self) -> bool {
        self.storage_key() == other.storage_key()
    }

    /// True where the session is temporary: its chat name starts with `_temp`.
    pub fn is_temporary(&self) -> bool {
        self.chat_name()
            .is_some_and(|chat| chat.starts_with("_temp"))
    }

    fn with(&self, change: impl FnOnce(&mut IdentityRecord)) -> Result<Self> {
        let mut stored = IdentityRecord::from(self.clone());
        change(&mut stored);
        Self::try_from(stored)
    }
}

impl fmt::Display for SessionIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key())
    }
}

/// Collects the fields of an identity.
#[derive(Clone, Debug)]
pub struct IdentityBuilder {
    stored: IdentityRecord,
}

impl IdentityBuilder {
    /// Sets the chat.
    pub fn chat_name(mut self, chat_name: impl Into<String>) -> Self {
        self.stored.chat_name = Some(chat_name.into());
        self
    }

    /// Sets the user.
    pub fn user_id(mut self, user_id: impl Into<String>) -> Self {
        self.stored.user_id = Some(user_id.into());
        self
    }

    /// Sets the group.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.stored.group = Some(group.into());
        self
    }

    /// Sets the scope.
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.stored.scope = Some(scope.into());
        self
    }

    /// The checked identity, or `Invalid` naming the field that breaks a rule.
    pub fn build(self) -> Result<SessionIdentity> {
        SessionIdentity::try_from(self.stored)
    }
}

/// The serialised form. `key` is written for readers and ignored on load.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct IdentityRecord {
    pub(crate) agent_name: String,
    #[serde(default)]
    pub(crate) chat_name: Option<String>,
    #[serde(default)]
    pub(crate) user_id: Option<String>,
    #[serde(default)]
    pub(crate) group: Option<String>,
    #[serde(default)]
    pub(crate) scope: Option<String>,
    #[serde(default, skip_deserializing)]
    pub(crate) key: String,
}

impl From<SessionIdentity> for IdentityRecord {
    fn from(identity: SessionIdentity) -> Self {
        let key = identity.key();
        let SessionIdentity {
            agent_name,
            chat_name,
            user_id,
            group,
            scope,
        } = identity;
        Self {
            agent_name,
            chat_name,
            user_id,
            group,
            scope,
            key,
        }
    }
}

impl TryFrom<IdentityRecord> for SessionIdentity {
    type Error = Error;

    fn try_from(stored: IdentityRecord) -> Result<Self> {
        check("agent_name", &stored.agent_name)?;
        let optional = [
            ("chat_name", &stored.chat_name),
            ("user_id", &stored.user_id),
            ("group", &stored.group),
            ("scope", &stored.scope),
        ];
        for (field, value) in optional {
            value
                .as_deref()
                .map_or(Ok(()), |value| check(field, value))?;
        }
        let IdentityRecord {
            agent_name,
            chat_name,
            user_id,
            group,
            scope,
            ..
        } = stored;
        Ok(Self {
            agent_name,
            chat_name,
            user_id,
            group,
            scope,
        })
    }
}

/// One field's rule: 1 to 200 bytes of UTF-8 without U+0000.
pub(crate) fn check(field: &str, value: &str) -> Result<()> {
    if value.is_empty() {
        return Err(Error::invalid(
            field,
            "is empty; leave it out if there is none",
        ));
    }
    if value.len() > MAX_FIELD {
        return Err(Error::invalid(
            field,
            format!("is {} bytes; at most {MAX_FIELD} are accepted", value.len()),
        ));
    }
    if value.contains('\0') {
        return Err(Error::invalid(
            field,
            "contains U+0000, which no identity may",
        ));
    }
    Ok(())
}
