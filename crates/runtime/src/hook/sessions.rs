//! Where the conversations of an agent in a folder are kept: what `package.yao` says under `context`, or `src/context.ts`.

use super::aside::Aside;
use super::templates::fill;
use crate::app::{Agent, App};
use crate::error::Result as Load;
use ambit_script::{Engine, Files};
use ambit_storage::{Caller, Error, Result, SessionIdentity, truncation};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// An agent as storage sees it. A function of `src/context.ts` wins over the same setting of `package.yao`.
pub struct Sessions {
    agent: Arc<Agent>,
    script: Option<Aside>,
    truncation: truncation::Settings,
}

impl Sessions {
    /// Reads an agent's say in where its sessions are kept.
    pub fn load(
        engine: &Engine,
        files: &dyn Files,
        (app, agent): (&App, &Arc<Agent>),
        truncation: truncation::Settings,
    ) -> Load<Self> {
        let script = agent.overrides.as_ref();
        let script = script.map(|file| Aside::load(engine, files, (app, agent), file));
        Ok(Self {
            agent: Arc::clone(agent),
            script: script.transpose()?,
            truncation,
        })
    }

    /// What a function of the script returns. Storage asks without waiting, so that the script runs on a thread of its own.
    fn ask(&self, function: &str, arguments: Vec<Value>) -> Result<Option<Value>> {
        let Some(script) = self.script.as_ref().filter(|script| script.has(function)) else {
            return Ok(None);
        };
        let failed = |what: String| Error::Internal {
            what: format!("{} {function}: {what}", script.file()),
        };
        let run = || -> std::io::Result<_> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()?;
            Ok(runtime.block_on(script.call(function, arguments)))
        };
        let apart = || std::thread::scope(|scope| scope.spawn(run).join());
        let is_shared = tokio::runtime::Handle::try_current().is_ok_and(|handle| {
            handle.runtime_flavor() == tokio::runtime::RuntimeFlavor::MultiThread
        });
        let answer = match is_shared {
            true => tokio::task::block_in_place(apart),
            false => apart(),
        };
        answer
            .map_err(|_| failed("it panicked".to_owned()))?
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.message))
    }

    fn identity(
        &self,
        function: &'static str,
        base: &SessionIdentity,
        caller: &Caller,
    ) -> Result<SessionIdentity> {
        if let Some(found) = self.ask(function, vec![json!(base), described(caller)])? {
            return made(base, &found, caller).map_err(|reason| {
                let field = format!(
                    "{} {function}",
                    self.agent.overrides.as_deref().unwrap_or("")
                );
                Error::invalid(field, reason)
            });
        }
        let context = &self.agent.context;
        let settings = match function {
            HISTORY => &context.history,
            _ => &context.usage,
        };
        let text = |name: &str| settings.get(name).and_then(Value::as_str);
        let given = [text("chat"), text("user"), text("group")];
        if given.iter().all(Option::is_none) {
            return Ok(base.clone());
        }
        let [chat, user, group] = given.map(|text| text.map(|text| fill(text, caller)));
        let mut identity = SessionIdentity::builder(base.agent_name());
        if let Some(chat) = chat {
            identity = identity.chat_name(chat?);
        }
        if let Some(user) = user {
            identity = identity.user_id(user?);
        }
        if let Some(group) = group {
            identity = identity.group(group?);
        }
        identity.build()
    }
}

const HISTORY: &str = "HistoryIdentity";
const USAGE: &str = "UsageIdentity";

impl ambit_storage::Agent for Sessions {
    #[expect(
        clippy::misnamed_getters,
        reason = "storage knows an agent by its id; its name is for people"
    )]
    fn name(&self) -> &str {
        &self.agent.id
    }

    fn group(&self, caller: &Caller) -> Result<Option<String>> {
        if let Some(found) = self.ask("Group", vec![described(caller)])? {
            let field = || format!("{} Group", self.agent.overrides.as_deref().unwrap_or(""));
            return match found {
                Value::Null => Ok(None),
                Value::String(group) => whole(&group, caller)
                    .map(|()| Some(group.clone()))
                    .map_err(|reason| Error::invalid(field(), reason)),
                _ => Err(Error::invalid(field(), "must return a string or null")),
            };
        }
        let group = self.agent.context.group.as_deref();
        group.map(|group| fill(group, caller)).transpose()
    }

    fn drivers(&self, scope: &str) -> Option<Vec<String>> {
        let context = &self.agent.context;
        let settings = match scope {
            "chatHistory" => &context.history,
            "usage" => &context.usage,
            _ => return None,
        };
        let names = settings.get("drivers")?.as_array()?.iter();
        Some(
            names
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect(),
        )
    }

    fn store_meta(&self) -> bool {
        self.agent.context.history.get("store_meta") == Some(&Value::Bool(true))
    }

    fn truncation(&self) -> truncation::Settings {
        self.truncation.clone()
    }

    fn create_history_identity(
        &self,
        base: &SessionIdentity,
        caller: &Caller,
    ) -> Result<SessionIdentity> {
        self.identity(HISTORY, base, caller)
    }

    fn create_usage_identity(
        &self,
        base: &SessionIdentity,
        caller: &Caller,
    ) -> Result<SessionIdentity> {
        self.identity(USAGE, base, caller)
    }
}

/// The caller as scripts see it: what is missing is absent.
fn described(caller: &Caller) -> Value {
    let claims: Map<String, Value> = caller
        .claims()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let ids = [
        ("tenant_id", caller.tenant_id()),
        ("user_id", caller.user_id()),
        ("team_id", caller.team_id()),
    ];
    let present = ids.into_iter();
    let present = present.filter_map(|(name, id)| Some((name.to_owned(), json!(id.ok()?))));
    let mut described: Map<String, Value> = present.collect();
    described.insert("claims".to_owned(), Value::Object(claims));
    Value::Object(described)
}

/// The identity that a script returned.
fn made(
    base: &SessionIdentity,
    found: &Value,
    caller: &Caller,
) -> std::result::Result<SessionIdentity, String> {
    let fields = found.as_object().ok_or("must return an identity")?;
    let known = [
        "agent_name",
        "chat_name",
        "user_id",
        "group",
        "scope",
        "key",
    ];
    if let Some(name) = fields.keys().find(|name| !known.contains(&name.as_str())) {
        let known = known[..4].join(", ");
        return Err(format!(
            "returned the unknown field \"{name}\"; known are {known}"
        ));
    }
    let text = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => whole(text, caller).map(|()| Some(text.as_str())),
        Some(_) => Err(format!("returned {name}, which must be a string")),
    };
    let agent = text("agent_name")?.unwrap_or(base.agent_name());
    let mut identity = SessionIdentity::builder(agent);
    if let Some(chat) = text("chat_name")? {
        identity = identity.chat_name(chat);
    }
    if let Some(user) = text("user_id")? {
        identity = identity.user_id(user);
    }
    if let Some(group) = text("group")? {
        identity = identity.group(group);
    }
    identity.build().map_err(|error| error.to_string())
}

/// A text in which a missing value of the caller was written as `undefined` would name one place for all who lack it.
fn whole(text: &str, caller: &Caller) -> std::result::Result<(), String> {
    let ids = [caller.user_id(), caller.team_id(), caller.tenant_id()];
    let mut own = ids
        .into_iter()
        .flatten()
        .chain(caller.claims().map(|(_, value)| value));
    let mut words = text.split(|letter: char| !letter.is_alphanumeric());
    if words.any(|word| word == "undefined") && !own.any(|value| value.contains("undefined")) {
        return Err(format!(
            "returned \"{text}\": a value that it is made of is missing"
        ));
    }
    Ok(())
}
