//! A thousand random batches on the file driver and on the memory driver: same outcomes, same errors, same content.

use super::{ALL, identity};
use ambit_storage::address::{ITEMS, Space};
use ambit_storage::batch::{
    Batch, BatchCheck, BatchWrite, Head, NewEntry, ValueEntry, WriteOutcome,
};
use ambit_storage::directory::{RowFilter, TrackRequest};
use ambit_storage::driver::file::FileDriver;
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::driver::{Driver, DriverOptions, Durability, LogRange, ValuePart, ValueScan};
use ambit_storage::operation::{Operation, OperationOutput};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, StoredValue};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

const BATCHES: usize = 1000;
const LOGS: [&str; 2] = [ITEMS, "overlays"];
const KEYS: [&str; 4] = ["one", "two", "li*st", "lease"];

/// A generator with a seed, so that a failure comes again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % sides
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }

    fn json(&mut self) -> Json {
        let texts = [
            "1",
            "2.5",
            "\"a\"",
            "{\"a\":1}",
            "[1,\"b\"]",
            "null",
            "true",
            "9007199254740991",
        ];
        Json::parse(self.pick(&texts)).unwrap()
    }

    fn op(&mut self, key: &str, epoch: u64) -> Operation {
        if key == "lease" {
            let holder = self.pick(&["h1", "h2"]).to_owned();
            return match self.roll(4) {
                0 => Operation::Renew { epoch },
                1 => Operation::Release { epoch },
                _ => Operation::Acquire { holder },
            };
        }
        let items = vec![self.json(), self.json()];
        match self.roll(12) {
            0 | 1 => Operation::Set(StoredValue::from(self.json())),
            2 => Operation::Del,
            3 => Operation::GetDel,
            4 => Operation::Incr(3.into()),
            5 | 6 => Operation::Push(items),
            7 => Operation::Pop,
            8 => Operation::Pull(2),
            9 => Operation::PullAll,
            10 => Operation::AddToSet(items),
            _ => Operation::ArraySet(1 - i64::try_from(self.roll(4)).unwrap(), self.json()),
        }
    }
}

/// One driver, and its own numbers for what both have.
struct Side {
    driver: Box<dyn Driver>,
    heads: HashMap<String, Head>,
    versions: HashMap<String, u64>,
    ranks: HashMap<u64, usize>,
}

impl Side {
    fn new(driver: impl Driver) -> Self {
        Self {
            driver: Box::new(driver),
            heads: HashMap::new(),
            versions: HashMap::new(),
            ranks: HashMap::new(),
        }
    }

    /// The number's place among the numbers seen, which is the same on both sides.
    fn rank(&mut self, number: u64) -> usize {
        let next = self.ranks.len();
        *self.ranks.entry(number).or_insert(next)
    }

    fn spell(&mut self, write: &BatchWrite, outcome: WriteOutcome) -> String {
        match outcome {
            WriteOutcome::Appended { head, seqs } => {
                let BatchWrite::Append { log, .. } = write else {
                    panic!("{write:?}")
                };
                self.heads.insert(log.to_string(), head);
                format!(
                    "appended {} {} {seqs:?}",
                    self.rank(head.generation),
                    head.last
                )
            }
            WriteOutcome::Applied { output, version } => {
                let BatchWrite::Apply { key, .. } = write else {
                    panic!("{write:?}")
                };
                self.versions.insert(key.to_string(), version.unwrap_or(0));
                let output = match output {
                    OperationOutput::Epoch(epoch) => format!("epoch {}", self.rank(epoch)),
                    other => format!("{other:?}"),
                };
                format!("{output} {:?}", version.map(|version| self.rank(version)))
            }
            other => format!("{other:?}"),
        }
    }

    async fn commit(
        &mut self,
        plan: &mut dyn FnMut(&Self) -> Batch,
    ) -> Result<Vec<String>, String> {
        let batch = plan(self);
        let hide = |text: String| text.replace(|letter: char| letter.is_ascii_digit(), "");
        let done = self
            .driver
            .commit(batch.clone())
            .await
            .map_err(|error| hide(error.to_string()))?;
        Ok(batch
            .writes
            .iter()
            .zip(done)
            .map(|(write, outcome)| self.spell(write, outcome))
            .collect())
    }

    fn entry(&mut self, name: &str, entry: &ValueEntry) -> String {
        let value = if name == "lease" {
            "a lease"
        } else {
            entry.value.as_str()
        };
        let ends = entry.expires_at.is_some();
        format!(
            "{name} {} {} {value} {} {ends}",
            entry.kind,
            entry.length,
            self.rank(entry.version)
        )
    }

    async fn content(&mut self, spaces: &[Space]) -> Vec<String> {
        let mut said = Vec::new();
        for space in spaces {
            said.push(format!("{:?}", self.driver.logs(space).await.unwrap()));
            for log in LOGS {
                for range in [LogRange::from(2, 5), LogRange::last(1000)] {
                    let page = self.driver.read(&space.log(log), range).await.unwrap();
                    let head = page
                        .head
                        .map(|head| (self.rank(head.generation), head.last));
                    let entries: Vec<_> = page
                        .entries
                        .into_iter()
                        .map(|kept| (kept.seq, kept.id, kept.body))
                        .collect();
                    said.push(format!("{log} {head:?} {entries:?}"));
                }
            }
            let scan = ValueScan::first(Pattern::all(), 9, ValuePart::Items(0, -2));
            for (name, entry) in self.driver.scan(space, &scan).await.unwrap() {
                said.push(self.entry(&name, &entry));
            }
        }
        for row in self
            .driver
            .identities(&RowFilter::default(), &ALL)
            .await
            .unwrap()
        {
            let touched: Vec<_> = row.touches.iter().map(|touch| &touch.agent).collect();
            let generation = self.rank(row.generation);
            said.push(format!(
                "{} {:?} {} {generation} {touched:?}",
                row.id, row.state, row.items
            ));
        }
        said
    }
}

fn write(dice: &mut Dice, spaces: &[Space], side: &Side) -> BatchWrite {
    let at = dice.roll(spaces.len());
    let space = spaces[at].clone();
    let log = space.log(dice.pick(&LOGS));
    let name = dice.pick(&KEYS);
    let key = space.key(name);
    let entry = |dice: &mut Dice| NewEntry::new(format!("id{}", dice.roll(40)), dice.json());
    match dice.roll(24) {
        0..=6 => BatchWrite::append(log, (0..dice.roll(4)).map(|_| entry(dice)).collect()),
        7 => BatchWrite::redact(
            log,
            vec![(1 + dice.roll(9) as u64, Json::of("gone").unwrap())],
        ),
        8 => BatchWrite::Wipe {
            space,
            pattern: Pattern::parse(dice.pick(&["*", "o*", "li\\*st"])),
        },
        9 => BatchWrite::Drop { log },
        14 if dice.roll(2) == 0 => BatchWrite::Clear { space },
        10 if dice.roll(2) == 0 => BatchWrite::Remove { space },
        11 => BatchWrite::untrack("default", format!("row-{at}")),
        12 | 13 => {
            let agent = dice.pick(&["a", "b"]).to_owned();
            let identity = identity("a", &at.to_string());
            let base = identity.base();
            BatchWrite::Track(Box::new(TrackRequest {
                id: format!("row-{at}"),
                tenant: "default".to_owned(),
                identity,
                agent,
                base,
                placement: vec![],
                created_by: None,
                team: None,
                labels: BTreeMap::new(),
            }))
        }
        _ => {
            let epoch = side.versions.get(&key.to_string()).copied().unwrap_or(0);
            let op = dice.op(name, epoch);
            let life = (dice.roll(3) == 0).then_some(3_600_000);
            BatchWrite::Apply { key, op, life }
        }
    }
}

fn check(dice: &mut Dice, spaces: &[Space], side: &Side) -> BatchCheck {
    let space = spaces[dice.roll(spaces.len())].clone();
    let key = space.key(dice.pick(&KEYS));
    let version = side
        .versions
        .get(&key.to_string())
        .copied()
        .filter(|version| *version != 0);
    match dice.roll(3) {
        0 => BatchCheck::Version { key, version },
        1 => BatchCheck::lease(
            space.key("lease"),
            side.versions
                .get(&space.key("lease").to_string())
                .copied()
                .unwrap_or(0),
        ),
        _ => {
            let log = space.log(ITEMS);
            let head = side.heads.get(&log.to_string()).copied();
            BatchCheck::Head { log, head }
        }
    }
}

#[tokio::test]
async fn a_thousand_random_batches_do_the_same_as_on_the_memory_driver() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let options = DriverOptions {
        durability: Durability::Normal,
        ..DriverOptions::default()
    };
    let mut memory = Side::new(MemoryDriver::new(options.clone()));
    let mut file = Side::new(FileDriver::open(&place, options.clone()).unwrap());
    let spaces: Vec<_> = (0..3)
        .map(|at| Space::of("default", &identity("a", &at.to_string())))
        .collect();
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut refused = 0;
    for turn in 0..BATCHES {
        let seed = dice.0;
        let mut plan = |side: &Side| {
            let mut dice = Dice(seed);
            let count = 1 + dice.roll(4);
            let checks = if dice.roll(4) == 0 {
                vec![check(&mut dice, &spaces, side)]
            } else {
                vec![]
            };
            Batch {
                checks,
                writes: (0..count)
                    .map(|_| write(&mut dice, &spaces, side))
                    .collect(),
            }
        };
        let expected = memory.commit(&mut plan).await;
        let found = file.commit(&mut plan).await;
        assert_eq!(found, expected, "batch {turn}: {:?}", plan(&memory));
        refused += usize::from(expected.is_err());
        dice.roll(2);
        if turn % 20 == 0 {
            assert_eq!(
                file.content(&spaces).await,
                memory.content(&spaces).await,
                "after batch {turn}"
            );
        }
        if turn % 70 == 0 {
            file.driver = Box::new(FileDriver::open(&place, options.clone()).unwrap());
        }
        if turn % 90 == 0 {
            options.clock.advance(Duration::from_secs(3_601));
        }
    }
    assert!(
        refused > 50 && refused < BATCHES / 2,
        "{refused} of {BATCHES} were refused"
    );
    assert_eq!(file.driver.check().await.unwrap(), Vec::<String>::new());
}
