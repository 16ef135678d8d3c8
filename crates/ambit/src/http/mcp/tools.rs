//! The tools that are offered: a row each, and one for each agent. A caller sees and calls those whose route they may call.

use super::context::{McpContext, path_part};
use super::tool_answer::ToolAnswer;
use super::{agent_tool, chat_tools, knowledge_tool, memory_tools};
use crate::http::visible_agents;
use ambit_runtime::app::AppAgent;
use ambit_runtime::app::locales::Translations;
use ambit_runtime::mcp::ToolNames;
use ambit_runtime::{Authorized, Result};
use ambit_storage::pattern::Pattern;
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use utoipa::PartialSchema;

/// A tool.
pub struct ToolRow {
    /// Its name.
    pub name: &'static str,
    /// The kind under which `ambit.mcp_server.tools` offers it.
    pub kind: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it does, for the host's model.
    pub description: &'static str,
    /// The routes that do the same; it is listed for whoever may call one of them.
    pub routes: &'static [(&'static str, &'static str)],
    /// The schema of its arguments.
    pub schema: fn() -> Value,
    /// It changes nothing.
    pub is_read_only: bool,
    /// Does it, where the caller may do it by the route with these arguments.
    pub call: ToolHandler,
}

/// What does the work of a tool.
pub type ToolHandler = fn(Arc<McpContext>, Map<String, Value>) -> BoxFuture<'static, ToolAnswer>;

/// Every tool but the agents.
pub const TOOLS: &[ToolRow] = &[
    ToolRow {
        name: "chat_list",
        kind: "chat",
        title: "List chats",
        description: "Lists the chats of the caller, the last active first.",
        routes: &[("GET", "/chat/sessions")],
        schema: schema::<chat_tools::ChatListArguments>,
        is_read_only: true,
        call: |context, given| Box::pin(chat_tools::list(context, given)),
    },
    ToolRow {
        name: "chat_messages",
        kind: "chat",
        title: "Read a chat",
        description: "Gives the last messages of a chat, or those before a sequence, oldest first.",
        routes: &[("GET", "/chat/sessions/-/messages")],
        schema: schema::<chat_tools::ChatMessagesArguments>,
        is_read_only: true,
        call: |context, given| Box::pin(chat_tools::messages(context, given)),
    },
    ToolRow {
        name: "kb_search",
        kind: "kb",
        title: "Search knowledge",
        description: "Finds passages of documents that fit a query best, among what the caller may read.",
        routes: &[("POST", "/kb/search")],
        schema: schema::<knowledge_tool::KnowledgeSearchArguments>,
        is_read_only: true,
        call: |context, given| Box::pin(knowledge_tool::search(context, given)),
    },
    ToolRow {
        name: "memory_delete",
        kind: "memory",
        title: "Delete a value of memory",
        description: "Deletes the value of a key; one that is not there is no error.",
        routes: &[
            ("DELETE", "/memory/user/keys/-"),
            ("DELETE", "/memory/team/keys/-"),
            ("DELETE", "/memory/chat/-/keys/-"),
        ],
        schema: schema::<memory_tools::MemoryKeyArguments>,
        is_read_only: false,
        call: |context, given| Box::pin(memory_tools::delete(context, given)),
    },
    ToolRow {
        name: "memory_get",
        kind: "memory",
        title: "Read memory",
        description: "Gives the value of a key.",
        routes: &[
            ("GET", "/memory/user/keys/-"),
            ("GET", "/memory/team/keys/-"),
            ("GET", "/memory/chat/-/keys/-"),
        ],
        schema: schema::<memory_tools::MemoryKeyArguments>,
        is_read_only: true,
        call: |context, given| Box::pin(memory_tools::get(context, given)),
    },
    ToolRow {
        name: "memory_keys",
        kind: "memory",
        title: "List memory",
        description: "Lists the keys there are, or those that match a pattern: at most 1000.",
        routes: &[
            ("GET", "/memory/user"),
            ("GET", "/memory/team"),
            ("GET", "/memory/chat/-"),
        ],
        schema: schema::<memory_tools::MemoryKeysArguments>,
        is_read_only: true,
        call: |context, given| Box::pin(memory_tools::keys(context, given)),
    },
    ToolRow {
        name: "memory_set",
        kind: "memory",
        title: "Write memory",
        description: "Puts a value under a key.",
        routes: &[
            ("PUT", "/memory/user/keys/-"),
            ("PUT", "/memory/team/keys/-"),
            ("PUT", "/memory/chat/-/keys/-"),
        ],
        schema: schema::<memory_tools::MemorySetArguments>,
        is_read_only: false,
        call: |context, given| Box::pin(memory_tools::set(context, given)),
    },
];

/// An agent as a tool.
pub struct AgentTool {
    /// What the tool is called.
    pub name: String,
    /// The agent.
    pub agent: Arc<AppAgent>,
    /// The caller, as the agent's route has them.
    pub who: Authorized,
}

/// A tool that a caller may call.
pub enum OfferedTool {
    /// One of the table.
    Row(&'static ToolRow),
    /// An agent.
    Agent(Box<AgentTool>),
}

/// A tool as it is listed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedTool {
    /// Its name.
    pub name: String,
    title: String,
    description: String,
    input_schema: Value,
    annotations: Value,
}

/// The tools of a caller, by name.
pub fn list(context: &McpContext) -> Result<Vec<ListedTool>> {
    let locale = context.locale()?;
    let rows = TOOLS.iter().filter(|row| is_offered(context, row));
    let mut all: Vec<ListedTool> = rows.map(ListedTool::of_row).collect();
    let agents = agents(context).into_iter();
    all.extend(agents.map(|tool| ListedTool::of_agent(context, &tool, &locale)));
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// The tool of this name, where the caller may call it.
pub fn find(context: &McpContext, name: &str) -> Option<OfferedTool> {
    let mut rows = TOOLS.iter().filter(|row| is_offered(context, row));
    if let Some(row) = rows.find(|row| row.name == name) {
        return Some(OfferedTool::Row(row));
    }
    let mut agents = agents(context).into_iter();
    let agent = agents.find(|tool| tool.name == name);
    agent.map(|agent| OfferedTool::Agent(Box::new(agent)))
}

fn is_offered(context: &McpContext, row: &ToolRow) -> bool {
    let mut routes = row.routes.iter();
    context.offers(row.kind)
        && routes.any(|(method, path)| context.caller_of(method, path).is_some())
}

/// The agents that the caller may call. Those whose ids need no change have them whole in their names.
fn agents(context: &McpContext) -> Vec<AgentTool> {
    if !context.offers("agent") {
        return Vec::new();
    }
    let patterns = context.settings().agents.iter();
    let patterns: Vec<Pattern> = patterns.map(|text| Pattern::parse(text)).collect();
    let ids = context.app.agents.keys();
    let mut ids: Vec<&str> = ids
        .map(String::as_str)
        .filter(|id| patterns.iter().any(|pattern| pattern.matches(id)))
        .collect();
    ids.sort_by_key(|id| (id.contains(['.', ' ']) || !id.is_ascii(), *id));
    let mut names = ToolNames::default();
    let tools = ids.into_iter().filter_map(|id| {
        let (agent, who) = agent(context, id)?;
        let name = names.take_plain(&format!("agent_{id}"));
        Some(AgentTool { name, agent, who })
    });
    tools.collect()
}

fn agent(context: &McpContext, id: &str) -> Option<(Arc<AppAgent>, Authorized)> {
    let path = format!("/agents/{}/chat/completions", path_part(id));
    let who = context.caller_of("POST", &path)?;
    let agent = visible_agents::agent(&context.server, &context.app, &who, id).ok()?;
    Some((agent, who))
}

impl ListedTool {
    fn of_row(row: &ToolRow) -> Self {
        Self {
            name: row.name.to_owned(),
            title: row.title.to_owned(),
            description: row.description.to_owned(),
            input_schema: (row.schema)(),
            annotations: json!({"readOnlyHint": row.is_read_only}),
        }
    }

    fn of_agent(context: &McpContext, tool: &AgentTool, locale: &str) -> Self {
        let words = Translations {
            own: &tool.agent.locales,
            global: &context.app.locales,
            locale,
        };
        let package = &tool.agent.package;
        let title = words.fill(&package.name).into_owned();
        Self {
            name: tool.name.clone(),
            title: match title.is_empty() {
                true => tool.agent.id.clone(),
                false => title,
            },
            description: words.fill(&package.description).into_owned(),
            input_schema: schema::<agent_tool::AgentArguments>(),
            annotations: json!({"readOnlyHint": false}),
        }
    }
}

/// The schema of a tool's arguments, which have no others beside them.
fn schema<T: PartialSchema>() -> Value {
    // A schema of plain values is always JSON; a test reads every one.
    let mut schema = serde_json::to_value(T::schema()).unwrap_or_default();
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("additionalProperties".to_owned(), false.into());
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::{TOOLS, agent_tool, schema};
    use crate::auth::access::RequestTarget;
    use crate::http::has_route;

    #[test]
    fn a_tool_has_the_arguments_of_an_object_and_routes_that_there_are() {
        let agents = schema::<agent_tool::AgentArguments>();
        let schemas = TOOLS.iter().map(|row| (row.schema)()).chain([agents]);
        for schema in schemas {
            assert_eq!(schema["type"], "object", "{schema}");
            assert!(schema["properties"].is_object(), "{schema}");
            assert!(!schema.to_string().contains("$ref"), "{schema}");
        }
        for (method, path) in TOOLS.iter().flat_map(|row| row.routes) {
            let target = RequestTarget::of(method, path).unwrap();
            assert!(has_route(&target), "{method} {path}");
        }
    }
}
