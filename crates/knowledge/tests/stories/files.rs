//! Collections of the app's files.

use crate::erasure::vote;
use crate::person::Person;
use crate::world::World;
use ambit_knowledge::{
    ChunkLengths, CollectionFiles, DocumentFilter, DocumentStatus, FileEntry, FileSpool, JobFilter,
    JobStatus, KnowledgeBase, KnowledgeQuery, NewCollection, NewDocument, SyncReport,
};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

/// A folder; it notes which files were read.
#[derive(Default)]
pub struct Folder {
    /// When each was changed, and what it holds.
    pub files: BTreeMap<String, (i64, String)>,
    read: Mutex<Vec<String>>,
}

#[async_trait]
impl CollectionFiles for Folder {
    async fn list(&self) -> io::Result<Vec<FileEntry>> {
        let files = self.files.iter().map(|(path, (modified, text))| FileEntry {
            path: path.clone(),
            size: text.len() as u64,
            modified: *modified,
        });
        Ok(files.collect())
    }

    async fn read(&self, path: &str, into: &mut FileSpool) -> io::Result<()> {
        self.read.lock().unwrap().push(path.to_owned());
        into.copy(io::Cursor::new(self.files[path].1.clone())).await
    }
}

impl Folder {
    fn write(&mut self, path: &str, modified: i64, text: &str) {
        self.files
            .insert(path.to_owned(), (modified, text.to_owned()));
    }

    /// One that is another each round: a file stays, one is changed, one is new, and that of the round before is gone.
    pub fn of_round(round: u64) -> Self {
        let mut folder = Self::default();
        folder.write("stays.md", 1, "The heron.");
        let changed = format!("The stork of round {round}.");
        folder.write("changes.md", round as i64, &changed);
        let new = format!("The crane of round {round}.");
        folder.write(&format!("new{round}.md"), 1, &new);
        folder
    }

    pub fn take_read(&self) -> Vec<String> {
        std::mem::take(&mut self.read.lock().unwrap())
    }
}

pub fn handbook() -> NewCollection {
    NewCollection {
        id: "handbook".to_owned(),
        public: true,
        ..NewCollection::default()
    }
}

/// The documents that anybody finds in the handbook.
async fn found(world: &World, words: &str) -> Vec<String> {
    let query = KnowledgeQuery::new(words, &["handbook"]);
    let items = world.ask(&Person::named("bob"), &query).await.items;
    items.into_iter().map(|item| item.document_id).collect()
}

pub async fn g217_documents_equal_the_files_whatever_becomes_of_them(world: World) {
    let definition = handbook();
    let mut folder = Folder::default();
    folder.write("docs/a.md", 1, "The heron.");
    folder.write("docs/b.md", 1, "The stork.");
    let report = world
        .base
        .sync(&definition, &folder)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((report.added, report.removed), (2, 0));
    world.base.work().await.unwrap();
    folder.take_read();
    assert_eq!(found(&world, "heron").await, ["handbook:docs/a.md"]);
    // Another node, which has seen none of it, reads nothing again.
    let other = world.other_node().await;
    let unchanged = SyncReport {
        unchanged: 2,
        ..SyncReport::default()
    };
    assert_eq!(
        other.sync(&definition, &folder).await.unwrap(),
        Some(unchanged)
    );
    assert_eq!(folder.take_read(), Vec::<String>::new());
    // Touched, edited, renamed.
    folder.write("docs/a.md", 2, "The heron.");
    folder.files.remove("docs/b.md");
    folder.write("docs/c.md", 1, "The stork.");
    let report = world
        .base
        .sync(&definition, &folder)
        .await
        .unwrap()
        .unwrap();
    let expected = SyncReport {
        added: 1,
        removed: 1,
        unchanged: 1,
        ..SyncReport::default()
    };
    assert_eq!(report, expected);
    world.base.work().await.unwrap();
    assert_eq!(found(&world, "stork").await, ["handbook:docs/c.md"]);
    folder.write("docs/a.md", 3, "The crane.");
    world.base.sync(&definition, &folder).await.unwrap();
    world.base.work().await.unwrap();
    assert_eq!(found(&world, "crane").await, ["handbook:docs/a.md"]);
    assert_eq!(found(&world, "heron").await, Vec::<String>::new());
}

/// What is written at each step.
const BIRDS: [&str; 8] = [
    "heron", "stork", "crane", "egret", "grebe", "snipe", "swift", "raven",
];

impl Folder {
    /// Adds a file, and edits and removes others. Returns what is to be read.
    fn edit(&mut self, step: i64) -> Vec<String> {
        let mut changed = vec![format!("docs/{step}.md")];
        let earlier = format!("docs/{}.md", step / 2);
        if step % 2 == 0 && self.files.contains_key(&earlier) {
            changed.push(earlier);
        }
        for path in &changed {
            self.write(
                path,
                step,
                &format!("The {} of {path}.", BIRDS[step as usize]),
            );
        }
        self.files.remove(&format!("docs/{}.md", step - 3));
        changed.retain(|path| self.files.contains_key(path));
        changed
    }
}

/// Compares until it is this node's turn.
async fn synced(base: &KnowledgeBase, folder: &Folder) -> SyncReport {
    loop {
        if let Some(report) = base.sync(&handbook(), folder).await.unwrap() {
            return report;
        }
        tokio::task::yield_now().await;
    }
}

pub async fn g217_two_nodes_that_follow_one_folder_agree(world: World) {
    let other = world.other_node().await;
    let mut folder = Folder::default();
    for step in 0..8 {
        let changed = folder.edit(step);
        let reports = futures::join!(synced(&world.base, &folder), synced(&other, &folder));
        let (one, two) = reports;
        assert_eq!(one.failed.len() + two.failed.len(), 0);
        let mut read = folder.take_read();
        read.sort();
        let mut expected = changed.clone();
        expected.sort();
        assert_eq!(read, expected, "step {step}");
        let (done, also_done) = futures::join!(world.base.work(), other.work());
        done.and(also_done).unwrap();
        // What the one had under way when the other looked is done by now.
        world.base.work().await.unwrap();
        let (bob, every) = (Person::named("bob"), DocumentFilter::default());
        let all = other.documents(&bob, &every).await.unwrap();
        let mut ids: Vec<&str> = all.iter().map(|it| it.document_id.as_str()).collect();
        ids.sort_unstable();
        let mut files: Vec<String> = folder
            .files
            .keys()
            .map(|it| format!("handbook:{it}"))
            .collect();
        files.sort();
        assert_eq!(ids, files, "step {step}");
        assert!(
            all.iter().all(|it| it.status == DocumentStatus::Ready),
            "{all:#?}"
        );
        let mut found = found(&world, BIRDS[step as usize]).await;
        found.sort();
        let expected: Vec<String> = expected.iter().map(|it| format!("handbook:{it}")).collect();
        assert_eq!(found, expected, "step {step}");
    }
}

pub async fn a_file_that_says_another_index_has_its_documents_indexed_anew(world: World) {
    let mut folder = Folder::default();
    let text: String = (0..60)
        .map(|at| format!("The heron of day {at}. "))
        .collect();
    folder.write("docs/a.md", 1, &text);
    world.base.sync(&handbook(), &folder).await.unwrap();
    world.base.work().await.unwrap();
    folder.take_read();
    let changed = NewCollection {
        chunk: ChunkLengths {
            size: 50,
            overlap: 0,
        },
        ..handbook()
    };
    let bob = Person::named("bob");
    // Changed back before anything was done: nothing is to be done.
    world.base.sync(&changed, &folder).await.unwrap();
    let all = JobFilter::default();
    let jobs = world.base.jobs(&bob, &all, None, 9).await.unwrap().items;
    world.base.sync(&handbook(), &folder).await.unwrap();
    let cancelled = world.base.job(&bob, &jobs[1].job_id).await.unwrap();
    assert_eq!(cancelled.status, JobStatus::Cancelled);
    world.base.work().await.unwrap();
    let before = world.base.collection(&bob, "handbook").await.unwrap();
    assert_eq!((before.version, before.chunk.size), (1, 300));
    world.base.sync(&changed, &folder).await.unwrap();
    world.base.work().await.unwrap();
    let after = world.base.collection(&bob, "handbook").await.unwrap();
    assert_eq!((after.version, after.chunk.size), (3, 50));
    assert!(after.chunks > before.chunks);
    assert_eq!(found(&world, "heron").await.len() as u64, after.chunks);
    assert_eq!(folder.take_read(), Vec::<String>::new());
    // Nothing is left to be done.
    world.base.sync(&changed, &folder).await.unwrap();
    let again = world.base.collection(&bob, "handbook").await.unwrap();
    assert_eq!(again, after);
}

pub async fn a_collection_of_files_is_read_only_and_goes_with_its_file(world: World) {
    let definition = handbook();
    let mut folder = Folder::default();
    folder.write("docs/a.md", 1, "The heron.");
    world.base.sync(&definition, &folder).await.unwrap();
    world.base.work().await.unwrap();
    let new = NewDocument::text("x", "y");
    let refused = world
        .base
        .add_document(&Person::operator("t"), "handbook", new)
        .await;
    assert_eq!(
        refused.unwrap_err().to_string(),
        "denied: collection \"handbook\" is a file of the app, change kb/handbook.kb.yao"
    );
    world.base.keep_file_collections(&[]).await.unwrap();
    world.base.work().await.unwrap();
    assert!(
        world
            .base
            .collection(&Person::named("bob"), "handbook")
            .await
            .is_err()
    );
}

pub async fn g217_a_collection_goes_when_the_files_of_no_node_define_it(world: World) {
    let mut folder = Folder::default();
    folder.write("docs/a.md", 1, "The heron.");
    world
        .base
        .keep_file_collections(&["handbook"])
        .await
        .unwrap();
    world.base.sync(&handbook(), &folder).await.unwrap();
    world.base.work().await.unwrap();
    // A node whose app has another version.
    let other = world.other_node().await;
    other.keep_file_collections(&["other"]).await.unwrap();
    other.work().await.unwrap();
    assert_eq!(found(&world, "heron").await, ["handbook:docs/a.md"]);
    world.base.keep_file_collections(&[]).await.unwrap();
    let bob = Person::named("bob");
    assert!(world.base.collection(&bob, "handbook").await.is_err());
}

/// How many votes somebody sees on a chunk, and how many are counted for them.
async fn votes(world: &World, who: &Person, id: &str, chunk: &str) -> (usize, u64) {
    let votes = world.base.votes(who, id, chunk).await.unwrap();
    let chunk = world.base.document_chunk(who, id, chunk).await.unwrap();
    (votes.len(), chunk.positive)
}

pub async fn g202_ratings_on_files_are_each_tenants_own(world: World) {
    let mut folder = Folder::default();
    folder.write("a.md", 1, "The heron stands.");
    folder.write("b.md", 1, "The heron stands.");
    world.base.sync(&handbook(), &folder).await.unwrap();
    world.base.work().await.unwrap();
    let id = "handbook:b.md";
    let (ann, mut elsewhere) = (Person::named("ann"), Person::named("ann"));
    elsewhere.tenant = "other".to_owned();
    let bob = Person::named("bob");
    let chunks = world.base.document_chunks(&ann, id, 0..1).await.unwrap();
    let chunk = chunks[0].id.as_str();
    for voter in [&ann, &elsewhere] {
        world.base.vote(voter, id, &vote(chunk)).await.unwrap();
    }
    assert_eq!(votes(&world, &ann, id, chunk).await, (1, 1));
    assert_eq!(votes(&world, &elsewhere, id, chunk).await, (1, 1));
    // Others of the tenant see that there is one, and not what was asked.
    assert_eq!(votes(&world, &bob, id, chunk).await, (0, 1));
    assert_eq!(found(&world, "heron").await, [id, "handbook:a.md"]);
    world.base.erase_person("t", "ann").await.unwrap();
    assert_eq!(votes(&world, &ann, id, chunk).await, (0, 0));
    assert_eq!(votes(&world, &elsewhere, id, chunk).await, (1, 1));
    assert_eq!(found(&world, "heron").await, ["handbook:a.md", id]);
}
