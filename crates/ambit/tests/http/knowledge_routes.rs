//! What the routes of collections, documents and chunks answer.

use crate::site::{Answer, Site, Stream};
use reqwest::Method;
use serde_json::{Value, json};

const COLLECTION: &str = "/v1/kb/collections/c";

/// Three sections, which are three chunks.
const SECTIONS: &str =
    "# Herons\n\nA heron stands.\n\n# Storks\n\nA stork flies.\n\n# Cranes\n\nA crane dances.";

/// A server with a collection that has one document.
async fn site() -> Site {
    let site = Site::of(&[]).await;
    let new = json!({"id": "c", "name": "Birds", "description": "of the shore"});
    assert_eq!(site.post("/v1/kb/collections", &new).await.status, 201);
    let birds = json!({"text": SECTIONS, "name": "birds.md", "doc_id": "birds", "metadata": {"tags": ["tall"]}});
    add(&site, &birds).await;
    site
}

/// The answer to a text that is found by the time it comes.
async fn add(site: &Site, text: &Value) -> Value {
    let path = format!("{COLLECTION}/documents/text");
    let added = site.post(&path, text).await;
    assert_eq!(added.status, 200, "{}", added.text);
    added.json()
}

async fn put(site: &Site, path: &str, body: &Value) -> Value {
    let changed = Answer::of(site.request(Method::PUT, path).json(body)).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    changed.json()
}

/// The values that the objects of a list have by this name.
fn listed(list: &Value, name: &str) -> Vec<String> {
    let items = list.as_array().unwrap().iter();
    let values = items.map(|item| item[name].as_str().unwrap().to_owned());
    values.collect()
}

/// The names of an object's fields, sorted.
fn names(object: &Value) -> Vec<&str> {
    let fields = object.as_object().unwrap().keys();
    let mut names: Vec<&str> = fields.map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Words, sorted.
fn sorted(words: &str) -> Vec<&str> {
    let mut words: Vec<&str> = words.split_whitespace().collect();
    words.sort_unstable();
    words
}

#[tokio::test]
async fn collections_documents_and_chunks_have_these_fields() {
    let site = site().await;
    let collection = site.get(COLLECTION).await.json();
    let fields = "collection_id name description public share source language chunk embedding keep version reindex documents
        chunks bytes failed status metadata created_by team_id created_at updated_at";
    assert_eq!(names(&collection), sorted(fields));
    assert_eq!(collection["chunk"], json!({"size": 300, "overlap": 50}));
    let counts = ["documents", "chunks", "failed"].map(|name| collection[name].clone());
    assert_eq!(counts, [json!(1), json!(3), json!(0)]);
    let document = site.get("/v1/kb/documents/birds").await.json();
    let fields = "document_id collection_id name title type media_type bytes hash status error warnings job_id done total chunks
        pages language url metadata access created_by created_at updated_at indexed_at";
    assert_eq!(names(&document), sorted(fields));
    let known = ["type", "status", "error", "chunks"].map(|name| document[name].clone());
    assert_eq!(known, [json!("md"), json!("ready"), Value::Null, json!(3)]);
    let segments = site.get("/v1/kb/documents/birds/segments").await.json();
    let fields = "id document_id collection_id index text title heading page range tokens hash metadata weight score
        score_dimensions positive negative hit version created_at updated_at";
    assert_eq!(names(&segments["segments"][0]), sorted(fields));
}

#[tokio::test]
async fn lists_have_what_their_filters_let_through() {
    let site = site().await;
    add(
        &site,
        &json!({"text": "A kettle.", "name": "kettle.md", "doc_id": "kettle"}),
    )
    .await;
    for (filter, expected) in [
        ("", json!(["kettle", "birds"])),
        ("?tag=tall", json!(["birds"])),
        ("?tag=short", json!([])),
        ("?keywords=KETTLE", json!(["kettle"])),
        ("?keywords=kettle%20birds", json!([])),
        ("?status=ready&tag=tall", json!(["birds"])),
        ("?status=failed", json!([])),
    ] {
        for path in [
            format!("{COLLECTION}/documents"),
            "/v1/kb/documents".to_owned(),
        ] {
            let list = site.get(&format!("{path}{filter}")).await.json();
            let ids = listed(&list["data"], "document_id");
            assert_eq!(json!(ids), expected, "{path}{filter}");
        }
    }
    site.post("/v1/kb/collections", &json!({"id": "b"})).await;
    for (filter, expected) in [
        ("", json!(["b", "c"])),
        ("?sort=-id", json!(["c", "b"])),
        ("?keywords=SHORE", json!(["c"])),
        ("?status=indexing", json!([])),
    ] {
        let list = site
            .get(&format!("/v1/kb/collections{filter}"))
            .await
            .json();
        let ids = listed(&list["data"], "collection_id");
        assert_eq!(json!(ids), expected, "{filter}");
    }
}

#[tokio::test]
async fn chunks_come_in_parts_and_text_by_characters() {
    let site = site().await;
    let path = "/v1/kb/documents/birds/segments";
    let first = site.get(&format!("{path}?limit=2")).await.json();
    assert_eq!(first["has_more"], true);
    let scroll = first["scroll_id"].as_str().unwrap();
    let rest = site.get(&format!("{path}?scroll_id={scroll}")).await.json();
    assert_eq!(
        (&rest["has_more"], rest.get("scroll_id")),
        (&json!(false), None)
    );
    let parts = [first, rest];
    let chunks = parts
        .iter()
        .flat_map(|part| part["segments"].as_array().unwrap());
    let headings: Vec<&Value> = chunks.map(|chunk| &chunk["heading"][0]).collect();
    assert_eq!(
        headings,
        [&json!("Herons"), &json!("Storks"), &json!("Cranes")]
    );
    let wrong = site.get(&format!("{path}?scroll_id=x")).await;
    assert_eq!(wrong.failure().2.as_deref(), Some("scroll_id"));
    let whole = site.get("/v1/kb/documents/birds/text").await.json();
    let text = whole["text"].as_str().unwrap();
    assert_eq!(whole["range"], json!([0, text.chars().count()]));
    let part = site
        .get("/v1/kb/documents/birds/text?from=2&to=6")
        .await
        .json();
    assert_eq!(part, json!({"text": text[2..6], "range": [2, 6]}));
}

/// The chunks that a search for herons finds.
async fn found(site: &Site) -> Vec<String> {
    let query = json!({"query": "heron", "collections": ["c"]});
    let answer = site.post("/v1/kb/search", &query).await.json();
    listed(&answer["items"], "chunk_id")
}

#[tokio::test]
async fn all_collections_are_searched_where_none_is_named_however_many_they_are() {
    let site = site().await;
    let mut ids = vec!["c".to_owned()];
    // With the one that has a document, as many as a tenant may have.
    for at in 0..999 {
        let id = format!("empty{at}");
        let made = site.post("/v1/kb/collections", &json!({"id": id})).await;
        assert_eq!(made.status, 201, "{}", made.text);
        ids.push(id);
    }
    let all = site.post("/v1/kb/search", &json!({"query": "heron"})).await;
    assert_eq!(all.status, 200, "{}", all.text);
    let items = all.json()["items"].take();
    assert_eq!(listed(&items, "chunk_id"), found(&site).await);
    let named = json!({"query": "heron", "collections": ids});
    let refused = site.post("/v1/kb/search", &named).await.failure();
    assert_eq!(
        (refused.0, refused.2.as_deref()),
        (400, Some("collections"))
    );
}

#[tokio::test]
async fn a_user_has_one_vote_and_a_weight_of_zero_hides() {
    let site = site().await;
    let segments = "/v1/kb/documents/birds/segments";
    let chunk = site.get(segments).await.json()["segments"][0]["id"].take();
    let chunk = chunk.as_str().unwrap();
    let votes = format!("{segments}/{chunk}/votes");
    for vote in ["positive", "negative"] {
        let told = json!({"segments": [{"vote": vote, "query": "birds"}]});
        let list = site.post(&votes, &told).await.json();
        assert_eq!(
            (&list["total"], &list["votes"][0]["vote"]),
            (&json!(1), &json!(vote))
        );
    }
    let shown = site.get(&format!("{segments}/{chunk}")).await.json();
    assert_eq!(
        (&shown["positive"], &shown["negative"]),
        (&json!(0), &json!(1))
    );
    let id = site.get(&votes).await.json()["votes"][0]["vote_id"].take();
    let gone = format!("{votes}?vote_ids={}", id.as_str().unwrap());
    let gone = Answer::of(site.request(Method::DELETE, &gone)).await.json();
    assert_eq!(gone, json!({"updated_count": 1}));
    assert_eq!(found(&site).await.first().map(String::as_str), Some(chunk));
    let scores = json!({"scores": [{"id": chunk, "score": 0.5, "dimensions": {"depth": 1}}]});
    let changed = put(&site, &format!("{segments}/scores"), &scores).await;
    assert_eq!(changed, json!({"updated_count": 1}));
    let weights = json!({"weights": [{"id": chunk, "weight": 0}]});
    let changed = put(&site, &format!("{segments}/weights"), &weights).await;
    assert_eq!(changed, json!({"updated_count": 1}));
    assert!(!found(&site).await.iter().any(|id| id == chunk));
    let shown = site.get(&format!("{segments}/{chunk}")).await.json();
    assert_eq!(
        (&shown["score"], &shown["weight"]),
        (&json!(0.5), &json!(0.0))
    );
}

#[tokio::test]
async fn texts_of_single_chunks_have_no_routes() {
    let site = site().await;
    let segments = "/v1/kb/documents/birds/segments";
    let chunk = site.get(segments).await.json()["segments"][0]["id"].take();
    let chunk = &*format!("{segments}/{}", chunk.as_str().unwrap());
    for (method, path, status) in [
        (Method::POST, segments, 404),
        (Method::PUT, segments, 404),
        (Method::DELETE, segments, 404),
        (Method::PUT, chunk, 404),
        (Method::DELETE, chunk, 404),
        (Method::POST, chunk, 405),
        (Method::PUT, "/v1/kb/documents/birds/text", 405),
    ] {
        let said = format!("{method} {path}");
        let answer = Answer::of(site.request(method, path)).await;
        assert_eq!(answer.status, status, "{said}");
    }
    assert_eq!(site.get(chunk).await.status, 200);
}

#[tokio::test]
async fn graphs_backups_and_providers_have_no_routes() {
    let site = site().await;
    let segments = "/v1/kb/documents/birds/segments";
    let chunk = site.get(segments).await.json()["segments"][0]["id"].take();
    let chunk = format!("{segments}/{}", chunk.as_str().unwrap());
    for (method, path) in [
        (Method::GET, format!("{chunk}/graph")),
        (Method::GET, format!("{chunk}/parents")),
        (Method::POST, format!("{chunk}/extract")),
        (Method::POST, format!("{COLLECTION}/backup")),
        (Method::POST, format!("{COLLECTION}/restore")),
        (
            Method::POST,
            format!("{COLLECTION}/documents/birds/segments"),
        ),
        (Method::POST, "/v1/kb/search/multi".to_owned()),
        (Method::GET, "/v1/kb/providers/embeddings".to_owned()),
    ] {
        let said = format!("{method} {path}");
        let answer = Answer::of(site.request(method, &path)).await;
        assert_eq!(answer.status, 404, "{said}");
    }
}

#[tokio::test]
async fn collections_are_changed_and_asked_for() {
    let site = site().await;
    let changed = put(
        &site,
        COLLECTION,
        &json!({"name": "Waders", "public": true}),
    )
    .await;
    let known = ["name", "description", "public"].map(|name| changed[name].clone());
    assert_eq!(known, [json!("Waders"), json!("of the shore"), json!(true)]);
    let metadata = json!({"metadata": {"year": 2}});
    put(&site, &format!("{COLLECTION}/metadata"), &metadata).await;
    assert_eq!(
        site.get(COLLECTION).await.json()["metadata"],
        json!({"year": 2})
    );
    for (id, exists) in [("c", true), ("gone", false)] {
        let answer = site.get(&format!("/v1/kb/collections/{id}/exists")).await;
        assert_eq!(
            answer.json(),
            json!({"collection_id": id, "exists": exists})
        );
    }
}

#[tokio::test]
async fn a_job_is_told_of_until_it_is_done() {
    let site = site().await;
    let path = format!("{COLLECTION}/documents/text/async");
    let begun = site
        .post(&path, &json!({"text": "A kettle.", "doc_id": "kettle"}))
        .await;
    assert_eq!(
        (begun.status, &begun.json()["doc_id"]),
        (202, &json!("kettle"))
    );
    let job = begun.json()["job_id"].take();
    let path = format!("/v1/kb/jobs/{}/events", job.as_str().unwrap());
    let events = Stream::of(site.request(Method::GET, &path))
        .await
        .rest()
        .await;
    let ids: Vec<u64> = events.iter().filter_map(|event| event.id).collect();
    let expected: Vec<u64> = (1..=events.len() as u64).collect();
    assert_eq!(ids, expected);
    let (last, before) = events.split_last().unwrap();
    assert_eq!(last.data["status"], "done");
    assert!(before.iter().all(|event| event.data["status"] != "done"));
}

#[tokio::test]
async fn fields_without_effect_are_named() {
    let site = site().await;
    let mut text = json!({"text": "A kettle."});
    let fields = [
        "chunking",
        "embedding",
        "extraction",
        "fetcher",
        "converter",
        "locale",
        "job",
    ];
    for field in fields {
        text[field] = json!({"provider": "any"});
    }
    assert_eq!(add(&site, &text).await["ignored"], json!(fields));
}

#[tokio::test]
async fn several_documents_are_removed_at_once_and_those_that_are_not_there_are_not_counted() {
    let site = site().await;
    add(&site, &json!({"text": "A kettle.", "doc_id": "kettle"})).await;
    let path = "/v1/kb/documents?document_ids=birds,gone,kettle";
    let removed = Answer::of(site.request(Method::DELETE, path)).await;
    assert_eq!(
        removed.json(),
        json!({"deleted_count": 2, "requested_count": 3})
    );
    assert_eq!(site.get("/v1/kb/documents").await.json()["data"], json!([]));
}
