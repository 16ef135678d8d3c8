//! What is stored of a conversation, as items.

use super::content;
use crate::format::responses::{
    ClientTool, ListedCall, ListedText, McpCallError, ResponseItem, ResponseRecord, stored_call,
    stored_text,
};
use ambit_runtime::chats::{ChatEntries, ChatEntry, ChatMessageView, EntryRange};
use ambit_runtime::public_id;
use ambit_runtime::{Result, ServerFailure};
use ambit_storage::storage::{Message, Role};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// An item as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ListedItem {
    /// Said by an agent.
    Output(ResponseItem),
    /// Sent by a client.
    Input(SentItem),
}

/// An item as its client has sent it, with its id.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SentItem(Map<String, Value>);

impl PartialSchema for SentItem {
    fn schema() -> RefOr<Schema> {
        let text = || ObjectBuilder::new().schema_type(Type::String);
        let item = ObjectBuilder::new().property("id", text());
        let item = item.property("type", text()).required("id");
        let item = item.additional_properties(Some(AdditionalProperties::FreeForm(true)));
        let description = "An item as its client sent it: `message`, `function_call_output` …";
        item.description(Some(description)).into()
    }
}

impl ToSchema for SentItem {}

/// An item, and the message that it is stored in.
pub struct StoredListedItem {
    pub item: ListedItem,
    /// The stored message.
    pub message_id: String,
    /// The shown message, where the stored one shows several.
    pub part: Option<String>,
    /// The turn.
    pub turn: Option<String>,
    /// It was sent by a client.
    pub is_input: bool,
    /// The messages that were not read change nothing of it.
    pub is_settled: bool,
}

impl ListedItem {
    /// Its id.
    pub fn id(&self) -> &str {
        match self {
            Self::Output(item) => item.id(),
            Self::Input(SentItem(item)) => {
                item.get("id").and_then(Value::as_str).unwrap_or_default()
            }
        }
    }
}

/// Returns the item with this id, the newest of several. A text that took the place of another one is stored as the one that it
/// replaced.
pub fn find_item<'a>(items: &'a [StoredListedItem], id: &str) -> Option<&'a StoredListedItem> {
    let find = |id: &str| items.iter().rfind(|stored| stored.item.id() == id);
    find(id).or_else(|| {
        let (base, number) = id.rsplit_once(".r")?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        find(base).filter(|_| is_number && !number.is_empty())
    })
}

/// Reads the items of a conversation.
pub struct ItemReader<'a> {
    chat: &'a ChatEntries,
    /// What the requests of turns have said.
    records: HashMap<&'a str, ResponseRecord>,
    items: Vec<StoredListedItem>,
    /// The ids of the items.
    ids: HashSet<String>,
    /// The ids by which clients know calls, by those that models have given them.
    call_ids: HashMap<&'a str, String>,
    /// The last message was a call that has come with its result, which is the next one.
    has_settled_call: bool,
}

impl<'a> ItemReader<'a> {
    /// The items of these messages, oldest first.
    pub async fn read(chat: &'a ChatEntries) -> Result<Vec<StoredListedItem>> {
        let mut reader = Self {
            chat,
            records: HashMap::new(),
            items: Vec::new(),
            ids: HashSet::new(),
            call_ids: HashMap::new(),
            has_settled_call: false,
        };
        for entry in &chat.entries {
            reader.add(entry).await?;
        }
        Ok(reader.items)
    }

    async fn add(&mut self, entry: &'a ChatEntry) -> Result<()> {
        let message = &entry.message;
        for view in entry.shown.iter().filter(|view| view.kind == "tool_call") {
            if let Some(id) = view.props.get("id").and_then(Value::as_str) {
                let public = public_id::call_id(&view.request_id, &view.message_id);
                self.call_ids.insert(id, public);
            }
        }
        let client = message.extras.get("client");
        if let Some(Value::Object(item)) = client.and_then(|client| client.get("item")) {
            let kind = item.get("type");
            self.has_settled_call = kind.is_some_and(|kind| kind == "mcp_call");
            self.push_input(message, item.clone(), true);
            return Ok(());
        }
        let is_behind_call = std::mem::take(&mut self.has_settled_call);
        match message.role {
            Role::Tool if is_behind_call => {}
            Role::System | Role::Developer | Role::User => {
                let role = message.role;
                let parts = content::listed(&message.parts, false);
                let item = json!({"type": "message", "role": role, "status": "completed", "content": parts});
                self.push_input(message, object(item), true);
            }
            Role::Tool if is_sent(message) => {
                let result = message.tool_result.as_ref();
                let call_id = result.map_or("", |result| result.call_id.as_str());
                let public = self.call_ids.get(call_id).cloned();
                let has_call = public.is_some();
                let call_id = public.unwrap_or_else(|| call_id.to_owned());
                let output = result.map(|result| as_text(&result.content));
                let item = json!({"type": "function_call_output", "call_id": call_id, "output": output,
                    "status": "completed"});
                self.push_input(message, object(item), has_call);
            }
            Role::Tool => {}
            Role::Assistant => {
                for view in &entry.shown {
                    self.push_shown(message, view).await?;
                }
            }
        }
        Ok(())
    }

    /// An item that a client has sent. What stands before these messages may have the call that it lacks, or the id that its client
    /// has given it.
    fn push_input(&mut self, message: &Message, mut item: Map<String, Value>, has_call: bool) {
        let kind = item.get("type").and_then(Value::as_str);
        let prefix = prefix(kind.unwrap_or_default());
        let given = message
            .extras
            .get("client")
            .and_then(|client| client.get("id"));
        let given = given.and_then(Value::as_str).map(str::to_owned);
        let is_independent = has_call && given.is_none();
        let has_all_before = !matches!(self.chat.range, EntryRange::Last(_));
        // Requests at once, and those that send an answer back, can bring an id that another item has.
        let free = given.filter(|id| !self.ids.contains(id));
        let id = free.unwrap_or_else(|| own_id(prefix, message));
        item.insert("id".to_owned(), id.into());
        self.push(StoredListedItem {
            item: ListedItem::Input(SentItem(item)),
            message_id: message.id.clone(),
            part: None,
            turn: message.turn_id.clone(),
            is_input: is_sent(message),
            is_settled: (is_independent || has_all_before) && !self.is_cut(message),
        });
    }

    /// What an agent has shown.
    async fn push_shown(&mut self, message: &'a Message, view: &ChatMessageView) -> Result<()> {
        let text = |name: &str| view.props.get(name).map(as_text);
        let turn = message.turn_id.as_deref().unwrap_or_default();
        let status = view.status.as_str();
        let item = match (view.kind.as_str(), text("name")) {
            ("tool_call", Some(name)) => {
                let tool = self.client_tool(message, &name).await?;
                let failure = ServerFailure::read(&view.props);
                stored_call(ListedCall {
                    turn,
                    message: &view.message_id,
                    name: &name,
                    client_tool: tool,
                    arguments: text("arguments").unwrap_or_default(),
                    result: text("result"),
                    error: text("error").map(|error| McpCallError::new(error, failure)),
                })
            }
            (kind, _) => {
                let text = ListedText {
                    turn,
                    message: &view.message_id,
                    kind,
                    props: &view.props,
                    status,
                };
                match stored_text(&text) {
                    Some(item) => item,
                    None => return Ok(()),
                }
            }
        };
        let has_parts = message.extras.contains_key("shown");
        self.push(StoredListedItem {
            item: ListedItem::Output(item),
            message_id: message.id.clone(),
            part: has_parts.then(|| view.message_id.clone()),
            turn: message.turn_id.clone(),
            is_input: is_sent(message),
            is_settled: !self.is_cut(message),
        });
        Ok(())
    }

    fn push(&mut self, stored: StoredListedItem) {
        self.ids.insert(stored.item.id().to_owned());
        self.items.push(stored);
    }

    /// Whether others of the message's turn may not have been read.
    fn is_cut(&self, message: &Message) -> bool {
        message.turn_id.is_some() && message.turn_id.as_deref() == self.chat.cut_turn()
    }

    /// The client's tool of this name, if the request of the message's turn has brought one.
    async fn client_tool(
        &mut self,
        message: &'a Message,
        name: &str,
    ) -> Result<Option<ClientTool>> {
        let Some(turn) = message.turn_id.as_deref() else {
            return Ok(Some(ClientTool::Function));
        };
        if !self.records.contains_key(turn) {
            let stored = self.chat.protocol_record(turn).await?;
            // A record of another protocol says nothing here.
            let record = stored.and_then(|stored| stored.to::<ResponseRecord>().ok());
            let record = record.unwrap_or_default();
            self.records.insert(turn, record);
        }
        let record = self.records.get(turn);
        Ok(record.and_then(|record| record.client_tools.get(name).cloned()))
    }
}

/// Whether a client has sent a message.
fn is_sent(message: &Message) -> bool {
    let id = message.extras.get("message_id").and_then(Value::as_str);
    let number = id.and_then(|id| id.strip_prefix('U'));
    let is_numbered = number.is_some_and(|number| number.parse::<u32>().is_ok());
    message.turn_id.is_none() || is_numbered || message.role == Role::User
}

/// Begins the ids of items of a type.
fn prefix(kind: &str) -> &'static str {
    match kind {
        "message" => "msg",
        "reasoning" => "rs",
        "function_call" => "fc",
        "function_call_output" => "fco",
        "custom_tool_call" => "ctc",
        "custom_tool_call_output" => "ctco",
        "mcp_call" => "mcp",
        _ => "item",
    }
}

/// The id of an item to which its client has given none.
fn own_id(prefix: &str, message: &Message) -> String {
    let shown = message.extras.get("message_id").and_then(Value::as_str);
    match (&message.turn_id, shown) {
        (Some(turn), Some(shown)) => public_id::item_id(prefix, turn, shown),
        _ => format!("{prefix}_{}", message.id),
    }
}

fn object(item: Value) -> Map<String, Value> {
    match item {
        Value::Object(item) => item,
        _ => Map::new(),
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ListedItem, SentItem, StoredListedItem, find_item, object};
    use serde_json::json;

    #[test]
    fn a_number_behind_an_id_is_that_of_a_text_in_its_place() {
        let stored = |id: &str| StoredListedItem {
            item: ListedItem::Input(SentItem(object(json!({ "id": id })))),
            message_id: id.to_owned(),
            part: None,
            turn: None,
            is_input: true,
            is_settled: true,
        };
        let items = ["a.r1", "a", "b", "b.rest"].map(stored);
        for (id, expected) in [
            ("a.r1", Some("a.r1")),
            ("a.r2", Some("a")),
            ("b.rest", Some("b.rest")),
            ("b.res", None),
            ("b.r", None),
            ("c.r1", None),
        ] {
            let found = find_item(&items, id);
            assert_eq!(found.map(|it| it.message_id.as_str()), expected, "{id}");
        }
    }
}
