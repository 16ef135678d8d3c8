//! Who is calling, as scripts see it in `ctx.authorized` and as storage is told.

mod caller_reach;
mod data_access;

pub use caller_reach::CallerReach;
pub use data_access::{DataAccess, ResourceOwnership};

use ambit_storage::Caller;
use ambit_storage::address::DEFAULT_TENANT;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The claim that says who acts as a caller.
pub const ACTED_BY: &str = "acted_by";

/// Somebody who acts as another caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActingCaller {
    /// The person.
    #[schema(required)]
    pub user_id: Option<String>,
    /// The program, or the API key by its id.
    #[schema(required)]
    pub client_id: Option<String>,
}

/// An authenticated caller. Absent ids are absent keys; nobody in particular is `{}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Authorized {
    /// The person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The team they act in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_id: Option<String>,
    /// The tenant they live in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Which data they may reach.
    #[serde(default, skip_serializing_if = "DataConstraints::is_none")]
    pub constraints: DataConstraints,
    /// `client_id`, `session_id`, `sub`, `scope`, `remember_me`, `roles` and other claims.
    #[serde(flatten)]
    pub claims: Map<String, Value>,
}

/// Limits on the data that a caller may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DataConstraints {
    /// Only what they own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub owner_only: bool,
    /// Only what they made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub creator_only: bool,
    /// Only what they changed last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub editor_only: bool,
    /// Only what is their team's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub team_only: bool,
    /// Columns that must have these values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
}

impl DataConstraints {
    /// What a caller may reach where nothing else is said: their team's data, or their own.
    pub fn usual(who: &Authorized) -> Self {
        let is_member = who.team_id.is_some();
        Self {
            team_only: is_member,
            owner_only: !is_member,
            ..Self::default()
        }
    }

    /// True where nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Authorized {
    /// The partition of everything they reach.
    pub fn tenant(&self) -> &str {
        self.tenant_id.as_deref().unwrap_or(DEFAULT_TENANT)
    }

    /// Who acts as this caller, if it is somebody else.
    pub fn acted_by(&self) -> Option<ActingCaller> {
        serde_json::from_value(self.claims.get(ACTED_BY)?.clone()).ok()
    }

    /// The same caller for storage. Claims that are texts go with it.
    pub fn caller(&self) -> Caller {
        let mut caller = match &self.user_id {
            Some(user) => Caller::user(self.tenant(), user),
            None => Caller::anonymous(self.tenant()),
        };
        if let Some(team) = &self.team_id {
            caller = caller.with_team(team);
        }
        let texts = self.claims.iter();
        let texts = texts.filter_map(|(name, value)| Some((name, value.as_str()?)));
        texts.fold(caller, |caller, (name, value)| {
            caller.with_claim(name, value)
        })
    }
}
