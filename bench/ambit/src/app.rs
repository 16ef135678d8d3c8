//! The app that is served: an agent with both hooks, one whose hooks write nothing to memory, and agents without hooks that say
//! much.

use crate::Result;
use crate::measure;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use tempfile::TempDir;

/// The hooks; the peer of W7 runs the first too.
pub const HOOK: &str = include_str!("../../peers/hook.js");
/// Pieces of the answers of the agents that say much.
pub const CHUNKS: usize = 2_000;
/// Hooks that write nothing to memory.
const OBSERVING: &str = r#"
function Create(ctx, messages) {
  ctx.trace.Add({ type: "hook", input: { messages: messages.length } }, { label: "Prepare" });
  return { temperature: 0.2 };
}

function Next(ctx, payload) {
  return { data: { said: payload.completion.content.length } };
}
"#;
/// The agent with the hooks.
pub const CLERK: &str = "clerk";
/// The agent whose hooks write nothing to memory.
pub const OBSERVER: &str = "observer";
/// Says all at once.
pub const FAST: &str = "fast";
/// Says a word in a millisecond.
pub const LIVE: &str = "live";
/// Says one word.
pub const BRIEF: &str = "brief";
/// Uses a tool that waits so many milliseconds.
pub const WAITER: &str = "waiter";
/// Uses the same tool, which does not wait.
pub const PROMPT: &str = "prompt";
/// Says what a provider sends.
pub const TYPIST: &str = "typist";
/// How long the waiter's tool waits.
pub const WAIT: Duration = Duration::from_millis(50);

/// The tool's files: a server whose tool is a function of a script.
const TOOL: &[(&str, &str)] = &[
    (
        "mcps/pause.mcp.yao",
        r#"{"transport": "process", "tools": {"wait": "scripts.pause.Wait"}}"#,
    ),
    (
        "mcps/mapping/pause/schemes/wait.in.yao",
        r#"{"type": "object", "properties": {"ms": {"type": "integer"}}, "required": ["ms"], "x-process-args": ["$args.ms"]}"#,
    ),
    (
        "scripts/pause.js",
        "export function Wait(ms) { if (ms > 0) time.Sleep(ms); return `waited ${ms} ms`; }\n",
    ),
];

/// Writes the app into a folder of its own.
pub fn write() -> Result<TempDir> {
    let folder = TempDir::with_prefix("ambit-bench-app-")?;
    let much: Vec<String> = (1..=CHUNKS).map(|word| format!("{word:04}")).collect();
    let much = much.join(" ");
    let file = |name: &str, text: &str| put(&folder, name, text);
    file("app.yao", r#"{"name": "Bench"}"#)?;
    let says = |reply: &str| json!([{"reply": reply}]);
    let waits = |wait: Duration| {
        let call = json!({"name": "pause__wait", "arguments": {"ms": wait.as_millis() as u64}});
        json!([{"match": {"round": 0}, "tool_calls": [call]}, {"reply": "{{last_tool_result}}"}])
    };
    let agents = [
        (CLERK, says(&measure::text(0)), "0ms"),
        (OBSERVER, says(&measure::text(0)), "0ms"),
        (FAST, says(&much), "0ms"),
        (LIVE, says(&much), "1ms"),
        (BRIEF, says("yes"), "0ms"),
        (WAITER, waits(WAIT), "0ms"),
        (PROMPT, waits(Duration::ZERO), "0ms"),
    ];
    for (agent, rules, delay) in agents {
        let connector = json!({"type": "scripted", "label": agent, "options": {"model": agent, "rules": rules, "delay": delay}});
        let uses_tool = [WAITER, PROMPT].contains(&agent);
        let servers: &[&str] = if uses_tool { &["pause"] } else { &[] };
        add_agent(&folder, agent, &connector, servers)?;
    }
    for (name, text) in TOOL {
        file(name, text)?;
    }
    for (agent, hooks) in [(CLERK, HOOK), (OBSERVER, OBSERVING)] {
        file(&format!("assistants/{agent}/src/index.js"), hooks)?;
    }
    Ok(folder)
}

/// Adds an agent whose model is that of a provider at this address.
pub fn add_typist(app: &TempDir, provider: SocketAddr) -> Result<()> {
    let options = json!({"model": TYPIST, "key": "none", "host": format!("http://{provider}")});
    let connector = json!({"type": "openai", "label": TYPIST, "options": options});
    add_agent(app, TYPIST, &connector, &[])
}

fn add_agent(app: &TempDir, agent: &str, connector: &Value, servers: &[&str]) -> Result<()> {
    let mut package = json!({"name": agent, "connector": agent, "public": true});
    if !servers.is_empty() {
        package["mcp"] = json!({"servers": servers});
    }
    let folder = format!("assistants/{agent}");
    let connector_file = format!("connectors/{agent}.conn.yao");
    put(app, &connector_file, &connector.to_string())?;
    put(app, &format!("{folder}/package.yao"), &package.to_string())?;
    let prompts = "- role: system\n  content: You answer.\n";
    put(app, &format!("{folder}/prompts.yml"), prompts)
}

fn put(app: &TempDir, name: &str, text: &str) -> Result<()> {
    let path = app.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap_or(app.path()))?;
    Ok(std::fs::write(path, text)?)
}

/// A request for a turn of this agent.
pub fn request(agent: &str, chat: &str, accept: &str, text: &str) -> Value {
    json!({
        "model": agent, "chat_id": chat, "accept": accept, "stream": true,
        "messages": [{"role": "user", "content": text}],
    })
}
