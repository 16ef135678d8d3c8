//! Agents of the cases, each with a say of its own in where its sessions are kept.

use ambit_storage::storage::{ChatHistoryStorage, HistoryOptions, UsageStorage};
use ambit_storage::{Agent, Caller, Result, SessionIdentity, Stores};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// An agent that says nothing.
pub struct Plain(pub &'static str);

impl Agent for Plain {
    fn name(&self) -> &str {
        self.0
    }
}

/// A member of the group `desk`, until it leaves.
pub struct Member(pub &'static str, pub Arc<AtomicBool>);

impl Agent for Member {
    fn name(&self) -> &str {
        self.0
    }

    fn group(&self, _caller: &Caller) -> Result<Option<String>> {
        let is_in = self.1.load(Ordering::SeqCst);
        Ok(is_in.then(|| "desk".to_owned()))
    }
}

/// One history for each of the caller's teams, and usage for each organisation.
pub struct Team;

impl Agent for Team {
    fn name(&self) -> &str {
        "Team"
    }

    fn create_history_identity(
        &self,
        _base: &SessionIdentity,
        caller: &Caller,
    ) -> Result<SessionIdentity> {
        let chat = format!("team-{}", caller.team_id()?);
        SessionIdentity::builder(self.name())
            .chat_name(chat)
            .build()
    }
}

/// Usage for each organisation.
pub struct Organisation;

impl Agent for Organisation {
    fn name(&self) -> &str {
        "Organisation"
    }

    fn create_usage_identity(
        &self,
        _base: &SessionIdentity,
        caller: &Caller,
    ) -> Result<SessionIdentity> {
        let chat = format!("org-{}", caller.claim("organization_id")?);
        SessionIdentity::builder(self.name())
            .chat_name(chat)
            .build()
    }
}

/// A group for each tenant.
pub struct Tenants;

impl Agent for Tenants {
    fn name(&self) -> &str {
        "Tenants"
    }

    fn group(&self, caller: &Caller) -> Result<Option<String>> {
        Ok(Some(caller.tenant_id()?.to_owned()))
    }
}

/// Says of every storage that it belongs to the chat `real` on the driver `main`.
pub struct Durable;

impl Agent for Durable {
    fn name(&self) -> &str {
        "Durable"
    }

    fn group(&self, _caller: &Caller) -> Result<Option<String>> {
        Ok(Some("durable".to_owned()))
    }

    fn drivers(&self, _scope: &str) -> Option<Vec<String>> {
        Some(vec!["main".to_owned()])
    }

    fn create_chat_history(
        &self,
        _base: &SessionIdentity,
        _caller: &Caller,
        stores: &Stores,
    ) -> Result<ChatHistoryStorage> {
        let options = HistoryOptions { store_meta: true };
        ChatHistoryStorage::new(real()?, stores.chain(&["main"])?, options)
    }

    fn create_usage_storage(
        &self,
        _base: &SessionIdentity,
        _caller: &Caller,
        stores: &Stores,
    ) -> Result<UsageStorage> {
        UsageStorage::new(real()?, stores.chain(&["main"])?)
    }
}

fn real() -> Result<SessionIdentity> {
    SessionIdentity::builder("Durable")
        .chat_name("real")
        .build()
}

/// Counts how often it is asked anything.
pub struct Asked(pub Arc<AtomicU64>);

impl Agent for Asked {
    fn name(&self) -> &str {
        "Support"
    }

    fn group(&self, _caller: &Caller) -> Result<Option<String>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(None)
    }

    fn drivers(&self, _scope: &str) -> Option<Vec<String>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        None
    }

    fn create_history_identity(
        &self,
        base: &SessionIdentity,
        _caller: &Caller,
    ) -> Result<SessionIdentity> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(base.clone())
    }
}
