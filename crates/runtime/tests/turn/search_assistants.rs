//! Assistants as Yao's test app has them: what turns their searches on and off, and what of them has no effect.

use crate::place::{
    Place, ask, borrowed, end, left, mirror, mirrored, model, named, place, request, said, shown,
    traced,
};
use ambit_runtime::Frame;
use serde_json::{Value, json};

/// An app of these assistants, whose model answers with what it was sent; a search of the web finds one page.
pub async fn app(assistants: &[(&str, Value, &str)]) -> Place {
    app_with(assistants, Vec::new()).await
}

/// The same with further files.
pub async fn app_with(assistants: &[(&str, Value, &str)], more: Vec<(String, String)>) -> Place {
    let mut files = vec![mirror(), model("quiet", &json!([{"reply": "x"}]))];
    let defaults = json!({"web": {"provider": "scripted", "results": [{"items": [{"title": "page", "url": "https://a.test"}]}]}});
    files.push(("agent/search.yml".to_owned(), defaults.to_string()));
    for (name, package, hooks) in assistants {
        let mut whole = json!({"connector": "mirror"});
        for (key, value) in package.as_object().unwrap() {
            whole[key] = value.clone();
        }
        files.extend(named(name, &whole, hooks));
    }
    files.extend(more);
    place(&borrowed(&files)).await
}

async fn answered(place: &Place, agent: &str) -> Vec<Frame> {
    let frames = ask(place, request(agent, "What is new?")).await;
    let end = end(&frames);
    assert_eq!(
        (&end["status"], &end["error"]),
        (&json!("completed"), &Value::Null),
        "{agent}"
    );
    frames
}

/// What the model of an assistant was told of references, if anything.
pub async fn told(place: &Place, agent: &str) -> Option<String> {
    let frames = answered(place, agent).await;
    let all = said(&mirrored(&frames)["messages"]);
    all.into_iter().find(|text| text.contains("<references"))
}

/// All keys of search settings at once.
fn all_keys() -> Value {
    json!({
        "web": {"provider": "scripted", "api_key_env": "TAVILY_API_KEY", "max_results": 5, "engine": "google"},
        "kb": {"collections": ["docs"], "threshold": 0.7, "graph": true, "max_results": 5},
        "db": {"models": ["product"], "max_results": 10},
        "keyword": {"max_keywords": 5, "language": "auto"},
        "querydsl": {"strict": true},
        "rerank": {"top_n": 5},
        "citation": {"format": "#cite:{id}", "auto_inject_prompt": true, "custom_prompt": null},
        "weights": {"user": 1.0, "hook": 0.85, "auto": 0.65},
        "options": {"skip_threshold": 3, "progress": true},
    })
}

#[tokio::test]
async fn settings_alone_turn_the_search_on() {
    let mut quiet = all_keys();
    quiet["citation"] =
        json!({"format": "xml", "auto_inject_prompt": false, "custom_prompt": "Cite."});
    let place = app(&[
        ("search", json!({"search": all_keys()}), ""),
        ("silent", json!({ "search": quiet }), ""),
        ("keyword", json!({"search": {"web": {"max_results": 3}, "citation": {"format": "xml"}}, "uses": {"keyword": "builtin"}}), ""),
        ("merge-empty", json!({}), ""),
    ])
    .await;
    let search = told(&place, "search").await.unwrap();
    assert!(
        search.contains("href=\"#cite:1\"") && search.contains("weight=\"0.65\""),
        "{search}"
    );
    let silent = told(&place, "silent").await.unwrap();
    assert!(silent.starts_with("system: <references"), "{silent}");
    assert!(told(&place, "keyword").await.is_some());
    assert_eq!(told(&place, "merge-empty").await, None);
}

#[tokio::test]
async fn what_is_not_there_is_a_note_and_the_rest_is_found() {
    let search = json!({"kb": {"collections": ["test-collection"]}, "db": {"models": ["article"]}, "weights": {"auto": 2.5},
        "citation": {"format": "[override:{id}]"}});
    let fields = json!({"search": {"kb": {"collections": ["a"]}}, "kb": {"collections": ["a", "b"], "options": {"top_k": 3, "score_threshold": 0.5}},
        "db": {"models": ["article"], "options": {"limit": 5, "offset": 2}},
        "uses": {"web": "nobody", "keyword": "nobody", "rerank": "mcp:nobody.rerank", "querydsl": "nobody"}});
    let custom = json!({"search": {"web": {"provider": "custom-provider"}, "rerank": {"top_n": 2}},
        "uses": {"keyword": "mcp:custom-keyword", "rerank": "mcp:custom-rerank"}});
    let place = app(&[
        ("auto-full", json!({ "search": search }), ""),
        ("fullfields", fields, ""),
        ("merge", custom, ""),
    ])
    .await;
    let full = told(&place, "auto-full").await.unwrap();
    assert!(
        full.contains("as: [override:1]") && full.contains("weight=\"2.5\""),
        "{full}"
    );
    for agent in ["fullfields", "merge"] {
        assert_eq!(told(&place, agent).await, None, "{agent}");
    }
    let frames = answered(&place, "merge").await;
    let trace = traced(&place, &frames).await;
    assert!(trace.contains("custom-provider"), "{trace}");
}

#[tokio::test]
async fn a_search_is_disabled_by_package_and_by_create() {
    let search = json!({"search": {}});
    let off = json!({"search": {}, "uses": {"search": "disabled"}});
    let hook = |body: &str| {
        format!("export function Create(ctx, messages) {{ return {{ messages, {body} }}; }}")
    };
    let (disable, refuse) = (hook("uses: { search: 'disabled' }"), hook("search: false"));
    let none = hook("search: { need_search: true, types: ['kb'] }");
    let some = hook("search: { need_search: true, types: ['web', 'kb'] }");
    let place = app(&[
        ("disabled", off, ""),
        ("hook-disable", search.clone(), &disable),
        ("hook-false", search.clone(), &refuse),
        ("hook-none", search.clone(), &none),
        ("hook-some", search, &some),
    ])
    .await;
    for agent in ["disabled", "hook-disable", "hook-false", "hook-none"] {
        assert_eq!(told(&place, agent).await, None, "{agent}");
    }
    assert!(told(&place, "hook-some").await.is_some());
}

#[tokio::test]
async fn an_agent_searches_the_web_and_one_that_ranks_names_itself() {
    let caller = json!({"search": {}, "uses": {"web": "web-agent", "rerank": "judge"}});
    let web = "export function Next(ctx, payload) {
        const asked = JSON.parse(payload.messages[payload.messages.length - 1].content);
        const items = [1, 2].map((n) => ({ title: `${asked.type} ${asked.source} ${n}`, url: `https://a.test/${n}`, content: asked.query }));
        return { data: { type: 'web', query: asked.query, total: 2, items, metadata: {} } };
    }";
    let judge = "export function Next(ctx, payload) {
        const asked = JSON.parse(payload.messages[payload.messages.length - 1].content);
        const order = asked.items.map((item) => item.citation_id).reverse();
        return { data: { order, query: asked.query, total: 2, returned: 2 } };
    }";
    let own = json!({"search": {}, "connector": "quiet", "uses": {"rerank": "judge"}});
    let quiet = json!({"connector": "quiet"});
    let place = app(&[
        ("caller", caller, ""),
        ("web-agent", quiet, web),
        ("judge", own, judge),
    ])
    .await;
    let told = told(&place, "caller").await.unwrap();
    let (second, first) = (
        told.find("web auto 2").unwrap(),
        told.find("web auto 1").unwrap(),
    );
    assert!(second < first, "{told}");
}

/// Searches in every way, for what is there and what is not.
const EVERY_WAY: &str = "export function Create(ctx, messages) {
    const kb = { collections: ['docs'] }, db = { models: ['product'] };
    const all = [{ type: 'web', query: 'x' }, { type: 'kb', query: 'x', ...kb }, { type: 'db', query: 'x', ...db }];
    const search = ctx.search;
    const one = [search.Web('x'), search.KB('x', kb), search.DB('x', db)];
    ctx.memory.user.Set('results', { one, all: search.All(all), any: search.Any(all), race: search.Race(all) });
}";

#[tokio::test]
async fn a_hook_searches_in_every_way_and_without_prompts_nothing_else_does() {
    let package = json!({"search": {}, "connector": "mirror"});
    let mut files = named("jsapi", &package, EVERY_WAY);
    files.retain(|(name, _)| !name.ends_with("prompts.yml"));
    let place = app_with(&[], files).await;
    let frames = answered(&place, "jsapi").await;
    assert_eq!(shown(&frames), [], "no model is called");
    let results = left(&place, "results").await;
    let errors = [
        Value::Null,
        json!("collection \"docs\" not found"),
        json!("model \"product\" not found"),
    ];
    for list in ["one", "all"] {
        let list = results[list].as_array().unwrap();
        let told: Vec<&Value> = list.iter().map(|result| &result["error"]).collect();
        assert_eq!(told, errors.iter().collect::<Vec<_>>());
        assert_eq!(list[0]["items"][0]["title"], "page");
    }
    assert_eq!(results["any"][0]["items"][0]["title"], "page");
    let ended = results["race"].as_array().unwrap().iter();
    assert!(ended.filter(|result| !result.is_null()).count() >= 1);
}
