//! The library as its contract prints it: the part that is storage's, line by line.

use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::driver::{Driver, DriverOptions};
use ambit_storage::event::{ContextSaving, IdentityAdded, IdentityAdding, Verdict};
use ambit_storage::storage::{ChatHistoryStorage, HistoryOptions, Message, StorageKind};
use ambit_storage::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

struct SupportAgent;

impl Agent for SupportAgent {
    fn name(&self) -> &str {
        "SupportAgent"
    }
}

struct TenantSupportAgent;

impl Agent for TenantSupportAgent {
    fn name(&self) -> &str {
        "TenantSupportAgent"
    }

    fn group(&self, caller: &Caller) -> Result<Option<String>> {
        Ok(Some(caller.tenant_id()?.into()))
    }
}

struct MultiTenantAgent;

impl Agent for MultiTenantAgent {
    fn name(&self) -> &str {
        "MultiTenantAgent"
    }

    fn create_history_identity(
        &self,
        _base: &SessionIdentity,
        caller: &Caller,
    ) -> Result<SessionIdentity> {
        SessionIdentity::builder(self.name())
            .chat_name(format!("team-{}", caller.team_id()?))
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

struct MyAgent;

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

#[derive(Clone, Serialize, Deserialize)]
struct Note {
    text: String,
}

struct Notes;

impl StorageKind for Notes {
    const PREFIX: &'static str = "notes";
    type Item = Note;
}

struct Person(&'static str);

impl User for Person {
    fn user_id(&self) -> &str {
        self.0
    }
}

/// An installation whose PostgreSQL and Redis are this process's memory.
fn ambit() -> Ambit {
    let memory = || -> Arc<dyn Driver> { Arc::new(MemoryDriver::new(DriverOptions::default())) };
    let stores = Stores::builder(DriverOptions::default())
        .driver("postgres", memory())
        .driver("redis", memory());
    let stores = stores.build().unwrap_or_else(|error| panic!("{error}"));
    Ambit::builder(stores)
        .agent(SupportAgent)
        .agent(TenantSupportAgent)
        .agent(MultiTenantAgent)
        .agent(MyAgent)
        .build()
}

#[tokio::test]
async fn sessions_are_opened_by_chat_and_by_user() -> Result<()> {
    let ambit = ambit();
    let support = ambit.agent("SupportAgent")?;
    let agent = support.for_chat("session-123").await?;
    assert_eq!(agent.chat_name(), Some("session-123"));
    let agent = support.make().await?;
    assert!(agent.chat_name().is_some());
    let agent = support.for_user(&Person("user-123")).await?;
    assert_eq!(agent.context().identity().user_id(), Some("user-123"));
    let agent = support.for_user_id("user-123").chat("billing").await?;
    let identity = agent.context().identity();
    assert_eq!(identity.chat_name(), Some("billing"));
    assert_eq!(identity.agent_name(), "SupportAgent");
    let preview = support.for_chat("_temp_preview").await?;
    assert!(preview.context().is_temporary());
    Ok(())
}

#[tokio::test]
async fn a_session_is_found_and_gone_on_with() -> Result<()> {
    let ambit = ambit();
    let support = ambit.agent("SupportAgent")?;
    let agent = support.for_user_id("user-123").await?;
    agent.history().add_message(Message::user("hi")).await?;
    agent.context().save().await?;
    let of_agent = Context::of(&ambit, "SupportAgent")?;
    let found = of_agent.for_user("user-123").first().await?.unwrap();
    let agent = support.from_identity(&found).await?;
    assert_eq!(agent.history().count().await?, 1);
    Ok(())
}

#[tokio::test]
async fn an_agent_says_where_its_storages_are() -> Result<()> {
    let ambit = ambit();
    let caller = Caller::user("acme", "ann")
        .with_team("blue")
        .with_claim("organization_id", "org-1");
    let ambit = ambit.acting_as(&caller);
    let open = async |name: &str| ambit.agent(name)?.for_user_id("ann").await;
    let agent = open("TenantSupportAgent").await?;
    assert_eq!(agent.context().identity().group(), Some("acme"));
    let agent = open("MultiTenantAgent").await?;
    assert_eq!(agent.history().identity().chat_name(), Some("team-blue"));
    let usage = agent.context().usage();
    assert_eq!(usage.identity().chat_name(), Some("org-org-1"));
    let agent = open("MyAgent").await?;
    let history = agent.history();
    assert_eq!(history.identity().group(), None);
    assert_eq!(history.placement().names(), ["postgres", "redis"]);
    Ok(())
}

#[tokio::test]
async fn a_context_is_read_cleared_saved_and_removed() -> Result<()> {
    let ambit = ambit();
    let agent = ambit.agent("SupportAgent")?.for_user_id("user-123").await?;
    let context = agent.context();
    let (base, index) = (context.identity(), context.context_identity()?);
    assert_eq!(base.key(), "SupportAgent_user-123");
    assert_eq!(index.key(), "context_SupportAgent_default");
    let text = "prefers e-mail".to_owned();
    context.storage::<Notes>().await?.add(Note { text })?;
    context.save().await?;
    context.read().await?;
    context.clear().await?;
    context.save().await?;
    assert_eq!(context.storage::<Notes>().await?.count().await?, 0);
    let keys = agent.storage_keys().await?;
    let known = |key: &str| keys.items.iter().any(|other| other == key);
    assert!(known("chatHistory_SupportAgent_user-123"));
    assert!(known("usage_SupportAgent_user-123"));
    let (chat_keys, chats) = (agent.chat_keys().await?, agent.chat_identities().await?);
    assert_eq!(chat_keys.items, ["chatHistory_SupportAgent_user-123"]);
    assert_eq!(chats.items, [agent.history().identity().clone()]);
    context.remove().await?;
    Ok(())
}

#[tokio::test]
async fn bulk_usage_and_events_read_as_they_are_printed() -> Result<()> {
    let ambit = ambit();
    static SAVED: AtomicUsize = AtomicUsize::new(0);
    static ADDED: AtomicUsize = AtomicUsize::new(0);
    ambit.before::<ContextSaving>(async |event| {
        assert!(event.context.is_dirty());
        SAVED.fetch_add(1, Ordering::Relaxed);
        Ok(Verdict::Continue)
    });
    ambit.before::<IdentityAdding>(async |event| {
        Ok(if event.identity.user_id() == Some("mallory") {
            Verdict::veto("banned")
        } else {
            Verdict::Continue
        })
    });
    ambit.after::<IdentityAdded>(async |event| {
        assert!(event.identity.key().starts_with("chatHistory_"));
        ADDED.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let support = ambit.agent("SupportAgent")?;
    assert!(support.for_user_id("mallory").await.is_err());
    let agent = support.for_user_id("user-123").await?;
    agent.history().add_message(Message::user("hi")).await?;
    agent.context().save().await?;
    assert_eq!(SAVED.load(Ordering::Relaxed), 1);
    assert_eq!(ADDED.load(Ordering::Relaxed), 1);

    let spend = Usage::of(&ambit, "SupportAgent")
        .for_user("user-123")
        .group_by(UsageField::Model)
        .await?;
    assert_eq!(spend, Some(Default::default()));
    let report = Context::named(&ambit, "SupportAgent")
        .for_storage::<ChatHistoryStorage>()
        .active_before(i64::MAX)
        .remove()
        .await?;
    assert_eq!(report.done.len(), 1);
    Ok(())
}
