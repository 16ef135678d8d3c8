//! What leaves of turns to a collector of OpenTelemetry.

use crate::collector::{Received, SentSpan, TestCollector, attributes};
use crate::place::{Place, agent, ann, ask, borrowed, end, model, named, place_with, request};
use crate::server::{self, Server};
use crate::toolbox::Tools;
use ambit_runtime::RuntimeSettings;
use ambit_storage::Usage;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What every span says.
const COMMON: [&str; 5] = [
    "ambit.request_id",
    "ambit.tenant",
    "gen_ai.conversation.id",
    "session.id",
    "user.id",
];

/// An app file with these settings of telemetry.
pub fn app(telemetry: &Value) -> (String, String) {
    let text = json!({"name": "Test", "version": "1.0.0", "ambit": {"telemetry": telemetry}});
    ("app.yao".to_owned(), text.to_string())
}

/// A runtime that sends to a collector.
pub async fn sending(files: &[(String, String)], collector: &TestCollector) -> Place {
    sending_with(files, collector, |_| {}).await
}

pub async fn sending_with(
    files: &[(String, String)],
    collector: &TestCollector,
    set: impl FnOnce(&mut RuntimeSettings),
) -> Place {
    place_with(&borrowed(files), |settings| {
        settings.telemetry = collector.settings();
        settings.tools = Some(Arc::new(Tools::usual()));
        set(settings);
    })
    .await
}

/// An answer of OpenAI's that counts all kinds of tokens.
pub fn answer() -> server::Reply {
    let chunk = |choice: Value| json!({"id": "answer-1", "model": "gpt-real", "choices": [choice]});
    let chunks = [
        chunk(json!({"index": 0, "delta": {"content": "hello"}})),
        chunk(json!({"index": 0, "delta": {}, "finish_reason": "stop"})),
        json!({"id": "answer-1", "model": "gpt-real", "choices": [], "usage": {
            "prompt_tokens": 20, "completion_tokens": 7, "total_tokens": 27,
            "prompt_tokens_details": {"cached_tokens": 5, "cache_creation_tokens": 3},
            "completion_tokens_details": {"reasoning_tokens": 2},
        }}),
    ];
    let lines = chunks.map(|chunk| format!("data: {chunk}\n\n"));
    server::Reply::stream(&format!("{}data: [DONE]\n\n", lines.concat()))
}

/// A connector to a fake provider.
pub fn openai(address: &str) -> (String, String) {
    let options = json!({"model": "gpt-asked", "key": "provider-secret", "host": address});
    let text = json!({"type": "openai", "options": options});
    ("connectors/real.conn.yao".to_owned(), text.to_string())
}

/// A connector that calls a tool, and then answers.
pub fn calling() -> (String, String) {
    let rules = json!([
        {"match": {"has_tool_result": false}, "tool_calls": [{"id": "call-1", "name": "s__show", "arguments": {"a": 1}}]},
        {"reply": "done"},
    ]);
    let (file, text) = model("calling", &rules);
    let mut text: Value = serde_json::from_str(&text).unwrap();
    text["options"]["usage"] = json!({"prompt_tokens": 10, "completion_tokens": 3});
    (file, text.to_string())
}

/// Agents that do everything a span is made of.
fn everything(semconv: &str, address: &str) -> Vec<(String, String)> {
    let hooks = "
        export function Create(ctx) {
            ctx.memory.user.Set('k', 1);
            ctx.memory.user.Get('k');
            ctx.trace.Add({ q: 1 }, { label: 'my step', type: 'mine' }).Complete();
            ctx.search.Web('cats', { limit: 3 });
            ctx.agent.Call('helper', [{ role: 'user', content: 'help' }]);
            return { temperature: 0.5, max_tokens: 100 };
        }
        export function Next(ctx, payload) {
            return { delegate: { agent_id: 'closer', messages: payload.messages } };
        }";
    let search = json!({"provider": "scripted", "results": [{"items": []}]});
    let package =
        json!({"connector": "calling", "mcp": {"servers": ["s"]}, "search": {"web": search}});
    let mut files = agent(&package, hooks);
    files.extend(named("helper", &json!({"connector": "real"}), ""));
    files.extend(named("closer", &json!({"connector": "calling"}), ""));
    files.push(calling());
    files.push(openai(address));
    files.push(app(&json!({"semconv": semconv})));
    files
}

/// The names of spans, each with its kind and the attributes that are not those of all.
fn shapes(spans: &[SentSpan]) -> BTreeMap<String, BTreeSet<String>> {
    let mut shapes = BTreeMap::new();
    for span in spans {
        let names = span.attributes.keys();
        let own = names.filter(|name| !COMMON.contains(&name.as_str()));
        let name = format!("{} {}", span.kind(), span.name);
        let all: &mut BTreeSet<String> = shapes.entry(name).or_default();
        all.extend(own.cloned());
        for common in COMMON {
            assert!(span.attributes.contains_key(common), "{common} of {span:?}");
        }
    }
    shapes
}

/// The same as it is expected: names with their attributes.
fn expected(rows: &[(&str, &[&str])]) -> BTreeMap<String, BTreeSet<String>> {
    let row = |(name, attributes): &(&str, &[&str])| {
        let attributes = attributes.iter().map(|name| (*name).to_owned());
        ((*name).to_owned(), attributes.collect())
    };
    rows.iter().map(row).collect()
}

const NAME: &str = "gen_ai.operation.name";
const INPUT: &str = "gen_ai.usage.input_tokens";
const OUTPUT: &str = "gen_ai.usage.output_tokens";
const READ: &str = "gen_ai.usage.cache_read.input_tokens";
const REASONING: &str = "gen_ai.usage.reasoning.output_tokens";
const PROVIDER: &str = "gen_ai.provider.name";

/// What a call of a model says in each version.
const MODEL: [&str; 9] = [
    NAME,
    INPUT,
    OUTPUT,
    PROVIDER,
    "gen_ai.request.model",
    "gen_ai.response.id",
    "gen_ai.response.model",
    "gen_ai.response.finish_reasons",
    "gen_ai.response.time_to_first_chunk",
];

async fn spans_of_everything(semconv: &str) -> (Vec<SentSpan>, Place) {
    let collector = TestCollector::start().await;
    let provider = Server::start(vec![answer()]).await;
    let place = sending(&everything(semconv, &provider.address), &collector).await;
    let frames = ask(&place, request("hello", "hi")).await;
    assert_eq!(end(&frames)["status"], "completed", "{}", end(&frames));
    (collector.turns(1).await, place)
}

#[tokio::test]
async fn spans_have_the_names_of_the_common_conventions() {
    let (spans, _place) = spans_of_everything("1.41").await;
    let agent = [
        NAME,
        INPUT,
        OUTPUT,
        PROVIDER,
        "gen_ai.agent.id",
        "gen_ai.agent.name",
    ];
    let written = "gen_ai.usage.cache_creation.input_tokens";
    let whole = [&agent[..], &[READ, REASONING, written]].concat();
    let real = [&MODEL[..], &[READ, REASONING, written]].concat();
    let calling = [
        &MODEL[..],
        &["gen_ai.request.temperature", "gen_ai.request.max_tokens"],
    ]
    .concat();
    let tool = [
        NAME,
        "gen_ai.tool.name",
        "gen_ai.tool.call.id",
        "gen_ai.tool.type",
    ];
    assert_eq!(
        shapes(&spans),
        expected(&[
            ("internal invoke_agent hello", &whole),
            ("internal invoke_agent helper", &whole),
            ("internal invoke_agent closer", &agent),
            ("internal ambit.hook hello Create", &["ambit.hook.cpu_ms"]),
            ("internal ambit.hook hello Next", &["ambit.hook.cpu_ms"]),
            ("internal search_memory", &[NAME, "ambit.memory.calls"]),
            ("internal upsert_memory", &[NAME, "ambit.memory.calls"]),
            ("internal my step", &["ambit.node.type"]),
            ("internal search", &["ambit.node.type"]),
            (
                "client retrieval scripted",
                &[NAME, "gen_ai.data_source.id"]
            ),
            ("client chat gpt-asked", &real),
            ("client chat calling", &calling),
            ("internal execute_tool show", &tool),
        ])
    );
}

#[tokio::test]
async fn spans_have_the_names_of_the_latest_conventions() {
    let (spans, _place) = spans_of_everything("latest").await;
    let shapes = shapes(&spans);
    let has = |span: &str, name: &str| shapes[span].contains(name);
    let written = "gen_ai.usage.cache_write.input_tokens";
    assert!(has("client chat gpt-asked", written));
    assert!(!has(
        "client chat gpt-asked",
        "gen_ai.usage.cache_creation.input_tokens"
    ));
    assert!(has("client retrieval scripted", "gen_ai.retrieval.top_k"));
    let agent = [NAME, INPUT, OUTPUT, REASONING, "gen_ai.agent.name"];
    let agent: BTreeSet<String> = agent.map(str::to_owned).into();
    assert_eq!(shapes["internal invoke_agent hello"], agent);
}

#[tokio::test]
async fn a_turn_is_one_trace_with_one_root_whose_tokens_are_those_that_are_booked() {
    let (spans, place) = spans_of_everything("1.41").await;
    let traces: BTreeSet<&str> = spans.iter().map(|span| span.trace_id.as_str()).collect();
    assert_eq!(traces.len(), 1);
    let by_id: BTreeMap<&str, &SentSpan> =
        spans.iter().map(|span| (span.id.as_str(), span)).collect();
    assert_eq!(by_id.len(), spans.len());
    let roots: Vec<&SentSpan> = spans.iter().filter(|span| span.is_root()).collect();
    let [root] = roots.as_slice() else {
        panic!("{roots:?}");
    };
    let parent = |name: &str| {
        let span = spans.iter().find(|span| span.name == name).unwrap();
        by_id[span.parent_id.as_str()].name.as_str()
    };
    let parents = [
        ("ambit.hook hello Create", "invoke_agent hello"),
        ("invoke_agent helper", "invoke_agent hello"),
        ("chat gpt-asked", "invoke_agent helper"),
        ("search_memory", "ambit.hook hello Create"),
        ("invoke_agent closer", "invoke_agent hello"),
        ("execute_tool show", "invoke_agent hello"),
    ];
    for (name, expected) in parents {
        assert_eq!(parent(name), expected, "{name}");
    }
    let chats = || spans.iter().filter(|span| span.name.starts_with("chat "));
    let totals = Usage::all(place.runtime.contexts(&ann()));
    let totals = totals.aggregate().await.unwrap().unwrap();
    let counts = [INPUT, OUTPUT].map(|name| chats().map(|span| span.number(name)).sum::<i64>());
    assert_eq!(counts, [totals.prompt_tokens, totals.completion_tokens]);
    assert_eq!([INPUT, OUTPUT].map(|name| root.number(name)), counts);
    assert_eq!(chats().count(), 4);
}

#[tokio::test]
async fn calls_of_servers_outside_name_the_method_of_mcp() {
    let collector = TestCollector::start().await;
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let mut files = agent(&package, "");
    files.push(calling());
    let outside = json!({"transport": "http", "url": "https://unused.test/mcp"});
    files.push(("mcps/s.mcp.yao".to_owned(), outside.to_string()));
    let place = sending(&files, &collector).await;
    ask(&place, request("hello", "hi")).await;
    let spans = collector.turns(1).await;
    let called = spans.iter().find(|span| span.name == "execute_tool show");
    let attributes = &called.unwrap().attributes;
    assert_eq!(attributes["mcp.method.name"], "tools/call");
    assert_eq!(attributes["gen_ai.tool.type"], "extension");
}

#[tokio::test]
async fn further_parents_of_a_step_are_links_of_its_span() {
    let collector = TestCollector::start().await;
    let hooks = "export function Create(ctx) {
        ctx.trace.Parallel([{ input: 1, option: 'left' }, { input: 2, option: 'right' }]);
        ctx.trace.Add(0, 'join');
    }";
    let mut files = agent(&json!({}), hooks);
    files.push(app(&json!({})));
    let place = sending(&files, &collector).await;
    ask(&place, request("hello", "hi")).await;
    let spans = collector.turns(1).await;
    let span = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let (left, right, join) = (span("left"), span("right"), span("join"));
    assert_eq!(join.parent_id, left.id);
    let link = json!([{"trace_id": join.trace_id, "span_id": right.id}]);
    assert_eq!(join.whole["links"], link);
    assert_eq!(left.whole.get("links"), None);
}

/// Series by their labels.
fn series(metric: &Value) -> Vec<BTreeMap<String, Value>> {
    let data = ["sum", "gauge", "histogram"]
        .into_iter()
        .find_map(|kind| metric.get(kind));
    let points = data.unwrap()["data_points"].as_array().unwrap();
    points.iter().map(attributes).collect()
}

#[tokio::test]
async fn metrics_have_the_names_of_each_version_beside_their_own() {
    let common: &[&str] = &[
        "gen_ai.client.operation.duration",
        "gen_ai.client.operation.time_to_first_chunk",
        "gen_ai.client.token.usage",
    ];
    let latest: &[&str] = &[
        "gen_ai.client.inference.duration",
        "gen_ai.client.inference.time_to_first_chunk",
        "gen_ai.client.inference.usage.cache_read.input_tokens",
        "gen_ai.client.inference.usage.cache_write.input_tokens",
        "gen_ai.client.inference.usage.input_tokens",
        "gen_ai.client.inference.usage.output_tokens",
        "gen_ai.client.inference.usage.reasoning.output_tokens",
        "gen_ai.execute_tool.duration",
        "gen_ai.invoke_agent.duration",
    ];
    for (semconv, expected) in [("1.41", common), ("latest", latest)] {
        let collector = TestCollector::start().await;
        let provider = Server::start(vec![answer()]).await;
        let place = sending(&everything(semconv, &provider.address), &collector).await;
        ask(&place, request("hello", "hi")).await;
        let is_counted = |received: &Received| received.metrics().contains_key("ambit_turns_total");
        let metrics = collector.until(is_counted).await.metrics();
        let names = metrics.keys().filter(|name| name.starts_with("gen_ai."));
        let names: Vec<&str> = names.map(String::as_str).collect();
        assert_eq!(names, expected, "{semconv}");
        // What Prometheus reads comes too, under the same names.
        let text = place.runtime.metrics_text();
        let shown = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let shown: Vec<&str> = shown.filter_map(|line| line.split(' ').next()).collect();
        let is_whole = |received: &Received| {
            let metrics = received.metrics();
            shown.iter().all(|name| metrics.contains_key(*name))
        };
        collector.until(is_whole).await;
        let of_model = &metrics[expected[0]];
        let labels = &series(of_model)[0];
        assert_eq!(labels[NAME], "chat");
        assert!(labels.contains_key(PROVIDER) && labels.contains_key("gen_ai.request.model"));
    }
}

/// An agent whose model answers at once.
pub fn plain(telemetry: &Value) -> Vec<(String, String)> {
    let mut files = agent(&json!({}), "");
    files.push(app(telemetry));
    files
}
