//! Memories: whose they are, and what is in them.

use crate::access::{Authorized, DataAccess};
use crate::chats::{self, ChatName};
use crate::error::{Error, ErrorCode, Result, StorageError};
use ambit_storage::address::Space;
use ambit_storage::batch::ValueEntry;
use ambit_storage::clock::Millis;
use ambit_storage::directory::{IndexRow, TrackRequest};
use ambit_storage::driver::{Driver, ValuePages, ValuePart, ValueScan};
use ambit_storage::memory::{
    ChatMemoryOwner, ExpectedVersion, Memory, MemorySettings, MemoryWrite, RowTracking, SCOPE, Ttl,
    ValueLife,
};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Ambit, Json, ids};
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;
use utoipa::ToSchema;

/// Values that are read in one go to be copied.
const COPIED_VALUES: usize = 500;
/// Bytes of them, which the last one may exceed.
const COPIED_BYTES: usize = 1 << 20;

/// A memory that is named in a request.
#[derive(Clone, Copy, Debug)]
pub struct MemorySelector<'a> {
    /// `user`, `team` or `chat`.
    pub space: &'a str,
    /// The chat's name for `chat`; else a user or team, for callers without constraints.
    pub owner: Option<&'a str>,
    /// The agent, where several have a chat of this name.
    pub assistant_id: Option<&'a str>,
    /// The id of the index row of exactly this conversation's history, for `chat`.
    pub context: Option<&'a str>,
}

/// A memory that the caller may use.
pub struct OpenMemory {
    /// Its methods.
    pub memory: Memory,
    driver: Arc<dyn Driver>,
    space: Option<Space>,
}

/// How much may still be copied of memories.
pub(crate) struct CopyBudget {
    keys: usize,
    bytes: usize,
}

impl CopyBudget {
    /// For memories that are tried on a copy.
    pub const TRIAL: Self = Self {
        keys: 10_000,
        bytes: 16 << 20,
    };

    fn take(&mut self, bytes: usize) -> Result<()> {
        let left = self.keys.checked_sub(1).zip(self.bytes.checked_sub(bytes));
        let Some((keys, bytes)) = left else {
            let message = format!(
                "the memory is too large to copy: at most {} values and {} bytes are copied",
                Self::TRIAL.keys,
                Self::TRIAL.bytes
            );
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        };
        *self = Self { keys, bytes };
        Ok(())
    }
}

/// A value without its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct MemoryKeyInfo {
    /// The name.
    pub key: String,
    /// `string`, `number`, `boolean`, `list`, `object` or `null`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its size as JSON.
    pub bytes: usize,
    /// Another one after each write.
    pub version: u64,
    /// When it ends in milliseconds since 1970, if it does.
    pub expires_at: Option<i64>,
}

/// Where the memories of users and teams are: where turns write them.
fn memory_driver(ambit: &Ambit) -> Result<Arc<dyn Driver>> {
    Ok(ambit.stores().for_scope(SCOPE)?.driver().clone())
}

/// The memory of a conversation by its history's row, kept as the row has it on record.
fn of_chat(ambit: &Ambit, row: &IndexRow, settings: MemorySettings) -> Result<Memory> {
    let (placement, index) = (
        ambit.stores().chain(&row.placement)?,
        ambit.stores().index()?,
    );
    let touch = row.touches.first();
    let base = touch.map_or_else(|| row.identity.base(), |touch| touch.base.clone());
    let track = TrackRequest {
        id: ids::unguessable(),
        tenant: row.tenant.clone(),
        identity: row.identity.with_scope(SCOPE)?,
        agent: base.agent_name().to_owned(),
        base,
        placement: placement.names().to_vec(),
        created_by: row.created_by.clone(),
        team: row.team.clone(),
        labels: row.labels.clone(),
    };
    let is_elsewhere = index.names() != placement.names();
    let conversation = ChatMemoryOwner {
        identity: row.identity.base(),
        tracking: Some(RowTracking {
            track,
            index: is_elsewhere.then(|| index.driver().clone()),
        }),
    };
    let driver = placement.driver().clone();
    Ok(Memory::chat(
        driver,
        &row.tenant,
        Some(conversation),
        settings,
    )?)
}

/// The memory that a request names. One that the caller may not use is one that does not exist.
pub async fn open(
    ambit: &Ambit,
    who: &Authorized,
    which: MemorySelector<'_>,
) -> Result<OpenMemory> {
    open_as(ambit, who, which, ambit.settings().memory).await
}

/// The same, with limits of the app's own.
pub async fn open_as(
    ambit: &Ambit,
    who: &Authorized,
    which: MemorySelector<'_>,
    settings: MemorySettings,
) -> Result<OpenMemory> {
    if which.context.is_some() && which.space != "chat" {
        let message =
            "context names a conversation, which only the memory of a chat has: /memory/chat/-";
        return Err(Error::invalid("context", message));
    }
    let access = DataAccess::of(who);
    let tenant = access.tenant();
    match which.space {
        "user" => {
            let user = owner(&access, which, access.user())?;
            let driver = memory_driver(ambit)?;
            Ok(OpenMemory {
                memory: Memory::user(driver.clone(), tenant, user, settings)?,
                driver,
                space: user.map(|user| Space::user_memory(tenant, user)),
            })
        }
        "team" => {
            let team = owner(&access, which, access.member_of())?;
            let driver = memory_driver(ambit)?;
            Ok(OpenMemory {
                memory: Memory::team(driver.clone(), tenant, team, settings)?,
                driver,
                space: team.map(|team| Space::team_memory(tenant, team)),
            })
        }
        "chat" => {
            let Some(chat_id) = which.owner else {
                let message = "the memory of a chat needs the chat's name: /memory/chat/<chat_id>";
                return Err(Error::invalid("owner", message));
            };
            let name = ChatName {
                chat_id,
                assistant_id: which.assistant_id,
                context: which.context,
            };
            let row = chats::row(ambit, who, name).await?;
            let memory = row.identity.with_scope(SCOPE)?;
            Ok(OpenMemory {
                memory: of_chat(ambit, &row, settings)?,
                driver: ambit.stores().chain(&row.placement)?.driver().clone(),
                space: Some(Space::of(&row.tenant, &memory)),
            })
        }
        other => {
            let hint = ambit_storage::suggestion::hint(other, ["user", "team", "chat"]);
            let message =
                format!("memory \"{other}\" is unknown; known are user, team and chat{hint}");
            Err(Error::invalid("space", message))
        }
    }
}

/// Whose memory: the caller's own, or the one that is named if they may ask for it.
fn owner<'a>(
    access: &'a DataAccess,
    which: MemorySelector<'a>,
    own: Option<&'a str>,
) -> Result<Option<&'a str>> {
    match (which.owner, access.memory(own, which.owner)) {
        (Some(named), None) => Err(Error::not_found("memory", named)),
        (_, found) => Ok(found),
    }
}

impl OpenMemory {
    /// The values whose name matches, by name, and how many there are.
    pub async fn list(
        &self,
        pattern: Option<&str>,
        window: chats::PageWindow,
    ) -> Result<chats::ListPart<MemoryKeyInfo>> {
        let Some(space) = &self.space else {
            let items = Vec::new();
            return Ok(chats::ListPart { items, total: 0 });
        };
        let pattern = pattern.map_or_else(Pattern::all, Pattern::parse);
        let names = self.names(space, pattern).await?;
        let total = names.len() as u64;
        let wanted = names.into_iter().skip(window.skip).take(window.limit);
        let mut items = Vec::new();
        for key in wanted {
            // One that has ended meanwhile is passed over.
            let entry = self
                .driver
                .get(&space.key(key.as_str()), ValuePart::Whole)
                .await?;
            items.extend(entry.map(|entry| MemoryKeyInfo {
                key,
                kind: entry.kind,
                bytes: entry.size(),
                version: entry.version,
                expires_at: entry.expires_at,
            }));
        }
        Ok(chats::ListPart { items, total })
    }

    async fn names(&self, space: &Space, pattern: Pattern) -> Result<Vec<String>> {
        let driver = self.driver.as_ref();
        let mut pages = ValuePages::of(driver, space, pattern, ValuePart::Nothing);
        let mut names = Vec::new();
        while let Some(page) = pages.next().await? {
            names.extend(page.into_iter().map(|(name, _)| name));
        }
        Ok(names)
    }

    /// Copies the values, which live there as long as here.
    pub(crate) async fn copy_into(
        &self,
        target: &Memory,
        budget: &mut CopyBudget,
        now: Millis,
    ) -> Result<()> {
        let Some(space) = &self.space else {
            return Ok(());
        };
        let mut scan = ValueScan {
            bytes: COPIED_BYTES,
            ..ValueScan::first(Pattern::all(), COPIED_VALUES, ValuePart::Whole)
        };
        loop {
            let page = self.driver.scan(space, &scan).await?;
            let is_last = scan.is_last(&page);
            scan.after = page.last().map(|(key, _)| key.clone());
            for (key, entry) in page {
                budget.take(entry.size())?;
                let left = entry.expires_at.map(|end| end - now);
                if left.is_some_and(|left| left <= 0) {
                    continue;
                }
                let write = MemoryWrite {
                    expect: ExpectedVersion::Any,
                    life: ValueLife::Renew(Some(left.map_or(Ttl::Never, Ttl::After))),
                };
                target.put(&key, &entry.value, write).await?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// The value with this name.
    pub async fn get(&self, key: &str) -> Result<ValueEntry> {
        let found = self.memory.entry(key).await?;
        found.ok_or_else(|| Error::not_found("key", key))
    }

    /// Puts a value and gives its version. Where another write came between, nothing changes.
    pub async fn set(&self, key: &str, value: &Json, write: MemoryWrite) -> Result<u64> {
        loop {
            self.check(key, write.expect).await?;
            match self.memory.put(key, value, write).await {
                Err(StorageError::Conflict { .. }) if write.expect != ExpectedVersion::Any => {}
                outcome => return Ok(outcome?),
            }
        }
    }

    /// Deletes the value of exactly this name. Where another write came between, nothing changes.
    pub async fn delete(&self, key: &str, expect: ExpectedVersion) -> Result<()> {
        if key.contains('*') {
            let message = "key has a *; over HTTP one value is deleted at a time";
            return Err(Error::new(ErrorCode::InvalidArgument, message));
        }
        loop {
            self.check(key, expect).await?;
            match self.memory.del_if(key, expect).await {
                Err(StorageError::Conflict { .. }) if expect != ExpectedVersion::Any => {}
                outcome => return Ok(outcome?),
            }
        }
    }

    /// Refuses a write that expects something else than what is there now; what was there for a moment does not count.
    async fn check(&self, key: &str, expect: ExpectedVersion) -> Result<()> {
        if expect == ExpectedVersion::Any {
            return Ok(());
        }
        let version = self.memory.version(key).await?;
        if expect.is_met_by(version) {
            return Ok(());
        }
        let message = match version {
            None => format!("the key \"{key}\" is absent; read it again and decide anew"),
            Some(version) => {
                format!("the key \"{key}\" has version {version}; read it again and decide anew")
            }
        };
        Err(Error {
            details: Some(Box::new(json!({ "version": version }))),
            ..Error::new(ErrorCode::Conflict, message).with_param("expect")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CopyBudget, ErrorCode};

    #[test]
    fn no_more_values_and_bytes_are_copied_than_a_trial_may_have() {
        for (size, most) in [(0, 10_000), (1 << 20, 16)] {
            let mut budget = CopyBudget::TRIAL;
            assert!((0..most).all(|_| budget.take(size).is_ok()), "{size}");
            let refused = budget.take(size).unwrap_err();
            assert_eq!(refused.code, ErrorCode::LimitExceeded, "{size}");
        }
    }
}
