//! The servers as a turn sees them.

use super::request::McpListKind;
use super::selection::ServerFilter;
use super::tool_names::ToolNames;
use super::{McpServers, tool_result};
use crate::error::Result;
use crate::tool::{ServerSelection, ServerTool, ToolCaller, ToolOutcome, Toolbox};
use async_trait::async_trait;
use futures::future::try_join_all;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[async_trait]
impl Toolbox for McpServers {
    async fn list(
        &self,
        servers: &[ServerSelection],
        caller: &ToolCaller,
    ) -> Result<Vec<ServerTool>> {
        let lists = servers.iter().map(|wanted| self.tools(wanted, caller));
        let lists = try_join_all(lists).await?;
        let mut tools: Vec<ServerTool> = lists.into_iter().flatten().collect();
        let mut names = ToolNames::default();
        for tool in &mut tools {
            tool.name = names.take(&tool.server, &tool.tool);
        }
        Ok(tools)
    }

    async fn call(
        &self,
        tool: &ServerTool,
        arguments: Value,
        caller: &ToolCaller,
    ) -> Result<ToolOutcome> {
        let called = Self::call(self, &tool.server, &tool.tool, arguments, caller).await?;
        Ok(tool_result::outcome(called.result, called.warnings))
    }
}

impl McpServers {
    /// The tools that have come and gone since the caller's agent asked last, among those that it wants: what models call
    /// them, and whether they are there now.
    pub(crate) fn changed(&self, caller: &ToolCaller) -> Vec<(String, bool)> {
        let ids: BTreeSet<&str> = caller.servers.iter().map(ServerSelection::id).collect();
        let mut changed = Vec::new();
        for id in ids {
            let Ok(server) = self.find(&caller.agent, id) else {
                continue;
            };
            let (wants, mut names) = (self.wants(id, caller), ToolNames::default());
            let wanted = server.changed(caller).into_iter();
            let wanted = wanted.filter(|(tool, _)| wants.tool(tool));
            changed.extend(wanted.map(|(tool, added)| (names.take(id, &tool), added)));
        }
        changed
    }

    async fn tools(
        &self,
        wanted: &ServerSelection,
        caller: &ToolCaller,
    ) -> Result<Vec<ServerTool>> {
        let wanted = ServerFilter::of(wanted);
        let server = self.find(&caller.agent, &wanted.id)?;
        let lists = server.list(McpListKind::Tools, caller).await?;
        let tools = lists.tools.iter();
        let tools = tools.filter(|tool| wanted.takes_tool(&tool.name));
        let offered = tools.map(|tool| ServerTool {
            name: String::new(),
            server: wanted.id.clone(),
            tool: tool.name.clone(),
            description: tool.description.clone().unwrap_or_default(),
            parameters: parameters(&tool.input_schema),
            samples: server
                .samples("tool", &tool.name)
                .unwrap_or_default()
                .to_vec(),
        });
        Ok(offered.collect())
    }
}

/// Providers take only objects.
fn parameters(schema: &Value) -> Value {
    match schema {
        Value::Object(_) => {
            let mut schema = schema.clone();
            if schema.get("type").is_none() {
                schema["type"] = "object".into();
            }
            schema
        }
        _ => json!({"type": "object"}),
    }
}
