//! The app under test: an agent with a model that follows rules, and tools that leave marks.

use ambit_runtime::chat::ChatMessage;
use ambit_runtime::tool::Toolbox;
use ambit_runtime::{Authorized, OtlpSettings, TurnRequest};
use ambit_runtime::{Runtime, RuntimeSettings};
use ambit_storage::Stores;
use ambit_storage::driver::FaultPoints;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::collector::TestCollector;
use crate::store::{self, Fresh};
use crate::tools::{Gate, Tools};

/// The file that names the collector of a case.
pub const COLLECTOR: &str = "collector";

const FILES: &[(&str, &str)] = &[
    ("app.yao", r#"{"name": "Test", "version": "1.0.0"}"#),
    (
        "assistants/finder/package.yao",
        r#"{"name": "Finder", "connector": "blind", "uses": {"keyword": "mcp:box.see"},
            "search": {"web": {"provider": "scripted", "results": [{"items": [{"title": "Cats", "url": "https://cats.test"}]}]}}}"#,
    ),
    (
        "assistants/finder/prompts.yml",
        "- role: system\n  content: Be kind.\n",
    ),
    (
        "assistants/hello/package.yao",
        r#"{"name": "Hello", "connector": "plan", "mcp": {"servers": ["box"], "options": {"max_turn": 12}}}"#,
    ),
    (
        "assistants/hello/prompts.yml",
        "- role: system\n  content: Be kind.\n",
    ),
    (
        "assistants/hello/src/index.ts",
        "export function Create(ctx, messages) { ctx.Send(\"on it\"); return { metadata: { by: \"create\" } }; }\n",
    ),
    (
        "assistants/first/package.yao",
        r#"{"name": "First", "connector": "plan"}"#,
    ),
    (
        "assistants/first/prompts.yml",
        "- role: system\n  content: Be brief.\n",
    ),
    (
        "assistants/first/src/index.ts",
        "export function Next(ctx, payload) { return { delegate: { agent_id: \"hello\", messages: payload.messages.filter(m => m.role == \"user\") } }; }\n",
    ),
    (
        "assistants/slow/package.yao",
        r#"{"name": "Slow", "connector": "plan"}"#,
    ),
    (
        "assistants/slow/prompts.yml",
        "- role: system\n  content: Be slow.\n",
    ),
    ("assistants/slow/src/index.ts", SLOW),
    (
        "assistants/caller/package.yao",
        r#"{"name": "Caller", "connector": "plan"}"#,
    ),
    (
        "assistants/caller/prompts.yml",
        "- role: system\n  content: Be helpful.\n",
    ),
    ("assistants/caller/src/index.ts", CALLER),
    (
        "assistants/outer/package.yao",
        r#"{"name": "Outer", "connector": "plan"}"#,
    ),
    (
        "assistants/outer/prompts.yml",
        "- role: system\n  content: Be calm.\n",
    ),
    (
        "assistants/outer/src/index.ts",
        "export function Create(ctx, messages) { ctx.agent.Call(\"counter\", messages, { skip: { output: true, trace: true } }); }\n",
    ),
    (
        "assistants/asker/package.yao",
        r#"{"name": "Asker", "connector": "plan"}"#,
    ),
    (
        "assistants/asker/prompts.yml",
        "- role: system\n  content: Be curious.\n",
    ),
    ("assistants/asker/src/index.ts", ASKING),
    (
        "assistants/counter/package.yao",
        r#"{"name": "Counter", "connector": "plan", "mcp": {"servers": ["box"]}}"#,
    ),
    (
        "assistants/counter/prompts.yml",
        "- role: system\n  content: Be kind.\n",
    ),
    ("assistants/counter/src/index.ts", ASKING),
    (
        "assistants/busy/package.yao",
        r#"{"name": "Busy", "connector": "acts", "mcp": {"servers": ["acts"]}}"#,
    ),
    (
        "assistants/busy/prompts.yml",
        "- role: system\n  content: Be quick.\n",
    ),
    ("connectors/acts.conn.yao", ACTS),
    (
        "mcps/acts.mcp.yao",
        r#"{"transport": "process", "tools": {"ask": "scripts.acts.Ask", "wait": "scripts.acts.Wait"}}"#,
    ),
    ("mcps/mapping/acts/schemes/ask.in.yao", NO_ARGUMENTS),
    ("mcps/mapping/acts/schemes/wait.in.yao", NO_ARGUMENTS),
    ("scripts/acts.ts", ACTING),
    (
        "assistants/blind/package.yao",
        r#"{"name": "Blind", "connector": "blind", "uses": {"vision": "mcp:box.see"}}"#,
    ),
    (
        "assistants/blind/prompts.yml",
        "- role: system\n  content: Be kind.\n",
    ),
    (
        "connectors/blind.conn.yao",
        r#"{"type": "scripted", "options": {"model": "blind", "capabilities": {"vision": false}, "rules": [{"reply": "{{last_user}}"}]}}"#,
    ),
    ("connectors/plan.conn.yao", PLAN),
    (
        "assistants/served/package.yao",
        r#"{"name": "Served", "connector": "slip", "mcp": {"servers": ["slips"]}}"#,
    ),
    (
        "assistants/served/prompts.yml",
        "- role: system\n  content: Be exact.\n",
    ),
    ("connectors/slip.conn.yao", SLIP),
    (
        "mcps/slips.mcp.yao",
        r#"{"transport": "stdio", "command": "python3", "arguments": ["mark.py"]}"#,
    ),
    ("mark.py", include_str!("mark.py")),
];

/// One tool after the other, of a server of the app.
const SLIP: &str = r#"{"type": "scripted", "label": "Slip", "options": {"model": "slip", "rules": [
    {"match": {"last_user": "^count", "round": 0}, "tool_calls": [{"name": "slips__mark", "arguments": {"text": "one"}}]},
    {"match": {"last_user": "^count", "round": 1}, "tool_calls": [{"name": "slips__mark", "arguments": {"text": "two"}}]},
    {"match": {"last_user": "^count"}, "reply": "I have counted."},
    {"match": {"last_user": "^recall"}, "reply": "{{request}}"}
]}}"#;

/// It asks a model by itself.
const ASKING: &str = "export function Create(ctx) { ctx.llm.Stream(\"plan\", [{ role: \"user\", content: \"hm\" }], { skip: { output: true } }); }\n";

const NO_ARGUMENTS: &str = r#"{"type": "object", "x-process-args": []}"#;

/// Both tools at once.
const ACTS: &str = r#"{"type": "scripted", "label": "Acts", "options": {"model": "acts",
    "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    "rules": [
    {"match": {"has_tool_result": false}, "tool_calls": [{"name": "acts__ask", "arguments": {}}, {"name": "acts__wait", "arguments": {}}]},
    {"reply": "I have acted."}
]}}"#;

/// One tool asks an agent, and waits for its death when that has answered; the other one waits for the first.
const ACTING: &str = r#"export function Ask(ctx) {
    const said = ctx.agent.Call("asker", [{ role: "user", content: "hm" }], { skip: { output: true } }).content;
    if (ctx.memory.user.Get("asked")) return said;
    ctx.memory.user.Set("asked", true);
    time.Sleep(60000);
}
export function Wait(ctx) {
    while (!ctx.memory.user.Get("asked")) time.Sleep(5);
}
"#;

/// Its first `Next` waits for its death.
const SLOW: &str = r#"export async function Next(ctx, payload) {
    if (ctx.memory.chat.Get("tried")) return { data: payload.completion.content };
    ctx.memory.chat.Set("tried", true);
    ctx.Send("almost");
    await new Promise(done => setTimeout(done, 60000));
}
"#;

/// It has another agent count twice, the second time in other words, and then its first `Create` waits for its death.
const CALLER: &str = r#"export async function Create(ctx, messages) {
    const call = (text) => ctx.agent.Call("hello", [{ role: "user", content: text }], { skip: { output: true } });
    const said = [call("count").content, call("count").content, call("count again").content];
    if (ctx.memory.chat.Get("tried") || messages.at(-1).content !== "hang") return { metadata: { said } };
    ctx.memory.chat.Set("tried", true);
    ctx.Send("almost");
    await new Promise(done => setTimeout(done, 60000));
}
export function Next(ctx) { return { data: ctx.metadata.said }; }
"#;

const PLAN: &str = r#"{"type": "scripted", "label": "Plan", "options": {"model": "plan",
    "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    "rules": [
    {"match": {"last_user": "^count", "has_tool_result": false, "system": "kind"}, "reply": "Let me count.",
     "tool_calls": [{"name": "mark", "arguments": {"text": "one"}},
                    {"name": "mark", "arguments": {"text": "two"}}]},
    {"match": {"last_user": "^count", "has_tool_result": true}, "reply": "I have counted."},
    {"match": {"last_user": "^rounds", "round": 10}, "reply": "Ten rounds."},
    {"match": {"last_user": "^rounds"}, "tool_calls": [{"name": "mark", "arguments": {"text": "round"}}]},
    {"match": {"last_user": "^many", "has_tool_result": false}, "tool_calls": @MANY@},
    {"match": {"last_user": "^many", "has_tool_result": true}, "reply": "All of them."},
    {"match": {"last_user": "^wait", "has_tool_result": false},
     "tool_calls": [{"name": "wait", "arguments": {}}]},
    {"match": {"last_user": "^wait", "has_tool_result": true}, "reply": "Waited."},
    {"match": {"last_user": "^mix", "has_tool_result": false}, "reply": "Both.",
     "tool_calls": [{"name": "mark", "arguments": {"text": "one"}}, {"name": "wait", "arguments": {}}]},
    {"match": {"last_user": "^mix", "has_tool_result": true}, "reply": "Mixed."},
    {"match": {"last_user": "^shaky", "has_tool_result": false, "times": 1}, "error": {"status": 503, "message": "busy"}},
    {"match": {"last_user": "^shaky", "has_tool_result": false},
     "tool_calls": [{"name": "mark", "arguments": {"text": "one"}}]},
    {"match": {"last_user": "^shaky", "times": 1}, "error": {"status": 503, "message": "busy"}},
    {"match": {"last_user": "^shaky"}, "reply": "At last."},
    {"match": {"last_user": "^recite"}, "delay": "50ms", "reply": "@VERSES@"},
    {"match": {"last_user": "^speak"}, "delay": "50ms",
     "reply": "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"},
    {"match": {"last_user": "^once", "times": 1}, "reply": "The only answer."},
    {"match": {"last_user": "^locate", "has_tool_result": false}, "reply": "Where?",
     "tool_calls": [{"id": "k1", "name": "locate", "arguments": {}}]},
    {"match": {"last_user": "^locate"}, "reply": "Found {{last_tool_result}}."},
    {"match": {"last_user": "^recall"}, "reply": "{{request}}"}
]}}"#;

/// How many words the agent recites, over some minutes: nothing but a stop ends it before.
pub const VERSES: usize = 5_000;

/// A folder with the app.
pub fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    write_files(folder.path(), VERSES);
    folder
}

/// Writes the app, whose agent recites so many words.
pub fn write_files(folder: &Path, verses: usize) {
    for (file, text) in FILES {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let many: Vec<_> = (0..30)
            .map(|at| json!({"name": "shuffled", "arguments": {"at": at}}))
            .collect();
        let text = text.replace("@MANY@", &json!(many).to_string());
        let text = text.replace("@VERSES@", &"verse ".repeat(verses));
        std::fs::write(path, text).unwrap();
    }
}

/// A node; without tools of the test its agents use the servers of the app.
pub async fn node(folder: &Path, stores: Stores, tools: Option<Tools>) -> Runtime {
    let path = std::env::var_os("PATH").map(|path| path.into_string().unwrap());
    let settings = RuntimeSettings {
        environment: path
            .map(|path| ("PATH".to_owned(), path))
            .into_iter()
            .collect(),
        tools: tools.map(|tools| Arc::new(tools) as Arc<dyn Toolbox>),
        telemetry: telemetry(folder),
        ..RuntimeSettings::new(folder, stores)
    };
    Runtime::open(settings).await.unwrap()
}

/// Where the nodes of a folder send traces, if the case says that they do.
fn telemetry(folder: &Path) -> OtlpSettings {
    match std::fs::read_to_string(folder.join(COLLECTOR)) {
        Ok(url) => TestCollector::traces_to(&url),
        Err(_) => OtlpSettings::default(),
    }
}

/// A node of this process.
pub struct Node {
    pub runtime: Runtime,
    /// What holds its calls of `wait`.
    pub gate: Arc<Gate>,
    /// Says that a call has come to the gate.
    pub came: mpsc::UnboundedReceiver<()>,
}

/// A node with stores of its own, its clock so far ahead.
pub async fn peer(fresh: &Fresh, ahead: Duration) -> Node {
    let stores = store::open(&fresh.url, ahead, FaultPoints::default()).await;
    let (tools, gate, came) = Tools::new(&fresh.marks());
    let tools = (!fresh.has_servers).then_some(tools);
    let runtime = node(fresh.folder.path(), stores, tools).await;
    Node {
        runtime,
        gate,
        came,
    }
}

/// Who asks.
pub fn ann() -> Authorized {
    Authorized {
        user_id: Some("ann".to_owned()),
        ..Authorized::default()
    }
}

/// A request of Ann's in this chat.
pub fn request(chat: &str, text: &str) -> TurnRequest {
    TurnRequest {
        authorized: ann(),
        agent: "hello".to_owned(),
        chat: Some(chat.to_owned()),
        messages: vec![ChatMessage::user(text)],
        ..TurnRequest::default()
    }
}
