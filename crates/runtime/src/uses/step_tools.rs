//! The tool of a server that does a step.

use super::{UsesFailure, UsesRequest};
use crate::app::App;
use crate::error::{Error, ErrorCode};
use crate::tool::{ServerSelection, ServerTool, ToolCaller, Toolbox, call_in_time};
use serde_json::{Value, json};

/// The tools that may do steps.
pub(crate) struct StepTools<'a> {
    /// The app, whose servers are known by their ids.
    pub app: &'a App,
    /// The tools that there are.
    pub toolbox: &'a dyn Toolbox,
    /// For whom one is called.
    pub caller: &'a ToolCaller,
}

impl StepTools<'_> {
    /// What the tool that a value names answers.
    pub async fn ask(&self, named: &str, wanted: UsesRequest) -> Result<Value, UsesFailure> {
        let tool = self.find(named, wanted.key).await?;
        let arguments = fitting(&tool.parameters, wanted.arguments);
        let outcome = call_in_time(self.toolbox, &tool, arguments, self.caller).await?;
        match outcome.is_error {
            true => Err(UsesFailure::Failed(Error::new(
                ErrorCode::ToolError,
                outcome.text,
            ))),
            false => Ok(outcome.data),
        }
    }

    async fn find(&self, named: &str, key: &str) -> Result<ServerTool, UsesFailure> {
        let (server, tool) = split(self.app, &self.caller.agent, named);
        let wanted = ServerSelection::Whole(server.to_owned());
        let listed = self.toolbox.list(&[wanted], self.caller).await;
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

/// What the tool of a step is called on a server that has more than one.
fn usual_tool(key: &str) -> &str {
    match key {
        "web" => "web_search",
        "keyword" => "extract_keywords",
        "querydsl" => "generate_querydsl",
        key => key,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::McpServerFile;
    use std::sync::Arc;

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
