//! An agent with a tool server, from a request to the answer.

mod lifetimes;

use crate::bed::{PATIENCE, Witness, python, stdio};
use crate::place::{
    Place, agent, ann, ask, borrowed, end, files, mirror, mirrored, model, named, remembered,
    request, said, settings, shown, traced,
};
use ambit_runtime::event::ToolChanged;
use ambit_runtime::{Frame, Runtime};
use ambit_storage::driver::DriverOptions;
use ambit_storage::event::EventBus;
use ambit_storage::{Context, Stores};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An app of these files, whose servers find their programs.
async fn place(list: &[(String, String)]) -> Place {
    place_heard(list, EventBus::default()).await
}

/// The same with listeners.
async fn place_heard(list: &[(String, String)], listeners: EventBus) -> Place {
    let app = files(&borrowed(list));
    let stores = Stores::builder(DriverOptions::default()).build().unwrap();
    let mut settings = settings(app.path(), stores);
    settings.listeners = listeners;
    settings.environment = BTreeMap::from([("PATH".to_owned(), python().1.to_owned())]);
    let runtime = Runtime::open(settings).await.unwrap();
    Place { runtime, app }
}

/// A model that calls these tools and then says what it was told.
fn calling(calls: &Value) -> (String, String) {
    let rules = json!([
        {"match": {"has_tool_result": false}, "tool_calls": calls},
        {"reply": "told: {{last_tool_result}}"},
    ]);
    model("calling", &rules)
}

#[tokio::test]
async fn scripts_use_the_servers_themselves() {
    let witness = Witness::new().await;
    let hooks = "export function Next(ctx) {
        const { mcp } = ctx, thrown = (run) => { try { run(); return null; } catch (error) { return error.message; } };
        return { data: {
            tools: mcp.ListTools('notes').tools.map(tool => tool.name).includes('add'),
            one: mcp.CallTool('notes', 'add', { a: 2 }).data,
            failed: [mcp.CallTool('notes', 'fail').isError, mcp.CallTool('notes', 'add', { a: 'two' }).isError],
            all: mcp.CallToolsParallel('notes', [{ name: 'add', arguments: { a: 1 } }, { name: 'fail' }]).map(it => it.isError),
            after: mcp.CallTools('notes', [{ name: 'add', arguments: { a: 3 } }]).map(it => it.data),
            many: mcp.All([{ mcp: 'notes', tool: 'fail' }, { mcp: 'notes', tool: 'add', arguments: { a: 4 } }]),
            race: mcp.Race([{ mcp: 'notes', tool: 'hang' }, { mcp: 'notes', tool: 'add', arguments: { a: 4 } }]).map(it => it && it.result),
            errors: [
                thrown(() => mcp.CallTool('nots', 'add')), thrown(() => mcp.CallTool('notes', 'ad')), thrown(() => mcp.CallTool('notes')),
                thrown(() => mcp.CallTools('notes', 1)), thrown(() => mcp.CallTools('notes', [{}])), thrown(() => mcp.All([{ tool: 'add' }])),
                thrown(() => mcp.CallToolsParallel('notes', [{ name: 'add', arguments: { a: 1 } }, { name: 'gone' }])),
            ],
        } };
    }";
    let mut list = agent(&json!({}), hooks);
    let server = stdio(&witness, &json!({})).to_string();
    list.push(("mcps/notes.mcp.yao".to_owned(), server));
    let place = place(&list).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let mut found = end(&frames)["next"].clone();
    let errors = found["errors"].take();
    let fail = json!({"mcp": "notes", "tool": "fail", "result": null, "error": "it does not work"});
    let add = json!({"mcp": "notes", "tool": "add", "result": {"total": 14}, "error": null});
    assert_eq!(
        found,
        json!({"tools": true, "one": {"total": 12}, "failed": [true, true], "all": [false, true], "after": [{"total": 13}],
            "many": [fail, add], "race": [null, {"total": 14}], "errors": null})
    );
    assert_eq!(
        errors,
        json!([
            "unknown MCP server \"nots\" (did you mean \"notes\"?)",
            "unknown tool \"ad\" on MCP server \"notes\" (did you mean \"add\"?)",
            "CallTool requires mcp and name parameters",
            "tools parameter must be an array",
            "tool name is required",
            "requests[0].mcp is required",
            "tools[1]: unknown tool \"gone\" on MCP server \"notes\"",
        ])
    );
}

#[tokio::test]
async fn an_agent_uses_the_tools_of_its_server() {
    let mut witness = Witness::new().await;
    let package = json!({"connector": "calling", "mcp": {"servers": [{"server_id": "notes", "tools": ["a*", "fail"]}]}});
    let hooks = "export function Next(ctx, payload) { return { data: payload.tools }; }";
    let mut list = agent(&package, hooks);
    let calls = json!([
        {"id": "c1", "name": "notes__add", "arguments": {"a": 2}}, {"id": "c2", "name": "notes__fail"},
        {"id": "c3", "name": "notes__add", "arguments": {"a": "two"}}, {"id": "c4", "name": "notes__echo"},
    ]);
    list.push(calling(&calls));
    let server = stdio(&witness, &json!({}));
    list.push((
        "assistants/hello/mcps/notes.mcp.yao".to_owned(),
        server.to_string(),
    ));
    let place = place(&list).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let tool = |id: &str, tool: &str, arguments: Value, result: Value, error: Value| json!({"toolcall_id": id, "server": "notes", "tool": tool, "arguments": arguments, "result": result, "error": error, "round": 0});
    let wrong = "the arguments of notes__add are not as its schema says: at '/a': want number, but got string";
    let mut unknown = tool(
        "c4",
        "notes__echo",
        json!({}),
        Value::Null,
        json!("there is no tool notes__echo"),
    );
    unknown["server"] = Value::Null;
    let sum = json!({"a": 2, "b": 10});
    let expected = json!([
        tool("c1", "add", sum, json!({"total": 12}), Value::Null),
        tool(
            "c2",
            "fail",
            json!({}),
            Value::Null,
            json!("it does not work")
        ),
        tool(
            "c3",
            "add",
            json!({"a": "two", "b": 10}),
            Value::Null,
            json!(wrong)
        ),
        unknown,
    ]);
    assert_eq!(end(&frames)["next"], expected);
    assert_eq!(
        shown(&frames).last().unwrap().1,
        "told: there is no tool notes__echo"
    );
    let again = ask(&place, request("hello", "again")).await;
    assert_eq!(end(&again)["status"], "completed");
    place.runtime.close(Duration::ZERO).await.unwrap();
    let told = witness.until("gone").await;
    let count = |line: &str| told.iter().filter(|told| *told == line).count();
    assert_eq!((count("initialize"), count("call add")), (1, 2), "{told:?}");
}

#[tokio::test]
async fn a_call_whose_arguments_are_not_checked_is_told_once_in_the_trace() {
    let deep = (0..22).fold(json!({}), |inner, _| json!({"next": inner}));
    let package = json!({"connector": "calling", "mcp": {"servers": ["box"]}});
    let hooks = "export function Next(ctx, payload) {
        const deep = payload.tools[0].arguments;
        ctx.mcp.CallTool('box', 'add', deep);
        ctx.mcp.All([{ mcp: 'box', tool: 'add', arguments: deep }]);
        try { ctx.mcp.CallTool('slow', 'hang', deep); } catch { return { data: { failed: true } }; }
    }";
    let mut list = agent(&package, hooks);
    list.push(calling(&json!([{"name": "box__add", "arguments": deep}])));
    let next = json!({"additionalProperties": {"$ref": "#"}});
    let schema = json!({"allOf": [next, next]}).to_string();
    let server = json!({"transport": "process", "tools": {"add": "utils.str.UUID"}});
    let slow =
        json!({"transport": "process", "timeout": "50ms", "tools": {"hang": "scripts.m.Hang"}});
    let hang =
        "export async function Hang() { await new Promise(done => setTimeout(done, 60000)); }";
    for (file, text) in [
        ("mcps/box.mcp.yao", server.to_string()),
        ("mcps/mapping/box/schemes/add.in.yao", schema.clone()),
        ("mcps/slow.mcp.yao", slow.to_string()),
        ("mcps/mapping/slow/schemes/hang.in.yao", schema),
        ("scripts/m.ts", hang.to_owned()),
    ] {
        list.push((file.to_owned(), text));
    }
    let place = place(&list).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let trace = traced(&place, &frames).await;
    assert_eq!(end(&frames)["next"], json!({"failed": true}));
    // The model's call, two of the hook, and the one that fails.
    for (tool, calls) in [("add", 3), ("hang", 1)] {
        let message = format!("the arguments of {tool} are not checked");
        let told = trace.matches(message.as_str());
        assert_eq!(told.count(), calls, "{tool}: {trace}");
    }
}

#[tokio::test]
async fn g134_a_result_of_megabytes_ends_no_turn() {
    let witness = Witness::new().await;
    let package = json!({"connector": "calling", "mcp": {"servers": ["notes"]}});
    let hooks = "export function Next(ctx, payload) { const tool = payload.tools[0]; return { data: [tool.error, tool.result && tool.result.length] }; }";
    let mut list = agent(&package, hooks);
    list.push(calling(
        &json!([{"name": "notes__big", "arguments": {"bytes": 6 << 20}}]),
    ));
    let server = stdio(&witness, &json!({})).to_string();
    list.push(("mcps/notes.mcp.yao".to_owned(), server));
    let place = place(&list).await;
    let frames = ask(&place, request("hello", "hi")).await;
    assert_eq!(end(&frames)["error"], Value::Null);
    assert_eq!(end(&frames)["next"], json!([null, 6 << 20]));
}

#[tokio::test]
async fn g092_turns_connect_to_a_server_once_and_ask_once_for_its_tools() {
    let mut witness = Witness::new().await;
    let package = json!({"connector": "calling", "mcp": {"servers": ["notes"]}});
    let mut list = agent(&package, "");
    list.push(calling(
        &json!([{"name": "notes__echo", "arguments": {"text": "x"}}]),
    ));
    let server = stdio(&witness, &json!({})).to_string();
    list.push(("mcps/notes.mcp.yao".to_owned(), server));
    let events = "
        export function BeforeSend(event) { return { message: { ...event.message, content: 'heard' } }; }
        export function ContextCleared() {}
        export function ConversationEnded() {}";
    let file = "assistants/hello/src/events.ts";
    list.push((file.to_owned(), events.to_owned()));
    let place = place(&list).await;
    for chat in ["one", "two", "three"] {
        let mut request = request("hello", "hi");
        request.chat = Some(chat.to_owned());
        let frames = ask(&place, request).await;
        assert_eq!(end(&frames)["status"], "completed");
    }
    place.runtime.reload().await.unwrap();
    let frames = ask(&place, request("hello", "hi")).await;
    assert_eq!(end(&frames)["status"], "completed");
    assert_eq!(remembered(&place, "hello").await[0], "user: heard");
    let ambit = place.runtime.contexts(&ann());
    let all = || Context::of(&ambit, "hello").unwrap();
    let rows = all().count().await.unwrap();
    let listed = all().page(None, 100).await.unwrap();
    assert_eq!(u64::try_from(listed.items.len()).unwrap(), rows);
    assert!(all().clear().await.unwrap().failed.is_empty());
    assert_eq!(remembered(&place, "hello").await, Vec::<String>::new());
    place.runtime.close(Duration::ZERO).await.unwrap();
    let told = witness.until("gone").await;
    let count = |line: &str| told.iter().filter(|told| *told == line).count();
    // Three pages of tools.
    let counts = (count("initialize"), count("tools/list"), count("call echo"));
    assert_eq!(counts, (1, 3, 4), "{told:?}");
}

#[tokio::test]
async fn an_agent_is_told_of_tools_that_come_and_go_and_only_of_those_it_wants() {
    let witness = Witness::new().await;
    let heard: Arc<Mutex<Vec<(String, String, bool)>>> = Arc::default();
    let hearing = heard.clone();
    let listeners = EventBus::default();
    listeners.after(move |event: Arc<ToolChanged>| {
        let agent = event.about.agent_name.clone();
        let change = (agent, event.tool.clone(), event.added);
        hearing.lock().unwrap().push(change);
        async { Ok(()) }
    });
    // Each turn calls the tool that it is asked for.
    let rules = json!([
        {"match": {"has_tool_result": false, "last_user": "^change"}, "tool_calls": [{"name": "notes__change"}]},
        {"match": {"has_tool_result": false, "last_user": "^last"}, "tool_calls": [{"name": "notes__last"}]},
    ]);
    let wanting = |servers: Value| json!({"connector": "calling", "mcp": {"servers": servers}});
    let mut list = agent(&wanting(json!(["notes"])), "");
    let narrow = wanting(json!([{"notes": ["echo"]}]));
    list.extend(named("narrow", &narrow, ""));
    list.push(model("calling", &rules));
    let server = stdio(&witness, &json!({})).to_string();
    list.push(("mcps/notes.mcp.yao".to_owned(), server));
    let place = place_heard(&list, listeners).await;
    ask(&place, request("narrow", "hi")).await;
    for (ask_for, added) in [("change", true), ("last", false)] {
        ask(&place, request("hello", ask_for)).await;
        // What the server says of itself comes by the way.
        let told = async {
            while heard.lock().unwrap().is_empty() {
                ask(&place, request("hello", "hi")).await;
            }
        };
        tokio::time::timeout(PATIENCE, told).await.unwrap();
        ask(&place, request("hello", "hi")).await;
        ask(&place, request("narrow", "hi")).await;
        let change = ("hello".to_owned(), "notes__new".to_owned(), added);
        assert_eq!(std::mem::take(&mut *heard.lock().unwrap()), [change]);
    }
}

#[tokio::test]
async fn three_samples_of_each_tool_reach_the_model_unless_the_package_says_how_many() {
    let samples: String = (1..=4)
        .map(|at| format!("{{\"name\": \"s{at}\", \"input\": {{\"a\": {at}}}}}\n"))
        .collect();
    let sample = |at: usize| format!("\n\nbox__add (s{at})\ninput: {{\"a\":{at}}}");
    for (options, expected) in [
        (json!({}), 3),
        (json!({"samples": 1}), 1),
        (json!({"samples": 0}), 0),
    ] {
        let package =
            json!({"connector": "mirror", "mcp": {"servers": ["box"], "options": options}});
        let mut list = agent(&package, "");
        list.push(mirror());
        let server = json!({"transport": "process", "tools": {"add": "utils.str.UUID"}});
        for (file, text) in [
            ("box.mcp.yao", server.to_string()),
            ("mapping/box/schemes/add.in.yao", "{}".to_owned()),
            ("mapping/box/schemes/add.jsonl", samples.clone()),
        ] {
            list.push((format!("mcps/{file}"), text));
        }
        let place = place(&list).await;
        let sent = mirrored(&ask(&place, request("hello", "hi")).await);
        let shown: String = (1..=expected).map(sample).collect();
        let mut messages = vec!["system: Be kind.".to_owned(), "user: hi".to_owned()];
        if expected > 0 {
            messages.insert(1, format!("system: Examples of tool calls:{shown}"));
        }
        assert_eq!(said(&sent["messages"]), messages);
    }
}

#[tokio::test]
async fn a_tool_that_vanishes_within_a_turn_is_a_failed_call_that_the_model_is_told_of() {
    let witness = Witness::new().await;
    let package = json!({"connector": "calling", "mcp": {"servers": ["notes"]}});
    let mut list = agent(&package, "");
    let take = json!([{"name": "notes__change", "arguments": {"takes": "echo"}}]);
    let rules = json!([
        {"match": {"has_tool_result": false}, "tool_calls": take},
        {"match": {"has_tool_result": true, "times": 1}, "tool_calls": [{"name": "notes__echo", "arguments": {"text": "x"}}]},
        {"reply": "told: {{last_tool_result}}"},
    ]);
    list.push(model("calling", &rules));
    let server = stdio(&witness, &json!({})).to_string();
    list.push(("mcps/notes.mcp.yao".to_owned(), server));
    let place = place(&list).await;
    let frames = ask(&place, request("hello", "hi")).await;
    assert_eq!(end(&frames)["status"], "completed");
    assert_eq!(
        shown(&frames).last().unwrap().1,
        "told: MCP server \"notes\": unknown tool echo"
    );
}

#[tokio::test]
async fn how_far_a_call_has_come_is_shown_where_the_call_is() {
    let witness = Witness::new().await;
    let package = json!({"connector": "calling", "mcp": {"servers": ["notes"]}});
    let mut list = agent(&package, "");
    list.push(calling(
        &json!([{"name": "notes__walk", "arguments": {"steps": 200}}]),
    ));
    let server = stdio(&witness, &json!({})).to_string();
    list.push(("mcps/notes.mcp.yao".to_owned(), server));
    let place = place(&list).await;
    let mut started = place.runtime.start(request("hello", "hi")).await.unwrap();
    let last = json!({"progress": 200.0, "total": 200.0, "message": "step 200"});
    let mut told: Vec<Value> = Vec::new();
    while told.last() != Some(&last) {
        let entries = started.stream.next().await.unwrap().unwrap();
        let frames = entries
            .iter()
            .map(|entry| serde_json::from_str(&entry.text));
        let frames = frames.map(|frame: Result<Frame, _>| frame.unwrap());
        told.extend(frames.filter_map(|frame| frame.props.get("progress").cloned()));
    }
    // The server has told all of them at once; four a second are shown.
    assert!(told.len() < 50, "{told:?}");
    let id = started.request_id.clone();
    place.runtime.cancel(&ann(), &id).await.unwrap();
    while started.stream.next().await.unwrap().is_some() {}
}
