//! All sessions of an agent, from a context or from one of them.

use super::{Page, SessionQuery};
use crate::Result;
use crate::identity::SessionIdentity;
use crate::session::{Ambit, ChatHistoryStorage, Context, LiveAgent, UsageStorage};

impl Context {
    /// All sessions of a registered agent.
    pub fn of(ambit: impl Into<Ambit>, agent: &str) -> Result<SessionQuery> {
        SessionQuery::of(ambit, agent)
    }

    /// All sessions under a name in the index, also of an agent that is no longer there.
    pub fn named(ambit: impl Into<Ambit>, agent: &str) -> SessionQuery {
        SessionQuery::named(ambit, agent)
    }
}

impl LiveAgent {
    /// The rendered keys of all the agent's tracked storages, and of those registered here and not yet saved.
    pub async fn storage_keys(&self) -> Result<Page<String>> {
        self.keys(self.tracked()).await
    }

    /// The rendered keys of the agent's chat histories.
    pub async fn chat_keys(&self) -> Result<Page<String>> {
        self.keys(self.tracked().for_storage::<ChatHistoryStorage>())
            .await
    }

    /// The identities of the agent's chat histories.
    pub async fn chat_identities(&self) -> Result<Page<SessionIdentity>> {
        self.identities(self.tracked().for_storage::<ChatHistoryStorage>())
            .await
    }

    /// The identities under which the agent's usage is counted.
    pub async fn usage_identities(&self) -> Result<Page<SessionIdentity>> {
        self.identities(self.tracked().for_storage::<UsageStorage>())
            .await
    }

    fn tracked(&self) -> SessionQuery {
        SessionQuery::named(
            self.context().ambit(),
            self.context().identity().agent_name(),
        )
    }

    async fn keys(&self, query: SessionQuery) -> Result<Page<String>> {
        let page = self.identities(query).await?;
        Ok(Page {
            items: page.items.iter().map(SessionIdentity::key).collect(),
            next: page.next,
        })
    }

    async fn identities(&self, query: SessionQuery) -> Result<Page<SessionIdentity>> {
        let rows = query.page(None, 1_000).await?;
        let mut items: Vec<SessionIdentity> =
            rows.items.into_iter().map(|row| row.identity).collect();
        for identity in self.context().unsaved_identities() {
            // The row of a group has the identity of the agent that came first.
            let is_known = |item: &SessionIdentity| item.same_storage(&identity);
            if query.wants_scope(identity.scope()) && !items.iter().any(is_known) {
                items.push(identity);
            }
        }
        Ok(Page {
            items,
            next: rows.next,
        })
    }
}
