//! Documents come in, are replaced and found.

use crate::person::Person;
use crate::world::{World, file};
use ambit_knowledge::{
    DocumentStatus, DocumentUpdate, JobStatus, KeptContent, KnowledgeQuery, NewCollection,
    NewContent, NewDocument,
};
use futures::StreamExt;
use std::sync::Arc;

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
    let other = world.other_node().await;
    let query = KnowledgeQuery::new("boiling water", &["manuals"]);
    assert_eq!(other.search(&world.ann, &query).await.unwrap(), answer);
}

pub async fn what_was_read_is_shown_as_text_and_chunks(world: World) {
    let (base, ann) = (&world.base, &world.ann);
    world.collection("manuals").await;
    world
        .add("manuals", "kettle", "# Use\n\nBoil water twice.")
        .await;
    let text = base.document_text(ann, "kettle", 5..9).await.unwrap();
    assert_eq!(text, "Boil");
    let chunks = base.document_chunks(ann, "kettle", 0..9).await.unwrap();
    assert_eq!(chunks.len(), 1);
    assert_eq!(
        (chunks[0].text.as_str(), chunks[0].weight),
        ("Boil water twice.", 1.0)
    );
    let chunk = base
        .document_chunk(ann, "kettle", &chunks[0].id)
        .await
        .unwrap();
    assert_eq!(chunk, chunks[0]);
    let missing = base.document_chunk(ann, "kettle", "0").await.unwrap_err();
    assert_eq!(missing.to_string(), "segment \"0\" not found");
}

pub async fn a_collection_that_keeps_files_gives_them_back_as_they_came(world: World) {
    let (base, ann) = (&world.base, &world.ann);
    let keeping = NewCollection {
        id: "c".to_owned(),
        keep: KeptContent::File,
        ..NewCollection::default()
    };
    base.create_collection(ann, keeping).await.unwrap();
    // More than one block of it.
    let page = format!("<p>A heron.</p>{}", " ".repeat(1 << 20));
    let new = NewDocument {
        id: Some("d".to_owned()),
        ..NewDocument::of(file("d.html", page.as_bytes()))
    };
    base.add_document(ann, "c", new).await.unwrap();
    base.work().await.unwrap();
    assert!(given_back(&world).await == page.as_bytes());
    world.replace("d", "A stork.").await;
    assert!(given_back(&world).await == page.as_bytes());
    let mut replaced = base.document_file(ann, "d").await.unwrap();
    base.work().await.unwrap();
    assert_eq!(given_back(&world).await, b"A stork.");
    // It comes in parts, of which the second is gone.
    let first = replaced.next().await.unwrap().unwrap();
    assert_eq!(first.len(), 768 << 10);
    assert_eq!(replaced.bytes, page.len() as u64);
    assert!(replaced.next().await.is_err());
    let stranger = base.document_file(&Person::named("bob"), "d").await;
    let missing = "document \"d\" not found";
    assert_eq!(stranger.err().unwrap().to_string(), missing);
    world.collection("texts").await;
    world.add("texts", "t", "A crane.").await;
    let missing = "the file of document \"t\" not found";
    let refused = base.document_file(ann, "t").await.err().unwrap();
    assert_eq!(refused.to_string(), missing);
}

/// The file of Ann's document, all parts of it.
async fn given_back(world: &World) -> Vec<u8> {
    let mut file = world.base.document_file(&world.ann, "d").await.unwrap();
    let mut bytes = Vec::new();
    while let Some(part) = file.next().await.unwrap() {
        bytes.extend(part);
    }
    assert_eq!(bytes.len() as u64, file.bytes);
    bytes
}

pub async fn a_job_is_followed_to_its_end(world: World) {
    world.collection("c").await;
    let new = NewDocument::text("d.md", "A heron.");
    let accepted = world.base.add_document(&world.ann, "c", new).await.unwrap();
    let _worker = world.base.start();
    let job_id = accepted.job_id.unwrap();
    let watch = world.base.watch_job(Arc::new(world.ann.clone()), &job_id);
    let seen: Vec<JobStatus> = watch.map(|job| job.unwrap().status).collect().await;
    assert_eq!(seen.last(), Some(&JobStatus::Done));
    assert_eq!(seen.iter().filter(|status| status.is_final()).count(), 1);
}

pub async fn jobs_of_a_collection_are_followed(world: World) {
    world.collection("c").await;
    world.collection("other").await;
    let reach = Arc::new(world.ann.clone());
    let mut jobs = Box::pin(world.base.watch_collection(reach, "c"));
    // It tells of what comes behind its first look.
    let adding = async {
        for at in 0.. {
            for collection in ["other", "c"] {
                let id = format!("{collection}{at}");
                world.add(collection, &id, "A heron.").await;
            }
        }
    };
    // A look may come while a job is at work.
    let followed = async {
        let mut status = JobStatus::Queued;
        while status != JobStatus::Done {
            let job = jobs.next().await.unwrap().unwrap();
            assert_eq!(job.collection_id, "c");
            status = job.status;
        }
    };
    tokio::select! {
        () = followed => {}
        () = adding => unreachable!("it goes on adding"),
    }
}

pub async fn g205_a_replacement_is_found_as_a_whole(world: World) {
    world.collection("c").await;
    world.add("c", "d", "The old heron stands.").await;
    world.replace("d", "The new heron flies.").await;
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
    let accepted = world.replace("d", "A heron.").await;
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
    world.replace("d", "A stork.").await;
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
