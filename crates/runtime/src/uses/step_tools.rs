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
        if needs_data(&tool.parameters, &wanted.arguments) {
            let (name, key) = (&tool.tool, wanted.key);
            let why = format!(
                "tool \"{name}\" takes `data`, and the file is too large for uses.{key} to send it"
            );
            return Err(UsesFailure::Failed(Error::new(ErrorCode::ToolError, why)));
        }
        let arguments = fitting(&tool.parameters, wanted.arguments);
        let outcome = call_in_time(self.toolbox, &tool, arguments, self.caller).await?;
        for warning in &outcome.warnings {
            self.caller.node.warn(warning);
        }
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

/// Whether there is only the address of a file, which the tool does not take.
fn needs_data(parameters: &Value, arguments: &Value) -> bool {
    let is_named = |name: &str| !parameters["properties"][name].is_null();
    let is_given = |name: &str| !arguments[name].is_null();
    is_given("url") && !is_given("data") && is_named("data") && !is_named("url")
}

/// The arguments as far as the tool's schema allows them. One that takes `extra` and no `schema` gets the schema in there; one
/// that takes `url` and no `data` is not sent what is at the address.
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
    if named.contains_key("url") && !named.contains_key("data") && given.contains_key("url") {
        given.remove("data");
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

        let (url, data) = (json!({"url": "u"}), json!({"data": "d"}));
        let both = json!({"url": "u", "data": "d"});
        let fetches = json!({"properties": {"url": {}}});
        let takes = json!({"properties": {"url": {}, "data": {}}});
        assert_eq!(fitting(&fetches, both.clone()), url);
        assert_eq!(fitting(&fetches, data.clone()), data);
        assert_eq!(fitting(&takes, both.clone()), both);
        let only_data = json!({"properties": {"data": {}}});
        for (schema, given, expected) in [
            (&only_data, &url, true),
            (&only_data, &both, false),
            (&takes, &url, false),
            (&fetches, &url, false),
            (&json!({}), &url, false),
        ] {
            assert_eq!(needs_data(schema, given), expected, "{schema} {given}");
        }
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
