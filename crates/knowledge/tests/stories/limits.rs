//! What there is no room for is refused before anything is stored.

use crate::erasure::vote;
use crate::world::{World, file, settings};
use ambit_knowledge::{
    ChunkVote, DocumentFilter, DocumentUpdate, FeedbackContext, KnowledgeBase, KnowledgeError,
    KnowledgeLimits, KnowledgeQuery, KnowledgeSettings, NewCollection, NewDocument, ReindexRequest,
};
use futures::future::join_all;
use serde_json::json;
use std::time::Instant;

fn limited(world: &World, limits: KnowledgeLimits) -> KnowledgeBase {
    KnowledgeBase::open(KnowledgeSettings {
        limits,
        ..settings(world.driver.clone())
    })
}

pub async fn g212_of_sixteen_uploads_at_the_last_free_place_one_gets_in(world: World) {
    world.collection("c").await;
    let limits = KnowledgeLimits {
        documents: 3,
        ..KnowledgeLimits::default()
    };
    world.add("c", "a", "one").await;
    world.add("c", "b", "two").await;
    // Four nodes, each asked four times at once.
    let nodes: Vec<KnowledgeBase> = (0..4).map(|_| limited(&world, limits)).collect();
    let uploads = (0..16).map(|at| {
        let new = NewDocument::text(format!("n{at}.txt"), format!("heron {at}"));
        nodes[at % 4].add_document(&world.ann, "c", new)
    });
    let done = join_all(uploads).await;
    assert_eq!(done.iter().filter(|done| done.is_ok()).count(), 1);
    for refused in done.into_iter().filter_map(Result::err) {
        let expected = "documents of collection \"c\": the limit of 3 is reached (ambit.search.limits.documents)";
        assert_eq!(refused.to_string(), expected);
    }
    world.base.work().await.unwrap();
    let all = world
        .base
        .documents(&world.ann, &DocumentFilter::default())
        .await
        .unwrap();
    assert_eq!(all.len(), 3);
}

pub async fn g212_of_several_documents_all_get_in_or_none(world: World) {
    world.collection("c").await;
    let limits = KnowledgeLimits {
        documents: 3,
        ..KnowledgeLimits::default()
    };
    let nodes: Vec<KnowledgeBase> = (0..4).map(|_| limited(&world, limits)).collect();
    let text = |name: &str| NewDocument::text(format!("{name}.txt"), format!("A heron, {name}."));
    let uploads = (0..8).map(|at| {
        let new = vec![text(&format!("a{at}")), text(&format!("b{at}"))];
        nodes[at % 4].add_documents(&world.ann, "c", new)
    });
    let done = join_all(uploads).await;
    assert_eq!(done.iter().filter(|done| done.is_ok()).count(), 1);
    let long = vec![text("c"), text(&"x".repeat(5_000))];
    let refused = world.base.add_documents(&world.ann, "c", long).await;
    let refused = refused.unwrap_err();
    assert!(matches!(refused, KnowledgeError::TooLarge { .. }));
    world.base.work().await.unwrap();
    let all = DocumentFilter::default();
    let all = world.base.documents(&world.ann, &all).await.unwrap();
    assert_eq!(all.len(), 2);
}

pub async fn several_documents_of_any_size_are_added_at_once(world: World) {
    world.collection("c").await;
    // Larger than what goes into one commit with its document.
    let large = format!("{{\"text\": \"A stork.\"}}{}", " ".repeat(800_000));
    let new = vec![
        NewDocument::text("large.json", large),
        NewDocument::text("small.txt", "A crane."),
        NewDocument::text("empty.txt", ""),
    ];
    let added = world.base.add_documents(&world.ann, "c", new).await;
    let added = added.unwrap();
    world.base.work().await.unwrap();
    for (document, bird) in added.iter().zip(["stork", "crane"]) {
        let found = world.found("c", bird).await;
        let found: Vec<&String> = found.iter().map(|(id, _)| id).collect();
        assert_eq!(found, [&document.document_id], "{bird}");
    }
    let empty = world.document(&added[2].document_id).await;
    assert_eq!(empty.error.as_deref(), Some("no text found"));
}

pub async fn g212_sizes_and_sums_are_refused_by_name(world: World) {
    let limits = KnowledgeLimits {
        collections: 1,
        bytes: 100,
        file: 80,
        queries: 2,
        ..KnowledgeLimits::default()
    };
    let base = limited(&world, limits);
    let new = |id: &str| NewCollection {
        id: id.to_owned(),
        ..NewCollection::default()
    };
    base.create_collection(&world.ann, new("c")).await.unwrap();
    let refused = base
        .create_collection(&world.ann, new("d"))
        .await
        .unwrap_err();
    assert!(matches!(
        refused,
        KnowledgeError::LimitExceeded {
            setting: "collections",
            ..
        }
    ));
    let large = NewDocument::of(file("large.txt", &[b'a'; 81]));
    let refused = base.add_document(&world.ann, "c", large).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "file \"large.txt\" has 81 bytes, at most 80 bytes are accepted"
    );
    let add = |byte| {
        let new = NewDocument::of(file("f.txt", &[byte; 60]));
        base.add_document(&world.ann, "c", new)
    };
    add(b'a').await.unwrap();
    let refused = add(b'b').await.unwrap_err();
    assert!(matches!(
        refused,
        KnowledgeError::LimitExceeded {
            setting: "bytes",
            ..
        }
    ));
    queries_are_bounded(&world, &base).await;
}

async fn queries_are_bounded(world: &World, base: &KnowledgeBase) {
    let query = KnowledgeQuery::new("heron", &["c"]);
    let begun = Instant::now();
    let asked = join_all((0..40).map(|_| base.search(&world.ann, &query))).await;
    // Two at once, and one for each half of a second that a busy machine takes.
    let most = 2 + begun.elapsed().as_millis() / 500;
    let found = asked.iter().filter(|asked| asked.is_ok()).count() as u128;
    assert!((2..=most).contains(&found), "{found} of {most}");
    let refused: Vec<_> = asked.into_iter().filter_map(Result::err).collect();
    let is_limit = |error: &KnowledgeError| {
        matches!(
            error,
            KnowledgeError::LimitExceeded {
                setting: "queries",
                ..
            }
        )
    };
    assert!(!refused.is_empty() && refused.iter().all(is_limit));
}

pub async fn g212_no_more_jobs_wait_than_a_tenant_may_have(world: World) {
    let limits = KnowledgeLimits {
        jobs: 2,
        ..KnowledgeLimits::default()
    };
    let base = limited(&world, limits);
    world.collection("c").await;
    let add = |name: &str| {
        let new = NewDocument::text(name, format!("a heron in {name}"));
        base.add_document(&world.ann, "c", new)
    };
    add("a.txt").await.unwrap();
    add("b.txt").await.unwrap();
    let expected = "jobs of the tenant: the limit of 2 is reached (ambit.search.limits.jobs)";
    assert_eq!(add("c.txt").await.unwrap_err().to_string(), expected);
    let anew = ReindexRequest::default();
    let refused = base.reindex(&world.ann, "c", &anew).await.unwrap_err();
    assert_eq!(refused.to_string(), expected);
    let collection = base.collection(&world.ann, "c").await.unwrap();
    assert_eq!((collection.documents, collection.reindex), (2, None));
    // Jobs that are done wait no longer.
    base.work().await.unwrap();
    add("c.txt").await.unwrap();
    base.reindex(&world.ann, "c", &anew).await.unwrap();
}

/// Sections of a document, each of which is a chunk.
fn sections(count: usize) -> String {
    let sections = (0..count).map(|at| format!("# S{at}\n\nA heron.\n\n"));
    sections.collect()
}

pub async fn g212_chunks_for_which_there_is_no_room_fail_their_document(world: World) {
    let limits = KnowledgeLimits {
        chunks: 5,
        document_chunks: 3,
        ..KnowledgeLimits::default()
    };
    let base = limited(&world, limits);
    world.collection("c").await;
    for (id, count, reason) in [
        ("large", 4, Some("it has 4 chunks, at most 3 are accepted")),
        ("first", 3, None),
        (
            "second",
            3,
            Some("the collection has room for 5 chunks (ambit.search.limits.chunks)"),
        ),
        ("third", 2, None),
    ] {
        let new = NewDocument {
            id: Some(id.to_owned()),
            ..NewDocument::text(format!("{id}.md"), sections(count))
        };
        base.add_document(&world.ann, "c", new).await.unwrap();
        base.work().await.unwrap();
        let document = world.document(id).await;
        assert_eq!(document.error.as_deref(), reason, "{id}");
    }
    let collection = base.collection(&world.ann, "c").await.unwrap();
    assert_eq!((collection.failed, collection.chunks), (2, 5));
}

pub async fn g212_text_for_which_there_is_no_room_fails_its_document(world: World) {
    let limits = KnowledgeLimits {
        bytes: 1_000,
        ..KnowledgeLimits::default()
    };
    let base = limited(&world, limits);
    world.collection("c").await;
    // What is read of it is longer than the file.
    let new = NewDocument::of(file("d.md", sections(30).as_bytes()));
    let added = base.add_document(&world.ann, "c", new).await.unwrap();
    base.work().await.unwrap();
    let document = world.document(&added.document_id).await;
    let reason = "the tenant has room for 1000 bytes of text (ambit.search.limits.bytes)";
    assert_eq!(document.error.as_deref(), Some(reason));
    let collection = base.collection(&world.ann, "c").await.unwrap();
    assert_eq!((collection.failed, collection.bytes), (1, 0));
}

pub async fn g212_what_is_said_of_documents_and_chunks_is_bounded(world: World) {
    world.collection("c").await;
    world.add("c", "d", "A heron.").await;
    let metadata = json!({"note": "x".repeat(64 << 10)});
    let update = DocumentUpdate {
        metadata: metadata.as_object().cloned(),
        ..DocumentUpdate::default()
    };
    let refused = world.base.update_document(&world.ann, "d", update).await;
    let expected = "metadata of a document has 65547 bytes, at most 65536 bytes are accepted";
    assert_eq!(refused.unwrap_err().to_string(), expected);
    let chunks = world.base.document_chunks(&world.ann, "d", 0..1).await;
    let vote = ChunkVote {
        found: FeedbackContext {
            context: Some(json!("x".repeat(8 << 10))),
            ..FeedbackContext::default()
        },
        ..vote(&chunks.unwrap()[0].id)
    };
    let refused = world.base.vote(&world.ann, "d", &vote).await.unwrap_err();
    assert!(matches!(refused, KnowledgeError::TooLarge { .. }));
}
