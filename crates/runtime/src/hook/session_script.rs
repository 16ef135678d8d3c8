//! `src/context.ts`: a script's say in where the conversations of its agent are kept.

use super::agent_script::{AgentScript, AgentScriptLoader};
use crate::optional::optional;
use ambit_storage::{Agent, Caller, Error, Result, SessionIdentity, truncation};
use serde_json::{Map, Value, json};

/// An agent whose script decides before anything else does; what it leaves open, the agent behind it says.
pub struct SessionScript {
    behind: Box<dyn Agent>,
    script: Option<AgentScript>,
}

impl SessionScript {
    /// Compiles the script of an agent, if it has one.
    pub fn load(
        loader: &AgentScriptLoader<'_>,
        behind: Box<dyn Agent>,
    ) -> crate::error::Result<Self> {
        let script = loader.load(loader.agent.overrides.as_ref())?;
        Ok(Self { behind, script })
    }

    /// The beginning of an error about what a function returned.
    fn full_name(&self, function: &str) -> String {
        let file = self.script.as_ref().map_or("", AgentScript::shown_name);
        format!("{file} {function}")
    }

    /// What a function of the script returns. Storage asks without waiting, so that the script runs on a thread of its own.
    fn ask(&self, function: &str, arguments: Vec<Value>) -> Result<Option<Value>> {
        let Some(script) = self.script.as_ref().filter(|script| script.has(function)) else {
            return Ok(None);
        };
        let failed = |what: String| Error::Internal {
            what: format!("{} {function}: {what}", script.shown_name()),
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
    ) -> Result<Option<SessionIdentity>> {
        let found = self.ask(function, vec![json!(base), described(caller)])?;
        let identity = found.map(|found| made(base, &found, caller)).transpose();
        identity.map_err(|reason| Error::invalid(self.full_name(function), reason))
    }
}

impl Agent for SessionScript {
    fn name(&self) -> &str {
        self.behind.name()
    }

    fn group(&self, caller: &Caller) -> Result<Option<String>> {
        const NAME: &str = "Group";
        let wrong = |reason: String| Error::invalid(self.full_name(NAME), reason);
        match self.ask(NAME, vec![described(caller)])? {
            None => self.behind.group(caller),
            Some(Value::Null) => Ok(None),
            Some(Value::String(group)) => {
                whole(&group, caller).map_err(wrong)?;
                Ok(Some(group))
            }
            Some(_) => Err(wrong("must return a string or null".to_owned())),
        }
    }

    fn drivers(&self, scope: &str) -> Option<Vec<String>> {
        self.behind.drivers(scope)
    }

    fn store_meta(&self) -> bool {
        self.behind.store_meta()
    }

    fn truncation(&self) -> truncation::TruncationSettings {
        self.behind.truncation()
    }

    fn create_history_identity(
        &self,
        base: &SessionIdentity,
        caller: &Caller,
    ) -> Result<SessionIdentity> {
        match self.identity("HistoryIdentity", base, caller)? {
            Some(identity) => Ok(identity),
            None => self.behind.create_history_identity(base, caller),
        }
    }

    fn create_usage_identity(
        &self,
        base: &SessionIdentity,
        caller: &Caller,
    ) -> Result<SessionIdentity> {
        match self.identity("UsageIdentity", base, caller)? {
            Some(identity) => Ok(identity),
            None => self.behind.create_usage_identity(base, caller),
        }
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
    let text = |name: &str| {
        let is_no_text = || format!("returned {name}, which must be a string");
        let text = optional(fields.get(name), Value::as_str, is_no_text)?;
        text.map_or(Ok(()), |text| whole(text, caller))?;
        Ok::<_, String>(text)
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
