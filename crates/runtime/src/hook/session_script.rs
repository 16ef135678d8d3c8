//! `src/context.ts`: a script's say in where the conversations of its agent are kept.

use super::agent_script::{AgentScript, AgentScriptLoader};
use crate::optional::optional;
use ambit_script::RunOutcome;
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

    /// What a call of a function leaves behind; `None` if the script has none of this name. Storage asks without waiting, so that
    /// the script runs on a thread of its own.
    fn ask(&self, function: &str, arguments: Vec<Value>) -> Result<Option<RunOutcome>> {
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
        let outcome = self.ask(function, vec![json!(base), described(caller)])?;
        let identity = outcome.map(|outcome| made(base, &outcome, caller));
        let identity = identity.transpose();
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
        let Some(outcome) = self.ask(NAME, vec![described(caller)])? else {
            return self.behind.group(caller);
        };
        match outcome.value {
            Some(Value::Null) => Ok(None),
            Some(Value::String(group)) => {
                check_whole(&group, &own_values(None, caller)).map_err(wrong)?;
                Ok(Some(group))
            }
            _ => Err(wrong("must return a string or null".to_owned())),
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
        .filter(|(_, value)| !value.is_empty())
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
    outcome: &RunOutcome,
    caller: &Caller,
) -> std::result::Result<SessionIdentity, String> {
    let fields = outcome.value.as_ref().and_then(Value::as_object);
    let fields = fields.ok_or("must return an identity")?;
    if let Some(name) = &outcome.left_out {
        return Err(format!(
            "returned {name} without a value; null stands for none"
        ));
    }
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
    let own = own_values(Some(base), caller);
    let text = |name: &str| {
        let is_no_text = || format!("returned {name}, which must be a string");
        let text = optional(fields.get(name), Value::as_str, is_no_text)?;
        text.map_or(Ok(()), |text| check_whole(text, &own))?;
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
    let identity = identity.build().map_err(|error| error.to_string())?;
    if is_for_all(&identity) && !is_for_all(base) {
        let what = "returned no chat_name, user_id or group, which is one place for all who ask";
        return Err(what.to_owned());
    }
    Ok(identity)
}

/// Whether all who ask the agent share it.
fn is_for_all(identity: &SessionIdentity) -> bool {
    let names = [identity.chat_name(), identity.user_id(), identity.group()];
    names.iter().all(Option::is_none)
}

/// What a script is given to make names of.
fn own_values<'a>(base: Option<&'a SessionIdentity>, caller: &'a Caller) -> Vec<&'a str> {
    let ids = [caller.user_id(), caller.team_id(), caller.tenant_id()];
    let claims = caller.claims().map(|(_, value)| value);
    let agent = base.map(SessionIdentity::agent_name);
    let names = base.map(|base| [base.chat_name(), base.user_id(), base.group()]);
    let names = names.into_iter().flatten().chain([agent]).flatten();
    ids.into_iter()
        .flatten()
        .chain(claims)
        .chain(names)
        .collect()
}

/// What JavaScript writes into a text where a value is missing.
const MISSING: [&str; 3] = ["undefined", "NaN", "[object "];

/// Refuses a text that was made of a missing value: it would name one place for all who lack it. One of these words within a value
/// that the script was given is no sign of that.
fn check_whole(text: &str, own: &[&str]) -> std::result::Result<(), String> {
    let mut rest = text.to_owned();
    for &value in own {
        if has_missing(value) && !MISSING.contains(&value) {
            rest = rest.replace(value, " ");
        }
    }
    match has_missing(&rest) {
        true => Err(format!(
            "returned \"{text}\": a value that it is made of is missing"
        )),
        false => Ok(()),
    }
}

/// Whether one of these words is in a text. The short one counts as a word of its own alone: letters of a digest may spell it.
fn has_missing(text: &str) -> bool {
    let mut words = text.split(|letter: char| !letter.is_alphanumeric());
    let [undefined, not_a_number, object] = MISSING;
    text.contains(undefined) || text.contains(object) || words.any(|word| word == not_a_number)
}

#[cfg(test)]
mod tests {
    use super::check_whole;

    #[test]
    fn g064_a_word_for_a_missing_value_is_refused_wherever_it_stands() {
        let own = ["undefined-fan", "NaN-fan", "undefined"];
        for whole in [
            "team-red",
            "of undefined-fan",
            "of NaN-fan",
            "not defined",
            "aNaNas",
            "dGVhbS1yZWQxNaNz",
        ] {
            assert_eq!(check_whole(whole, &own), Ok(()));
        }
        for broken in [
            "undefined",
            "xundefinedy",
            "undefined-fan of undefined",
            "team-NaN",
            "NaN-fan of NaN",
            "of [object Object]",
        ] {
            assert!(check_whole(broken, &own).is_err(), "{broken}");
        }
    }
}
