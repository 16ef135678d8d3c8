//! Callers as the stories need them.

use ambit_knowledge::{Collection, CollectionShare, CollectionSource, Document, KnowledgeReach};

/// Somebody with a team and roles. Without a name they have no constraints.
#[derive(Clone, Debug, Default)]
pub struct Person {
    pub tenant: String,
    pub user: Option<String>,
    pub team: Option<String>,
    pub roles: Vec<String>,
    pub is_whole: bool,
}

impl Person {
    /// A user of the tenant `t`.
    pub fn named(user: &str) -> Self {
        Self {
            tenant: "t".to_owned(),
            user: Some(user.to_owned()),
            ..Self::default()
        }
    }

    /// Whoever looks after a tenant.
    pub fn operator(tenant: &str) -> Self {
        Self {
            tenant: tenant.to_owned(),
            is_whole: true,
            ..Self::default()
        }
    }

    pub fn of_team(mut self, team: &str) -> Self {
        self.team = Some(team.to_owned());
        self
    }

    fn is(&self, user: Option<&String>) -> bool {
        user.is_some() && user == self.user.as_ref()
    }
}

impl KnowledgeReach for Person {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    fn team(&self) -> Option<&str> {
        self.team.as_deref()
    }

    fn may_use(&self, collection: &Collection) -> bool {
        let is_teams = collection.share == CollectionShare::Team
            && self.team.is_some()
            && collection.team_id == self.team;
        let is_own = collection.source == CollectionSource::Api && self.may_change(collection);
        collection.public || is_teams || is_own
    }

    fn may_change(&self, collection: &Collection) -> bool {
        self.is_whole || self.is(collection.created_by.as_ref())
    }

    fn may_read(&self, document: &Document) -> bool {
        let Some(access) = &document.access else {
            return true;
        };
        let is_named = |names: &[String], own: &Option<String>| {
            own.as_ref().is_some_and(|own| names.contains(own))
        };
        self.is_whole
            || self.is(document.created_by.as_ref())
            || is_named(&access.users, &self.user)
            || is_named(&access.teams, &self.team)
            || self.roles.iter().any(|role| access.roles.contains(role))
    }
}
