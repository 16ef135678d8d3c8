//! Processes as the tools of a server.

use crate::place::{person, place};
use serde_json::{Value, json};

const FILES: [(&str, &str); 6] = [
    (
        "assistants/hello/package.yao",
        r#"{"name": "Hello", "connector": "model", "mcp": {"servers": ["own"]}}"#,
    ),
    ("assistants/hello/prompts.yml", "- role: system\n  content: Be kind.\n"),
    (
        "connectors/model.conn.yao",
        r#"{"type": "scripted", "options": {"model": "m", "capabilities": {"tool_calls": true}, "rules": [
            {"match": {"has_tool_result": true}, "reply": "{{last_tool_result}}"},
            {"tool_calls": [{"name": "own__note", "arguments": {"text": "milk"}}]}]}}"#,
    ),
    ("mcps/own.mcp.yao", r#"{"transport": "process", "tools": {"note": "scripts.notes.Add"}}"#),
    (
        "mcps/mapping/own/schemes/note.in.yao",
        r#"{"type": "object", "description": "Notes.", "properties": {"text": {"type": "string"}}, "x-process-args": ["$args.text"]}"#,
    ),
    (
        "scripts/notes.ts",
        "export function Add(text: string, ctx: any) { ctx.memory.user.Push('notes', text); ctx.Send('noted');
            return [text, ctx.chat_id === '' , Authorized().user_id, Process('scripts.notes.Count', 1, 2)]; }
        export const Count = (...all: any[]) => all.length;",
    ),
];

#[tokio::test]
async fn a_model_calls_a_script_that_gets_the_live_ctx() {
    let hooks = "export function Next(ctx: any, payload: any) { return { data: { value: [payload.tools.map((it: any) => [it.result, it.error]), ctx.memory.user.Get('notes')] } }; }";
    let files = [&FILES[..], &[("assistants/hello/src/index.ts", hooks)]].concat();
    let found: Value = place(&files, "").await.answer(&person("ann")).await;
    let result = json!(["milk", false, "ann", 2]);
    assert_eq!(found, json!([[[result, null]], ["milk"]]));
}
