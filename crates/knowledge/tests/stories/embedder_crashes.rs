//! A node is killed while vectors are made: nobody pays twice for more than the batch that it was at.

use crate::reindex::{begin, embedded_by, ended};
use crate::vectors::embedded;
use crate::world::{World, settings};
use ambit_knowledge::{
    DocumentStatus, Embedder, EmbeddingFailure, EmbeddingPayer, EmbeddingRequest, Embeddings,
    JobStatus, KnowledgeBase, KnowledgeSettings, NewDocument,
};
use ambit_storage::conformance::{DriverFixture, FaultKind, FlakyDriver};
use ambit_storage::driver::Driver;
use futures::future::BoxFuture;
use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// Texts that are embedded together.
const BATCH: usize = 64;
/// Chunks of a document: three batches.
pub const CHUNKS: usize = 150;

/// Writes down the batches of collections, a line each, before it answers: of a process that is killed they are known too.
struct WritingEmbedder(PathBuf);

impl Embedder for WritingEmbedder {
    fn embed<'a>(
        &'a self,
        request: &'a EmbeddingRequest,
    ) -> BoxFuture<'a, Result<Embeddings, EmbeddingFailure>> {
        Box::pin(async move {
            let texts = &request.texts;
            assert!((1..=BATCH).contains(&texts.len()), "{} texts", texts.len());
            if matches!(request.payer, EmbeddingPayer::Collection(_)) {
                let line = serde_json::to_string(texts).unwrap() + "\n";
                let file = OpenOptions::new().append(true).create(true).open(&self.0);
                file.unwrap().write_all(line.as_bytes()).unwrap();
            }
            Ok(Embeddings {
                model: "m".to_owned(),
                vectors: vec![vec![1.0, 0.0]; texts.len()],
                tokens: 0,
            })
        })
    }
}

/// What a node with an embedder is opened with, which writes into this file.
pub fn embedding_settings(driver: Arc<dyn Driver>, asked: &Path) -> KnowledgeSettings {
    KnowledgeSettings {
        embedder: Some(Arc::new(WritingEmbedder(asked.to_owned()))),
        ..settings(driver)
    }
}

/// A world with a collection that has vectors.
pub struct EmbeddingWorld {
    pub world: World,
    /// What was asked for is in here.
    folder: TempDir,
}

impl EmbeddingWorld {
    pub async fn new(mut world: World) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let asked = folder.path().join("asked");
        world.base = KnowledgeBase::open(embedding_settings(world.driver.clone(), &asked));
        let made = world.base.create_collection(&world.ann, embedded("c"));
        made.await.unwrap();
        Self { world, folder }
    }

    pub fn asked(&self) -> PathBuf {
        self.folder.path().join("asked")
    }

    /// How many batches were asked for again since this was asked last. Fails where that is more than one, or where other texts
    /// were asked for than so many.
    pub fn repeated(&self, texts: usize) -> usize {
        let lines = fs::read_to_string(self.asked()).unwrap();
        fs::remove_file(self.asked()).unwrap();
        let (mut known, mut again) = (HashSet::new(), 0);
        for line in lines.lines() {
            let batch: Vec<String> = serde_json::from_str(line).unwrap();
            let expected = known.len() + batch.len();
            known.extend(batch);
            again += usize::from(known.len() < expected);
        }
        assert_eq!(known.len(), texts);
        assert!(again <= 1, "{again} batches were asked for again: {lines}");
        again
    }

    /// Fails unless the document is ready, with all its chunks and vectors.
    pub async fn check_ready(&self) {
        let document = self.world.document("d").await;
        let ready = (DocumentStatus::Ready, None, CHUNKS as u64);
        assert_eq!((document.status, document.error, document.chunks), ready);
        assert_eq!(document.warnings, Vec::<String>::new());
    }

    /// A node that dies after so many writes. False where it has done all before.
    async fn kill_after(&self, passing: u64) -> bool {
        let fresh = &self.world.fresh;
        let flaky = Arc::new(FlakyDriver::new(fresh.open().await));
        let node = KnowledgeBase::open(embedding_settings(flaky.clone(), &self.asked()));
        flaky.fail_after(passing, FaultKind::Write, u64::MAX);
        let has_died = node.work().await.is_err();
        // Its lease ends.
        fresh.clock().advance(Duration::from_secs(10));
        has_died
    }
}

/// A text that no other round has.
pub fn text(round: u64) -> String {
    let sections = (0..CHUNKS).map(|at| format!("# S{at}\n\nheron{round} number{at}\n\n"));
    sections.collect()
}

/// Fails unless each batch was repeated at least once, where its vectors were not written any more.
fn check_repeated(repeated: usize, rounds: u64) {
    assert!(repeated >= CHUNKS.div_ceil(BATCH), "{repeated} of {rounds}");
}

pub async fn g206_killed_at_any_write_one_batch_of_a_document_is_embedded_again_at_most(
    world: World,
) {
    let killed = EmbeddingWorld::new(world).await;
    let (mut passing, mut repeated) = (0, 0);
    loop {
        let world = &killed.world;
        let new = NewDocument {
            id: Some("d".to_owned()),
            ..NewDocument::text("d.md", text(passing))
        };
        world.base.add_document(&world.ann, "c", new).await.unwrap();
        let has_died = killed.kill_after(passing).await;
        world.base.work().await.unwrap();
        killed.check_ready().await;
        repeated += killed.repeated(CHUNKS);
        if !has_died {
            break;
        }
        let removed = world.base.remove_document(&world.ann, "d").await;
        removed.unwrap();
        world.base.work().await.unwrap();
        passing += 1;
    }
    check_repeated(repeated, passing);
}

pub async fn g206_killed_at_any_write_one_batch_of_a_re_index_is_embedded_again_at_most(
    world: World,
) {
    let killed = EmbeddingWorld::new(world).await;
    killed.world.add("c", "d", &text(0)).await;
    assert_eq!(killed.repeated(CHUNKS), 0);
    let (mut passing, mut repeated) = (0, 0);
    loop {
        let world = &killed.world;
        let connector = ["e6", "e5"][passing as usize % 2];
        let job = begin(world, &embedded_by(connector)).await;
        let has_died = killed.kill_after(passing).await;
        let done = ended(world, &world.base, &job).await;
        assert_eq!((done.status, done.error), (JobStatus::Done, None));
        killed.check_ready().await;
        repeated += killed.repeated(CHUNKS);
        if !has_died {
            break;
        }
        passing += 1;
    }
    check_repeated(repeated, passing);
}
