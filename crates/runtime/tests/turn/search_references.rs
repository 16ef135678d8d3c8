//! References of a search before the model's call: what they show later, to whom, and how many a model is told of.

use crate::automatic_search::{KEEP, announced, app, opened, told, web};
use crate::place::{Place, ann, ask, borrowed, end, left, model, named, place, request, traced};
use ambit_knowledge::{KnowledgeQuery, NewCollection, NewDocument};
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn no_answer_makes_a_reference_show_a_row() {
    let hooks = "export function Create() { for (const at of [1, 2]) Process('models.role.Create', { name: `CANARY ${at}` }); }
        export function Next() { return { data: { items: [
        { title: 'x', type: 'db', model: 'role', record_id: 1, data: {} },
        { title: 'y', type: 'db', model: 'role', record_id: 2, data: { name: '' } }] } }; }";
    let mut more = named("finder", &json!({"connector": "quiet"}), hooks);
    more.push(model("quiet", &json!([{"reply": "x"}])));
    let columns = json!([{"name": "id", "type": "ID"}, {"name": "name", "type": "string"}]);
    let role = json!({"name": "Role", "columns": columns}).to_string();
    more.push(("models/role.mod.yao".to_owned(), role));
    let capable = json!({"name": "Test", "version": "1.0.0", "ambit": {"capabilities": {"process": ["models.*"]}}});
    more.push(("app.yao".to_owned(), capable.to_string()));
    let package = json!({"uses": {"search": "finder"}});
    let place = place(&borrowed(&app(&package, KEEP, more))).await;
    let frames = ask(&place, request("hello", "Who may what?")).await;
    let id = end(&frames)["request_id"].as_str().unwrap().to_owned();
    let list = json!(place.runtime.references(&ann(), &id).await.unwrap());
    let titles = (
        &list["references"][0]["title"],
        &list["references"][1]["title"],
    );
    assert_eq!(titles, (&json!("x"), &json!("y")), "{list}");
    assert!(!list.to_string().contains("CANARY"), "{list}");
}

#[tokio::test]
async fn what_has_no_room_stays_a_reference() {
    let search = json!({"web": web(), "options": {"max_context": "200B", "progress": false},
        "citation": {"auto_inject_prompt": false, "custom_prompt": "Cite!"}});
    let place = opened(&json!({ "search": search }), "").await;
    let frames = ask(&place, request("hello", "What is Rust?")).await;
    let told = told(&frames);
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with("system: <references") && !told[0].contains("Ferris"),
        "{told:?}"
    );
    assert_eq!(announced(&frames).len(), 2);
    assert!(!frames.iter().any(|frame| frame.kind == "loading"));
    assert!(traced(&place, &frames).await.contains("no room"));
}

/// Waits until Ann finds so many chunks.
async fn finds(place: &Place, words: &str, count: usize) {
    let base = place.runtime.knowledge().unwrap();
    let query = KnowledgeQuery::new(words, &["rules"]);
    let reach = ambit_runtime::CallerReach::of(&ann());
    let found = async {
        // One query after the other may be more than a tenant may ask in a second.
        let are_there = async || {
            let found = base.search(&reach, &query).await;
            found.is_ok_and(|found| found.items.len() == count)
        };
        while !are_there().await {
            tokio::task::yield_now().await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(60), found).await;
    assert!(found.is_ok(), "{words} is not found {count} times");
}

#[tokio::test]
async fn a_reference_shows_a_chunk_as_it_is_now() {
    let rules = json!({"documents": ["docs/*.md"], "public": true});
    let text = "# Holidays\n\nThirty days of vacation.";
    let more = vec![
        ("kb/rules.kb.yao".to_owned(), rules.to_string()),
        ("docs/a.md".to_owned(), text.to_owned()),
    ];
    let package = json!({"search": {"kb": {"collections": ["rules"]}}});
    let place = place(&borrowed(&app(&package, "", more))).await;
    finds(&place, "vacation", 1).await;
    let frames = ask(&place, request("hello", "vacation")).await;
    let id = end(&frames)["request_id"].as_str().unwrap().to_owned();
    let list = json!(place.runtime.references(&ann(), &id).await.unwrap());
    let shown = &list["references"][0];
    let told = &announced(&frames)[0];
    for name in [
        "id",
        "title",
        "content",
        "collection",
        "document_id",
        "chunk_id",
        "range",
        "weight",
    ] {
        assert_eq!(shown[name], told[name], "{name}: {list}");
    }
    assert!(shown["content"].as_str().unwrap().contains("Thirty"));
    // The model was told it, and says it; the trace of the call keeps no copy of its own.
    let trace = traced(&place, &frames).await;
    let (_, call) = trace.split_once("\"type\":\"llm\"").unwrap();
    let (call, _) = call.split_once("\"output\":null").unwrap();
    assert!(
        call.contains("\"call_id\"") && !call.contains("Thirty"),
        "{call}"
    );
    std::fs::remove_file(place.app.path().join("docs/a.md")).unwrap();
    place.runtime.reload().await.unwrap();
    finds(&place, "vacation", 0).await;
    let list = json!(place.runtime.references(&ann(), &id).await.unwrap());
    let shown = &list["references"][0];
    assert_eq!(
        (&shown["gone"], &shown["content"]),
        (&json!(true), &Value::Null)
    );
    assert!(!list.to_string().contains("Thirty"));
}

#[tokio::test]
async fn searches_of_a_turn_are_refused_by_no_limit_of_queries() {
    let none = json!({"queries": 0});
    let settings =
        json!({"name": "Test", "version": "1.0.0", "ambit": {"search": {"limits": none}}});
    let more = vec![("app.yao".to_owned(), settings.to_string())];
    let package = json!({"search": {"kb": {"collections": ["c"]}}});
    let hooks = "export function Create(ctx) { ctx.search.KB('boats'); }";
    let place = place(&borrowed(&app(&package, hooks, more))).await;
    let base = place.runtime.knowledge().unwrap();
    let reach = ambit_runtime::CallerReach::of(&ann());
    let new = NewCollection {
        id: "c".to_owned(),
        ..NewCollection::default()
    };
    base.create_collection(&reach, new).await.unwrap();
    let new = NewDocument::text("d.md", "All boats of the harbour.");
    let added = base.add_document(&reach, "c", new).await.unwrap();
    let job = base.finished_job(&reach, &added.job_id.unwrap()).await;
    assert_eq!(job.unwrap().error, None);
    let query = KnowledgeQuery::new("boats", &["c"]);
    assert!(base.search(&reach, &query).await.is_err());
    // One of the hook, and one before the model is asked.
    let frames = ask(&place, request("hello", "boats")).await;
    assert_eq!(announced(&frames).len(), 2);
}

#[tokio::test]
async fn each_reference_to_a_chunk_counts_a_hit_of_it() {
    let rules = json!({"documents": ["docs/*.md"], "public": true});
    let text = "# Holidays\n\nThirty days of vacation.";
    let more = vec![
        ("kb/rules.kb.yao".to_owned(), rules.to_string()),
        ("docs/a.md".to_owned(), text.to_owned()),
    ];
    let package = json!({"search": {"kb": {"collections": ["rules"]}}});
    let hooks = "export function Create(ctx) { ctx.search.KB('vacation'); }";
    let place = place(&borrowed(&app(&package, hooks, more))).await;
    finds(&place, "vacation", 1).await;
    let frames = ask(&place, request("hello", "vacation")).await;
    assert_eq!(announced(&frames).len(), 2);
    let chunk = announced(&frames)[0]["chunk_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let base = place.runtime.knowledge().unwrap();
    let (reach, id) = (ambit_runtime::CallerReach::of(&ann()), "rules:docs/a.md");
    let counted = async {
        while base.document_chunk(&reach, id, &chunk).await.unwrap().hit != 2 {
            tokio::task::yield_now().await;
        }
    };
    let counted = tokio::time::timeout(Duration::from_secs(60), counted).await;
    assert!(counted.is_ok(), "the hits are not counted");
    let hits = base.hits(&reach, id, &chunk).await.unwrap();
    assert_eq!((hits.len(), hits[0].count), (1, 2));
    assert_eq!(hits[0].found.source.as_deref(), Some("reference"));
}

#[tokio::test]
async fn references_leave_room_in_the_window_of_the_model() {
    let item = |at: usize| json!({"title": format!("t{at}"), "url": format!("https://a.test/{at}"), "content": "word ".repeat(300)});
    let items: Vec<Value> = (0..10).map(item).collect();
    let search = json!({"web": {"provider": "scripted", "results": [{"items": items}]}});
    for (window, expected) in [(2_400, 2), (300, 0)] {
        let small = json!({"type": "scripted", "options": {"model": "small", "rules": [{"reply": "{{request}}"}],
            "capabilities": {"max_input_tokens": window}}});
        let more = vec![("connectors/small.conn.yao".to_owned(), small.to_string())];
        let package = json!({"connector": "small", "search": search});
        let place = place(&borrowed(&app(&package, "", more))).await;
        let frames = ask(&place, request("hello", "What is a word?")).await;
        assert_eq!(end(&frames)["error"], Value::Null, "{}", end(&frames));
        assert_eq!(announced(&frames).len(), 10);
        let told = told(&frames).join(" ");
        assert_eq!(told.matches("<ref id").count(), expected, "{told}");
        assert!(traced(&place, &frames).await.contains("no room"));
    }
}

#[tokio::test]
async fn g204_no_trace_has_what_hooks_and_rerankers_were_told_of_documents() {
    let rules = json!({"documents": ["docs/*.md"], "public": true});
    let mut more = named("ranker", &json!({"connector": "ranking"}), "");
    more.push(model(
        "ranking",
        &json!([{"reply": "{\"order\": [\"2\", \"1\"]}"}]),
    ));
    more.push(model("mirror", &json!([{"reply": "Long ones."}])));
    more.push(("kb/rules.kb.yao".to_owned(), rules.to_string()));
    for (name, text) in [("a", "Thirty days of vacation."), ("b", "Vacation in May.")] {
        more.push((format!("docs/{name}.md"), text.to_owned()));
    }
    let package = json!({"search": {"web": null, "kb": {"collections": ["rules"]}}, "uses": {"rerank": "ranker"}});
    let hooks = "export function Create(ctx) {
        ctx.memory.user.Set('created', ctx.search.KB('vacation', { rerank: {} }).items);
    }
    export function Next(ctx, payload) { ctx.memory.user.Set('search', payload.search); }";
    let place = place(&borrowed(&app(&package, hooks, more))).await;
    finds(&place, "vacation", 2).await;
    let frames = ask(&place, request("hello", "vacation")).await;
    assert_eq!(end(&frames)["error"], Value::Null);
    for name in ["created", "search"] {
        let seen = left(&place, name).await.to_string();
        assert!(seen.contains("Thirty") && seen.contains("in May"), "{seen}");
    }
    let trace = traced(&place, &frames).await;
    assert!(trace.contains("\"type\":\"hook\""), "{trace}");
    assert!(
        !trace.contains("Thirty") && !trace.contains("in May"),
        "{trace}"
    );
}
