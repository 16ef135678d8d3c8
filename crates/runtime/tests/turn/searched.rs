//! Searches of hooks: what they give, whose references they are, and who is asked.

use crate::place::{
    Place, agent, ask, borrowed, end, named, place, place_of_tools, place_with, request, tree,
};
use crate::toolbox::{Tools, outcome};
use ambit_runtime::{Authorized, Frame, ModelSecret};
use serde_json::{Value, json};

/// Settings of a web that knows two pages, one more for `slow`, which takes long, and none for `nothing`.
pub fn web() -> Value {
    let page = |name: &str| json!({"title": name, "url": format!("https://{name}.test/"), "content": format!("about {name}")});
    json!({"provider": "scripted", "results": [
        {"match": "slow", "items": [page("late")], "delay": "60s"},
        {"match": "fail", "error": "out of order"},
        {"match": "nothing", "items": []},
        {"items": [page("one"), page("two")]},
    ]})
}

/// An agent with this search, whose `Create` leaves what this expression is.
pub async fn place_of(search: &Value, expression: &str, more: &[(String, String)]) -> Place {
    let hooks = format!(
        "export function Create(ctx, messages) {{ return {{ search: false, metadata: {{ found: ({expression}) }} }}; }}
         export function Next(ctx) {{ return {{ data: ctx.metadata.found }}; }}"
    );
    let mut files = agent(search, &hooks);
    files.extend_from_slice(more);
    let key = ModelSecret("a key that has thirty-two letters or more".to_owned());
    place_with(&borrowed(&files), |settings| {
        settings.models.key = Some(key);
    })
    .await
}

pub async fn asked(place: &Place) -> (Value, Vec<Frame>) {
    let frames = ask(place, request("hello", "hi")).await;
    assert_eq!(end(&frames)["error"], Value::Null, "{}", end(&frames));
    (end(&frames)["next"].clone(), frames)
}

/// What the expression gives in a hook of an agent that searches this web.
async fn found(expression: &str) -> (Value, Vec<Frame>) {
    asked(&place_of(&json!({"search": {"web": web()}}), expression, &[]).await).await
}

pub fn ids(result: &Value) -> Vec<&str> {
    let items = result["items"].as_array().unwrap().iter();
    items
        .map(|item| item["citation_id"].as_str().unwrap())
        .collect()
}

/// The ids of each event of references.
pub fn announced(frames: &[Frame]) -> Vec<Vec<String>> {
    let events = frames
        .iter()
        .filter(|frame| frame.event_name() == Some("references"));
    let ids = events.map(|frame| {
        let references = frame.event_data().unwrap()["references"]
            .as_array()
            .unwrap()
            .iter();
        references
            .map(|reference| reference["id"].as_str().unwrap().to_owned())
            .collect()
    });
    ids.collect()
}

#[tokio::test]
async fn a_hook_searches_the_web_and_what_it_finds_are_references() {
    let settings = json!({"search": {"web": web(), "weights": {"hook": 0.7}}});
    let place = place_of(&settings, "ctx.search.Web('pages', { limit: 1 })", &[]).await;
    let (mut result, frames) = asked(&place).await;
    result["duration_ms"] = 0.into();
    // A script's whole number is one.
    assert_eq!(result["items"][0]["score"].take(), 1);
    result["items"][0]["score"] = json!(1.0);
    let item = json!({"citation_id": "1", "type": "web", "source": "hook", "weight": 0.7, "score": 1.0, "title": "one",
        "content": "about one", "url": "https://one.test/", "metadata": {"provider": "scripted", "position": 1}});
    let expected = json!({"type": "web", "query": "pages", "source": "hook", "items": [item], "total": 1, "duration_ms": 0});
    assert_eq!(result, expected);
    let event = frames
        .iter()
        .find(|frame| frame.event_name() == Some("references"))
        .unwrap();
    let mut reference = item;
    reference.as_object_mut().unwrap().remove("citation_id");
    for (name, value) in [
        ("id", json!("1")),
        ("index", json!(1)),
        ("snippet", json!("about one")),
    ] {
        reference[name] = value;
    }
    let mut told = event.event_data().unwrap()["references"][0].clone();
    told.as_object_mut().unwrap().remove("citation_id");
    assert_eq!(told, reference);
    let traced = tree(&place, &frames).await;
    let kinds: Vec<String> = traced
        .nodes
        .iter()
        .map(|node| format!("{} {}", node.kind, node.label))
        .collect();
    for expected in ["search search", "step web"] {
        assert!(kinds.iter().any(|kind| kind == expected), "{kinds:?}");
    }
}

/// Settings, a search, and why it fails.
fn failures() -> Vec<(Value, &'static str, &'static str)> {
    vec![
        (
            json!({}),
            "Web('x')",
            "no provider searches the web: set search.web.provider or uses.web",
        ),
        (
            json!({"uses": {"web": "nobody"}}),
            "Web('x')",
            "uses.web: there is no agent \"nobody\"",
        ),
        (
            json!({"uses": {"web": "disabled"}}),
            "Web('x')",
            "uses.web is disabled",
        ),
        (
            json!({"search": {"web": web()}}),
            "Web('fail')",
            "scripted: out of order",
        ),
        (
            json!({}),
            "KB('x')",
            "no collections: set search.kb.collections, or name some",
        ),
        (
            json!({"kb": {"collections": ["docs"]}}),
            "KB('x')",
            "collection \"docs\" not found",
        ),
        (
            json!({}),
            "KB('x', { collections: ['a', 'b'] })",
            "collection \"a\" not found, collection \"b\" not found",
        ),
        (
            json!({}),
            "DB('x')",
            "no models: set search.db.models, or name some",
        ),
        (
            json!({}),
            "DB('x', { models: ['product'] })",
            "model \"product\" not found",
        ),
        (
            json!({"search": {"web": {"provider": "tavily"}}}),
            "Web('x')",
            "tavily: TAVILY_API_KEY is not set",
        ),
    ]
}

#[tokio::test]
async fn a_search_that_fails_says_why_and_throws_nothing() {
    let model = (
        "models/note.mod.yao".to_owned(),
        json!({"name": "Note", "columns": [{"name": "id", "type": "ID"}]}).to_string(),
    );
    for (settings, expression, expected) in failures() {
        let place = place_of(
            &settings,
            &format!("ctx.search.{expression}"),
            std::slice::from_ref(&model),
        )
        .await;
        let (result, frames) = asked(&place).await;
        let told = (&result["error"], &result["items"], &result["total"]);
        assert_eq!(
            told,
            (&json!(expected), &json!([]), &json!(0)),
            "{expression}"
        );
        assert!(announced(&frames).is_empty());
    }
}

#[tokio::test]
async fn a_search_that_takes_too_long_is_ended() {
    let settings = json!({"search": {"web": web(), "options": {"timeout": "50ms"}}});
    let place = place_of(&settings, "ctx.search.Web('slow')", &[]).await;
    let (result, _) = asked(&place).await;
    assert_eq!(result["error"], "timed out after 0.05 s");
}

#[tokio::test]
async fn a_rerank_that_takes_too_long_leaves_what_was_found_in_its_order() {
    let tools = Tools::new(&["rerank"], |_, _| {
        Box::pin(async move {
            std::future::pending::<()>().await;
            Ok(outcome(Value::Null))
        })
    });
    let search = json!({"web": web(), "options": {"timeout": "1s"}});
    let settings = json!({"search": search, "uses": {"rerank": "mcp:s.rerank"}});
    let hooks = "export function Create(ctx) {
            const found = ctx.search.Web('pages', { rerank: { top_n: 1 } });
            return { search: false, metadata: { found } };
        }
        export function Next(ctx) { return { data: ctx.metadata.found }; }";
    let place = place_of_tools(&borrowed(&agent(&settings, hooks)), tools.clone()).await;
    let (result, frames) = asked(&place).await;
    assert_eq!(tools.names(), ["rerank"]);
    assert_eq!(result["error"], Value::Null);
    let titles = (&result["items"][0]["title"], &result["items"][1]["title"]);
    assert_eq!(titles, (&json!("one"), &json!("two")), "{result}");
    assert_eq!(announced(&frames), [["1", "2"]]);
}

#[tokio::test]
async fn any_and_race_leave_the_others() {
    let requests = "[{ type: 'web', query: 'nothing' }, { type: 'web', query: 'slow' }, { type: 'web', query: 'pages' }]";
    let (results, frames) = found(&format!("ctx.search.Any({requests})")).await;
    assert_eq!(results[1], Value::Null);
    assert_eq!(ids(&results[2]), ["1", "2"]);
    assert_eq!(announced(&frames), [["1", "2"]]);
    let (results, _) =
        found("ctx.search.Race([{ type: 'web', query: 'slow' }, { type: 'web', query: 'fail' }])")
            .await;
    assert_eq!(
        (&results[0], &results[1]["error"]),
        (&Value::Null, &json!("scripted: out of order"))
    );
}

#[tokio::test]
async fn g213_ids_are_in_the_order_of_requests_over_hooks_and_delegates() {
    let create = "export function Create(ctx, messages) {
        const all = ctx.search.All([{ type: 'web', query: 'a' }, { type: 'kb', query: 'x' }, { type: 'web', query: 'b', limit: 1 }]);
        const called = ctx.agent.Call('apart', [{ role: 'user', content: 'x' }]);
        return { search: false, delegate: { agent_id: 'second', messages }, metadata: { all, called: called.response.next } };
    }";
    let second = "export function Create(ctx) { return { search: false, metadata: { own: ctx.search.Web('c', { limit: 1 }) } }; }
        export function Next(ctx) { return { data: { ...ctx.metadata, last: ctx.search.Web('d', { limit: 1 }) } }; }";
    let apart = "export function Next(ctx) { return { data: ctx.search.Web('e', { limit: 1 }) }; }";
    let settings = json!({"search": {"web": web()}});
    let mut files = agent(&settings, create);
    files.extend(named("second", &settings, second));
    files.extend(named("apart", &settings, apart));
    let place = place(&borrowed(&files)).await;
    let (data, frames) = asked(&place).await;
    assert_eq!(ids(&data["own"]), ["4"], "{data}");
    assert_eq!(ids(&data["last"]), ["5"]);
    assert_eq!(announced(&frames)[..2], [vec!["1", "2"], vec!["3"]]);
    let last = announced(&frames);
    assert_eq!(last[last.len() - 2..], [["4"], ["5"]]);
}

#[tokio::test]
async fn the_web_is_searched_and_put_in_order_by_agents() {
    let request =
        "const asked = JSON.parse(payload.messages[payload.messages.length - 1].content);";
    let finder = format!("export function Next(ctx, payload) {{ {request} return {{ data: {{ items: [
        {{ name: asked.query, link: 'https://a.test', snippet: Object.keys(asked).sort().join(' '), score: '40' }},
        {{ title: 'b', url: 'https://b.test', score: 80 }}, {{ score: 1 }}], total: 3 }} }}; }}");
    let sorter = format!(
        "export function Next(ctx, payload) {{ {request} return {{ data: {{ order: ['2', 'x', '2'] }} }}; }}"
    );
    let mut more = named("finder", &json!({}), &finder);
    more.extend(named("sorter", &json!({}), &sorter));
    let settings = json!({"uses": {"web": "finder", "rerank": "sorter"}});
    let expression =
        "ctx.search.Web('cats', { sites: ['a.test'], time_range: 'week', rerank: { top_n: 5 } })";
    let (result, _) = asked(&place_of(&settings, expression, &more).await).await;
    let items = &result["items"];
    let titles = (&items[0]["title"], &items[1]["title"], &result["total"]);
    assert_eq!(titles, (&json!("b"), &json!("cats"), &json!(2)), "{result}");
    assert_eq!(
        (&items[0]["score"], &items[1]["score"]),
        (&json!(1), &json!(0.5))
    );
    assert_eq!(
        items[1]["content"],
        "limit query sites source time_range type"
    );
    assert_eq!(ids(&result), ["1", "2"]);
}

#[tokio::test]
async fn equal_searches_of_a_turn_ask_once() {
    let finder = "export function Next(ctx) { ctx.memory.user.Incr('asked'); return { data: { items: [{ title: 't' }] } }; }";
    let more = named("finder", &json!({}), finder);
    let settings = json!({"uses": {"web": "finder"}});
    let expression = "[ctx.search.Web('cats'), ctx.search.Web('cats'), ctx.search.Web('dogs'), ctx.memory.user.Get('asked')]";
    let (results, _) = asked(&place_of(&settings, expression, &more).await).await;
    assert_eq!(results[3], 2);
    assert_eq!((ids(&results[0]), ids(&results[1])), (vec!["1"], vec!["2"]));
}

#[tokio::test]
async fn the_app_says_whether_and_whose_messages_are_found() {
    let recall = json!({"enabled": false, "roles": ["user"]});
    let app = json!({"name": "Test", "version": "1.0.0", "ambit": {"search": {"recall": recall}}});
    let mut files = agent(&json!({}), "");
    files.push(("app.yao".to_owned(), app.to_string()));
    let place = place(&borrowed(&files)).await;
    let settings = place.runtime.recall(&Authorized::default());
    assert!(!settings.is_enabled);
    assert_eq!(settings.roles, ["user"]);
}
