//! What a caller may reach of a tenant's data, decided here and nowhere else. What is missing denies, and no two tenants ever
//! see each other.

use super::Authorized;
use ambit_storage::address::DEFAULT_TENANT;
use ambit_storage::directory::{RowFilter, Viewer};
use ambit_storage::{Ambit, Caller};

/// A caller's rights over data. Conversations and what is kept of them (messages, streams, traces, usage, index rows), memories,
/// agents and collections are reached through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataAccess {
    tenant: String,
    user: Option<String>,
    /// The team that they are a member of.
    team: Option<String>,
    level: AccessLevel,
}

/// How much of a tenant's conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AccessLevel {
    /// Their own.
    Own,
    /// Those of their team that are no person's too, and what its members share with each other.
    Team,
    /// All.
    Whole,
}

/// Whose something of the app is, and who else may use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceOwnership<'a> {
    /// The tenant; none where the installation is no tenant's.
    pub tenant: Option<&'a str>,
    /// Who made it.
    pub owner: Option<&'a str>,
    /// Their team.
    pub team: Option<&'a str>,
    /// Everybody of the tenant may use it.
    pub is_public: bool,
    /// The team may use it.
    pub is_shared: bool,
}

impl DataAccess {
    /// What a caller's constraints leave. Nobody in particular reaches nothing, whatever the constraints say.
    pub fn of(who: &Authorized) -> Self {
        let person = Self::person(who);
        let is_whole = who.constraints.is_none() && person.user.is_some();
        match is_whole {
            true => Self {
                level: AccessLevel::Whole,
                ..person
            },
            false => person,
        }
    }

    /// What is the caller's own, or their team's with them, however wide their rights are: without a user the team's alone. A
    /// constraint whose value is missing leaves nothing.
    pub fn person(who: &Authorized) -> Self {
        let present = |id: &Option<String>| id.clone().filter(|id| !id.is_empty());
        let limits = &who.constraints;
        let (user, team) = (present(&who.user_id), present(&who.team_id));
        let is_own_only = limits.owner_only || limits.creator_only || limits.editor_only;
        let lacks = (limits.team_only && team.is_none()) || (is_own_only && user.is_none());
        let is_member = team.is_some() && !is_own_only;
        Self {
            tenant: who.tenant().to_owned(),
            user: user.filter(|_| !lacks),
            team: team.filter(|_| !lacks),
            level: match is_member && !lacks {
                true => AccessLevel::Team,
                false => AccessLevel::Own,
            },
        }
    }

    /// The tenant.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The person, whose memory is theirs.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The team that they are a member of, whose memory is theirs too.
    pub fn member_of(&self) -> Option<&str> {
        self.team.as_deref()
    }

    /// The team whose members share conversations with the caller. Without a user nothing of a person is reached.
    pub fn team(&self) -> Option<&str> {
        self.user.as_ref().and(self.owning_team())
    }

    /// The team whose conversations are reached that are no person's.
    fn owning_team(&self) -> Option<&str> {
        match self.level {
            AccessLevel::Team => self.team.as_deref(),
            AccessLevel::Own | AccessLevel::Whole => None,
        }
    }

    /// True where all of the tenant is reached.
    pub fn is_whole(&self) -> bool {
        self.level == AccessLevel::Whole
    }

    /// Whose memory is meant: their own where nobody is named, else anybody's for whom they may ask. None is nobody's.
    pub fn memory<'a>(&'a self, own: Option<&'a str>, named: Option<&'a str>) -> Option<&'a str> {
        match named {
            None => own,
            Some(_) if self.is_whole() || own == named => named,
            Some(_) => None,
        }
    }

    /// Whether an agent or a collection may be used.
    pub fn may_use(&self, resource: &ResourceOwnership<'_>) -> bool {
        if resource.tenant.is_some_and(|own| own != self.tenant) {
            return false;
        }
        let is_same = |own: Option<&str>, theirs: Option<&str>| own.is_some() && own == theirs;
        let is_teams = resource.is_shared && is_same(resource.team, self.member_of());
        let is_own = is_same(resource.owner, self.user());
        resource.is_public || self.is_whole() || (self.is_here(resource) && (is_teams || is_own))
    }

    /// Whether it is of the caller's tenant; what is no tenant's is of the default one.
    fn is_here(&self, resource: &ResourceOwnership<'_>) -> bool {
        resource.tenant.unwrap_or(DEFAULT_TENANT) == self.tenant
    }

    /// Which rows of conversations are reached; none where all are.
    pub fn viewer(&self) -> Option<Viewer> {
        let viewer = || Viewer {
            user: self.user.clone(),
            team: self.owning_team().map(str::to_owned),
        };
        (!self.is_whole()).then(viewer)
    }

    /// A filter that leaves only what is reached; what one person shares with a team is found apart, in `share`.
    pub fn filter(&self) -> RowFilter {
        RowFilter {
            visible_to: self.viewer(),
            ..RowFilter::tenant(&self.tenant)
        }
    }

    /// The installation with these rights.
    pub fn ambit(&self, ambit: &Ambit) -> Ambit {
        let Some(viewer) = self.viewer() else {
            return self.system(ambit);
        };
        let caller = match &viewer.user {
            Some(user) => Caller::user(&self.tenant, user),
            None => Caller::anonymous(&self.tenant),
        };
        ambit.acting_as(&match &viewer.team {
            Some(team) => caller.with_team(team),
            None => caller,
        })
    }

    /// The installation with all rights over the tenant.
    pub(crate) fn system(&self, ambit: &Ambit) -> Ambit {
        ambit.acting_as(&Caller::system(&self.tenant))
    }
}

#[cfg(test)]
mod tests {
    use super::{DataAccess, ResourceOwnership};
    use crate::access::Authorized;
    use ambit_storage::directory::Viewer;
    use serde_json::{Value, json};

    fn access(who: Value) -> DataAccess {
        DataAccess::of(&serde_json::from_value::<Authorized>(who).unwrap())
    }

    fn viewer(user: &str, team: &str) -> Option<Viewer> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let (user, team) = (some(user), some(team));
        Some(Viewer { user, team })
    }

    #[test]
    fn conversations_are_reached_as_far_as_the_constraints_leave_them() {
        let (team, nothing) = (viewer("", "red"), viewer("", ""));
        for (constraints, in_team, alone, without_user) in [
            (
                json!({"team_only": true}),
                viewer("ann", "red"),
                viewer("", ""),
                &team,
            ),
            (
                json!({"owner_only": true}),
                viewer("ann", ""),
                viewer("ann", ""),
                &nothing,
            ),
            (
                json!({"creator_only": true}),
                viewer("ann", ""),
                viewer("ann", ""),
                &nothing,
            ),
            (
                json!({"editor_only": true}),
                viewer("ann", ""),
                viewer("ann", ""),
                &nothing,
            ),
            (
                json!({"team_only": true, "owner_only": true}),
                viewer("ann", ""),
                viewer("", ""),
                &nothing,
            ),
            (
                json!({"extra": {"k": 1}}),
                viewer("ann", "red"),
                viewer("ann", ""),
                &team,
            ),
            (json!({}), None, None, &team),
        ] {
            let member = json!({"user_id": "ann", "team_id": "red", "constraints": constraints});
            assert_eq!(access(member).viewer(), in_team, "{constraints}");
            let single = json!({"user_id": "ann", "constraints": constraints});
            assert_eq!(access(single).viewer(), alone, "{constraints}");
            for userless in [
                json!({"team_id": "red", "constraints": constraints}),
                json!({"user_id": "", "team_id": "red", "constraints": constraints}),
            ] {
                let userless = access(userless);
                assert_eq!(userless.viewer(), *without_user, "{constraints}");
                assert_eq!(userless.team(), None, "{constraints}");
            }
            let nobody = access(json!({"constraints": constraints}));
            assert_eq!(nobody.viewer(), nothing, "{constraints}");
        }
    }

    #[test]
    fn g061_memories_are_their_owners_and_nobodys_where_a_value_is_missing() {
        let of = |who: Value| {
            let access = access(who);
            let own = |found: Option<&str>| found.map(str::to_owned);
            (
                own(access.user()),
                own(access.member_of()),
                access.is_whole(),
            )
        };
        let some = |text: &str| Some(text.to_owned());
        for (who, expected) in [
            (
                json!({"user_id": "ann", "team_id": "red"}),
                (some("ann"), some("red"), true),
            ),
            (
                json!({"user_id": "ann", "team_id": "red", "constraints": {"owner_only": true}}),
                (some("ann"), some("red"), false),
            ),
            (
                json!({"user_id": "ann", "constraints": {"team_only": true}}),
                (None, None, false),
            ),
            (
                json!({"team_id": "red", "constraints": {"owner_only": true}}),
                (None, None, false),
            ),
            (json!({}), (None, None, false)),
        ] {
            assert_eq!(of(who.clone()), expected, "{who}");
        }
        let limited = access(json!({"user_id": "ann", "constraints": {"owner_only": true}}));
        assert_eq!(limited.memory(limited.user(), Some("bob")), None);
        assert_eq!(limited.memory(limited.user(), Some("ann")), Some("ann"));
        let whole = access(json!({"user_id": "ann"}));
        assert_eq!(whole.memory(whole.user(), Some("bob")), Some("bob"));
        assert_eq!(whole.memory(whole.user(), None), Some("ann"));
    }

    #[test]
    fn an_agent_of_no_tenant_is_owned_by_its_namesakes_in_none() {
        let owned = ResourceOwnership {
            owner: Some("ann"),
            team: Some("red"),
            is_shared: true,
            ..ResourceOwnership::default()
        };
        let limited = json!({"team_only": true});
        let of = |user: &str, tenant: Option<&str>| {
            access(
                json!({"user_id": user, "team_id": "red", "tenant_id": tenant, "constraints": limited}),
            )
        };
        for (user, tenant, expected) in [
            ("ann", None, true),
            ("bob", None, true),
            ("ann", Some("t1"), false),
            ("bob", Some("t1"), false),
        ] {
            let found = of(user, tenant).may_use(&owned);
            assert_eq!(found, expected, "{user} {tenant:?}");
        }
        let of_a_tenant = ResourceOwnership {
            tenant: Some("t1"),
            is_public: true,
            ..owned
        };
        assert!(of("cid", Some("t1")).may_use(&of_a_tenant));
        assert!(!access(json!({"user_id": "root"})).may_use(&of_a_tenant));
    }
}
