//! The servers as scripts see them: what `ctx.mcp` answers, in its own words.

use super::request::{Answering, Listed, Request};
use super::server::Server;
use super::{Servers, wanted::Wanted};
use crate::error::{Code, Error, Result};
use crate::tool::Caller;
use futures::future::join_all;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A call in a batch: the tool's name and its arguments.
pub type Call = (String, Value);

impl Servers {
    /// `ListTools`. All come on one page, so there is never a cursor to give.
    pub async fn list_tools(
        &self,
        server: &str,
        cursor: Option<&str>,
        caller: &Caller,
    ) -> Result<Value> {
        let keys = ["name", "description", "inputSchema", "outputSchema"];
        self.page(Listed::Tools, (server, cursor), (&keys, caller))
            .await
    }

    /// `ListResources`.
    pub async fn list_resources(
        &self,
        server: &str,
        cursor: Option<&str>,
        caller: &Caller,
    ) -> Result<Value> {
        let keys = ["uri", "name", "description", "mimeType", "_meta"];
        let mut page = self
            .page(Listed::Resources, (server, cursor), (&keys, caller))
            .await?;
        let wanted = self.wanted(&caller.agent, server);
        let resources = page["resources"].as_array_mut();
        resources
            .into_iter()
            .for_each(|list| list.retain(|one| takes(wanted.as_ref(), one)));
        Ok(page)
    }

    /// `ListPrompts`.
    pub async fn list_prompts(
        &self,
        server: &str,
        cursor: Option<&str>,
        caller: &Caller,
    ) -> Result<Value> {
        let keys = ["name", "description", "arguments"];
        self.page(Listed::Prompts, (server, cursor), (&keys, caller))
            .await
    }

    /// `ReadResource`.
    pub async fn read_resource(&self, server: &str, uri: &str, caller: &Caller) -> Result<Value> {
        let found = self.find(&caller.agent, server)?;
        if let Some(wanted) = self.wanted(&caller.agent, server) {
            let listed = found.list(Listed::Resources, caller).await?;
            let named = listed.iter().find(|one| one["uri"] == uri);
            let name = named.and_then(|one| one["name"].as_str()).unwrap_or(uri);
            if !wanted.takes_resource(name, uri) {
                return Err(unknown("resource", uri, server));
            }
        }
        let uri = uri.to_owned();
        let answer = found.ask(Request::Read { uri }, caller).await?;
        let contents = answer["contents"].as_array().into_iter().flatten();
        let contents: Vec<Value> = contents
            .map(|one| picked(one, &["uri", "mimeType", "text", "blob"]))
            .collect();
        Ok(json!({"contents": contents}))
    }

    /// `GetPrompt`.
    pub async fn get_prompt(
        &self,
        (server, name): (&str, &str),
        arguments: Map<String, Value>,
        caller: &Caller,
    ) -> Result<Value> {
        let found = self.find(&caller.agent, server)?;
        let name = name.to_owned();
        let answer = found
            .ask(Request::Prompt { name, arguments }, caller)
            .await?;
        let messages = answer["messages"].as_array().into_iter().flatten();
        let messages: Vec<Value> = messages
            .map(|one| picked(one, &["role", "content"]))
            .collect();
        Ok(json!({"description": answer["description"], "messages": messages}))
    }

    /// `CallTools` and `CallToolsParallel`: the results in the order of the calls. `Err` is the first call without one; of
    /// calls that run at once, when all have ended.
    pub async fn call_all(
        &self,
        server: &str,
        calls: &[Call],
        (is_parallel, caller): (bool, &Caller),
    ) -> Result<Vec<super::Called>> {
        let placed = |at: usize| {
            move |mut error: Error| {
                error.message = format!("tools[{at}]: {}", error.message);
                error
            }
        };
        let call = |(tool, arguments): &Call| {
            let (tool, arguments) = (tool.clone(), arguments.clone());
            async move { self.call((server, &tool), arguments, caller).await }
        };
        let mut results = Vec::new();
        if is_parallel {
            let called = join_all(calls.iter().map(call)).await;
            for (at, called) in called.into_iter().enumerate() {
                results.push(called.map_err(placed(at))?);
            }
            return Ok(results);
        }
        for (at, one) in calls.iter().enumerate() {
            results.push(call(one).await.map_err(placed(at))?);
        }
        Ok(results)
    }

    /// `ListSamples` of a `tool` or a `resource`.
    pub fn list_samples(
        &self,
        server: &str,
        (kind, name): (&str, &str),
        caller: &Caller,
    ) -> Result<Value> {
        let found = self.find(&caller.agent, server)?;
        let samples = samples(found, kind, name).ok_or_else(|| unknown(kind, name, server))?;
        Ok(json!({"samples": samples, "total": samples.len()}))
    }

    /// `GetSample`.
    pub fn get_sample(
        &self,
        server: &str,
        (kind, name, index): (&str, &str, usize),
        caller: &Caller,
    ) -> Result<Value> {
        let found = self.find(&caller.agent, server)?;
        let samples = samples(found, kind, name).ok_or_else(|| unknown(kind, name, server))?;
        samples.get(index).cloned().ok_or_else(|| {
            let count = samples.len();
            let message = format!(
                "sample index {index} out of range for {kind} \"{name}\" ({count} samples)"
            );
            Error::invalid("index", message)
        })
    }

    async fn page(
        &self,
        what: Listed,
        (server, cursor): (&str, Option<&str>),
        (keys, caller): (&[&str], &Caller),
    ) -> Result<Value> {
        if let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) {
            let message = format!(
                "unknown cursor \"{cursor}\": all {} come on the first page",
                what.name()
            );
            return Err(Error::invalid("cursor", message));
        }
        let found = self.find(&caller.agent, server)?;
        let listed = found.list(what, caller).await?;
        let items: Vec<Value> = listed.iter().map(|one| picked(one, keys)).collect();
        let mut page = Map::new();
        page.insert(what.name().to_owned(), items.into());
        page.insert("nextCursor".to_owned(), Value::Null);
        Ok(Value::Object(page))
    }
}

fn unknown(what: &str, name: &str, server: &str) -> Error {
    let message = format!("unknown {what} \"{name}\" on MCP server \"{server}\"");
    Error::new(Code::NotFound, message)
}

fn takes(wanted: Option<&Wanted>, resource: &Value) -> bool {
    let text = |key: &str| resource[key].as_str().unwrap_or_default();
    wanted.is_none_or(|wanted| wanted.takes_resource(text("name"), text("uri")))
}

/// These keys of an object, as scripts call them.
fn picked(one: &Value, keys: &[&str]) -> Value {
    let found = keys.iter().filter_map(|key| {
        let value = one.get(*key).filter(|value| !value.is_null())?;
        Some((key.trim_start_matches('_').to_owned(), value.clone()))
    });
    Value::Object(found.collect())
}

/// Examples with their number. An outside server has none, whatever it is asked for.
fn samples(server: &Arc<Server>, kind: &str, name: &str) -> Option<Vec<Value>> {
    let samples = match server.samples(kind, name) {
        Some(samples) => samples,
        None if server.is_outside() => &[],
        None => return None,
    };
    let numbered = samples.iter().enumerate().map(|(index, sample)| {
        let mut numbered = json!({"index": index});
        for (key, value) in sample.as_object().into_iter().flatten() {
            numbered[key] = value.clone();
        }
        numbered
    });
    Some(numbered.collect())
}
