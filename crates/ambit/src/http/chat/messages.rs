//! The messages that a client sends.

use super::content_parts;
use crate::suggestion;
use ambit_runtime::app::AppAgent;
use ambit_runtime::chat::{ChatMessage, Role, role_name};
use ambit_runtime::{Error, Result};
use serde::de::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The roles that an agent may let its clients use.
const ROLES: [&str; 4] = ["assistant", "tool", "system", "developer"];

/// The messages of a request, each read or with what is wrong with it.
#[derive(Default)]
pub struct ClientMessages(Vec<ClientMessage>);

struct ClientMessage {
    /// The role that it names, known or not.
    role: Option<String>,
    read: Result<ChatMessage>,
}

impl ClientMessages {
    /// The messages, if there are any or none are needed, all are right, and clients of this agent may use their roles.
    pub fn for_agent(self, agent: &AppAgent, may_be_none: bool) -> Result<Vec<ChatMessage>> {
        if self.0.is_empty() && !may_be_none {
            let message = "messages must hold at least one message";
            return Err(Error::invalid("messages", message));
        }
        let numbered = self.0.into_iter().enumerate();
        let read = numbered.map(|(at, message)| {
            let role = message.role.as_deref().unwrap_or("user");
            check_role_name(role, agent, &format!("messages[{at}].role"))?;
            message.read
        });
        read.collect()
    }
}

impl<'de> Deserialize<'de> for ClientMessages {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let read = |(at, message): (usize, Value)| {
            let place = format!("messages[{at}]");
            ClientMessage {
                role: message["role"].as_str().map(str::to_owned),
                read: check_message(&message, &place)
                    .and_then(|()| ChatMessage::read(&place, message)),
            }
        };
        let messages = Vec::<Value>::deserialize(reader)?.into_iter();
        Ok(Self(messages.enumerate().map(read).collect()))
    }
}

/// Messages of a person, or what is wrong with the first that is none.
pub struct UserMessages(pub Result<Vec<ChatMessage>>);

impl<'de> Deserialize<'de> for UserMessages {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let messages = Vec::<Value>::deserialize(reader)?.into_iter();
        let read = messages.enumerate().map(|(at, message)| {
            let place = format!("messages[{at}]");
            check_user_message(&message, &place)?;
            ChatMessage::read(&place, message)
        });
        Ok(Self(read.collect()))
    }
}

/// Refuses roles that are not the client's to use.
pub fn check_role(role: Role, agent: &AppAgent, place: &str) -> Result<()> {
    check_role_name(role_name(role), agent, place)
}

/// The same of a role that may be no role at all.
fn check_role_name(role: &str, agent: &AppAgent, place: &str) -> Result<()> {
    if role == "user" || agent.package.client.roles.iter().any(|known| known == role) {
        return Ok(());
    }
    Err(role_refused(
        role,
        &format!("{role} messages"),
        agent,
        place,
    ))
}

/// What a client is told that sent `what` to an agent that takes nothing of this role from clients.
pub fn role_refused(role: &str, what: &str, agent: &AppAgent, place: &str) -> Error {
    let mut message = format!(
        "{place}: agent \"{}\" takes no {what} from clients",
        agent.id
    );
    let taken = agent.package.client.roles.iter().map(String::as_str);
    if ROLES.contains(&role) {
        let roles: Vec<&str> = taken.chain([role]).collect();
        message += &format!("; \"client\": {{ \"roles\": {roles:?} }} in its package.yao lets it");
    } else {
        let roles: Vec<&str> = ["user"].into_iter().chain(taken).collect();
        message += &suggestion::offer_all(role, roles);
    }
    Error::invalid(place, message)
}

/// Refuses what is no message.
fn check_message(message: &Value, place: &str) -> Result<()> {
    let message = fields(message, place)?;
    let role = text(message, "role", place)?
        .ok_or_else(|| missing(place, "role", "it is user or another role"))?;
    if role == "tool" && text(message, "tool_call_id", place)?.is_none() {
        let reason = "it names the call that is answered";
        return Err(missing(place, "tool_call_id", reason));
    }
    text(message, "name", place)?;
    check_calls(message, place)?;
    check_content(message, role, place)
}

/// Refuses what is no message of a person.
fn check_user_message(message: &Value, place: &str) -> Result<()> {
    let message = fields(message, place)?;
    if message.get("role").is_none_or(|role| role != "user") {
        let place = format!("{place}.role");
        return Err(Error::invalid(&place, format!("{place} must be user")));
    }
    text(message, "name", place)?;
    check_content(message, "user", place)
}

fn fields<'a>(message: &'a Value, place: &str) -> Result<&'a Map<String, Value>> {
    let fields = message.as_object();
    fields.ok_or_else(|| Error::invalid(place, format!("{place} must be an object")))
}

fn missing(place: &str, name: &str, reason: &str) -> Error {
    let place = format!("{place}.{name}");
    Error::invalid(&place, format!("{place} is missing; {reason}"))
}

fn check_content(message: &Map<String, Value>, role: &str, place: &str) -> Result<()> {
    let place = format!("{place}.content");
    match message.get("content") {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) => content_parts::check(parts, &place),
        None | Some(Value::Null) if role == "assistant" => Ok(()),
        _ => Err(Error::invalid(
            &place,
            format!("{place} must be a string or a list of parts"),
        )),
    }
}

fn check_calls(message: &Map<String, Value>, place: &str) -> Result<()> {
    let place = format!("{place}.tool_calls");
    let calls = match message.get("tool_calls") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(calls)) => calls,
        Some(_) => return Err(Error::invalid(&place, format!("{place} must be a list"))),
    };
    for (at, call) in calls.iter().enumerate() {
        let function = &call["function"];
        let texts = [&call["id"], &function["name"], &function["arguments"]];
        if !texts.into_iter().all(Value::is_string) {
            let place = format!("{place}[{at}]");
            let message =
                format!("{place} must have id, function.name and function.arguments as strings");
            return Err(Error::invalid(place, message));
        }
    }
    Ok(())
}

fn text<'a>(message: &'a Map<String, Value>, name: &str, place: &str) -> Result<Option<&'a str>> {
    match message.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => {
            let place = format!("{place}.{name}");
            Err(Error::invalid(&place, format!("{place} must be a string")))
        }
    }
}
