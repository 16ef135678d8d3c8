//! Files of servers and their mappings, right and wrong.

use crate::place::files;
use ambit_runtime::app::{App, ToolMapping};
use ambit_runtime::tool::McpTool;
use serde_json::json;
use std::collections::BTreeMap;

/// What is wrong with an app of these files.
fn wrong(list: &[(&str, &str)]) -> Vec<String> {
    let root = files(list);
    let app = App::load(root.path(), &BTreeMap::new()).unwrap();
    app.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_wrong_with_a_server_is_told_with_file_and_line() {
    for (text, problem) in [
        (
            "{}",
            "1:1: \"transport\" is missing: \"process\", \"stdio\", \"http\" or \"sse\"",
        ),
        (
            "{\"transport\": \"stdio\"}",
            "1:1: a server over stdio needs \"command\"",
        ),
        (
            "{\"type\": \"http\",\n \"url\": \"\"}",
            "2:9: a server over http needs \"url\"",
        ),
        (
            "{\"transport\": \"sse\",\n \"url\": \"host/mcp\"}",
            "2:9: \"url\" is no address such as https://host/mcp",
        ),
        (
            "comand: x\ntransport: stdio\ncommand: x",
            "1:1: unknown key \"comand\"; did you mean \"command\"?",
        ),
        (
            "transport: stdio\ncommand: x\nenv:\n  A: $CTX.USER_IT",
            "4:3: \"env\": unknown variable \"$CTX.USER_IT\"; did you mean \"USER_ID\"?",
        ),
        (
            "transport: http\nurl: http://host/$CTX.USER_ID",
            "2:6: \"url\" is the same for all callers: $CTX variables are replaced in env, headers, authorization_token alone",
        ),
        (
            "transport: stdio\ncommand: $CTX.USER_ID",
            "2:10: \"command\" is the same for all callers: $CTX variables are replaced in env, headers, authorization_token alone",
        ),
        (
            "transport: stdio\ncommand: x\narguments: [a, $CTX.USER_ID]",
            "3:12: \"arguments\" is the same for all callers: $CTX variables are replaced in env, headers, authorization_token alone",
        ),
    ] {
        let found = wrong(&[("mcps/s.mcp.yao", text)]);
        assert_eq!(
            found.first().unwrap(),
            &format!("mcps/s.mcp.yao:{problem}"),
            "{text}"
        );
    }
}

const SERVER: (&str, &str) = (
    "mcps/a/s.mcp.yao",
    "{\"transport\": \"process\", \"tools\": {\"add\": \"scripts.m.Add\"}}",
);

#[test]
fn what_is_wrong_with_a_mapping_is_told_with_file_and_line() {
    let folder = "mcps/mapping/a/s";
    for (file, text, problem) in [
        (
            "schemes/ad.in.yao",
            "{}",
            "schemes/add.in.yao: the file is not there, so \"add\" cannot be called; did you mean \"ad\"?",
        ),
        (
            "schemes/add.in.yao",
            "{\"x-process-args\":\n 7}",
            "schemes/add.in.yao:2:2: \"x-process-args\" must be a list: \":arguments\", \"$args.name\" or plain values",
        ),
        (
            "schemes/add.in.yao",
            "{\"a\": 1,\n\"a\": 2}",
            "schemes/add.in.yao:2:1: \"a\" is given twice, first on line 1",
        ),
        (
            "schemes/add.in.yao",
            "[]",
            "schemes/add.in.yao:1:1: the file must hold an object, not a list",
        ),
    ] {
        let file = format!("{folder}/{file}");
        let found = wrong(&[SERVER, (&file, text)]);
        assert_eq!(found, [format!("{folder}/{problem}")], "{text}");
    }
    let found = wrong(&[
        SERVER,
        (
            &format!("{folder}/schemes/add.in.yao"),
            "{\"type\": \"objekt\"}",
        ),
    ]);
    assert!(
        found[0].starts_with(&format!(
            "{folder}/schemes/add.in.yao: the file is no JSON Schema: "
        )),
        "{found:?}"
    );
    let schema = (&*format!("{folder}/schemes/add.in.yao"), "{}");
    let found = wrong(&[
        SERVER,
        schema,
        (
            &format!("{folder}/schemes/add.jsonl"),
            "{\"a\": 1}\n\n[2]\n",
        ),
    ]);
    assert_eq!(
        found,
        [format!(
            "{folder}/schemes/add.jsonl:3: the line is no JSON object"
        )]
    );
}

#[test]
fn a_prompt_has_one_name_and_one_text() {
    let server = (
        "mcps/s.mcp.yao",
        "{\"transport\": \"process\", \"prompts\": {\"greet\": \"scripts.m.Greet\"}}",
    );
    let file = "mcps/mapping/s/prompts/greet.pmt.yao";
    for (text, problems) in [
        ("name: greet\ntemplate: Hi", vec![]),
        (
            "name: hello\ntemplate: Hi",
            vec![
                "1:7: \"name\" has no effect: the prompt is called \"greet\", as the server's file says",
            ],
        ),
        (
            "messages: [{role: user, content: Hi}]\ntemplate: Hi",
            vec!["2:11: a prompt has \"messages\" or a \"template\", not both"],
        ),
    ] {
        let problems: Vec<String> = problems.iter().map(|it| format!("{file}:{it}")).collect();
        assert_eq!(wrong(&[server, (file, text)]), problems, "{text}");
    }
}

#[test]
fn an_entry_of_mcp_servers_names_one_server() {
    let package = "name: Hi\nconnector: echo\nmcp:\n  servers:\n    - a\n    - {a: [x], b: [y]}";
    let server = "{\"transport\": \"stdio\", \"command\": \"x\"}";
    let found = wrong(&[
        ("assistants/hi/package.yao", package),
        ("mcps/a.mcp.yao", server),
        ("mcps/b.mcp.yao", server),
    ]);
    let rule = "an entry names one server, this one names \"a\", \"b\": give each one of its own";
    let place = "assistants/hi/package.yao:6:7: \"mcp.servers[1]\"";
    assert_eq!(found, [format!("{place}: {rule}")]);
}

#[test]
fn a_mapping_is_read_for_servers_of_the_app_and_of_agents() {
    let schema = "{\"type\": \"object\", // a comment\n \"x-process-args\": [\"$args.a\", 2], \"description\": \"adds\",}";
    let tool = ToolMapping {
        process: "scripts.m.Add".to_owned(),
        tool: McpTool {
            name: "add".to_owned(),
            description: Some("adds".to_owned()),
            input_schema: json!({"type": "object", "description": "adds"}),
            output_schema: Some(json!({"type": "integer"})),
        },
        arguments: Some(vec![json!("$args.a").into(), json!(2).into()]),
        samples: serde_json::from_value(json!([{"name": "one"}])).unwrap(),
    };
    for (server, folder, id) in [
        ("mcps/a/s.mcp.yao", "mcps/mapping/a/s", "a.s"),
        (
            "assistants/hi/mcps/s.mcp.yao",
            "assistants/hi/mcps/mapping/s",
            "agents.hi.s",
        ),
    ] {
        let root = files(&[
            (
                "assistants/hi/package.yao",
                "{\"name\": \"Hi\", \"connector\": \"echo\"}",
            ),
            (server, SERVER.1),
            (&format!("{folder}/schemes/add.in.yao"), schema),
            (&format!("{folder}/schemes/add.out.yao"), "type: integer"),
            (
                &format!("{folder}/schemes/add.jsonl"),
                "{\"name\": \"one\"}\n",
            ),
        ]);
        let app = App::load(root.path(), &BTreeMap::new()).unwrap();
        let known = app.servers.get(id).unwrap().as_ref().unwrap();
        assert_eq!(known.mapping.tools, std::slice::from_ref(&tool));
        assert_eq!(app.problems, []);
    }
}
