//! Who acts. Passed explicitly: there is no ambient user, tenant or session anywhere.

use crate::address::DEFAULT_TENANT;
use crate::directory::{IndexRow, RowFilter, Viewer};
use crate::identity::SessionIdentity;
use crate::{Error, Result};
use std::collections::BTreeMap;

/// The authenticated ids and claims of whoever acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    tenant: String,
    user: Option<String>,
    team: Option<String>,
    claims: BTreeMap<String, String>,
    is_system: bool,
}

impl Caller {
    /// Ambit itself: sees all of one tenant.
    pub fn system(tenant: impl Into<String>) -> Self {
        Self {
            tenant: tenant.into(),
            user: None,
            team: None,
            claims: BTreeMap::new(),
            is_system: true,
        }
    }

    /// Somebody without a name: sees nothing that is tracked.
    pub fn anonymous(tenant: impl Into<String>) -> Self {
        Self {
            is_system: false,
            ..Self::system(tenant)
        }
    }

    /// A person: sees their own conversations.
    pub fn user(tenant: impl Into<String>, user_id: impl Into<String>) -> Self {
        Self {
            user: present(user_id),
            ..Self::anonymous(tenant)
        }
    }

    /// The same caller as a member of this team.
    pub fn with_team(mut self, team_id: impl Into<String>) -> Self {
        self.team = present(team_id);
        self
    }

    /// The same caller with this claim.
    pub fn with_claim(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.claims.insert(name.into(), value.into());
        self
    }

    /// The same caller, who sees all of the tenant.
    pub fn as_system(mut self) -> Self {
        self.is_system = true;
        self
    }

    /// The partition the caller lives in.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The tenant's id; refused where there are no tenants, so that a template never falls back to all of them.
    pub fn tenant_id(&self) -> Result<&str> {
        if self.tenant == DEFAULT_TENANT || self.tenant.is_empty() {
            Err(missing("tenant_id"))
        } else {
            Ok(&self.tenant)
        }
    }

    /// The user's id; refused where there is none.
    pub fn user_id(&self) -> Result<&str> {
        self.user.as_deref().ok_or_else(|| missing("user_id"))
    }

    /// The team's id; refused where there is none.
    pub fn team_id(&self) -> Result<&str> {
        self.team.as_deref().ok_or_else(|| missing("team_id"))
    }

    /// A claim; refused where it is not there.
    pub fn claim(&self, name: &str) -> Result<&str> {
        self.claims
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
            .ok_or_else(|| missing(name))
    }

    /// All claims by name.
    pub fn claims(&self) -> impl Iterator<Item = (&str, &str)> {
        let claims = self.claims.iter();
        claims.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(crate) fn ids(&self) -> (Option<String>, Option<String>) {
        (self.user.clone(), self.team.clone())
    }

    /// The filter narrowed to what the caller may see.
    pub(crate) fn narrow(&self, filter: RowFilter) -> RowFilter {
        let viewer = Viewer {
            user: self.user.clone(),
            team: self.team.clone(),
        };
        let visible_to = (!self.is_system).then_some(viewer);
        RowFilter {
            tenant: Some(self.tenant.clone()),
            visible_to,
            ..filter
        }
    }

    /// Whether the caller may open a session of this identity: a person's is theirs alone.
    pub(crate) fn check_may_open(&self, base: &SessionIdentity) -> Result<()> {
        match base.user_id() {
            Some(_) if !self.is_system && self.user.as_deref() != base.user_id() => {
                Err(Error::Denied {
                    reason: "the session belongs to somebody else".to_owned(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Whether the caller may see what this user spent.
    pub(crate) fn may_see_usage_of(&self, user: Option<&str>) -> bool {
        self.is_system || (self.user.is_some() && self.user.as_deref() == user)
    }

    /// Whether the caller may see a row.
    pub(crate) fn may_see(&self, row: &IndexRow) -> bool {
        self.narrow(RowFilter::default()).matches(row)
    }
}

/// An empty id is none: nobody is it, and nothing is shared by all who have it.
fn present(id: impl Into<String>) -> Option<String> {
    Some(id.into()).filter(|id| !id.is_empty())
}

fn missing(name: &str) -> Error {
    Error::Denied {
        reason: format!("the caller has no {name}, which this session's identity needs"),
    }
}
