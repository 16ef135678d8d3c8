//! Asking an agent, a tool or a model for one step.

use crate::app::App;
use crate::chat::ChatMessage;
use crate::ctx::ScriptContext;
use crate::ctx::{CalleeKind, NestedCall};
use crate::error::{Error, ErrorCode, Result};
use crate::mcp::cut;
use crate::net::HttpRequest;
use crate::request::ScriptCallOptions;
use crate::tool::{ServerSelection, ServerTool, ToolCaller, Toolbox, call_in_time};
use crate::uses::{UsesAsker, UsesFailure, UsesRequest, UsesTarget, usual_tool};
use crate::web_search::plain_text;
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The steps of a search, whose usage is marked as that.
const SEARCH_STEPS: [&str; 5] = ["search", "web", "keyword", "querydsl", "rerank"];

/// For whom is asked, and what is reached.
pub(super) struct UsesClient {
    /// The agent at work, traced below the step's node.
    pub scope: Arc<ScriptContext>,
    /// The tools that there are.
    pub toolbox: Arc<dyn Toolbox>,
    /// The same agent, for tools.
    pub caller: ToolCaller,
}

#[async_trait]
impl UsesAsker for UsesClient {
    async fn ask(&self, means: &UsesTarget, wanted: UsesRequest) -> Result<Value, UsesFailure> {
        match means {
            UsesTarget::Disabled => Err(UsesFailure::Unknown("the step is disabled".to_owned())),
            UsesTarget::Builtin if wanted.key == "fetch" => self.page(&wanted.arguments).await,
            UsesTarget::Builtin => {
                let role = format!("use::{}", wanted.key);
                self.nested(CalleeKind::Model, &role, wanted).await
            }
            UsesTarget::Agent(id) => self.nested(CalleeKind::Agent, id, wanted).await,
            UsesTarget::Tool(named) => {
                let tool = self.tool(named, wanted.key).await?;
                let arguments = fitting(&tool.parameters, wanted.arguments);
                self.call(&tool, arguments).await
            }
        }
    }
}

impl UsesClient {
    /// In a fork that is not shown, searches nothing, and knows no history.
    async fn nested(
        &self,
        callee: CalleeKind,
        name: &str,
        wanted: UsesRequest,
    ) -> Result<Value, UsesFailure> {
        let skip = json!({"output": true, "search": true});
        let nested = NestedCall {
            callee,
            name: name.to_owned(),
            messages: wanted.messages.iter().map(ChatMessage::to_json).collect(),
            options: ScriptCallOptions::from(Map::from_iter([("skip".to_owned(), skip)])),
            is_silent: true,
            purpose: SEARCH_STEPS.contains(&wanted.key).then_some("search"),
            on_chunk: None,
        };
        let answer = self.scope.turn_host.call(&self.scope, nested).await;
        let answer = answer.map_err(|error| failed(ErrorCode::Internal, error.message))?;
        if let Some(why) = answer["error"].as_str() {
            return Err(failed(ErrorCode::LlmError, why.to_owned()));
        }
        let next = &answer["response"]["next"];
        if !next.is_null() {
            return Ok(next.clone());
        }
        let text = answer["content"].as_str().unwrap_or_default();
        Ok(serde_json::from_str(text).unwrap_or_else(|_| text.into()))
    }

    /// The text of a page, from the hosts that addresses in messages may name.
    async fn page(&self, arguments: &Value) -> Result<Value, UsesFailure> {
        let scope = &self.scope;
        let hosts = scope.agent.allowed_hosts().map_err(UsesFailure::Failed)?;
        let client = scope.http.for_run(scope.limits.http, hosts.as_ref());
        let request = HttpRequest {
            method: "GET".to_owned(),
            url: arguments["url"].as_str().unwrap_or_default().to_owned(),
            ..HttpRequest::default()
        };
        let answer = client.for_messages().send(request).await;
        let answer = answer.map_err(|why| failed(ErrorCode::Unavailable, why.message))?;
        if !(200..300).contains(&answer.status) {
            let why = format!("the host answered {}", answer.status);
            return Err(failed(ErrorCode::Unavailable, why));
        }
        let mut headers = answer.headers.iter();
        let kind = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let kind = kind.map_or_else(String::new, |(_, kind)| kind.to_ascii_lowercase());
        let text = String::from_utf8_lossy(&answer.body);
        let text = match kind.as_str() {
            kind if kind.contains("html") => plain_text(&text),
            kind if kind.starts_with("text/") || kind.starts_with("application/json") => {
                text.into_owned()
            }
            kind => {
                let why = format!("the address points to no text but to \"{kind}\"");
                return Err(failed(ErrorCode::Unavailable, why));
            }
        };
        // As JSON, a text that looks like an answer in another form stays the text.
        Ok(json!({ "text": cut(text) }))
    }

    async fn call(&self, tool: &ServerTool, arguments: Value) -> Result<Value, UsesFailure> {
        let called = call_in_time(self.toolbox.as_ref(), tool, arguments, &self.caller).await;
        match called.map_err(UsesFailure::Failed)? {
            outcome if outcome.is_error => Err(failed(ErrorCode::ToolError, outcome.text)),
            outcome => Ok(outcome.data),
        }
    }

    /// The tool that a value names.
    async fn tool(&self, named: &str, key: &str) -> Result<ServerTool, UsesFailure> {
        let (server, tool) = split(&self.scope.app, &self.caller.agent, named);
        let wanted = ServerSelection::Whole(server.to_owned());
        let listed = self.toolbox.list(&[wanted], &self.caller).await;
        let listed = listed.map_err(|error| match error.code {
            ErrorCode::ConfigError | ErrorCode::NotFound => UsesFailure::Unknown(error.message),
            _ => UsesFailure::Failed(error),
        })?;
        if let (None, [only]) = (tool, listed.as_slice()) {
            return Ok(only.clone());
        }
        let name = tool.unwrap_or_else(|| usual_tool(key));
        let mut tools = listed.into_iter();
        tools.find(|tool| tool.tool == name).ok_or_else(|| {
            UsesFailure::Unknown(format!("server \"{server}\" offers no tool \"{name}\""))
        })
    }
}

/// The arguments as far as the tool's schema allows them. One that takes `extra` and no `schema` gets the schema in there.
fn fitting(parameters: &Value, mut arguments: Value) -> Value {
    let named = parameters.get("properties").and_then(Value::as_object);
    let (Some(named), Some(given)) = (named, arguments.as_object_mut()) else {
        return arguments;
    };
    if named.contains_key("extra")
        && !named.contains_key("schema")
        && let Some(schema) = given.remove("schema")
    {
        given.insert("extra".to_owned(), json!({ "schema": schema }));
    }
    if parameters.get("additionalProperties") == Some(&Value::Bool(false)) {
        given.retain(|name, _| named.contains_key(name));
    }
    arguments
}

/// Server and tool of `<server>.<tool>`. Both may have dots: the longest server that there is counts.
fn split<'a>(app: &App, agent: &str, named: &'a str) -> (&'a str, Option<&'a str>) {
    let is_server = |id: &str| {
        let own = format!("agents.{agent}.{id}");
        app.servers.contains_key(&own) || app.servers.contains_key(id)
    };
    if is_server(named) {
        return (named, None);
    }
    let dots = named.rmatch_indices('.').map(|(at, _)| at);
    let known = dots.filter(|at| is_server(&named[..*at])).max();
    match known.or_else(|| named.find('.')) {
        Some(at) => (&named[..at], Some(&named[at + 1..])),
        None => (named, None),
    }
}

fn failed(code: ErrorCode, why: String) -> UsesFailure {
    UsesFailure::Failed(Error::new(code, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::McpServerFile;

    #[test]
    fn a_tool_gets_what_its_schema_allows() {
        let given = json!({"query": "q", "schema": {"name": "user"}, "limit": 5});
        let open = json!({"type": "object", "properties": {"query": {}}});
        assert_eq!(fitting(&open, given.clone()), given);
        assert_eq!(fitting(&json!({}), given.clone()), given);
        let closed = json!({"properties": {"query": {}}, "additionalProperties": false});
        assert_eq!(fitting(&closed, given.clone()), json!({"query": "q"}));
        let extra =
            json!({"properties": {"query": {}, "extra": {}}, "additionalProperties": false});
        let expected = json!({"query": "q", "extra": {"schema": {"name": "user"}}});
        assert_eq!(fitting(&extra, given), expected);
    }

    #[test]
    fn servers_and_tools_with_dots_are_told_apart() {
        let mut app = App::default();
        for id in ["box", "box.inner", "agents.hello.own"] {
            let server = Arc::new(McpServerFile::default());
            app.servers.insert(id.to_owned(), Ok(server));
        }
        for (named, expected) in [
            ("box", ("box", None)),
            ("box.see", ("box", Some("see"))),
            ("box.inner", ("box.inner", None)),
            ("box.inner.see.all", ("box.inner", Some("see.all"))),
            ("own.see", ("own", Some("see"))),
            ("gone.see.all", ("gone", Some("see.all"))),
            ("gone", ("gone", None)),
        ] {
            assert_eq!(split(&app, "hello", named), expected);
        }
    }
}
