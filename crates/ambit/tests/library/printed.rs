//! What the contract prints, with one `Result`.

use super::{Note, Notes, Person};
use ambit::event::{ContextSaving, IdentityAdded, IdentityAdding, Verdict};
use ambit::storage::Result;
use ambit::{
    Agent, Ambit, Caller, ChatHistoryStorage, Context, Error, HistoryOptions, SessionIdentity,
    Stores, Usage, UsageField,
};

pub struct TenantSupportAgent;

impl Agent for TenantSupportAgent {
    fn name(&self) -> &str {
        "TenantSupportAgent"
    }

    fn group(&self, caller: &Caller) -> Result<Option<String>> {
        Ok(Some(caller.tenant_id()?.into()))
    }
}

pub struct MultiTenantAgent;

impl Agent for MultiTenantAgent {
    fn name(&self) -> &str {
        "MultiTenantAgent"
    }

    fn create_history_identity(
        &self,
        _base: &SessionIdentity,
        caller: &Caller,
    ) -> Result<SessionIdentity> {
        let team = caller.team_id()?;
        SessionIdentity::builder(self.name())
            .chat_name(format!("team-{team}"))
            .build()
    }

    fn create_usage_identity(
        &self,
        _base: &SessionIdentity,
        caller: &Caller,
    ) -> Result<SessionIdentity> {
        SessionIdentity::builder(self.name())
            .chat_name(format!("org-{}", caller.claim("organization_id")?))
            .build()
    }
}

pub struct MyAgent;

impl Agent for MyAgent {
    fn name(&self) -> &str {
        "MyAgent"
    }

    fn group(&self, _caller: &Caller) -> Result<Option<String>> {
        Ok(Some("shared-group".into()))
    }

    fn create_chat_history(
        &self,
        base: &SessionIdentity,
        _caller: &Caller,
        stores: &Stores,
    ) -> Result<ChatHistoryStorage> {
        ChatHistoryStorage::new(
            base.without_group(),
            stores.chain(&["postgres", "redis"])?,
            HistoryOptions { store_meta: false },
        )
    }
}

async fn check(context: &Context) -> Result<()> {
    match context.is_dirty() {
        true => Ok(()),
        false => Err(Error::internal("nothing is to be saved").into()),
    }
}

fn is_banned(identity: &SessionIdentity) -> bool {
    identity.user_id() == Some("mallory")
}

pub async fn program(ambit: &Ambit) -> Result<()> {
    ambit.before::<ContextSaving>(async |event| {
        check(&event.context).await?;
        Ok(Verdict::Continue)
    });
    ambit.before::<IdentityAdding>(async |event| {
        Ok(if is_banned(&event.identity) {
            Verdict::veto("banned")
        } else {
            Verdict::Continue
        })
    });
    ambit.after::<IdentityAdded>(async |event| {
        tracing::info!(key = %event.identity.key(), "new session tracked");
        Ok(())
    });
    let support = ambit.agent("SupportAgent")?;
    let agent = support.for_user(&Person("user-123")).await?;
    agent.respond("Hello").await?;
    if let Some(found) = Context::of(ambit, "SupportAgent")?
        .for_user("user-123")
        .first()
        .await?
    {
        let agent = support.from_identity(&found).await?;
        agent.respond("Continue our conversation...").await?;
    }
    let context = agent.context();
    let (_base, _index) = (context.identity(), context.context_identity());
    let text = "prefers e-mail".into();
    context.storage::<Notes>().await?.add(Note { text })?;
    context.save().await?;
    let _spend = Usage::of(ambit, "SupportAgent")
        .for_user("user-123")
        .group_by(UsageField::Model)
        .await?;
    Ok(())
}
