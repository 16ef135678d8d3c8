//! Documents come in, are replaced and found.

use crate::world::{World, file};
use ambit_knowledge::{
    DocumentStatus, DocumentUpdate, JobStatus, KnowledgeQuery, NewContent, NewDocument,
};

pub async fn a_text_is_found_when_its_job_is_done(world: World) {
    world.collection("manuals").await;
    let accepted = world
        .add("manuals", "kettle", "# Use\n\nBoil water twice.")
        .await;
    world
        .add("manuals", "toaster", "# Use\n\nBread goes in.")
        .await;
    let job = world
        .base
        .job(&world.ann, &accepted.job_id.unwrap())
        .await
        .unwrap();
    assert_eq!((job.status, job.done, job.total), (JobStatus::Done, 1, 1));
    let document = world.document("kettle").await;
    assert_eq!(
        (document.status, document.format.as_deref(), document.chunks),
        (DocumentStatus::Ready, Some("md"), 1)
    );
    let answer = world
        .ask(
            &world.ann,
            &KnowledgeQuery::new("boiling water", &["manuals"]),
        )
        .await;
    assert_eq!(answer.items.len(), 1);
    let item = &answer.items[0];
    assert_eq!(item.document_id, "kettle");
    assert_eq!(item.content, "Boil water twice.");
    assert_eq!(item.heading, ["Use"]);
    assert!(item.score > 0.0 && item.score <= 1.0);
    assert_eq!(item.metadata["ranking"]["words"]["rank"], 1);
    let collection = world.base.collection(&world.ann, "manuals").await.unwrap();
    assert_eq!((collection.documents, collection.chunks), (2, 2));
    let text = world
        .base
        .document_text(&world.ann, "kettle", 5..9)
        .await
        .unwrap();
    assert_eq!(text, "Boil");
    let chunks = world
        .base
        .document_chunks(&world.ann, "kettle", 0..9)
        .await
        .unwrap();
    assert_eq!(
        (chunks.len(), chunks[0].id.as_str()),
        (1, item.chunk_id.as_str())
    );
    assert_eq!(
        world
            .other_node()
            .await
            .search(
                &world.ann,
                &KnowledgeQuery::new("boiling water", &["manuals"]),
            )
            .await
            .unwrap(),
        answer
    );
}

pub async fn g205_a_replacement_is_found_as_a_whole(world: World) {
    world.collection("c").await;
    world.add("c", "d", "The old heron stands.").await;
    let update = DocumentUpdate {
        content: Some(file("d.md", b"The new heron flies.")),
        ..DocumentUpdate::default()
    };
    world
        .base
        .update_document(&world.ann, "d", update)
        .await
        .unwrap();
    let old = [("d".to_owned(), "The old heron stands.".to_owned())];
    assert_eq!(world.found("c", "heron").await, old);
    world.base.work().await.unwrap();
    let new = [("d".to_owned(), "The new heron flies.".to_owned())];
    assert_eq!(world.found("c", "heron").await, new);
    assert_eq!(world.found("c", "stands").await, []);
    let collection = world.base.collection(&world.ann, "c").await.unwrap();
    assert_eq!((collection.documents, collection.chunks), (1, 1));
}

pub async fn equal_content_is_ready_at_once(world: World) {
    world.collection("c").await;
    world.add("c", "d", "A heron.").await;
    let before = world.document("d").await;
    let update = DocumentUpdate {
        content: Some(file("d.md", b"A heron.")),
        ..DocumentUpdate::default()
    };
    let accepted = world
        .base
        .update_document(&world.ann, "d", update)
        .await
        .unwrap();
    assert_eq!(accepted.job_id, None);
    let after = world.document("d").await;
    assert_eq!(
        (after.status, after.indexed_at),
        (DocumentStatus::Ready, before.indexed_at)
    );
}

pub async fn what_cannot_be_read_says_why_and_leaves_what_was_there(world: World) {
    world.collection("c").await;
    world.add("c", "d", "A heron.").await;
    let update = DocumentUpdate {
        content: Some(file("d.png", b"\x89PNG and more")),
        ..DocumentUpdate::default()
    };
    let accepted = world
        .base
        .update_document(&world.ann, "d", update)
        .await
        .unwrap();
    world.base.work().await.unwrap();
    let document = world.document("d").await;
    let reason = Some("unsupported: image/png (set uses.extract)".to_owned());
    assert_eq!(
        (document.status, document.error),
        (DocumentStatus::Failed, reason.clone())
    );
    let job = world
        .base
        .job(&world.ann, &accepted.job_id.unwrap())
        .await
        .unwrap();
    assert_eq!((job.status, job.error), (JobStatus::Failed, reason));
    assert_eq!(world.found("c", "heron").await.len(), 1);
    let collection = world.base.collection(&world.ann, "c").await.unwrap();
    assert_eq!((collection.documents, collection.failed), (1, 1));
    let update = DocumentUpdate {
        content: Some(file("d.md", b"A stork.")),
        ..DocumentUpdate::default()
    };
    world
        .base
        .update_document(&world.ann, "d", update)
        .await
        .unwrap();
    world.base.work().await.unwrap();
    let collection = world.base.collection(&world.ann, "c").await.unwrap();
    assert_eq!((collection.failed, collection.chunks), (0, 1));
    assert_eq!(world.found("c", "stork").await.len(), 1);
}

pub async fn a_page_is_read_by_a_process_of_its_own(world: World) {
    world.collection("c").await;
    let page = b"<html><title>Birds</title><body><h1>Herons</h1><p>They fish.</p></body></html>";
    let new = NewDocument::of(file("birds.html", page));
    let accepted = world.base.add_document(&world.ann, "c", new).await.unwrap();
    let missing = NewDocument::of(NewContent::Url("https://a.test/x".to_owned()));
    let missing = world
        .base
        .add_document(&world.ann, "c", missing)
        .await
        .unwrap();
    world.base.work().await.unwrap();
    let document = world.document(&accepted.document_id).await;
    assert_eq!(
        (document.status, document.title.as_str()),
        (DocumentStatus::Ready, "Birds")
    );
    assert_eq!(world.found("c", "fish").await.len(), 1);
    let document = world.document(&missing.document_id).await;
    let reason = "https://a.test/x cannot be fetched: there is no fetcher (set uses.fetch)";
    assert_eq!(document.error.as_deref(), Some(reason));
}

pub async fn a_large_document_comes_in_steps_and_appears_at_once(world: World) {
    world.collection("c").await;
    let sections = (0..600).map(|at| format!("# Section {at}\n\nword{at} heron\n\n"));
    let text: String = sections.collect();
    let accepted = world.add("c", "d", &text).await;
    let job = world
        .base
        .job(&world.ann, &accepted.job_id.unwrap())
        .await
        .unwrap();
    assert_eq!(
        (job.status, job.done, job.total),
        (JobStatus::Done, 600, 600)
    );
    for at in [0, 249, 250, 599] {
        let found = world.found("c", &format!("word{at}")).await;
        assert_eq!(found[0].1, format!("word{at} heron"));
    }
    let collection = world.base.collection(&world.ann, "c").await.unwrap();
    assert_eq!(collection.chunks, 600);
}
