//! What a turn finds in collections is the same whatever others keep in the store.

use crate::automatic_search::{announced, app, told};
use crate::place::{Place, ask, borrowed, end, place, request, traced};
use ambit_knowledge::{DocumentAccess, NewCollection, NewDocument};
use ambit_runtime::{Authorized, CallerReach, TurnRequest};
use serde_json::{Value, json};

fn limited(user: &str, tenant: Option<&str>) -> Authorized {
    let who = json!({"user_id": user, "tenant_id": tenant, "constraints": {"owner_only": true}});
    serde_json::from_value(who).unwrap()
}

async fn collection(place: &Place, who: &Authorized, id: &str, is_public: bool) {
    let base = place.runtime.knowledge().unwrap();
    let new = NewCollection {
        id: id.to_owned(),
        public: is_public,
        ..NewCollection::default()
    };
    let made = base.create_collection(&CallerReach::of(who), new).await;
    made.unwrap();
}

/// A document that is for Carl alone, or for whoever may use its collection.
async fn add(place: &Place, who: &Authorized, collection: &str, id: &str, is_hidden: bool) {
    let base = place.runtime.knowledge().unwrap();
    let reach = CallerReach::of(who);
    let access = DocumentAccess {
        users: vec!["carl".to_owned()],
        ..DocumentAccess::default()
    };
    let text = match is_hidden || collection == "private" {
        true => format!("CANARY heron heron river and many other words of {id}"),
        false => format!("The heron {id} stands beside the river."),
    };
    let new = NewDocument {
        id: Some(id.to_owned()),
        access: is_hidden.then_some(access),
        ..NewDocument::text(format!("{id}.md"), text)
    };
    let added = base.add_document(&reach, collection, new).await.unwrap();
    let job = base.finished_job(&reach, &added.job_id.unwrap()).await;
    assert_eq!(job.unwrap().error, None);
}

/// Hidden documents in the shared collection, one that Bob cannot use, and another tenant's with the same ids.
async fn add_strangers(place: &Place) {
    let (ann, elsewhere) = (limited("ann", None), limited("bob", Some("other")));
    for at in 0..4 {
        add(place, &ann, "c", &format!("a{at}"), true).await;
    }
    collection(place, &ann, "private", false).await;
    add(place, &ann, "private", "p", false).await;
    collection(place, &elsewhere, "c", true).await;
    add(place, &elsewhere, "c", "d0", true).await;
}

/// What Bob gets of a turn: the results of his hook, references, what the model is told.
async fn turn(has_strangers: bool) -> (Value, Vec<Value>, Vec<String>) {
    let kb = json!({"collections": ["c", "private"], "options": {"top_k": 2}});
    let hooks = "export function Create(ctx) {
        const found = ['heron river', 'canary', 'riv*'].map(query => ctx.search.KB(query, { limit: 3 }));
        found.push(ctx.search.KB('heron', { collections: ['private'] }), ctx.search.KB('heron', { document_id: 'a1' }));
        return { metadata: { found } };
    }
    export function Next(ctx) { return { data: ctx.metadata.found }; }";
    let search = json!({"options": {"skip_threshold": 100}});
    let files = app(&json!({"kb": kb, "search": search}), hooks, Vec::new());
    let place = place(&borrowed(&files)).await;
    let ann = limited("ann", None);
    collection(&place, &ann, "c", true).await;
    for at in 0..4 {
        add(&place, &ann, "c", &format!("d{at}"), false).await;
    }
    if has_strangers {
        add_strangers(&place).await;
    }
    let asked = TurnRequest {
        authorized: limited("bob", None),
        ..request(
            "hello",
            "Where is the heron of the river, and what is a canary?",
        )
    };
    let frames = ask(&place, asked).await;
    let trace = traced(&place, &frames).await;
    assert!(!trace.contains("CANARY") && !json!(frames).to_string().contains("CANARY"));
    let mut results = end(&frames)["next"].clone();
    for result in results.as_array_mut().unwrap() {
        result["duration_ms"] = Value::Null;
    }
    (results, announced(&frames), told(&frames))
}

#[tokio::test]
async fn g202_what_others_keep_changes_nothing_that_a_turn_finds() {
    let alone = turn(false).await;
    assert_eq!(alone.0[0]["items"].as_array().unwrap().len(), 3);
    assert!(
        alone.2.iter().any(|told| told.contains("<ref id=")),
        "{alone:?}"
    );
    assert_eq!(turn(true).await, alone);
}
