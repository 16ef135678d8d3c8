//! Items that clients send, and the messages that they are.

use super::content::{self, ItemContent};
use crate::format::provider_reasoning::decode;
use crate::http::chat::check_role;
use ambit_runtime::app::AppAgent;
use ambit_runtime::chat::{
    ChatContent, ChatMessage, ClientMessageFields, Role, ToolCall, role_name, role_named,
};
use ambit_runtime::{Error, Result};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::{Map, Value, json};
use std::fmt;

/// What a client sends as `input`: a text, which is one message of a person, or items.
#[derive(Default)]
pub struct InputItems(pub Vec<Value>);

impl<'de> Deserialize<'de> for InputItems {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        // A hint: a text is shown as one, and of a list each item is counted before it is read.
        reader.deserialize_seq(InputItemsVisitor)
    }
}

struct InputItemsVisitor;

impl<'de> Visitor<'de> for InputItemsVisitor {
    type Value = InputItems;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string or a list of items")
    }

    fn visit_str<E>(self, text: &str) -> Result<InputItems, E> {
        let message = json!({"role": "user", "content": text});
        Ok(InputItems(vec![message]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<InputItems, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(items)).map(InputItems)
    }
}

/// An item that a client sends.
pub struct InputItem {
    /// The id that the client has for it.
    pub id: Option<String>,
    /// Where it stands, for errors.
    place: String,
    kind: ItemKind,
    /// As it is stored and listed, but for its id.
    item: Map<String, Value>,
}

enum ItemKind {
    Message {
        role: Role,
        content: ItemContent,
    },
    Reasoning {
        summary: String,
        encrypted: Option<String>,
    },
    Call(ToolCall),
    Output {
        call_id: String,
        content: ItemContent,
    },
    /// A call with its result.
    Settled {
        call: ToolCall,
        output: String,
    },
    /// A stored item.
    Reference,
    /// Nothing for a model.
    Other,
}

impl InputItem {
    /// Reads an item; `place` names it in errors, as in `input[2]`.
    pub fn read(place: &str, item: Value) -> Result<Self> {
        let Value::Object(mut item) = item else {
            return Err(Error::invalid(place, format!("{place} must be an object")));
        };
        let fields = ItemFields { place, item: &item };
        let id = fields.optional("id")?;
        let kind = fields
            .optional("type")?
            .unwrap_or_else(|| "message".to_owned());
        let read = match kind.as_str() {
            "message" => fields.message()?,
            "reasoning" => fields.reasoning()?,
            "function_call" => ItemKind::Call(fields.call("arguments")?),
            "custom_tool_call" => ItemKind::Call(fields.custom_call()?),
            "function_call_output" | "custom_tool_call_output" => ItemKind::Output {
                call_id: fields.text("call_id")?,
                content: fields.content("output")?,
            },
            "mcp_call" => fields.mcp_call()?,
            "item_reference" => ItemKind::Reference,
            _ => ItemKind::Other,
        };
        item.shift_remove("id");
        if let ItemKind::Message { role, .. } = &read {
            complete_message(&mut item, *role);
        }
        Ok(Self {
            id: id.filter(|id| !id.is_empty()),
            place: place.to_owned(),
            kind: read,
            item,
        })
    }

    /// Reads all items of a list with this name.
    pub fn read_all(name: &str, items: Vec<Value>) -> Result<Vec<Self>> {
        let numbered = items.into_iter().enumerate();
        let read = numbered.map(|(at, item)| Self::read(&format!("{name}[{at}]"), item));
        read.collect()
    }

    /// The id of the stored item that it stands for.
    pub fn reference(&self) -> Option<&str> {
        let is_reference = matches!(self.kind, ItemKind::Reference);
        self.id.as_deref().filter(|_| is_reference)
    }

    /// Puts the stored item in the place of the reference to it.
    pub fn resolve(&mut self, stored: Value) -> Result<()> {
        let read = Self::read(&self.place, stored)?;
        *self = read;
        Ok(())
    }

    /// Refuses an item whose role clients of this agent may not use.
    pub fn check_role(&self, agent: &AppAgent) -> Result<()> {
        let needed: &[Role] = match &self.kind {
            ItemKind::Message { role, .. } => &[*role],
            ItemKind::Output { .. } => &[Role::Tool],
            ItemKind::Reasoning { .. } | ItemKind::Call(_) => &[Role::Assistant],
            ItemKind::Settled { .. } => &[Role::Assistant, Role::Tool],
            ItemKind::Reference | ItemKind::Other => &[],
        };
        let place = format!("{}.role", self.place);
        needed
            .iter()
            .try_for_each(|role| check_role(*role, agent, &place))
    }

    /// Refuses instructions: in a conversation they would reach agents that take none from clients.
    pub fn check_no_instructions(&self) -> Result<()> {
        if let ItemKind::Message { role, .. } = &self.kind
            && matches!(role, Role::System | Role::Developer)
        {
            let param = format!("{}.role", self.place);
            let name = role_name(*role);
            let message = format!("{param} cannot be {name}: a conversation keeps no instructions");
            return Err(Error::invalid(param, message));
        }
        Ok(())
    }

    /// The messages that it is.
    pub fn messages(self) -> Vec<ChatMessage> {
        let Self { id, kind, item, .. } = self;
        let mut client = ClientMessageFields {
            id,
            item: Some(item.into()),
            ..ClientMessageFields::default()
        };
        let answer = || ChatMessage::new(Role::Assistant, ChatContent::Null);
        let mut result = None;
        let message = match kind {
            ItemKind::Message { role, content } => ChatMessage {
                refusal: content.refusal,
                ..ChatMessage::new(role, content.chat)
            },
            ItemKind::Reasoning { summary, encrypted } => ChatMessage {
                reasoning_content: Some(summary).filter(|text| !text.is_empty()),
                reasoning_parts: encrypted
                    .and_then(|text| decode(&text, ""))
                    .unwrap_or_default(),
                ..answer()
            },
            ItemKind::Call(call) => ChatMessage {
                tool_calls: vec![call],
                ..answer()
            },
            ItemKind::Output { call_id, content } => ChatMessage::result(call_id, content.chat),
            ItemKind::Settled { call, output } => {
                result = Some(ChatMessage::result(&call.id, output.as_str()));
                ChatMessage {
                    tool_calls: vec![call],
                    ..answer()
                }
            }
            ItemKind::Reference | ItemKind::Other => answer(),
        };
        let first = ChatMessage {
            client: Some(Box::new(client.clone())),
            ..message
        };
        client.item = None;
        let second = result.map(|result| ChatMessage {
            client: Some(Box::new(client)),
            ..result
        });
        [first].into_iter().chain(second).collect()
    }
}

/// A message as it is listed: what a client may leave out is there.
fn complete_message(item: &mut Map<String, Value>, role: Role) {
    let kind = match role {
        Role::Assistant => "output_text",
        _ => "input_text",
    };
    if let Some(Value::String(text)) = item.get("content") {
        let parts = vec![content::text_part(kind, text)];
        item.insert("content".to_owned(), parts.into());
    }
    item.insert("type".to_owned(), "message".into());
    let status = item.get("status").filter(|status| status.is_string());
    let status = status.cloned().unwrap_or_else(|| "completed".into());
    item.insert("status".to_owned(), status);
}

/// The fields of an item that is read.
struct ItemFields<'a> {
    place: &'a str,
    item: &'a Map<String, Value>,
}

impl ItemFields<'_> {
    fn optional(&self, name: &str) -> Result<Option<String>> {
        match self.item.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.refused(name, "must be a string")),
        }
    }

    fn text(&self, name: &str) -> Result<String> {
        self.optional(name)?
            .ok_or_else(|| self.refused(name, "is missing"))
    }

    fn refused(&self, name: &str, why: &str) -> Error {
        let param = format!("{}.{name}", self.place);
        let message = format!("{param} {why}");
        Error::invalid(param, message)
    }

    fn content(&self, name: &str) -> Result<ItemContent> {
        let content = self.item.get(name);
        let content = content.ok_or_else(|| self.refused(name, "is missing"))?;
        content::read(&format!("{}.{name}", self.place), content)
    }

    fn message(&self) -> Result<ItemKind> {
        let role = self.text("role")?;
        let known = role_named(&role).filter(|role| *role != Role::Tool);
        let rule = "must be user, assistant, system or developer";
        Ok(ItemKind::Message {
            role: known.ok_or_else(|| self.refused("role", rule))?,
            content: self.content("content")?,
        })
    }

    fn reasoning(&self) -> Result<ItemKind> {
        let parts = self.item.get("summary").and_then(Value::as_array);
        let texts = parts.into_iter().flatten();
        let texts = texts.filter_map(|part| part.get("text").and_then(Value::as_str));
        Ok(ItemKind::Reasoning {
            summary: texts.collect::<Vec<_>>().join("\n\n"),
            encrypted: self.optional("encrypted_content")?,
        })
    }

    fn call(&self, arguments: &str) -> Result<ToolCall> {
        let name = self.text("name")?;
        let namespace = self.optional("namespace")?;
        Ok(ToolCall {
            id: self.text("call_id")?,
            name: match namespace {
                Some(namespace) => format!("{namespace}__{name}"),
                None => name,
            },
            arguments: self.text(arguments)?,
            extra: Map::new(),
        })
    }

    /// A tool that takes free text is one with one argument.
    fn custom_call(&self) -> Result<ToolCall> {
        let call = self.call("input")?;
        let arguments = json!({"input": call.arguments}).to_string();
        Ok(ToolCall { arguments, ..call })
    }

    fn mcp_call(&self) -> Result<ItemKind> {
        let (id, name) = (self.text("id")?, self.text("name")?);
        let output = self.optional("output")?;
        let error = self.item.get("error").filter(|error| !error.is_null());
        let error = error.map(Value::to_string);
        let server = self.text("server_label")?;
        let call = ToolCall {
            id,
            name: format!("{server}__{name}"),
            arguments: self.text("arguments")?,
            extra: Map::new(),
        };
        let output = output.or(error).unwrap_or_default();
        Ok(ItemKind::Settled { call, output })
    }
}
