//! Power that is lost at any moment, over a disk that forgets what was not synced: G15.

use crate::child::Worker;
use crate::orders::{Job, Order};
use crate::run_tally::RunTally;
use crate::shim::{Action, Shim, Step, journal, power_loss};
use crate::stores::{Store, wait_for};
use ambit_storage::address::{Space, ValueKey};
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::driver::{self, Driver, DriverOptions, LogRange, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::{Json, Result, SessionIdentity};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// What a process writes.
#[derive(Clone, Serialize, Deserialize)]
pub struct Writing {
    /// Where each acknowledged write is noted. The file is on the disk that is watched, so that the journal of the
    /// disk says what was acknowledged when.
    acknowledged: PathBuf,
    seed: u64,
    writers: u64,
    each: u64,
}

fn space(writer: u64) -> Space {
    let identity = SessionIdentity::builder("Agent").chat_name(writer.to_string());
    Space::of("default", &identity.build().unwrap())
}

fn number(writer: u64) -> ValueKey {
    space(writer).key("number")
}

/// What a writer has appended last.
fn text(writer: u64) -> ValueKey {
    space(writer).key("text")
}

/// The process's part: each writer appends to a log of its own, and counts and repeats it in the same batch.
pub async fn write(store: Arc<dyn Driver>, writing: &Writing) -> Result<()> {
    let notes = std::fs::File::create(&writing.acknowledged).unwrap();
    let notes = Arc::new(Mutex::new(notes));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..writing.writers {
        let (store, notes, writing) = (store.clone(), notes.clone(), writing.clone());
        writers.spawn(async move {
            let mut dice = StdRng::seed_from_u64(writing.seed + writer);
            for step in 1..=writing.each {
                let length = dice.random_range(1..4_000);
                store.commit(batch(writer, step, length)).await?;
                let note = format!("{writer} {step}\n");
                // One write, so that the journal has each note whole.
                notes.lock().unwrap().write_all(note.as_bytes()).unwrap();
            }
            Ok(())
        });
    }
    writers
        .join_all()
        .await
        .into_iter()
        .collect::<Result<()>>()?;
    println!("written");
    // It ends here as it would by a kill: closing would sync what was not.
    std::process::exit(0);
}

fn batch(writer: u64, step: u64, length: usize) -> Batch {
    let body = Json::of(&"x".repeat(length)).unwrap();
    Batch::of([
        BatchWrite::append(
            space(writer).log("items"),
            vec![NewEntry::new(step.to_string(), body.clone())],
        ),
        BatchWrite::apply(number(writer), Operation::Incr(1.into()), None),
        BatchWrite::apply(text(writer), Operation::Set(body.into()), None),
    ])
}

/// A run of the process on a watched disk: its journal.
struct Run {
    folder: TempDir,
    root: PathBuf,
    steps: Vec<Step>,
    writers: u64,
}

/// What a run writes, and on what disk.
#[derive(Clone, Copy)]
struct RunSettings {
    writers: u64,
    /// The writes of each of them.
    each: u64,
    is_synced: bool,
    /// Microseconds that a sync takes.
    sync_us: u32,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            writers: 1,
            each: 24,
            is_synced: true,
            sync_us: 0,
        }
    }
}

impl Run {
    fn new(store: &Store, settings: RunSettings) -> Self {
        let RunSettings {
            writers,
            each,
            is_synced,
            sync_us,
        } = settings;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("root");
        std::fs::create_dir(&root).unwrap();
        let (log, fail) = (folder.path().join("log"), folder.path().join("fail"));
        std::fs::write(&log, "").unwrap();
        let order = Order {
            is_synced,
            ..Order::new(
                &url(store, &root),
                Job::Write(Writing {
                    acknowledged: root.join("acknowledged"),
                    seed: 7,
                    writers,
                    each,
                }),
            )
        };
        let shim = Shim::compile(folder.path());
        let mut worker = Worker::start_with(&order, |command| {
            shim.put_under(command, &root, &log, &fail);
            command.env("AMBIT_SHIM_SYNC_US", sync_us.to_string());
        });
        assert_eq!(worker.rest(), ["written"]);
        assert!(worker.ended_well());
        let steps = journal(&log).unwrap();
        Self {
            folder,
            root,
            steps,
            writers,
        }
    }

    /// Cuts the power behind so many steps; what was acknowledged by then and is not there, or another damage.
    fn cut(&self, store: &Store, steps: &[Step], dice: &mut StdRng) -> Vec<String> {
        let into = tempfile::tempdir_in(self.folder.path()).unwrap();
        let share = [0.0, 0.5, 1.0][dice.random_range(0..3)];
        let survives = &mut || dice.random_bool(share);
        power_loss(steps, &self.root, into.path(), survives).unwrap();
        let acknowledged = self.acknowledged(steps);
        wait_for(async {
            match driver::open(&url(store, into.path()), DriverOptions::default()).await {
                Ok(driver) => damage(&*driver, &acknowledged).await,
                Err(error) => vec![error.to_string()],
            }
        })
    }

    /// The last step that was acknowledged to each writer.
    fn acknowledged(&self, steps: &[Step]) -> Vec<u64> {
        let mut last = vec![0; usize::try_from(self.writers).unwrap()];
        for step in steps.iter().filter(|step| is_note(step)) {
            let Action::Write(_, bytes) = &step.action else {
                continue;
            };
            for line in String::from_utf8_lossy(bytes).lines() {
                let (writer, step) = line.split_once(' ').unwrap();
                last[writer.parse::<usize>().unwrap()] = step.parse().unwrap();
            }
        }
        last
    }

    /// What power losses at so many random moments damage, each tried with what was not synced there or not.
    fn damage(&self, store: &Store, losses: usize) -> Vec<String> {
        let mut dice = StdRng::seed_from_u64(15);
        let mut found = Vec::new();
        for _ in 0..losses {
            let at = dice.random_range(1..=self.steps.len());
            let damage = self.cut(store, &self.steps[..at], &mut dice);
            found.extend(
                damage
                    .into_iter()
                    .map(|what| format!("after step {at}: {what}")),
            );
        }
        found
    }

    /// How many writes were acknowledged, and how often the store's files were synced for them, behind the first
    /// write and as long as every writer was at work.
    fn syncs(&self, each: u64) -> (usize, usize) {
        let first = self.steps.iter().position(is_note).unwrap();
        let is_last = |step: &Step| match &step.action {
            Action::Write(_, note) => {
                is_note(step) && note.ends_with(format!(" {each}\n").as_bytes())
            }
            _ => false,
        };
        let last = self.steps.iter().position(is_last).unwrap();
        let between = &self.steps[first + 1..=last];
        let syncs = between.iter().filter(|step| step.action == Action::Sync);
        (
            between.iter().filter(|step| is_note(step)).count(),
            syncs.count(),
        )
    }
}

fn is_note(step: &Step) -> bool {
    step.path.ends_with("acknowledged") && matches!(step.action, Action::Write(..))
}

fn url(store: &Store, folder: &Path) -> String {
    let file = if store.name == "sqlite" {
        "/ambit.db"
    } else {
        "/files"
    };
    format!("{}:{}{file}", store.name, folder.display())
}

/// What is not as it was acknowledged: each writer's log, number and text stand at its last step, or one further.
async fn damage(driver: &dyn Driver, acknowledged: &[u64]) -> Vec<String> {
    let mut found = driver
        .check()
        .await
        .unwrap_or_else(|error| vec![error.to_string()]);
    for (writer, last) in acknowledged.iter().enumerate() {
        let writer = writer as u64;
        let log = driver
            .read(&space(writer).log("items"), LogRange::from(1, 10_000))
            .await;
        let (ids, bodies): (Vec<String>, Vec<Json>) = match log {
            Ok(page) => {
                let entries = page.entries.into_iter();
                entries.map(|entry| (entry.id, entry.body)).unzip()
            }
            Err(error) => (vec![error.to_string()], Vec::new()),
        };
        let expected: Vec<String> = (1..=ids.len()).map(|step| step.to_string()).collect();
        let stands = ids.len() as u64;
        if ids != expected || stands < *last || stands > last + 1 {
            found.push(format!(
                "writer {writer}: {last} acknowledged, found {ids:?}"
            ));
        }
        let counted = driver.get(&number(writer), ValuePart::Whole).await;
        let counted = counted.map(|entry| entry.map(|entry| entry.value));
        let expected = (stands > 0).then(|| Json::stored(stands.to_string()));
        if !matches!(&counted, Ok(counted) if *counted == expected) {
            found.push(format!(
                "writer {writer}: {stands} entries, counted {counted:?}"
            ));
        }
        let repeated = driver.get(&text(writer), ValuePart::Whole).await;
        let repeated = repeated.map(|entry| entry.map(|entry| entry.value));
        if !matches!(&repeated, Ok(text) if text.as_ref() == bodies.last()) {
            found.push(format!(
                "writer {writer}: its text is not that of its last entry"
            ));
        }
    }
    driver.close().await.unwrap();
    found
}

pub fn g015_what_was_acknowledged_survives_a_loss_of_power(store: &'static Store) {
    for writers in [1, 4] {
        let settings = RunSettings {
            writers,
            each: 24 / writers,
            ..RunSettings::default()
        };
        let run = Run::new(store, settings);
        let none: Vec<String> = Vec::new();
        assert_eq!(run.damage(store, 40), none, "{writers} writers");
        // The folders of new files were synced: at the end nothing rests on luck.
        let mut dice = StdRng::seed_from_u64(0);
        assert_eq!(run.cut(store, &run.steps, &mut dice), none);
    }
}

pub fn g015_without_syncs_a_loss_of_power_is_noticed(store: &'static Store) {
    let mut run = Run::new(store, RunSettings::default());
    assert_eq!(run.damage(store, 10), Vec::<String>::new());
    // The same run on a disk that ignores every other sync, and on one that ignores the folders'.
    let is_folder = |step: &Step| step.path.is_dir();
    let whole = run.steps.clone();
    let mut syncs = 0;
    run.steps.retain(|step| {
        syncs += usize::from(step.action == Action::Sync);
        step.action != Action::Sync || syncs % 2 == 0
    });
    assert!(
        !run.damage(store, 40).is_empty(),
        "lost syncs are not noticed"
    );
    run.steps = whole;
    run.steps
        .retain(|step| step.action != Action::Sync || !is_folder(step));
    assert!(
        !run.damage(store, 40).is_empty(),
        "lost syncs of folders are not noticed"
    );
    // And with less durability the store itself leaves them out.
    let unsynced = RunSettings {
        is_synced: false,
        ..RunSettings::default()
    };
    let less = Run::new(store, unsynced);
    assert!(
        !less.damage(store, 40).is_empty(),
        "\"normal\" syncs as \"full\" does"
    );
}

/// Long beside what a writer needs to come back with its next write, also on a busy machine.
const SYNC_US: u32 = 20_000;

pub fn g015_writers_share_their_syncs(store: &'static Store) {
    let one = RunSettings {
        each: 33,
        ..RunSettings::default()
    };
    let alone = Run::new(store, one).syncs(33);
    println!("{}: one writer, {alone:?} commits and syncs", store.name);
    if store.name != "sqlite" {
        // It promises correctness only: each commit syncs for itself.
        assert!(alone.0 == 32 && alone.1 >= 32);
        return;
    }
    assert_eq!(alone, (32, 32));
    let many = RunSettings {
        writers: 16,
        each: 17,
        sync_us: SYNC_US,
        ..RunSettings::default()
    };
    let mut runs = RunTally::new();
    // Writers that the machine keeps from a processor come too late for their group.
    while runs.is_open() {
        let (commits, syncs) = Run::new(store, many).syncs(17);
        println!("sqlite: 16 writers, {commits} commits, {syncs} syncs");
        assert!(commits > 128, "{commits} commits");
        // Those that began before the first acknowledgement and end behind the last belong to one group each.
        runs.count((commits, syncs), syncs <= commits / 8 + 2);
    }
}
