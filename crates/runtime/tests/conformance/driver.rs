//! The client under test: an app with one server, at the address that the suite gives. It uses all that the server offers,
//! as agents and scripts do.

use ambit_runtime::Authorized;
use ambit_runtime::app::App;
use ambit_runtime::mcp::{McpServerPool, McpServers};
use ambit_runtime::tool::{NoProcesses, ToolCaller};
use ambit_runtime::trace::Trace;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Plays the client where the suite has started it; false where nobody did.
pub fn obey() -> bool {
    if std::env::var_os("MCP_CONFORMANCE_SCENARIO").is_none() {
        return false;
    }
    let url = std::env::args().next_back().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(play(&url));
    true
}

async fn play(url: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: Value| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content.to_string()).unwrap();
    };
    file("app.yao", json!({"name": "Conformance"}));
    file(
        "mcps/s.mcp.yao",
        json!({"transport": "http", "url": url, "timeout": "2m"}),
    );
    let app = Arc::new(App::load(folder.path(), &BTreeMap::new()).unwrap());
    let pool = McpServerPool::new().unwrap();
    let servers = pool.servers(&app);
    let caller = ToolCaller {
        authorized: Authorized::default(),
        agent: "hello".to_owned(),
        servers: Arc::default(),
        request_id: "r1".to_owned(),
        timeout: Duration::from_secs(120),
        node: Trace::off("").root(),
        processes: Arc::new(NoProcesses),
        progress: None,
    };
    use_tools(&servers, &caller).await;
    read(&servers, &caller).await;
}

async fn use_tools(servers: &McpServers, caller: &ToolCaller) {
    let listed = servers.list_tools("s", None, caller).await.unwrap();
    let listed = listed["tools"].as_array().unwrap();
    for (name, arguments) in calls(listed) {
        // What a server does not answer is judged by the suite, which sees all that was sent.
        if let Err(error) = servers.call("s", &name, arguments, caller).await {
            eprintln!("{name}: {error}");
        }
    }
}

/// The calls that the suite wants; else each tool once, with arguments that fit.
fn calls(listed: &[Value]) -> Vec<(String, Value)> {
    let text = std::env::var_os("MCP_CONFORMANCE_CONTEXT");
    let context = text.map(|text| serde_json::from_str::<Value>(text.to_str().unwrap()).unwrap());
    let wanted = context.as_ref().and_then(|it| it["toolCalls"].as_array());
    let wanted = wanted.map(|calls| {
        let call = |call: &Value| {
            (
                call["name"].as_str().unwrap().to_owned(),
                call["arguments"].clone(),
            )
        };
        calls.iter().map(call).collect()
    });
    wanted.unwrap_or_else(|| {
        let call = |tool: &Value| {
            let name = tool["name"].as_str().unwrap();
            let arguments = match name {
                "json_schema_echo" => json!({"schema": listed[0]["inputSchema"]}),
                _ => fitting(&tool["inputSchema"]),
            };
            (name.to_owned(), arguments)
        };
        listed.iter().map(call).collect()
    })
}

/// A value for each thing that is needed.
fn fitting(schema: &Value) -> Value {
    let needed = schema["required"].as_array().into_iter().flatten();
    let pair = |name: &Value| {
        let name = name.as_str().unwrap();
        let value = match schema["properties"][name]["type"].as_str() {
            Some("string") => json!("some"),
            Some("number" | "integer") => json!(7),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("null") => Value::Null,
            _ => json!({}),
        };
        (name.to_owned(), value)
    };
    Value::Object(needed.map(pair).collect())
}

async fn read(servers: &McpServers, caller: &ToolCaller) {
    let listed = servers.list_resources("s", None, caller).await.unwrap();
    for resource in listed["resources"].as_array().unwrap() {
        let uri = resource["uri"].as_str().unwrap();
        servers.read_resource("s", uri, caller).await.unwrap();
    }
    let listed = servers.list_prompts("s", None, caller).await.unwrap();
    for prompt in listed["prompts"].as_array().unwrap() {
        let name = prompt["name"].as_str().unwrap();
        let given = Map::new();
        servers.get_prompt("s", name, given, caller).await.unwrap();
    }
}
