//! An app's agent as storage sees it: where its conversations are kept, as `context` of its package says.

use crate::app;
use ambit_storage::{Agent, Caller, Error, Result, SessionIdentity, suggestion, truncation};
use serde_json::{Map, Value};
use std::sync::Arc;

/// An agent of a folder over the stores.
pub(crate) struct StorageAgent {
    package: Arc<app::AppAgent>,
    truncation: truncation::TruncationSettings,
}

impl StorageAgent {
    pub fn new(package: Arc<app::AppAgent>, truncation: truncation::TruncationSettings) -> Self {
        Self {
            package,
            truncation,
        }
    }

    fn options(&self, scope: &str) -> Option<&Map<String, Value>> {
        match scope {
            "chatHistory" => Some(&self.package.context.history),
            "usage" => Some(&self.package.context.usage),
            _ => None,
        }
    }
}

impl Agent for StorageAgent {
    #[expect(
        clippy::misnamed_getters,
        reason = "an app's agents are known by their ids"
    )]
    fn name(&self) -> &str {
        &self.package.id
    }

    fn group(&self, caller: &Caller) -> Result<Option<String>> {
        let group = self.package.context.group.as_deref();
        group.map(|template| filled(template, caller)).transpose()
    }

    fn drivers(&self, scope: &str) -> Option<Vec<String>> {
        let names = self.options(scope)?.get("drivers")?.as_array()?;
        let names = names
            .iter()
            .filter_map(|name| name.as_str().map(str::to_owned));
        Some(names.collect())
    }

    fn store_meta(&self) -> bool {
        let set = self.package.context.history.get("store_meta");
        set.and_then(Value::as_bool).unwrap_or(false)
    }

    fn truncation(&self) -> truncation::TruncationSettings {
        self.truncation.clone()
    }

    fn create_history_identity(
        &self,
        base: &SessionIdentity,
        caller: &Caller,
    ) -> Result<SessionIdentity> {
        placed(base, &self.package.context.history, caller)
    }

    fn create_usage_identity(
        &self,
        base: &SessionIdentity,
        caller: &Caller,
    ) -> Result<SessionIdentity> {
        placed(base, &self.package.context.usage, caller)
    }
}

/// The base identity, or the one that `chat`, `user` and `group` make: then nothing of the base is in it but the agent.
fn placed(
    base: &SessionIdentity,
    options: &Map<String, Value>,
    caller: &Caller,
) -> Result<SessionIdentity> {
    let template = |name: &str| options.get(name).and_then(Value::as_str);
    let (chat, user, group) = (template("chat"), template("user"), template("group"));
    if chat.is_none() && user.is_none() && group.is_none() {
        return Ok(base.clone());
    }
    let mut identity = SessionIdentity::builder(base.agent_name());
    if let Some(chat) = chat {
        identity = identity.chat_name(filled(chat, caller)?);
    }
    if let Some(user) = user {
        identity = identity.user_id(filled(user, caller)?);
    }
    if let Some(group) = group {
        identity = identity.group(filled(group, caller)?);
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
