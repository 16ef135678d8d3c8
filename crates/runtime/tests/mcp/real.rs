//! Servers that others have written, as they come from the registries. `cargo xtask test` installs them.

use crate::bed::{Bed, free_port, python};
use ambit_runtime::tool::{ServerSelection, Toolbox};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// Where something is installed.
fn installed(variable: &str) -> PathBuf {
    let path = std::env::var_os(variable).map(PathBuf::from);
    path.unwrap_or_else(|| panic!("{variable} is not set; run the tests with `cargo xtask test`"))
}

fn everything() -> PathBuf {
    let folder = installed("TEST_SERVERS_NODE").join("node_modules/@modelcontextprotocol");
    folder.join("server-everything/dist/index.js")
}

/// The everything server over the network, in a process that ends with it.
async fn site(transport: &str) -> (Child, u16) {
    let mut command = Command::new("node");
    command.arg(everything()).arg(transport);
    let port = free_port();
    command.env("PORT", port.to_string()).kill_on_drop(true);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains(&port.to_string()) {
            break;
        }
    }
    // What it says later has to go somewhere.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (child, port)
}

async fn works(server: &Value) {
    let bed = Bed::with(server);
    let tools = bed.tools().await.unwrap();
    for tool in ["echo", "get-sum"] {
        assert!(tools.contains(&tool.to_owned()), "{tools:?}");
    }
    let echo = bed.text("echo", json!({"message": "größer"})).await;
    assert_eq!(echo, "Echo: größer");
    let sum = bed.text("get-sum", json!({"a": 2, "b": 3})).await;
    assert_eq!(sum, "The sum of 2 and 3 is 5.");
    let structured = json!({"location": "Chicago"});
    let structured = bed
        .call("get-structured-content", structured)
        .await
        .unwrap();
    assert!(structured.data["temperature"].is_number(), "{structured:?}");
    assert_eq!(structured.warnings, Vec::<String>::new());
    let image = bed.call("get-tiny-image", json!({})).await.unwrap();
    assert_eq!(image.data[1]["type"], "image");
    let wrong = bed.call("get-sum", json!({"a": "two"})).await.unwrap();
    assert!(wrong.is_error, "{wrong:?}");
    let (servers, caller) = (&bed.servers, &bed.caller);
    let resources = servers.list_resources("s", None, caller).await.unwrap();
    let uri = resources["resources"][0]["uri"].as_str().unwrap();
    let read = servers.read_resource("s", uri, caller).await.unwrap();
    assert_eq!(read["contents"][0]["uri"], uri);
    let prompts = servers.list_prompts("s", None, caller).await.unwrap();
    assert!(!prompts["prompts"].as_array().unwrap().is_empty());
    let given = serde_json::Map::new();
    let prompt = servers
        .get_prompt("s", "simple-prompt", given, caller)
        .await
        .unwrap();
    assert_eq!(prompt["messages"][0]["role"], "user");
}

#[tokio::test]
async fn the_everything_server_works_over_stdio() {
    let server =
        json!({"transport": "stdio", "command": "node", "arguments": [everything(), "stdio"]});
    works(&server).await;
}

#[tokio::test]
async fn the_everything_server_works_over_streamable_http() {
    let (_child, port) = site("streamableHttp").await;
    works(&json!({"transport": "http", "url": format!("http://127.0.0.1:{port}/mcp")})).await;
}

#[tokio::test]
async fn the_everything_server_works_over_the_older_transport() {
    let (_child, port) = site("sse").await;
    works(&json!({"transport": "sse", "url": format!("http://127.0.0.1:{port}/sse")})).await;
}

fn of_python(program: &str) -> Value {
    let path = installed("TEST_SERVERS_PYTHON").join(program);
    json!({"transport": "stdio", "command": path, "env": {"PATH": python().1}})
}

#[tokio::test]
async fn the_time_server_works() {
    let bed = Bed::with(&of_python("mcp-server-time"));
    assert_eq!(
        bed.tools().await.unwrap(),
        ["get_current_time", "convert_time"]
    );
    let times = json!({"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"});
    let outcome = bed.call("convert_time", times).await.unwrap();
    assert_eq!(outcome.data["time_difference"], "+9.0h", "{outcome:?}");
    let wrong = bed
        .call("get_current_time", json!({"timezone": "Moon/Sea"}))
        .await
        .unwrap();
    assert!(wrong.is_error, "{wrong:?}");
}

#[tokio::test]
async fn the_fetch_server_works() {
    let bed = Bed::with(&of_python("mcp-server-fetch"));
    let tools = bed
        .servers
        .list(&[ServerSelection::of_entry(&json!("s"))], &bed.caller)
        .await
        .unwrap();
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0].parameters["required"], json!(["url"]));
    // Nobody listens there.
    let outcome = bed
        .call("fetch", json!({"url": "http://127.0.0.1:9/"}))
        .await;
    let told = match outcome {
        Ok(outcome) => {
            assert!(outcome.is_error, "{outcome:?}");
            outcome.text
        }
        Err(error) => error.message,
    };
    assert!(told.contains("127.0.0.1"), "{told}");
    let prompts = bed
        .servers
        .list_prompts("s", None, &bed.caller)
        .await
        .unwrap();
    assert_eq!(prompts["prompts"][0]["name"], "fetch");
}
