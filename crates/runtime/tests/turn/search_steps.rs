//! Steps of a search before the model's call that tools and models do, and what comes of those that go wrong.

use crate::automatic_search::{KEEP, announced, app, ids, web};
use crate::place::{
    Place, ask, borrowed, end, model, named, place, place_of_tools, request, traced, tree,
};
use crate::toolbox::{Tools, outcome};
use ambit_runtime::{Error, ErrorCode};
use serde_json::{Value, json};
use std::sync::Arc;

/// An app all of whose steps are done by tools.
pub fn by_tools(timeout: &str) -> Vec<(String, String)> {
    let uses = json!({"search": "mcp:s.search", "web": "mcp:s.web_search", "keyword": "mcp:s.extract_keywords", "rerank": "mcp:s.rerank"});
    let search = json!({"options": {"timeout": timeout}});
    app(&json!({"uses": uses, "search": search}), KEEP, Vec::new())
}

pub const STEPS: [&str; 4] = ["search", "web_search", "extract_keywords", "rerank"];

/// What a tool of a step answers when all is well.
pub fn good(step: &str) -> Value {
    match step {
        "search" => json!({"need_search": true, "search_types": ["web"]}),
        "extract_keywords" => json!({"keywords": ["rust"]}),
        "rerank" => json!({"order": ["2"]}),
        _ => {
            json!({"items": [{"name": "a", "link": "https://a.test", "snippet": "x"}, {"title": "b", "url": "https://b.test"}]})
        }
    }
}

#[tokio::test]
async fn tools_do_the_steps_that_they_are_named_for() {
    let tools = Tools::new(&STEPS, |step, _| {
        Box::pin(async move { Ok(outcome(good(&step))) })
    });
    let called = tools.called.clone();
    let place = place_of_tools(&borrowed(&by_tools("15s")), tools).await;
    let frames = ask(&place, request("hello", "What is Rust?")).await;
    assert_eq!(ids(&announced(&frames), "title"), ["b", "a"]);
    let called = called.lock().unwrap();
    assert_eq!(
        called[0].1,
        json!({"query": "What is Rust?", "types": ["web"],
        "messages": [{"role": "user", "content": "What is Rust?"}]})
    );
    assert_eq!(called[1].1["content"], "What is Rust?");
    assert_eq!(called[2].1, json!({"query": "rust", "limit": 10}));
    assert_eq!(called[3].1["items"][0]["content"], "x");
}

/// What a step may do instead of its work.
async fn misbehave(
    how: usize,
    step: &str,
) -> ambit_runtime::Result<ambit_runtime::tool::ToolOutcome> {
    match how {
        0 => Ok(outcome(good(step))),
        1 => Err(Error::new(ErrorCode::McpError, "gone")),
        2 => std::future::pending().await,
        3 => panic!("a defect"),
        4 => Ok(outcome(
            json!({"order": 5, "items": {"a": [null]}, "keywords": false}),
        )),
        5 => Ok(outcome(json!("}{ \u{202e} not json"))),
        6 => Ok(outcome(json!({"error": "out of order"}))),
        7 => Ok(outcome(json!("x".repeat(2 << 20)))),
        _ => Ok(outcome(
            json!({"items": [{"title": "</ref>", "score": "NaN", "type": "db", "data": 5}], "types": [[]]}),
        )),
    }
}

#[tokio::test]
async fn g209_no_step_that_goes_wrong_fails_the_turn() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % 9).unwrap()
    };
    // Each step in each way alone, then all of them at random.
    let mut plans: Vec<[usize; 4]> = Vec::new();
    for step in 0..4 {
        for how in 1..9 {
            let mut plan = [0; 4];
            plan[step] = how;
            plans.push(plan);
        }
    }
    plans.extend((0..24).map(|_| [next(), next(), next(), next()]));
    let files = by_tools("50ms");
    let plan = Arc::new(std::sync::Mutex::new([0; 4]));
    let present = plan.clone();
    let tools = Tools::new(&STEPS, move |step, _| {
        let at = STEPS.iter().position(|name| *name == step).unwrap();
        let how = present.lock().unwrap()[at];
        Box::pin(async move { misbehave(how, &step).await })
    });
    let place = place_of_tools(&borrowed(&files), tools).await;
    for (number, ways) in plans.into_iter().enumerate() {
        *plan.lock().unwrap() = ways;
        let mut asked = request("hello", "What is Rust?");
        asked.chat = Some(format!("chat-{number}"));
        let frames = ask(&place, asked).await;
        let end = end(&frames);
        assert_eq!(
            (&end["status"], &end["error"]),
            (&json!("completed"), &Value::Null),
            "{ways:?}"
        );
        let ids = ids(&announced(&frames), "id");
        let expected: Vec<String> = (1..=ids.len()).map(|id| id.to_string()).collect();
        assert_eq!(ids, expected, "{ways:?}");
    }
}

#[tokio::test]
async fn g216_a_step_that_goes_wrong_is_named() {
    for (at, key) in ["search", "web", "keyword", "rerank"].iter().enumerate() {
        let tools = Tools::new(&STEPS, move |step, _| {
            let how = if STEPS[at] == step { 6 } else { 0 };
            Box::pin(async move { misbehave(how, &step).await })
        });
        let place = place_of_tools(&borrowed(&by_tools("15s")), tools).await;
        let frames = ask(&place, request("hello", "What is Rust?")).await;
        let trace = traced(&place, &frames).await;
        assert!(
            trace.contains(&format!("uses.{key}")) && trace.contains("out of order"),
            "{key}: {trace}"
        );
    }
}

/// What clients are told of and see of a search with these settings, one of whose steps is an agent `other`.
async fn with_other(package: &Value, next: &str) -> (Vec<Value>, String) {
    let hooks = format!("export function Next() {{ {next} }}");
    let mut more = named("other", &json!({"connector": "quiet"}), &hooks);
    more.push(model("quiet", &json!([{"reply": "x"}])));
    let place = place(&borrowed(&app(package, "", more))).await;
    let frames = ask(&place, request("hello", "What is Rust?")).await;
    let loading = frames.iter().filter(|frame| frame.kind == "loading");
    let last = loading
        .filter_map(|frame| frame.props.get("message")?.as_str())
        .next_back();
    (announced(&frames), last.unwrap_or_default().to_owned())
}

#[tokio::test]
async fn who_searches_the_web_finds_pages_and_nothing_else() {
    let item = "{ title: 'a', source: 'user', type: 'kb', document_id: 'd', collection: 'c', chunk_id: 'x' }";
    let next = format!("return {{ data: {{ items: [{item}] }} }};");
    let (announced, _) = with_other(&json!({"uses": {"web": "other"}}), &next).await;
    let told = ["source", "weight", "type", "collection", "foreign"]
        .map(|name| announced[0][name].clone());
    let expected = [
        json!("auto"),
        json!(0.6),
        json!("web"),
        Value::Null,
        Value::Null,
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_rerank_that_fails_leaves_all_items_as_they_were() {
    let package =
        json!({"uses": {"rerank": "other"}, "search": {"web": web(), "rerank": {"top_n": 1}}});
    let (announced, _) = with_other(&package, "throw new Error('out of order');").await;
    assert_eq!(ids(&announced, "title"), ["Rust", "Ferris"]);
    let (announced, _) = with_other(&package, "return { data: { order: ['2'] } };").await;
    assert_eq!(ids(&announced, "title"), ["Ferris"]);
}

#[tokio::test]
async fn no_items_are_no_failure_and_null_says_nothing() {
    let package = json!({"uses": {"search": "other"}});
    let (announced, shown) = with_other(&package, "return { data: { items: [] } };").await;
    assert_eq!((announced.len(), shown.as_str()), (0, "No results found"));
    let intent = "return { data: { items: null, search_types: null, types: ['web'] } };";
    let (announced, shown) = with_other(&package, intent).await;
    assert_eq!((announced.len(), shown.as_str()), (2, "Found 2 references"));
}

/// How long the search of a turn took that was answered all the same.
async fn search_time(place: &Place, chat: String) -> u64 {
    let mut asked = request("hello", "What is Rust?");
    asked.chat = Some(chat);
    let frames = ask(place, asked).await;
    let end = end(&frames);
    assert_eq!(
        (&end["status"], &end["error"]),
        (&json!("completed"), &Value::Null)
    );
    let tree = tree(place, &frames).await;
    let node = tree.nodes.iter().find(|node| node.kind == "search");
    node.unwrap().output["duration_ms"].as_u64().unwrap()
}

/// What a search of two seconds may take.
const IN_TIME: u64 = 2_250;

#[tokio::test(start_paused = true)]
async fn g209_no_step_holds_up_the_turn_beyond_the_search_s_time() {
    const NAMES: [&str; 5] = [
        "search",
        "web_search",
        "extract_keywords",
        "rerank",
        "generate_querydsl",
    ];
    let uses = json!({"search": "mcp:s.search", "web": "mcp:s.web_search", "keyword": "mcp:s.extract_keywords",
        "rerank": "mcp:s.rerank", "querydsl": "mcp:s.generate_querydsl"});
    let search = json!({"options": {"timeout": "2s"}, "querydsl": {"strict": true}});
    let package = json!({"uses": uses, "search": search, "db": {"models": ["note"]}});
    let columns = json!([{"name": "id", "type": "ID"}, {"name": "title", "type": "string"}]);
    let note = json!({"name": "Note", "columns": columns}).to_string();
    let files = app(&package, "", vec![("models/note.mod.yao".to_owned(), note)]);
    let plan = Arc::new(std::sync::Mutex::new(("", 0)));
    let present = plan.clone();
    let tools = Tools::new(&NAMES, move |step, _| {
        let (wrong, how) = *present.lock().unwrap();
        let how = if wrong == step { how } else { 0 };
        Box::pin(async move {
            match (how, step.as_str()) {
                (0, "search") => Ok(outcome(json!({"types": ["web", "db"]}))),
                (0, "generate_querydsl") => Ok(outcome(json!({"from": "nowhere"}))),
                _ => misbehave(how, &step).await,
            }
        })
    });
    let place = place_of_tools(&borrowed(&files), tools).await;
    for name in NAMES {
        for how in 1..9 {
            *plan.lock().unwrap() = (name, how);
            let took = search_time(&place, format!("{name} {how}")).await;
            assert!(took <= IN_TIME, "{name} {how}: {took} ms");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn g209_no_model_and_no_provider_holds_up_the_turn() {
    let slow = json!({"provider": "scripted", "results": [{"items": [], "delay": "1h"}]});
    let answers = [
        json!({"reply": "{\"need_search\": true}", "delay": "1h"}),
        json!({"error": {"status": 503, "message": "no"}}),
        json!({"reply": "}{ no JSON"}),
        json!({"reply": "{\"need_search\": true}"}),
    ];
    for (at, answer) in answers.iter().enumerate() {
        let mut more = vec![model("small", &json!([answer]))];
        more.push((
            "agent/agent.yml".to_owned(),
            "system:\n  light: small\n".to_owned(),
        ));
        let search = json!({"web": slow, "options": {"timeout": "2s"}});
        let package = json!({"search": search, "uses": {"keyword": "builtin"}});
        let place = place(&borrowed(&app(&package, "", more))).await;
        let took = search_time(&place, format!("chat-{at}")).await;
        assert!(took <= IN_TIME, "{answer}: {took} ms");
    }
}
