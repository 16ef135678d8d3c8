//! The index: one row per tracked identity, what may be asked of it, and in which order it answers.

use crate::address::Space;
use crate::clock::Millis;
use crate::identity::SessionIdentity;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A row of the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexRow {
    /// Opaque, never reused.
    pub id: String,
    /// The row's place in the order of creation, given by the store.
    pub ordinal: u64,
    /// The partition.
    pub tenant: String,
    /// The identity.
    pub identity: SessionIdentity,
    /// Whether the storage holds something.
    pub state: RowState,
    /// The generation of its items; 0 where it has no log of items.
    pub generation: u64,
    /// How many items were added since the last clear.
    pub items: u64,
    /// When the row was made.
    pub created_at: Millis,
    /// When something was last written; exact to a second.
    pub last_activity_at: Millis,
    /// The names of the drivers that hold the data, the primary first.
    pub placement: Vec<String>,
    /// The user who made it.
    pub created_by: Option<String>,
    /// The team it was made in.
    pub team: Option<String>,
    /// Free labels.
    pub labels: BTreeMap<String, String>,
    /// Who worked on it, by agent, in order of first touch.
    pub touches: Vec<AgentTouch>,
}

/// What a row says about its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RowState {
    /// It holds something.
    Live,
    /// It was cleared and nothing was added since.
    Cleared,
}

/// One agent's work on a storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTouch {
    /// The agent.
    pub agent: String,
    /// The base identity it came from.
    pub base: SessionIdentity,
    /// First time.
    pub first_at: Millis,
    /// Last time; exact to a second.
    pub last_at: Millis,
}

/// What changes when a row is made anew, touched or moved: seen again, the row is still the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowMark {
    /// The row's id.
    pub id: String,
    /// When it was last touched.
    pub touched_at: Millis,
    /// Where its data is.
    pub placement: Vec<String>,
}

/// A request to track an identity. Where the row exists only the touch is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackRequest {
    /// The id of the row, if this makes it.
    pub id: String,
    /// The partition.
    pub tenant: String,
    /// The scoped identity.
    pub identity: SessionIdentity,
    /// The agent that touches it.
    pub agent: String,
    /// The base identity that the agent comes from.
    pub base: SessionIdentity,
    /// The names of the drivers that hold the data.
    pub placement: Vec<String>,
    /// The user who makes it.
    pub created_by: Option<String>,
    /// The team it is made in.
    pub team: Option<String>,
    /// Free labels.
    pub labels: BTreeMap<String, String>,
}

impl TrackRequest {
    /// Where the data of its row is.
    pub fn space(&self) -> Space {
        Space::of(&self.tenant, &self.identity)
    }

    /// Refuses drivers other than those that the storage's first write has put on record, so that no conversation is
    /// ever kept in two places.
    pub fn check_placement(&self, recorded: &[String]) -> Result<()> {
        if self.placement == recorded {
            return Ok(());
        }
        let (wanted, kept) = (self.placement.join(", "), recorded.join(", "));
        let key = self.identity.key();
        Err(Error::invalid(
            "drivers",
            format!(
                "are {wanted} for {key}, whose first write put {kept} on record; \
                 name those, or move it with `ambit context move`"
            ),
        ))
    }
}

/// Which rows; every field that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowFilter {
    /// The partition; `None` only for the store's own upkeep.
    pub tenant: Option<String>,
    /// The row with this id.
    pub id: Option<String>,
    /// The row with this storage key.
    pub storage_key: Option<String>,
    /// The rows that render to this key.
    pub key: Option<String>,
    /// Rows that this agent touched (its own are among them).
    pub agent: Option<String>,
    /// The user.
    pub user: Option<String>,
    /// The chat.
    pub chat: Option<String>,
    /// Chats whose names begin so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_prefix: Option<String>,
    /// The group.
    pub group: Option<String>,
    /// The scope.
    pub scope: Option<String>,
    /// Last activity strictly before.
    pub active_before: Option<Millis>,
    /// Last activity at or after.
    pub active_after: Option<Millis>,
    /// Made strictly before.
    pub created_before: Option<Millis>,
    /// Made at or after.
    pub created_after: Option<Millis>,
    /// Labels the row must have.
    pub labels: BTreeMap<String, String>,
    /// Only what this person may see.
    pub visible_to: Option<Viewer>,
}

/// A person with rights on their own conversations and on those of their team that belong to no user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Viewer {
    /// The person; without one, nothing personal is visible.
    pub user: Option<String>,
    /// The team.
    pub team: Option<String>,
}

impl Viewer {
    /// True where the row is this person's, or their team's and nobody's in particular.
    pub fn may_see(&self, row: &IndexRow) -> bool {
        let user = self.user.as_deref();
        let own = user.is_some()
            && (row.identity.user_id() == user
                || (row.identity.user_id().is_none() && row.created_by.as_deref() == user));
        let shared =
            self.team.is_some() && row.team == self.team && row.identity.user_id().is_none();
        own || shared
    }
}

impl RowFilter {
    /// Every row of a tenant.
    pub fn tenant(tenant: impl Into<String>) -> Self {
        Self {
            tenant: Some(tenant.into()),
            ..Self::default()
        }
    }

    /// The row of a space.
    pub fn space(space: &Space) -> Self {
        Self {
            storage_key: Some(space.path.clone()),
            ..Self::tenant(space.tenant.as_str())
        }
    }

    /// The row with this id, whoever's it is.
    pub fn id(id: impl Into<String>) -> Self {
        Self {
            id: Some(id.into()),
            ..Self::default()
        }
    }

    /// True where the row is asked for.
    pub fn matches(&self, row: &IndexRow) -> bool {
        let same = |wanted: &Option<String>, found: Option<&str>| {
            wanted.is_none() || wanted.as_deref() == found
        };
        let within = |time: Millis, from: Option<Millis>, to: Option<Millis>| {
            from.is_none_or(|from| time >= from) && to.is_none_or(|to| time < to)
        };
        let identity = &row.identity;
        let chat = identity.chat_name();
        let begins = |prefix: &String| chat.is_some_and(|name| name.starts_with(prefix));
        let visible = |viewer: &Viewer| viewer.may_see(row);
        let touched = |agent: &String| row.touches.iter().any(|touch| touch.agent == *agent);
        same(&self.tenant, Some(&row.tenant))
            && same(&self.id, Some(&row.id))
            && same(&self.user, identity.user_id())
            && same(&self.chat, chat)
            && self.chat_prefix.as_ref().is_none_or(begins)
            && same(&self.group, identity.group())
            && same(&self.scope, identity.scope())
            && self.agent.as_ref().is_none_or(touched)
            && self
                .storage_key
                .as_ref()
                .is_none_or(|key| *key == identity.storage_key())
            && self.key.as_ref().is_none_or(|key| *key == identity.key())
            && within(row.last_activity_at, self.active_after, self.active_before)
            && within(row.created_at, self.created_after, self.created_before)
            && self
                .labels
                .iter()
                .all(|(name, value)| row.labels.get(name) == Some(value))
            && self.visible_to.as_ref().is_none_or(visible)
    }
}

/// In which order rows come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RowOrder {
    /// As they were made.
    #[default]
    Oldest,
    /// The last made first.
    Newest,
    /// The last active first.
    Recent,
}

/// The place of a row in an order, to go on behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowPosition {
    /// Its last activity; only `Recent` looks at it.
    pub at: Millis,
    /// Its ordinal.
    pub ordinal: u64,
}

/// Which part of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// The order.
    pub order: RowOrder,
    /// Only rows behind this place.
    pub after: Option<RowPosition>,
    /// At most so many.
    pub limit: usize,
}

impl PageRequest {
    /// The first rows, as they were made.
    pub fn first(limit: usize) -> Self {
        Self {
            order: RowOrder::Oldest,
            after: None,
            limit,
        }
    }
}

impl IndexRow {
    /// Where its data is.
    pub fn space(&self) -> Space {
        Space::of(&self.tenant, &self.identity)
    }

    /// True for the row of the same storage, perhaps in another store.
    pub(crate) fn is_twin_of(&self, other: &Self) -> bool {
        self.tenant == other.tenant && self.identity.same_storage(&other.identity)
    }

    /// When somebody last wrote to the storage or touched its row.
    pub fn last_used_at(&self) -> Millis {
        self.last_activity_at.max(self.mark().touched_at)
    }

    /// The row's mark, for a condition of a batch.
    pub fn mark(&self) -> RowMark {
        let touches = self.touches.iter().map(|touch| touch.last_at);
        RowMark {
            id: self.id.clone(),
            touched_at: touches.max().unwrap_or_default(),
            placement: self.placement.clone(),
        }
    }

    /// Where this row stands.
    pub fn position(&self) -> RowPosition {
        RowPosition {
            at: self.last_activity_at,
            ordinal: self.ordinal,
        }
    }
}

impl RowOrder {
    /// True where `place` comes behind `after`.
    pub fn is_behind(self, place: RowPosition, after: RowPosition) -> bool {
        match self {
            Self::Oldest => place.ordinal > after.ordinal,
            Self::Newest => place.ordinal < after.ordinal,
            Self::Recent => (place.at, place.ordinal) < (after.at, after.ordinal),
        }
    }

    /// Sorts rows into this order.
    pub fn sort(self, rows: &mut [IndexRow]) {
        match self {
            Self::Oldest => rows.sort_by_key(|row| row.ordinal),
            Self::Newest => rows.sort_by_key(|row| std::cmp::Reverse(row.ordinal)),
            Self::Recent => {
                rows.sort_by_key(|row| std::cmp::Reverse((row.last_activity_at, row.ordinal)));
            }
        }
    }
}

/// A property by which rows are found without looking at all of them.
pub type RowLookup = (&'static str, String);

impl IndexRow {
    /// Where this row is found.
    pub fn lookups(&self) -> Vec<RowLookup> {
        let identity = &self.identity;
        let single = [
            ("user", identity.user_id()),
            ("chat", identity.chat_name()),
            ("group", identity.group()),
        ];
        let single = single
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?.to_owned())));
        single
            .chain(
                self.touches
                    .iter()
                    .map(|touch| ("agent", touch.agent.clone())),
            )
            .collect()
    }
}

impl RowFilter {
    /// Where all wanted rows are found, the narrowest first; empty where only a walk over all rows finds them.
    pub fn lookups(&self) -> Vec<RowLookup> {
        let given = [
            ("user", &self.user),
            ("chat", &self.chat),
            ("group", &self.group),
            ("agent", &self.agent),
        ];
        given
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.clone()?)))
            .collect()
    }
}

/// The largest page that may be asked for.
pub const MAX_PAGE: usize = 1_000;

/// Refuses a page that would be empty or too large.
pub(crate) fn check_page(limit: usize) -> Result<()> {
    if (1..=MAX_PAGE).contains(&limit) {
        return Ok(());
    }
    let reason = format!("is {limit}; ask for 1 to {MAX_PAGE}");
    Err(Error::invalid("limit", reason))
}
