//! An app's agent as storage sees it: where its conversations are kept, as `context` of its package says.

use crate::app::{self, ContextSettings, Placement};
use ambit_storage::{Agent, Caller, Error, Result, SessionIdentity, suggestion, truncation};
use std::sync::Arc;

/// An agent of a folder over the stores.
pub(crate) struct StorageAgent {
    agent: Arc<app::AppAgent>,
    truncation: truncation::TruncationSettings,
}

impl StorageAgent {
    pub fn new(agent: Arc<app::AppAgent>, truncation: truncation::TruncationSettings) -> Self {
        Self { agent, truncation }
    }

    fn settings(&self) -> &ContextSettings {
        &self.agent.package.context
    }
}

impl Agent for StorageAgent {
    // An app's agents are known by their ids.
    fn name(&self) -> &str {
        &self.agent.id
    }

    fn group(&self, caller: &Caller) -> Result<Option<String>> {
        let group = self.settings().group.as_deref();
        group.map(|template| filled(template, caller)).transpose()
    }

    fn drivers(&self, scope: &str) -> Option<Vec<String>> {
        let placement = match scope {
            "chatHistory" => &self.settings().history.placement,
            "usage" => &self.settings().usage,
            _ => return None,
        };
        placement.drivers.clone()
    }

    fn store_meta(&self) -> bool {
        self.settings().history.store_meta
    }

    fn truncation(&self) -> truncation::TruncationSettings {
        self.truncation.clone()
    }

    fn create_history_identity(
        &self,
        base: &SessionIdentity,
        caller: &Caller,
    ) -> Result<SessionIdentity> {
        placed(base, &self.settings().history.placement, caller)
    }

    fn create_usage_identity(
        &self,
        base: &SessionIdentity,
        caller: &Caller,
    ) -> Result<SessionIdentity> {
        placed(base, &self.settings().usage, caller)
    }
}

/// The base identity, or the one that `chat`, `user` and `group` make: then nothing of the base is in it but the agent.
fn placed(
    base: &SessionIdentity,
    placement: &Placement,
    caller: &Caller,
) -> Result<SessionIdentity> {
    let Placement {
        chat, user, group, ..
    } = placement;
    if chat.is_none() && user.is_none() && group.is_none() {
        return Ok(base.clone());
    }
    let mut identity = SessionIdentity::builder(base.agent_name());
    if let Some(chat) = chat {
        identity = identity.chat_name(filled(&chat.0, caller)?);
    }
    if let Some(user) = user {
        identity = identity.user_id(filled(&user.0, caller)?);
    }
    if let Some(group) = group {
        identity = identity.group(filled(&group.0, caller)?);
    }
    identity.build()
}

/// A template with its variables replaced. They come from authentication alone; a missing one refuses the session.
fn filled(template: &str, caller: &Caller) -> Result<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find("$CTX.") {
        text.push_str(&rest[..at]);
        let name = &rest[at + "$CTX.".len()..];
        let is_name =
            |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
        let end = name.find(|letter| !is_name(letter)).unwrap_or(name.len());
        text.push_str(value(&name[..end], caller)?);
        rest = &name[end..];
    }
    text.push_str(rest);
    Ok(text)
}

fn value<'a>(name: &str, caller: &'a Caller) -> Result<&'a str> {
    match name {
        "USER_ID" => caller.user_id(),
        "TEAM_ID" => caller.team_id(),
        "TENANT_ID" => caller.tenant_id(),
        claim => match claim.strip_prefix("CLAIM.") {
            Some(claim) => caller.claim(claim),
            None => {
                let known = ["USER_ID", "TEAM_ID", "TENANT_ID", "CLAIM.<name>"];
                let nearest = suggestion::nearest(name, known).unwrap_or(known[0]);
                Err(Error::invalid(
                    "context",
                    format!("has no variable $CTX.{name}; did you mean $CTX.{nearest}?"),
                ))
            }
        },
    }
}
