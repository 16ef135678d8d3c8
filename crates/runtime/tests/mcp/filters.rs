//! What an agent says of a server's tools and resources, as its scripts meet it.

use crate::place::{agent, ask, borrowed, end, place, request};
use serde_json::{Value, json};

/// What a script finds of the server `s` before and after `Create` has returned this.
async fn found(servers: &Value, created: &Value) -> [Value; 2] {
    let hooks = format!(
        "function look({{ mcp }}) {{
            const told = (run) => {{ try {{ return run(); }} catch (error) {{ return error.message; }} }};
            const read = (uri) => told(() => mcp.ReadResource('s', uri).contents.length);
            return {{
                tools: mcp.ListTools('s').tools.map(tool => tool.name),
                resources: mcp.ListResources('s').resources.map(resource => resource.name),
                add: told(() => mcp.CallTool('s', 'add').data),
                full: told(() => mcp.CallTool('agents.hello.s', 'drop').data),
                many: mcp.All([{{ mcp: 's', tool: 'drop' }}]).map(it => it.error ?? it.result),
                health: read('echo://health?check=disk'), note: read('echo://note'),
                samples: told(() => mcp.ListSamples('s', 'resource', 'note').total),
            }};
        }}
        export function Create(ctx) {{
            ctx.memory.context.Set('before', look(ctx));
            return {created};
        }}
        export function Next(ctx) {{ return {{ data: [ctx.memory.context.Get('before'), look(ctx)] }}; }}"
    );
    let mut files = agent(&json!({"mcp": {"servers": servers}}), &hooks);
    let server = json!({"transport": "process", "tools": {"add": "scripts.m.Add", "drop": "scripts.m.Drop"},
        "resources": {"health": "scripts.m.Add", "note": "scripts.m.Add"}});
    let folder = "assistants/hello/mcps";
    for (file, text) in [
        ("s.mcp.yao", server),
        ("mapping/s/schemes/add.in.yao", json!({})),
        ("mapping/s/schemes/drop.in.yao", json!({})),
        (
            "mapping/s/resources/health.res.yao",
            json!({"uri": "echo://health?check={check}", "name": "Health"}),
        ),
        (
            "mapping/s/resources/note.res.yao",
            json!({"uri": "echo://note"}),
        ),
    ] {
        files.push((format!("{folder}/{file}"), text.to_string()));
    }
    let scripts =
        "export function Add() { return 'added'; }\nexport function Drop() { return 'dropped'; }";
    files.push(("scripts/m.ts".to_owned(), scripts.to_owned()));
    let place = place(&borrowed(&files)).await;
    let next = end(&ask(&place, request("hello", "hi")).await)["next"].clone();
    [next[0].clone(), next[1].clone()]
}

fn everything() -> Value {
    json!({"tools": ["add", "drop"], "resources": ["Health", "note"], "add": "added", "full": "dropped", "many": ["dropped"],
        "health": 1, "note": 1, "samples": 0})
}

/// With the tool `add` and the resource `health` alone.
fn a_part() -> Value {
    let no_drop = "unknown tool \"drop\" on MCP server \"s\"";
    json!({"tools": ["add"], "resources": ["Health"], "add": "added", "many": [no_drop], "health": 1,
        "full": "unknown tool \"drop\" on MCP server \"agents.hello.s\"",
        "note": "unknown resource \"echo://note\" on MCP server \"s\"",
        "samples": "unknown resource \"note\" on MCP server \"s\""})
}

#[tokio::test]
async fn filters_bind_scripts_by_label_name_template_and_address() {
    for resource in [
        "Health",
        "health",
        "H*",
        "echo://health?check={check}",
        "echo://health*",
    ] {
        let entry = json!({"server_id": "s", "tools": ["a*"], "resources": [resource]});
        let [before, after] = found(&json!([entry]), &json!({})).await;
        assert_eq!(before, a_part(), "{resource}");
        assert_eq!(after, a_part(), "{resource}");
    }
}

#[tokio::test]
async fn what_create_says_of_a_server_stands_in_the_place_of_the_package() {
    let part = json!({"server_id": "s", "tools": ["add"], "resources": ["Health"]});
    let created = json!({"mcp_servers": [part]});
    let found_now = found(&json!(["s"]), &created).await;
    assert_eq!(found_now, [everything(), a_part()]);
    let created = json!({"mcp_servers": ["agents.hello.s"]});
    let found_now = found(&json!([part]), &created).await;
    assert_eq!(found_now, [a_part(), everything()]);
}

#[tokio::test]
async fn a_server_that_an_agent_does_not_name_is_there_as_a_whole_and_entries_add_up() {
    let whole = [everything(), everything()];
    assert_eq!(found(&json!([]), &json!({})).await, whole);
    let (tools, drop) = (
        json!({"s": {"tools": ["add"], "resources": []}}),
        json!({"s": {"tools": ["drop"], "resources": ["*"]}}),
    );
    assert_eq!(found(&json!([tools, drop]), &json!({})).await, whole);
}
