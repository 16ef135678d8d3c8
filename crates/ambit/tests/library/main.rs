//! The library as its contract prints it, line by line, over an app whose model is scripted.

mod printed;
mod users;

use ambit::event::{ContextSaving, ConversationEnded, IdentityAdded, IdentityAdding, Verdict};
use ambit::storage::driver::memory::MemoryDriver;
use ambit::storage::driver::{Driver, DriverOptions};
use ambit::{
    Ambit, AmbitBuilder, Authorized, ChatHistoryStorage, Context, ErrorCode, Result, StorageKind,
    Stores, ToolServer, Usage, UsageField, User,
};
use printed::{MultiTenantAgent, MyAgent, TenantSupportAgent};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

const RULES: &str = r#"{ "type": "scripted", "options": { "rules": [
    { "match": { "has_tool_result": true }, "reply": "{{last_tool_result}}" },
    { "match": { "last_user": "count" }, "tool_calls": [{ "name": "stock__count", "arguments": {} }] },
    { "reply": "You said: {{last_user}}" }
] } }"#;

const APP: [(&str, &str); 4] = [
    ("app.yao", "{}"),
    (
        "assistants/SupportAgent/package.yao",
        r#"{ "name": "Support", "connector": "scripted", "mcp": { "servers": ["stock"] } }"#,
    ),
    (
        "assistants/SupportAgent/prompts.yml",
        "- { role: system, content: You help. }",
    ),
    ("connectors/scripted.conn.yao", RULES),
];

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

/// Stores whose PostgreSQL and Redis are this process's memory.
fn stores() -> Arc<Stores> {
    let memory = || -> Arc<dyn Driver> { Arc::new(MemoryDriver::new(DriverOptions::default())) };
    let stores = Stores::builder(DriverOptions::default())
        .driver("postgres", memory())
        .driver("redis", memory());
    Arc::new(stores.build().unwrap_or_else(|error| panic!("{error}")))
}

fn stock() -> ToolServer {
    let nothing = json!({"type": "object"});
    ToolServer::new("stock").tool("count", "How many there are", nothing, async |_, _| {
        Ok(json!(7))
    })
}

fn builder() -> AmbitBuilder {
    Ambit::builder(APP)
        .stores(stores())
        .agent(TenantSupportAgent)
        .agent(MultiTenantAgent)
        .agent(MyAgent)
        .tools(stock())
}

#[tokio::test]
async fn the_printed_program_runs_with_one_result() -> Result<()> {
    let ambit = builder().open().await?;
    printed::program(&ambit).await?;
    ambit.close().await
}

#[tokio::test]
async fn identities_of_a_program_are_made_from_the_caller() -> Result<()> {
    let ambit = builder().open().await?;
    let mut caller = Authorized {
        user_id: Some("ann".to_owned()),
        team_id: Some("red".to_owned()),
        ..Authorized::default()
    };
    let claim = ("organization_id".to_owned(), json!("acme"));
    caller.claims.extend([claim]);
    let acting = ambit.acting_as(caller);
    let agent = acting.agent("MultiTenantAgent")?.for_user_id("ann").await?;
    let history = agent.history().identity().clone();
    assert_eq!(history.chat_name(), Some("team-red"));
    let refused = ambit.agent("MultiTenantAgent")?.for_user_id("ann").await;
    assert!(refused.is_err());
    ambit.close().await
}

#[tokio::test]
async fn a_limited_handle_is_no_server() -> Result<()> {
    let ambit = builder().open().await?;
    let limited = [
        ambit.for_tenant("acme"),
        ambit.acting_as(Authorized::default()),
    ];
    for limited in limited {
        let refused = ambit::server::router(&limited).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
        assert!(
            refused
                .message
                .contains("the handle that the app was opened with")
        );
    }
    assert!(ambit::server::router(&ambit).is_ok());
    ambit.close().await
}

#[tokio::test]
async fn sessions_are_opened_by_chat_and_by_user_and_respond() -> Result<()> {
    let ambit = builder().open().await?;
    let support = ambit.agent("SupportAgent")?;
    let agent = support.for_chat("session-123").await?;
    assert_eq!(agent.respond("one").await?.text, "You said: one");
    let agent = support.make().await?;
    assert_eq!(agent.respond("two").await?.text, "You said: two");
    let agent = support.for_user(&Person("user-123")).await?;
    assert_eq!(agent.respond("three").await?.text, "You said: three");
    let agent = support.for_user_id("user-123").chat("billing").await?;
    assert_eq!(agent.respond("four").await?.text, "You said: four");
    let identity = agent.context().identity();
    assert_eq!(identity.chat_name(), Some("billing"));
    assert_eq!(identity.agent_name(), "SupportAgent");
    let preview = support.for_chat("_temp_preview").await?;
    assert_eq!(preview.respond("five").await?.text, "You said: five");
    assert!(preview.context().is_temporary());
    let of_agent = Context::of(&ambit, "SupportAgent")?;
    let histories = of_agent.for_storage::<ChatHistoryStorage>();
    assert_eq!(histories.count().await?, 4);
    ambit.close().await
}

#[tokio::test]
async fn a_session_is_found_and_gone_on_with() -> Result<()> {
    let ambit = builder().open().await?;
    let support = ambit.agent("SupportAgent")?;
    support.for_user_id("user-123").respond("Hello").await?;
    let of_agent = Context::of(&ambit, "SupportAgent")?;
    let found = of_agent.for_user("user-123").first().await?;
    let agent = support.from_identity(&found.unwrap()).await?;
    let reply = agent.respond("Continue our conversation...").await?;
    assert_eq!(reply.text, "You said: Continue our conversation...");
    assert_eq!(agent.history().count().await?, 4);
    ambit.close().await
}

#[tokio::test]
async fn agents_of_the_program_say_where_their_storages_are() -> Result<()> {
    let ambit = builder().open().await?;
    let agent = ambit.for_tenant("acme").agent("TenantSupportAgent")?;
    let agent = agent.for_user_id("ann").await?;
    assert_eq!(agent.context().identity().group(), Some("acme"));
    let agent = ambit.agent("MyAgent")?.for_user_id("ann").await?;
    assert_eq!(agent.history().placement().names(), ["postgres", "redis"]);
    let refused = agent.respond("Hello").await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::NotFound);
    ambit.close().await
}

#[tokio::test]
async fn a_context_is_read_cleared_saved_and_removed() -> Result<()> {
    let ambit = builder().open().await?;
    let agent = ambit.agent("SupportAgent")?.for_user_id("user-123").await?;
    agent.respond("Hello").await?;
    let context = agent.context();
    let (base, index) = (context.identity(), context.context_identity()?);
    assert_eq!(base.key(), "SupportAgent_user-123");
    assert_eq!(index.key(), "context_SupportAgent_default");
    let text = "prefers e-mail".into();
    context.storage::<Notes>().await?.add(Note { text })?;
    context.save().await?;
    context.read().await?;
    let keys = agent.storage_keys().await?;
    let known = |key: &str| keys.items.iter().any(|other| other == key);
    assert!(known("chatHistory_SupportAgent_user-123"));
    assert!(known("usage_SupportAgent_user-123"));
    let (chat_keys, chats) = (agent.chat_keys().await?, agent.chat_identities().await?);
    assert_eq!(chat_keys.items, ["chatHistory_SupportAgent_user-123"]);
    assert_eq!(chats.items, [agent.history().identity().clone()]);
    context.clear().await?;
    context.save().await?;
    assert_eq!(context.storage::<Notes>().await?.count().await?, 0);
    context.remove().await?;
    ambit.close().await
}

#[tokio::test]
async fn bulk_usage_and_events_read_as_they_are_printed() -> Result<()> {
    static SAVED: AtomicUsize = AtomicUsize::new(0);
    static ADDED: AtomicUsize = AtomicUsize::new(0);
    let ambit = builder().open().await?;
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
        assert!(event.identity.key().ends_with("SupportAgent_user-123"));
        ADDED.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let support = ambit.agent("SupportAgent")?;
    let refused = support.for_user_id("mallory").await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Vetoed);
    support.for_user_id("user-123").respond("Hello").await?;
    assert!(SAVED.load(Ordering::Relaxed) > 0);
    assert_eq!(ADDED.load(Ordering::Relaxed), 2);

    let spend = Usage::of(&ambit, "SupportAgent")
        .for_user("user-123")
        .group_by(UsageField::Model)
        .await?;
    assert_eq!(spend.unwrap().len(), 1);
    let next_year = 1_900_000_000_000;
    let report = Context::named(&ambit, "SupportAgent")
        .for_storage::<ChatHistoryStorage>()
        .active_before(next_year)
        .remove()
        .await?;
    assert_eq!(report.done.len(), 1);
    ambit.close().await
}

#[tokio::test]
async fn a_turn_ends_with_what_a_listener_answers() -> Result<()> {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let ambit = builder().open().await?;
    ambit.before::<ContextSaving>(async |_| {
        ASKED.fetch_add(1, Ordering::Relaxed);
        Err(ambit::Error::invalid("name", "the name is taken").into())
    });
    let session = ambit.agent("SupportAgent")?.for_user_id("ann").await?;
    let error = session.respond("Hello").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument, "{error}");
    assert_eq!(ASKED.load(Ordering::Relaxed), 1);
    ambit.close().await
}

/// The conversation belongs to no user, so that no request could name it.
#[tokio::test]
async fn a_turn_of_a_session_goes_on_where_another_opening_left_it() -> Result<()> {
    let stores = stores();
    let (called, mut calls) = mpsc::unbounded_channel();
    let nothing = json!({"type": "object"});
    let stuck = ToolServer::new("stock").tool("count", "Never says", nothing, move |_, _| {
        let called = called.clone();
        async move {
            let _ = called.send(());
            pending().await
        }
    });
    let first = Ambit::builder(APP).stores(stores.clone()).tools(stuck);
    let first = first.open().await?;
    let agent = first.agent("SupportAgent")?.for_chat("session-123").await?;
    let stream = agent.respond("count").stream().await?;
    calls.recv().await;
    first.runtime().close(Duration::ZERO).await?;
    drop(stream);

    let (ended, mut ends) = mpsc::unbounded_channel();
    let second = Ambit::builder(APP).stores(stores).tools(stock());
    let second = second.after::<ConversationEnded>(move |event| {
        let ended = ended.clone();
        async move {
            let _ = ended.send(event.status);
            Ok(())
        }
    });
    let second = second.open().await?;
    assert_eq!(ends.recv().await, Some("completed"));
    let support = second.agent("SupportAgent")?;
    let agent = support.for_chat("session-123").await?;
    let messages = agent.history().messages().await?;
    assert_eq!(
        messages.first().map(ambit::Message::text).as_deref(),
        Some("count")
    );
    assert!(messages.len() > 2, "{messages:?}");
    second.close().await
}
