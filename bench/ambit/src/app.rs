//! The app that is served: an agent with the hook that W7 runs, and agents without hooks that say much.

use crate::Result;
use crate::measure;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The hook, which the peers run too.
pub const HOOK: &str = include_str!("../../peers/hook.js");
/// Pieces of the answers of the agents that say much.
pub const CHUNKS: usize = 2_000;
/// The agent with the hook.
pub const CLERK: &str = "clerk";
/// Says all at once.
pub const FAST: &str = "fast";
/// Says a word in a millisecond.
pub const LIVE: &str = "live";
/// Says one word.
pub const BRIEF: &str = "brief";

/// Writes the app into a folder of its own.
pub fn write() -> Result<TempDir> {
    let folder = TempDir::with_prefix("ambit-bench-app-")?;
    let much: Vec<String> = (1..=CHUNKS).map(|word| format!("{word:04}")).collect();
    let much = much.join(" ");
    let file = |name: &str, text: &str| -> Result<()> {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
        Ok(std::fs::write(path, text)?)
    };
    file("app.yao", r#"{"name": "Bench"}"#)?;
    let answer = measure::text(0);
    let agents = [
        (CLERK, answer.as_str(), "0ms"),
        (FAST, &much, "0ms"),
        (LIVE, &much, "1ms"),
        (BRIEF, "yes", "0ms"),
    ];
    for (agent, reply, delay) in agents {
        let rules = json!([{"reply": reply}]);
        let connector = json!({"type": "scripted", "label": agent, "options": {"model": agent, "rules": rules, "delay": delay}});
        file(
            &format!("connectors/{agent}.conn.yao"),
            &connector.to_string(),
        )?;
        let package = json!({"name": agent, "connector": agent, "public": true});
        file(
            &format!("assistants/{agent}/package.yao"),
            &package.to_string(),
        )?;
        file(
            &format!("assistants/{agent}/prompts.yml"),
            "- role: system\n  content: You answer.\n",
        )?;
    }
    file(&format!("assistants/{CLERK}/src/index.js"), HOOK)?;
    Ok(folder)
}

/// A request for a turn of this agent.
pub fn request(agent: &str, chat: &str, accept: &str, text: &str) -> Value {
    json!({
        "model": agent, "chat_id": chat, "accept": accept, "stream": true,
        "messages": [{"role": "user", "content": text}],
    })
}
