//! `ctx.mcp`: tool servers as scripts use them.

use super::{ScriptCall, ScriptClass};
use crate::error::{Error, Result};
use crate::mcp::{JoinPolicy, McpCallResult, SampleSource, ServerToolCall};
use crate::optional::optional;
use crate::process::ContextProcessRunner;
use crate::tool::ToolCaller;
use ambit_script::HostValue;
use serde_json::{Value, json};
use std::sync::Arc;

/// `ctx.mcp`.
pub const MCP: ScriptClass = ScriptClass {
    name: "MCP",
    place: "ctx.mcp",
    doc: "Tool servers. A `client` is a server's id; the agent's own servers are found first. Where `mcp.servers` of the package or \
        `mcp_servers` of `Create` names tools or resources of a server, there are no others of it here either. A result with \
        `isError` does not throw.",
    members: &[],
    methods: &[rows! {
        "ListResources(client: string, cursor?: string): { resources: MCPResource[]; nextCursor: string | null }",
        Some((1, "a client argument")), list_resources: "Lists resources.",
        "ReadResource(client: string, uri: string): { contents: MCPContents[] }",
        Some((2, "client and uri arguments")), read_resource: "Reads a resource.",
        "ListTools(client: string, cursor?: string): { tools: MCPTool[]; nextCursor: string | null }",
        Some((1, "a client argument")), list_tools: "Lists tools.",
        "CallTool<Server extends ToolServer, Tool extends ToolName<Server>>(client: Server, name: Tool, ...args: ToolArguments<Server, Tool>): MCPResult",
        Some((2, "mcp and name parameters")), call_tool: "Calls a tool.",
        "CallTools(client: string, tools: MCPCall[]): MCPResult[]",
        Some((2, "client and tools arguments")), call_tools: "Calls tools one after another.",
        "CallToolsParallel(client: string, tools: MCPCall[]): MCPResult[]",
        Some((2, "client and tools arguments")), call_tools: "Calls tools at once; the results keep the order.",
        "ListPrompts(client: string, cursor?: string): { prompts: MCPPrompt[]; nextCursor: string | null }",
        Some((1, "a client argument")), list_prompts: "Lists prompts.",
        "GetPrompt(client: string, name: string, args?: Record<string, any>): { description: string | null; messages: { role: string; content: any }[] }",
        Some((2, "client and name arguments")), get_prompt: "Makes a prompt.",
        "ListSamples(client: string, type: \"tool\" | \"resource\", name: string): { samples: MCPSample[]; total: number }",
        Some((3, "client, type and name arguments")), list_samples: "Lists samples.",
        "GetSample(client: string, type: \"tool\" | \"resource\", name: string, index: number): MCPSample",
        Some((4, "client, type, name and index arguments")), get_sample: "One sample.",
        "All(requests: MCPRequest[]): (MCPAnswer | null)[]",
        None, many: "Calls tools at once and waits for all.",
        "Any(requests: MCPRequest[]): (MCPAnswer | null)[]",
        None, many: "Calls tools at once and waits for the first success; the others are cancelled.",
        "Race(requests: MCPRequest[]): (MCPAnswer | null)[]",
        None, many: "Calls tools at once and waits for the first that ends; the others are cancelled.",
    }],
    is_lenient: false,
};

fn caller(call: &ScriptCall<'_>) -> ToolCaller {
    let scope = &call.reach.scope;
    ToolCaller {
        authorized: scope.properties.authorized.clone(),
        agent: scope.agent.id.clone(),
        servers: scope.servers.clone(),
        request_id: scope.properties.request_id.clone(),
        timeout: scope.agent.package.mcp.options.timeout,
        node: call.reach.cursor.base().clone(),
        processes: Arc::new(ContextProcessRunner::within(call)),
        progress: None,
    }
}

fn client<'a>(call: &'a ScriptCall<'_>) -> Result<&'a str> {
    call.text(0, "client", "must be a string")
}

fn cursor<'a>(call: &'a ScriptCall<'_>) -> Option<&'a str> {
    call.given(1).and_then(Value::as_str)
}

async fn list_resources(call: &ScriptCall<'_>) -> Result<HostValue> {
    let (servers, caller) = (&call.reach.scope.mcp, caller(call));
    let page = servers.list_resources(client(call)?, cursor(call), &caller);
    page.await.map(HostValue::from)
}

async fn list_tools(call: &ScriptCall<'_>) -> Result<HostValue> {
    let (servers, caller) = (&call.reach.scope.mcp, caller(call));
    let page = servers.list_tools(client(call)?, cursor(call), &caller);
    page.await.map(HostValue::from)
}

async fn list_prompts(call: &ScriptCall<'_>) -> Result<HostValue> {
    let (servers, caller) = (&call.reach.scope.mcp, caller(call));
    let page = servers.list_prompts(client(call)?, cursor(call), &caller);
    page.await.map(HostValue::from)
}

async fn read_resource(call: &ScriptCall<'_>) -> Result<HostValue> {
    let uri = call.text(1, "uri", "must be a string")?;
    let (servers, caller) = (&call.reach.scope.mcp, caller(call));
    let read = servers.read_resource(client(call)?, uri, &caller);
    read.await.map(HostValue::from)
}

async fn get_prompt(call: &ScriptCall<'_>) -> Result<HostValue> {
    let name = call.text(1, "name", "must be a string")?;
    let is_no_object = || Error::invalid("args", "args must be an object");
    let arguments = optional(call.given(2), Value::as_object, is_no_object)?;
    let arguments = arguments.cloned().unwrap_or_default();
    let (servers, caller) = (&call.reach.scope.mcp, caller(call));
    let prompt = servers.get_prompt(client(call)?, name, arguments, &caller);
    prompt.await.map(HostValue::from)
}

async fn call_tool(call: &ScriptCall<'_>) -> Result<HostValue> {
    let name = call.text(1, "name", "must be a string")?;
    let (servers, caller) = (&call.reach.scope.mcp, caller(call));
    let called = servers.call_tool(client(call)?, name, call.value(2), &caller);
    Ok(traced_result(call, called.await?).into())
}

async fn call_tools(call: &ScriptCall<'_>) -> Result<HostValue> {
    let Some(Value::Array(tools)) = call.given(1) else {
        return Err(Error::invalid("tools", "tools parameter must be an array"));
    };
    let mut calls = Vec::with_capacity(tools.len());
    for tool in tools {
        let name = tool.get("name").and_then(Value::as_str);
        let name = name.filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Error::invalid("tools", "tool name is required"))?;
        let arguments = tool.get("arguments").cloned().unwrap_or_default();
        calls.push((name.to_owned(), arguments));
    }
    let (scope, caller, server) = (&call.reach.scope, caller(call), client(call)?);
    let called = match call.method.name() {
        "CallToolsParallel" => {
            let bounds = scope.limits.calls;
            let called = scope.mcp.call_at_once(server, &calls, bounds, &caller);
            called.await?
        }
        _ => scope.mcp.call_in_order(server, &calls, &caller).await?,
    };
    let results = called.into_iter().map(|called| traced_result(call, called));
    Ok(results.collect::<Value>().into())
}

/// A result for the script; what is odd about it is for the trace.
fn traced_result(call: &ScriptCall<'_>, called: McpCallResult) -> Value {
    trace_warnings(call, &called.warnings);
    called.result
}

fn trace_warnings(call: &ScriptCall<'_>, warnings: &[String]) {
    for warning in warnings {
        call.reach.cursor.warn(warning);
    }
}

async fn list_samples(call: &ScriptCall<'_>) -> Result<HostValue> {
    let servers = &call.reach.scope.mcp;
    let samples = servers.list_samples(sample_source(call)?, &caller(call));
    samples.map(HostValue::from)
}

async fn get_sample(call: &ScriptCall<'_>) -> Result<HostValue> {
    let index = call.integer(3, "index")?;
    let servers = &call.reach.scope.mcp;
    let sample = servers.get_sample(sample_source(call)?, index, &caller(call));
    sample.map(HostValue::from)
}

fn sample_source<'a>(call: &'a ScriptCall<'_>) -> Result<SampleSource<'a>> {
    let kind = call.text(1, "type", "must be \"tool\" or \"resource\"")?;
    if !["tool", "resource"].contains(&kind) {
        let rule = "type must be \"tool\" or \"resource\"";
        return Err(Error::invalid("type", rule));
    }
    Ok(SampleSource {
        kind,
        name: call.text(2, "name", "must be a string")?,
        server: client(call)?,
    })
}

async fn many(call: &ScriptCall<'_>) -> Result<HostValue> {
    let Some(Value::Array(requests)) = call.given(0) else {
        return Err(Error::invalid("requests", "requests must be an array"));
    };
    let mut calls = Vec::with_capacity(requests.len());
    for (at, request) in requests.iter().enumerate() {
        let text = |name: &str| {
            let text = request.get(name).and_then(Value::as_str);
            let field = format!("requests[{at}].{name}");
            let missing = || Error::invalid(field.as_str(), format!("{field} is required"));
            let text = text.filter(|text| !text.is_empty());
            text.map(str::to_owned).ok_or_else(missing)
        };
        calls.push(ServerToolCall {
            mcp: text("mcp")?,
            tool: text("tool")?,
            arguments: request.get("arguments").cloned().unwrap_or_default(),
        });
    }
    let until = JoinPolicy::named(call.method.name());
    let (scope, caller) = (&call.reach.scope, caller(call));
    let slots = scope.mcp.many(&calls, until, scope.limits.calls, &caller);
    let slots = slots.await?;
    for ended in slots.iter().flatten() {
        trace_warnings(call, &ended.warnings);
    }
    Ok(json!(slots).into())
}
