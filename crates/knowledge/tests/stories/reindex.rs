//! An index is made anew while the old one is searched.

use crate::vectors::{ScriptedEmbedder, add, with_embedder};
use crate::world::{World, key_of, settings};
use ambit_knowledge::{
    ChunkLengths, DocumentStatus, EmbeddingSettings, Job, JobFilter, JobKind, JobStatus,
    KnowledgeBase, KnowledgeQuery, KnowledgeSettings, ReindexRequest,
};
use ambit_storage::Json;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::conformance::{DriverFixture, FaultKind, FlakyDriver};
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub const LONG: u64 = 300;
pub const SHORT: u64 = 50;

/// One section with so many sentences.
pub fn text(bird: &str, sentences: usize) -> String {
    let sentences = (0..sentences).map(|at| format!("The {bird} of day {at} stands in the reed. "));
    sentences.collect()
}

pub fn chunks_of(size: u64) -> ReindexRequest {
    let overlap = 0;
    ReindexRequest {
        chunk: Some(ChunkLengths { size, overlap }),
        ..ReindexRequest::default()
    }
}

pub fn embedded_by(connector: &str) -> ReindexRequest {
    ReindexRequest {
        embedding: Some(EmbeddingSettings {
            connector: connector.to_owned(),
            ..EmbeddingSettings::default()
        }),
        ..ReindexRequest::default()
    }
}

pub async fn begin(world: &World, request: &ReindexRequest) -> Job {
    let begun = world.base.reindex(&world.ann, "c", request).await;
    begun.unwrap()
}

pub async fn ended(world: &World, base: &KnowledgeBase, job: &Job) -> Job {
    base.work().await.unwrap();
    base.job(&world.ann, &job.job_id).await.unwrap()
}

/// The texts that are found, whatever their order.
pub async fn texts(world: &World, base: &KnowledgeBase, words: &str) -> BTreeSet<String> {
    let mut query = KnowledgeQuery::new(words, &["c"]);
    query.limit = 100;
    query.is_counted = false;
    let found = base.search(&world.ann, &query).await.unwrap();
    found.items.into_iter().map(|item| item.content).collect()
}

/// What is left of indexes other than the one with this version, and of what was to come into it.
pub async fn left(driver: &dyn Driver, key: &str, version: u64) -> Vec<String> {
    let tenant = Some("t");
    let mut names = Vec::new();
    let indexes = (1..=version + 1).filter(|other| *other != version);
    let mut spaces: Vec<Space> = indexes
        .map(|version| Space::collection_index(tenant, key, version as u32))
        .collect();
    spaces.push(Space::collection(tenant, key));
    for space in spaces {
        let mut pages = ValuePages::of(driver, &space, Pattern::all(), ValuePart::Nothing);
        while let Some(page) = pages.next().await.unwrap() {
            names.extend(page.into_iter().map(|(name, _)| format!("{space}#{name}")));
        }
    }
    let own = ["chunk", "content", "vector"].map(|kind| format!("#{kind}/{version}/"));
    let kept = [
        "#changes",
        "#sums",
        "#document/",
        "#text/",
        "#ratings/",
        "#vote/",
    ];
    names.retain(|name| {
        let is_own = own.iter().any(|own| name.contains(own));
        !is_own && !kept.iter().any(|kept| name.contains(kept))
    });
    names
}

pub async fn g205_a_search_sees_the_old_or_the_new_index(world: World) {
    world.collection("c").await;
    world.add("c", "d", &text("heron", 80)).await;
    let old = texts(&world, &world.base, "heron").await;
    let job = begin(&world, &chunks_of(SHORT)).await;
    let (is_over, other) = (AtomicBool::new(false), world.other_node().await);
    let searching = async {
        let mut seen = BTreeSet::new();
        while !is_over.load(Ordering::Relaxed) {
            seen.insert(texts(&world, &other, "heron").await);
            tokio::task::yield_now().await;
        }
        seen
    };
    let working = async {
        let job = ended(&world, &world.base, &job).await;
        is_over.store(true, Ordering::Relaxed);
        job
    };
    let (seen, job) = futures::join!(searching, working);
    assert_eq!(
        (job.status, job.done, job.error),
        (JobStatus::Done, 1, None)
    );
    let new = texts(&world, &world.base, "heron").await;
    assert!(old.len() < new.len(), "{} and {}", old.len(), new.len());
    let others: Vec<_> = seen
        .iter()
        .filter(|it| **it != old && **it != new)
        .collect();
    assert_eq!(others, Vec::<&BTreeSet<String>>::new());
    let collection = world.base.collection(&world.ann, "c").await.unwrap();
    let expected = (2, SHORT, new.len() as u64, None);
    assert_eq!(
        (
            collection.version,
            collection.chunk.size,
            collection.chunks,
            collection.reindex
        ),
        expected
    );
    assert_eq!(world.document("d").await.chunks, new.len() as u64);
    let key = key_of(world.driver.as_ref(), "c").await;
    assert_eq!(
        left(world.driver.as_ref(), &key, 2).await,
        Vec::<String>::new()
    );
}

pub async fn one_re_index_at_a_time_and_cancelling_erases_what_it_made(world: World) {
    world.collection("c").await;
    world.add("c", "d", &text("heron", 80)).await;
    let before = texts(&world, &world.base, "heron").await;
    let job = begin(&world, &chunks_of(SHORT)).await;
    let refused = world.base.reindex(&world.ann, "c", &chunks_of(LONG)).await;
    let reason = format!(
        "collection \"c\" is being indexed anew, wait for job \"{}\" or cancel it",
        job.job_id
    );
    assert_eq!(refused.unwrap_err().to_string(), reason);
    // A node lists the documents, indexes one and is gone.
    let flaky = Arc::new(FlakyDriver::new(world.fresh.open().await));
    flaky.fail_after(4, FaultKind::Write, u64::MAX);
    let node = KnowledgeBase::open(settings(flaky));
    assert!(node.work().await.is_err());
    let collection = world.base.collection(&world.ann, "c").await.unwrap();
    assert_eq!(collection.reindex.unwrap().job_id, job.job_id);
    let cancelled = world
        .base
        .cancel_job(&world.ann, &job.job_id)
        .await
        .unwrap();
    assert_eq!(cancelled.status, JobStatus::Cancelled);
    world.fresh.clock().advance(Duration::from_secs(10));
    world.base.work().await.unwrap();
    let key = key_of(world.driver.as_ref(), "c").await;
    assert_eq!(
        left(world.driver.as_ref(), &key, 1).await,
        Vec::<String>::new()
    );
    assert_eq!(texts(&world, &world.base, "heron").await, before);
    let collection = world.base.collection(&world.ann, "c").await.unwrap();
    assert_eq!((collection.version, collection.reindex), (1, None));
    let job = begin(&world, &chunks_of(SHORT)).await;
    assert_eq!(
        ended(&world, &world.base, &job).await.status,
        JobStatus::Done
    );
    let collection = world.base.collection(&world.ann, "c").await.unwrap();
    assert_eq!(collection.version, 3);
}

/// The texts that were embedded since.
fn take_asked(embedder: &ScriptedEmbedder) -> Vec<String> {
    std::mem::take(&mut embedder.asked.lock().unwrap())
}

pub async fn g205_vectors_of_another_model_are_made_before_the_new_index_is_searched(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    add(
        &world,
        &base,
        "d",
        "# A\n\nThe heron stands.\n\n# B\n\nKettle.",
    )
    .await;
    *embedder.dimension.lock().unwrap() = 1;
    add(&world, &base, "e", "A stork.").await;
    let document = base.document(&world.ann, "e").await.unwrap();
    assert_eq!(document.status, DocumentStatus::Failed);
    take_asked(&embedder);
    *embedder.is_down.lock().unwrap() = true;
    let job = base
        .reindex(&world.ann, "c", &embedded_by("e6"))
        .await
        .unwrap();
    let waiting = ended(&world, &base, &job).await;
    assert_eq!(
        (waiting.status, waiting.step.as_deref()),
        (JobStatus::Running, Some("chunking"))
    );
    let collection = base.collection(&world.ann, "c").await.unwrap();
    assert_eq!(
        (collection.version, collection.embedding.unwrap().dimension),
        (1, Some(2))
    );
    *embedder.is_down.lock().unwrap() = false;
    world.fresh.clock().advance(Duration::from_secs(61));
    assert_eq!(ended(&world, &base, &job).await.status, JobStatus::Done);
    let mut asked = take_asked(&embedder);
    asked.sort();
    assert_eq!(asked, ["A stork.", "Kettle.", "The heron stands."]);
    let collection = base.collection(&world.ann, "c").await.unwrap();
    let embedding = collection.embedding.unwrap();
    assert_eq!(
        (embedding.connector.as_str(), embedding.dimension),
        ("e6", Some(3))
    );
    // What could not be compared before can be now.
    let document = base.document(&world.ann, "e").await.unwrap();
    assert_eq!(
        (document.status, document.error),
        (DocumentStatus::Ready, None)
    );
    assert_eq!(collection.failed, 0);
    let found = texts(&world, &base, "bird").await;
    assert_eq!(found, BTreeSet::from(["The heron stands.".to_owned()]));
}

pub async fn g206_a_re_index_embeds_no_text_again(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    for id in ["a", "b", "c"] {
        add(&world, &base, id, &format!("The heron {id}.")).await;
    }
    assert_eq!(take_asked(&embedder).len(), 3);
    let language = "de".parse().unwrap();
    let request = ReindexRequest {
        language: Some(language),
        ..ReindexRequest::default()
    };
    let job = base.reindex(&world.ann, "c", &request).await.unwrap();
    assert_eq!(ended(&world, &base, &job).await.status, JobStatus::Done);
    // One batch shows whether the model is still the same.
    assert_eq!(take_asked(&embedder).len(), 1);
    assert_eq!(texts(&world, &base, "bird").await.len(), 3);
    let collection = base.collection(&world.ann, "c").await.unwrap();
    assert_eq!(
        (collection.language.as_str(), collection.version),
        ("de", 2)
    );
}

/// Lets an index say that its terms are of another version.
async fn with_old_terms(world: &World) {
    let key = key_of(world.driver.as_ref(), "c").await;
    let key = Space::collection_index(Some("t"), &key, 1).key("manifest");
    let stored = world.driver.get(&key, ValuePart::Whole).await.unwrap();
    let mut manifest: serde_json::Value = stored.unwrap().value.to().unwrap();
    manifest["terms_version"] = 0.into();
    let set = Operation::Set(Json::of(&manifest).unwrap().into());
    let batch = Batch::of([BatchWrite::apply(key, set, None)]);
    world.driver.commit(batch).await.unwrap();
}

pub async fn an_index_with_terms_of_another_version_is_made_anew_by_itself(world: World) {
    world.collection("c").await;
    world.add("c", "d", "The heron stands.").await;
    let version = async || {
        world
            .base
            .collection(&world.ann, "c")
            .await
            .unwrap()
            .version
    };
    with_old_terms(&world).await;
    world.base.work().await.unwrap();
    assert_eq!(version().await, 1, "nobody has used it");
    assert_eq!(world.found("c", "heron").await.len(), 1);
    world.base.work().await.unwrap();
    assert_eq!(version().await, 2, "it was searched");
    assert_eq!(world.found("c", "heron").await.len(), 1);
    let all = JobFilter::default();
    let jobs = world.base.jobs(&world.ann, &all, None, 100);
    let jobs = jobs.await.unwrap().items.into_iter();
    let reindexes = jobs.filter(|job| job.kind == JobKind::Reindex);
    let statuses: Vec<JobStatus> = reindexes.map(|job| job.status).collect();
    assert_eq!(statuses, [JobStatus::Done]);
}

pub async fn a_re_index_that_begins_by_itself_and_fails_begins_again_after_an_hour(world: World) {
    world.collection("c").await;
    let both = "# A\n\nThe heron stands.\n\n# B\n\nThe stork flies.";
    world.add("c", "d", both).await;
    with_old_terms(&world).await;
    let mut settings = KnowledgeSettings {
        clock: world.fresh.clock(),
        ..settings(world.driver.clone())
    };
    settings.limits.document_chunks = 1;
    let node = KnowledgeBase::open(settings);
    let failed_job = async || {
        assert_eq!(texts(&world, &node, "heron").await.len(), 1);
        node.work().await.unwrap();
        let all = JobFilter::default();
        let jobs = node.jobs(&world.ann, &all, None, 100).await.unwrap().items;
        let job = jobs.into_iter().find(|job| job.kind == JobKind::Reindex);
        let job = job.unwrap();
        assert_eq!(job.status, JobStatus::Failed);
        job.job_id
    };
    let first = failed_job().await;
    world.fresh.clock().advance(Duration::from_secs(3_500));
    assert_eq!(failed_job().await, first);
    world.fresh.clock().advance(Duration::from_secs(101));
    assert_ne!(failed_job().await, first);
}

pub async fn a_document_that_comes_to_an_index_with_other_terms_waits_for_the_new_one(
    world: World,
) {
    world.collection("c").await;
    world.add("c", "d", "The heron stands.").await;
    with_old_terms(&world).await;
    world.add("c", "e", "A heron flies.").await;
    let collection = world.base.collection(&world.ann, "c").await.unwrap();
    let expected = (2, 2, 2, None);
    let (chunks, documents) = (collection.chunks, collection.documents);
    assert_eq!(
        (collection.version, documents, chunks, collection.reindex),
        expected
    );
    assert_eq!(world.document("e").await.status, DocumentStatus::Ready);
    assert_eq!(world.found("c", "heron").await.len(), 2);
    let key = key_of(world.driver.as_ref(), "c").await;
    let left = left(world.driver.as_ref(), &key, 2).await;
    assert_eq!(left, Vec::<String>::new());
}

pub async fn a_re_index_that_cannot_be_done_says_why_and_changes_nothing(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    add(&world, &base, "d", "The heron stands.").await;
    *embedder.is_gone.lock().unwrap() = true;
    let job = base
        .reindex(&world.ann, "c", &embedded_by("none"))
        .await
        .unwrap();
    let failed = ended(&world, &base, &job).await;
    assert_eq!(
        (failed.status, failed.error.as_deref()),
        (JobStatus::Failed, Some("it is gone"))
    );
    let collection = base.collection(&world.ann, "c").await.unwrap();
    assert_eq!((collection.version, collection.reindex), (1, None));
    assert_eq!(collection.embedding.unwrap().connector, "e5");
    let refused = base.reindex(&world.ann, "c", &chunks_of(1)).await;
    assert!(refused.unwrap_err().to_string().contains("chunk"));
    assert_eq!(texts(&world, &base, "heron").await.len(), 1);
    let key = key_of(world.driver.as_ref(), "c").await;
    assert_eq!(
        left(world.driver.as_ref(), &key, 1).await,
        Vec::<String>::new()
    );
}
