//! What a caller may reach of the tenant's conversations, decided in one place.

use crate::access::Authorized;
use crate::chats::share;
use crate::error::{Error, Result};
use ambit_storage::directory::{Filter, Order, PageRequest, Tracked, Viewer};
use ambit_storage::storage::{ChatHistoryStorage, StorageKind};
use ambit_storage::{Ambit, Caller, SessionIdentity};

/// Which conversations of the tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    tenant: String,
    /// A person; `None` reaches all of the tenant.
    viewer: Option<Viewer>,
}

impl Reach {
    /// What a caller's constraints leave. A constraint whose value is missing leaves nothing, and nobody in particular
    /// reaches nothing, whatever the constraints say.
    pub fn of(who: &Authorized) -> Self {
        let person = Self::person(who);
        let is_somebody = who.user_id.as_ref().is_some_and(|user| !user.is_empty());
        match who.constraints.is_none() && is_somebody {
            true => Self {
                viewer: None,
                ..person
            },
            false => person,
        }
    }

    /// What is the caller's own, or their team's with them, however wide their rights are.
    pub fn person(who: &Authorized) -> Self {
        let present = |id: &Option<String>| id.clone().filter(|id| !id.is_empty());
        let limits = &who.constraints;
        let is_own_only = limits.owner_only || limits.creator_only || limits.editor_only;
        let (user, team) = (present(&who.user_id), present(&who.team_id));
        let viewer = match (limits.team_only, &team) {
            (true, None) => Viewer {
                user: None,
                team: None,
            },
            _ => Viewer {
                team: team.filter(|_| !is_own_only && user.is_some()),
                user,
            },
        };
        Self {
            tenant: who.tenant().to_owned(),
            viewer: Some(viewer),
        }
    }

    /// The tenant.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The team whose shared conversations are reached.
    pub fn team(&self) -> Option<&str> {
        self.viewer.as_ref()?.team.as_deref()
    }

    /// True where all of the tenant is reached.
    pub fn is_whole(&self) -> bool {
        self.viewer.is_none()
    }

    /// A filter that leaves only what is reached; what one person shares with a team is found apart, in `share`.
    pub fn filter(&self) -> Filter {
        Filter {
            visible_to: self.viewer.clone(),
            ..Filter::tenant(&self.tenant)
        }
    }

    /// The installation with these rights.
    pub fn ambit(&self, ambit: &Ambit) -> Ambit {
        let Some(viewer) = &self.viewer else {
            return self.system(ambit);
        };
        let tenant = self.tenant.as_str();
        let caller = match &viewer.user {
            Some(user) => Caller::user(tenant, user),
            None => Caller::anonymous(tenant),
        };
        ambit.acting_as(&match &viewer.team {
            Some(team) => caller.with_team(team),
            None => caller,
        })
    }

    /// The installation with the rights that a row needs which this caller was found to reach.
    pub fn ambit_for(&self, ambit: &Ambit, row: &Tracked) -> Ambit {
        match &self.viewer {
            Some(viewer) if viewer.may_see(row) => self.ambit(ambit),
            _ => self.system(ambit),
        }
    }

    /// Whether this row is reached.
    pub async fn sees(&self, ambit: &Ambit, row: &Tracked) -> Result<bool> {
        if row.tenant != self.tenant {
            return Ok(false);
        }
        match &self.viewer {
            None => Ok(true),
            Some(viewer) if viewer.may_see(row) => Ok(true),
            Some(_) => share::is_shared_with(ambit, self, row).await,
        }
    }

    /// Whether the history of this session is listed for the caller. One that belongs to nobody in particular and is not in
    /// the index, or no more, is not.
    pub async fn lists(&self, ambit: &Ambit, session: &SessionIdentity) -> Result<bool> {
        let Some(viewer) = &self.viewer else {
            return Ok(true);
        };
        if session.user_id().is_some() {
            return Ok(session.user_id() == viewer.user.as_deref());
        }
        let history = session.with_scope(ChatHistoryStorage::PREFIX)?;
        let filter = Filter {
            storage_key: Some(history.storage_key()),
            ..self.filter()
        };
        Ok(first(ambit, &filter).await?.is_some())
    }

    /// The row with this id; one out of reach is one that does not exist.
    pub async fn row(&self, ambit: &Ambit, id: &str) -> Result<Tracked> {
        let unknown = || Error::not_found("context", id);
        if id.contains('\0') {
            return Err(unknown());
        }
        let filter = Filter {
            id: Some(id.to_owned()),
            ..Filter::tenant(&self.tenant)
        };
        let row = first(ambit, &filter).await?.ok_or_else(unknown)?;
        match self.sees(ambit, &row).await? {
            true => Ok(row),
            false => Err(unknown()),
        }
    }

    fn system(&self, ambit: &Ambit) -> Ambit {
        ambit.acting_as(&Caller::system(&self.tenant))
    }
}

/// The first row that matches.
pub(crate) async fn first(ambit: &Ambit, filter: &Filter) -> Result<Option<Tracked>> {
    let page = PageRequest {
        order: Order::Oldest,
        after: None,
        limit: 1,
    };
    let index = ambit.stores().index()?;
    Ok(index.driver().identities(filter, &page).await?.pop())
}

/// Rows read in one go.
pub(crate) const BATCH: usize = 500;

/// Every row that matches, in order of creation: for filters that name a chat, of which there are few.
pub(crate) async fn every(ambit: &Ambit, filter: &Filter) -> Result<Vec<Tracked>> {
    let index = ambit.stores().index()?;
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let page = PageRequest {
            order: Order::Oldest,
            after,
            limit: BATCH,
        };
        let found = index.driver().identities(filter, &page).await?;
        after = found.last().map(Tracked::position);
        let is_over = found.len() < BATCH;
        rows.extend(found);
        if is_over {
            return Ok(rows);
        }
    }
}
