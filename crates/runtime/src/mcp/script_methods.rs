//! The servers as scripts see them: what `ctx.mcp` answers, in its own words. What an agent says of its servers binds its
//! scripts as it binds its model.

use super::request::{McpListKind, McpRequest};
use super::selection::ServerSelections;
use super::server::McpServer;
use super::{McpCallResult, McpServers, names, unknown};
use crate::concurrent_calls::{ConcurrencyLimits, JoinPolicy, run_concurrently};
use crate::error::{Error, Result};
use crate::tool::{McpLists, ToolCaller};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A call in a batch: the tool's name and its arguments.
pub type BatchToolCall = (String, Value);

/// What has samples.
#[derive(Clone, Copy)]
pub struct SampleSource<'a> {
    /// The server.
    pub server: &'a str,
    /// `tool` or `resource`.
    pub kind: &'a str,
    /// The name of one.
    pub name: &'a str,
}

impl McpServers {
    /// `ListTools`. All come on one page, so there is never a cursor to give.
    pub async fn list_tools(
        &self,
        server: &str,
        cursor: Option<&str>,
        caller: &ToolCaller,
    ) -> Result<Value> {
        let what = McpListKind::Tools;
        let lists = self.listed(what, server, cursor, caller).await?;
        let wants = self.wants(server, caller);
        let tools = lists.tools.iter();
        Ok(page(what, tools.filter(|tool| wants.tool(&tool.name))))
    }

    /// `ListResources`.
    pub async fn list_resources(
        &self,
        server: &str,
        cursor: Option<&str>,
        caller: &ToolCaller,
    ) -> Result<Value> {
        let what = McpListKind::Resources;
        let lists = self.listed(what, server, cursor, caller).await?;
        let found = self.find(&caller.agent, server)?;
        let wants = self.wants(server, caller);
        let wanted = lists.resources.iter().filter(|resource| {
            let (name, uri) = (&resource.name, &resource.uri);
            wants.resource(&[name, uri]) || is_wanted(found, &wants, uri)
        });
        Ok(page(what, wanted))
    }

    /// `ListPrompts`.
    pub async fn list_prompts(
        &self,
        server: &str,
        cursor: Option<&str>,
        caller: &ToolCaller,
    ) -> Result<Value> {
        let what = McpListKind::Prompts;
        let lists = self.listed(what, server, cursor, caller).await?;
        Ok(page(what, lists.prompts.iter()))
    }

    /// `ReadResource`.
    pub async fn read_resource(
        &self,
        server: &str,
        uri: &str,
        caller: &ToolCaller,
    ) -> Result<Value> {
        let found = self.find(&caller.agent, server)?;
        let wants = self.wants(server, caller);
        if !wants.resource(&[uri]) && !is_wanted(found, &wants, uri) {
            let lists = found.list(McpListKind::Resources, caller).await?;
            let named = lists.resources.iter().find(|it| it.uri == uri);
            if !named.is_some_and(|it| wants.resource(&[&it.name])) {
                return Err(unknown("resource", uri, server, []));
            }
        }
        let uri = uri.to_owned();
        let answer = found.ask(McpRequest::Read { uri }, caller).await?;
        let contents = answer["contents"].as_array().into_iter().flatten();
        let contents = contents.map(|one| {
            let mut content = picked(one, &["uri", "mimeType"]);
            for key in ["text", "blob"] {
                if let Some(held) = one.get(key).filter(|held| !held.is_null()) {
                    content[key] = held.clone();
                }
            }
            content
        });
        Ok(json!({"contents": contents.collect::<Vec<Value>>()}))
    }

    /// `GetPrompt`.
    pub async fn get_prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Map<String, Value>,
        caller: &ToolCaller,
    ) -> Result<Value> {
        let found = self.find(&caller.agent, server)?;
        let name = name.to_owned();
        let answer = found
            .ask(McpRequest::Prompt { name, arguments }, caller)
            .await?;
        let messages = answer["messages"].as_array().into_iter().flatten();
        let messages: Vec<Value> = messages
            .map(|one| picked(one, &["role", "content"]))
            .collect();
        Ok(json!({"description": answer["description"], "messages": messages}))
    }

    /// `CallTool`: as [`McpServers::call`], among the tools that the agent wants.
    pub async fn call_tool(
        &self,
        server: &str,
        tool: &str,
        arguments: Value,
        caller: &ToolCaller,
    ) -> Result<McpCallResult> {
        let wants = self.wants(server, caller);
        if wants.tool(tool) {
            return self.call(server, tool, arguments, caller).await;
        }
        let found = self.find(&caller.agent, server)?;
        let lists = found.list(McpListKind::Tools, caller).await?;
        let wanted = names(&lists.tools).filter(|name| wants.tool(name));
        Err(unknown("tool", tool, server, wanted))
    }

    /// `CallTools`, one after another: the results in the order of the calls. `Err` is the first call without one.
    pub async fn call_in_order(
        &self,
        server: &str,
        calls: &[BatchToolCall],
        caller: &ToolCaller,
    ) -> Result<Vec<McpCallResult>> {
        let mut results = Vec::new();
        for (at, (tool, arguments)) in calls.iter().enumerate() {
            let called = self.call_tool(server, tool, arguments.clone(), caller);
            results.push(called.await.map_err(|error| placed(at, error))?);
        }
        Ok(results)
    }

    /// `CallToolsParallel`: the same at once. `Err` is the first call without a result, when all have ended; or there are too
    /// many.
    pub async fn call_at_once(
        &self,
        server: &str,
        calls: &[BatchToolCall],
        bounds: ConcurrencyLimits,
        caller: &ToolCaller,
    ) -> Result<Vec<McpCallResult>> {
        let called = calls.iter().map(|(tool, arguments)| async {
            let called = self.call_tool(server, tool, arguments.clone(), caller);
            Ok::<_, Error>(called.await)
        });
        let ended = run_concurrently(JoinPolicy::All, bounds, called.collect(), |_| true).await?;
        let numbered = ended.into_iter().flatten().enumerate();
        let results = numbered.map(|(at, called)| called.map_err(|error| placed(at, error)));
        results.collect()
    }

    /// `ListSamples`.
    pub fn list_samples(&self, source: SampleSource<'_>, caller: &ToolCaller) -> Result<Value> {
        let samples = self.samples(source, caller)?;
        Ok(json!({"samples": samples, "total": samples.len()}))
    }

    /// `GetSample`.
    pub fn get_sample(
        &self,
        source: SampleSource<'_>,
        index: i64,
        caller: &ToolCaller,
    ) -> Result<Value> {
        let mut samples = self.samples(source, caller)?;
        let count = samples.len();
        match usize::try_from(index) {
            Ok(index) if index < count => Ok(samples.swap_remove(index)),
            _ => {
                let SampleSource { kind, name, .. } = source;
                let message = format!(
                    "sample index {index} out of range for {kind} \"{name}\" ({count} samples)"
                );
                Err(Error::invalid("index", message))
            }
        }
    }

    /// Examples with their number. An outside server has none, whatever it is asked for.
    fn samples(&self, source: SampleSource<'_>, caller: &ToolCaller) -> Result<Vec<Value>> {
        let SampleSource { server, kind, name } = source;
        let found = self.find(&caller.agent, server)?;
        let wants = self.wants(server, caller);
        let (is_wanted, keys) = match kind {
            "tool" => (wants.tool(name), ["name", "description", "input", "output"]),
            _ => {
                let names = resource_names(found, name).unwrap_or([name; 3]);
                (
                    wants.resource(&names),
                    ["name", "description", "uri", "data"],
                )
            }
        };
        let samples = match found.samples(kind, name).filter(|_| is_wanted) {
            Some(samples) => samples,
            None if found.external().is_some() => &[],
            None => return Err(unknown(kind, name, server, [])),
        };
        let samples = samples.iter().enumerate();
        let numbered = samples.map(|(index, sample)| sample.numbered(&keys, index));
        Ok(numbered.collect())
    }

    async fn listed(
        &self,
        what: McpListKind,
        server: &str,
        cursor: Option<&str>,
        caller: &ToolCaller,
    ) -> Result<Arc<McpLists>> {
        if let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) {
            let message = format!(
                "unknown cursor \"{cursor}\": all {} come on the first page",
                what.name()
            );
            return Err(Error::invalid("cursor", message));
        }
        self.find(&caller.agent, server)?.list(what, caller).await
    }
}

/// A whole list, as it is answered.
fn page<T: Serialize>(what: McpListKind, items: impl Iterator<Item = T>) -> Value {
    let items: Vec<T> = items.collect();
    json!({what.name(): items, "nextCursor": null})
}

/// An error says which call of a batch it is about.
fn placed(at: usize, mut error: Error) -> Error {
    error.message = format!("tools[{at}]: {}", error.message);
    error
}

/// Whether a resource of the app's own processes is wanted by one of its names.
fn is_wanted(found: &McpServer, wants: &ServerSelections, uri: &str) -> bool {
    resource_names(found, uri).is_some_and(|names| wants.resource(&names))
}

/// All that a resource of the app's own processes can be called by.
fn resource_names<'a>(found: &'a McpServer, name: &str) -> Option<[&'a str; 3]> {
    found.processes()?.names_of(name)
}

/// These keys of an object. What is not there is `null`.
fn picked(one: &Value, keys: &[&str]) -> Value {
    let found = keys.iter().map(|key| {
        let value = one.get(*key).cloned().unwrap_or_default();
        ((*key).to_owned(), value)
    });
    Value::Object(found.collect())
}
