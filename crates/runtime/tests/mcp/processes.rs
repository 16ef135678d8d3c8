//! An app's own processes as a server.

use crate::bed::{Bed, samples, with_processes};
use ambit_runtime::tool::{ProcessCaller, ServerSelection, Toolbox};
use ambit_runtime::{Error, ErrorCode, Result};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Processes that show what they get.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Vec<Value>>>);

impl ProcessCaller for Shown {
    fn run<'a>(&'a self, process: &'a str, arguments: Vec<Value>) -> BoxFuture<'a, Result<Value>> {
        Box::pin(async move {
            self.0.lock().unwrap().push(json!([process, arguments]));
            match process {
                "scripts.m.Fail" => Err(Error::new(ErrorCode::HookError, "no luck")),
                "scripts.m.Text" => Ok(json!("just words")),
                "scripts.m.List" => Ok(json!([1, 2])),
                "scripts.m.Hang" => std::future::pending().await,
                "scripts.m.Stop" => Err(Error::new(ErrorCode::Cancelled, "stopped")),
                "scripts.m.Prompt" => Ok(
                    json!({"description": "made", "messages": [{"role": "assistant", "content": "{{who}}"}]}),
                ),
                _ => Ok(json!({"got": arguments})),
            }
        })
    }
}

impl Shown {
    fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn bed() -> (Bed, Shown) {
    let server = json!({"transport": "process", "timeout": "200ms",
        "tools": {"add": "scripts.m.Add", "text": "scripts.m.Text", "list": "scripts.m.List", "fail": "scripts.m.Fail",
            "hang": "scripts.m.Hang", "stop": "scripts.m.Stop"},
        "resources": {"health": "scripts.m.Health", "note": "scripts.m.Text"},
        "prompts": {"greet": "scripts.m.Greet", "chat": "scripts.m.Greet", "made": "scripts.m.Prompt", "words": "scripts.m.Text"}});
    let add = json!({"type": "object", "description": "adds", "required": ["a"],
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 5}}, "x-process-args": ["$args.a", "$b", "and", ":arguments"]});
    let health = json!({"uri": "echo://health/{part}?check={check}", "name": "Health", "description": "how it is",
        "schema": {"properties": {"check": {"default": "all"}}}, "x-process-args": ["$uri.part", "$query.check"]});
    let greet = json!({"description": "greets", "arguments": [{"name": "who", "required": true}, {"name": "loud"}],
        "template": "Greet {{who}}{{#if loud}} loudly{{/if}}."});
    let chat = json!({"messages": [{"role": "user", "content": "I am {{who}}."}, {"role": "assistant", "content": {"type": "text", "text": "Hi {{who}}!"}}]});
    let samples =
        "{\"name\": \"one\", \"input\": {\"a\": 1}, \"output\": 6}\n{\"name\": \"two\"}\n";
    let mut list = vec![
        ("mcps/s.mcp.yao", server.to_string()),
        ("mcps/mapping/s/schemes/add.in.yao", add.to_string()),
        (
            "mcps/mapping/s/schemes/add.out.yao",
            json!({"required": ["sum"]}).to_string(),
        ),
        ("mcps/mapping/s/schemes/add.jsonl", samples.to_owned()),
        (
            "mcps/mapping/s/resources/health.res.yao",
            health.to_string(),
        ),
        (
            "mcps/mapping/s/resources/note.res.yao",
            json!({"uri": "echo://note", "mimeType": "text/markdown"}).to_string(),
        ),
        (
            "mcps/mapping/s/resources/health.jsonl",
            "{\"name\": \"fine\"}".to_owned(),
        ),
        ("mcps/mapping/s/prompts/greet.pmt.yao", greet.to_string()),
        ("mcps/mapping/s/prompts/chat.pmt.yao", chat.to_string()),
    ];
    for file in ["text", "list", "fail", "hang", "stop"] {
        let file = format!("mcps/mapping/s/schemes/{file}.in.yao");
        list.push((file.leak(), "{\"description\": \"does it\"}".to_owned()));
    }
    let shown = Shown::default();
    let mut bed = Bed::of(&list);
    bed.caller = with_processes(shown.clone());
    (bed, shown)
}

#[tokio::test]
async fn a_process_gets_its_mapped_arguments_with_defaults_and_gives_data() {
    let (bed, shown) = bed();
    let outcome = bed.call("add", json!({"a": 1})).await.unwrap();
    let arguments = json!([1, 5, "and", {"a": 1, "b": 5}]);
    assert_eq!(shown.take(), [json!(["scripts.m.Add", arguments])]);
    assert_eq!(outcome.data, json!({"got": arguments}));
    assert_eq!(outcome.text, json!({"got": arguments}).to_string());
    assert_eq!(
        outcome.warnings,
        ["the result of add does not fit its outputSchema: at '': missing properties 'sum'"]
    );
    let called = bed
        .servers
        .call("s", "text", json!({"x": 1}), &bed.caller)
        .await
        .unwrap();
    assert_eq!(shown.take(), [json!(["scripts.m.Text", [{"x": 1}]])]);
    let text = json!({"content": [{"type": "text", "text": "just words"}], "isError": false, "data": "just words"});
    assert_eq!(called.result, text);
    assert_eq!(
        bed.call("list", json!({})).await.unwrap().data,
        json!([1, 2])
    );
}

#[tokio::test]
async fn a_result_that_costs_too_much_to_check_is_told_once() {
    let next = json!({"additionalProperties": {"$ref": "#"}, "items": {"$ref": "#"}});
    let (open, doubling) = (json!({}), json!({"allOf": [next, next]}));
    let misfit = json!({"required": ["sum"]});
    let deep = (0..30).fold(json!({}), |inner, _| json!({"next": inner}));
    let unchecked = "the result of add is not checked: a check would take more than 500000 steps";
    let unfit = "the result of add does not fit its outputSchema: at '': missing properties 'sum'";
    for (input, output, told) in [
        (&doubling, &open, vec![]),
        (&open, &doubling, vec![unchecked]),
        (&doubling, &doubling, vec![unchecked]),
        (&doubling, &misfit, vec![unfit]),
    ] {
        let server = json!({"transport": "process", "tools": {"add": "scripts.m.Add"}});
        let mut bed = Bed::of(&[
            ("mcps/s.mcp.yao", server.to_string()),
            ("mcps/mapping/s/schemes/add.in.yao", input.to_string()),
            ("mcps/mapping/s/schemes/add.out.yao", output.to_string()),
        ]);
        bed.caller = with_processes(Shown::default());
        let outcome = bed.call("add", deep.clone()).await.unwrap();
        assert_eq!(outcome.warnings, told, "{input} {output}");
    }
}

#[tokio::test]
async fn what_goes_wrong_in_a_process_is_told_to_the_model() {
    let (bed, shown) = bed();
    for (tool, arguments, text) in [
        ("fail", json!({}), "Error executing tool fail: no luck"),
        (
            "add",
            json!({}),
            "Error executing tool add: the arguments do not fit: at '': missing properties 'a'",
        ),
        (
            "add",
            json!([1]),
            "Error executing tool add: the arguments do not fit: at '': want object, but got array",
        ),
    ] {
        let outcome = bed.call(tool, arguments).await.unwrap();
        assert_eq!((outcome.is_error, outcome.text.as_str()), (true, text));
    }
    assert_eq!(shown.take(), [json!(["scripts.m.Fail", [{}]])]);
    assert_eq!(
        bed.failure("stop", json!({})).await.code,
        ErrorCode::Cancelled
    );
    let hung = bed.failure("hang", json!({})).await;
    assert_eq!(hung.message, "MCP server \"s\": no answer within 200ms");
}

#[tokio::test]
async fn resources_are_found_by_their_templates() {
    let (bed, shown) = bed();
    let read = async |uri: &str| bed.servers.read_resource("s", uri, &bed.caller).await;
    let health = read("echo://health/disk?check=fast").await.unwrap();
    let content = json!({"uri": "echo://health/disk?check=fast", "mimeType": "application/json", "text": "{\"got\":[\"disk\",\"fast\"]}"});
    assert_eq!(health, json!({"contents": [content]}));
    read("echo://health/net").await.unwrap();
    assert_eq!(
        shown.take(),
        [
            json!(["scripts.m.Health", ["disk", "fast"]]),
            json!(["scripts.m.Health", ["net", "all"]])
        ]
    );
    let note = json!({"uri": "echo://note", "mimeType": "text/markdown", "text": "just words"});
    assert_eq!(
        read("echo://note").await.unwrap(),
        json!({"contents": [note]})
    );
    assert_eq!(shown.take(), [json!(["scripts.m.Text", [{}]])]);
    let unknown = read("echo://other").await.unwrap_err().message;
    assert_eq!(
        unknown,
        "unknown resource \"echo://other\" on MCP server \"s\""
    );
    let listed = bed
        .servers
        .list_resources("s", None, &bed.caller)
        .await
        .unwrap();
    let health = json!({"uri": "echo://health/{part}?check={check}", "name": "Health", "description": "how it is", "mimeType": null, "meta": null});
    assert_eq!(listed["resources"][0], health);
}

#[tokio::test]
async fn prompts_are_texts_with_variables_or_what_a_process_says() {
    let (bed, shown) = bed();
    let get = async |name: &str, given: Value| {
        let given = given.as_object().unwrap().clone();
        bed.servers.get_prompt("s", name, given, &bed.caller).await
    };
    let said =
        |role: &str, text: &str| json!({"role": role, "content": {"type": "text", "text": text}});
    let greeted = get("greet", json!({"who": "Ann", "loud": true}))
        .await
        .unwrap();
    assert_eq!(
        greeted,
        json!({"description": "greets", "messages": [said("user", "Greet Ann loudly.")]})
    );
    let chat = get("chat", json!({"who": "Bob"})).await.unwrap();
    assert_eq!(
        chat["messages"],
        json!([said("user", "I am Bob."), said("assistant", "Hi Bob!")])
    );
    let bare = get("chat", json!({})).await.unwrap();
    assert_eq!(
        bare["messages"],
        json!([said("user", "I am ."), said("assistant", "Hi !")])
    );
    assert_eq!(shown.take(), Vec::<Value>::new());
    let made = get("made", json!({"who": "Eve"})).await.unwrap();
    assert_eq!(
        made,
        json!({"description": "made", "messages": [said("assistant", "{{who}}")]})
    );
    assert_eq!(
        get("words", json!({})).await.unwrap()["messages"],
        json!([said("user", "just words")])
    );
    assert_eq!(
        shown.take()[0],
        json!(["scripts.m.Prompt", [{"who": "Eve"}]])
    );
    let missing = get("greet", json!({})).await.unwrap_err().message;
    assert_eq!(missing, "prompt \"greet\" needs the argument \"who\"");
}

#[tokio::test]
async fn samples_go_to_scripts_and_to_the_model() {
    let (bed, _) = bed();
    let (servers, caller) = (&bed.servers, &bed.caller);
    let one =
        json!({"index": 0, "name": "one", "description": null, "input": {"a": 1}, "output": 6});
    let listed = servers
        .list_samples(samples("tool", "add"), caller)
        .unwrap();
    let two =
        json!({"index": 1, "name": "two", "description": null, "input": null, "output": null});
    assert_eq!(listed, json!({"samples": [one, two], "total": 2}));
    assert_eq!(
        servers
            .get_sample(samples("resource", "health"), 0, caller)
            .unwrap(),
        json!({"index": 0, "name": "fine", "description": null, "uri": null, "data": null})
    );
    for index in [-1, 2] {
        let outside = servers.get_sample(samples("tool", "add"), index, caller);
        assert_eq!(
            outside.unwrap_err().message,
            format!("sample index {index} out of range for tool \"add\" (2 samples)")
        );
    }
    let unknown = servers
        .list_samples(samples("tool", "gone"), caller)
        .unwrap_err()
        .message;
    assert_eq!(unknown, "unknown tool \"gone\" on MCP server \"s\"");
    let tools = servers
        .list(&[ServerSelection::of_entry(&json!({"s": ["add"]}))], caller)
        .await
        .unwrap();
    assert_eq!(tools.len(), 1);
    assert_eq!(
        (tools[0].name.as_str(), tools[0].description.as_str()),
        ("s__add", "adds")
    );
    assert_eq!(
        json!(tools[0].samples),
        json!([{"name": "one", "input": {"a": 1}, "output": 6}, {"name": "two"}])
    );
}
