//! Random batches on the sqlite driver and on the memory driver, which must answer the same and hold the same.
//! Numbers given by the store are compared by the order in which they were first seen.

use ambit_storage::address::{Key, LogKey, Space};
use ambit_storage::batch::{Batch, Check, Entry, Head, Mirror, NewEntry, Outcome, Write};
use ambit_storage::directory::{Filter, Order, PageRequest, Track, Tracked, Viewer};
use ambit_storage::driver::{Driver, Durability, Options, Part, Range, Scan, open};
use ambit_storage::op::{Op, Output, epoch_of};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Error, Json, SessionIdentity, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

const LOGS: [&str; 3] = ["items", "overlays", "b\u{e4}d'name"];
const NAMES: [&str; 5] = ["a", "a\u{0}b", "ab", "b%_", "\u{1f600}"];
const AGENTS: [&str; 2] = ["one", "two"];

/// A small generator, so that a run can be repeated by its seed.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let at = self.roll(from.len() as u64);
        from[usize::try_from(at).unwrap()].clone()
    }
}

fn identities() -> Vec<SessionIdentity> {
    let make = |agent: &str| SessionIdentity::builder(agent);
    vec![
        make("one").user_id("u1").chat_name("c1").build().unwrap(),
        make("one").user_id("u2").build().unwrap(),
        make("two").chat_name("c1").scope("usage").build().unwrap(),
        make("two").group("g'1").user_id("u1").build().unwrap(),
    ]
}

fn spaces() -> Vec<Space> {
    identities()
        .iter()
        .map(|identity| Space::of("t", identity))
        .collect()
}

/// One of the two stores, with what has been seen of it.
struct Store {
    driver: Arc<dyn Driver>,
    numbers: HashMap<u64, usize>,
}

impl Store {
    fn number(&mut self, number: u64) -> String {
        let next = self.numbers.len();
        format!("n{}", self.numbers.entry(number).or_insert(next))
    }

    fn head(&mut self, head: Option<Head>) -> String {
        match head {
            Some(head) => format!("{}/{}", self.number(head.generation), head.last),
            None => "absent".to_owned(),
        }
    }

    fn answer(&mut self, answer: Result<Vec<Outcome>, Error>) -> String {
        let outcomes = match answer {
            Ok(outcomes) => outcomes,
            Err(error @ (Error::Conflict { .. } | Error::Fenced { .. })) => {
                return error.to_string().replace(|c: char| c.is_ascii_digit(), "");
            }
            Err(error) => return error.to_string(),
        };
        let texts = outcomes.into_iter().map(|outcome| match outcome {
            Outcome::Appended { head, seqs } => format!("{} {seqs:?}", self.head(Some(head))),
            Outcome::Applied { output, version } => {
                let version = version.map(|version| self.number(version));
                let output = match output {
                    Output::Epoch(epoch) => self.number(epoch),
                    // A lease's text holds its epoch.
                    Output::Taken(Some(value)) if epoch_of(&value).is_some() => "lease".to_owned(),
                    other => format!("{other:?}"),
                };
                format!("{output} {version:?}")
            }
            other => format!("{other:?}"),
        });
        texts.collect::<Vec<_>>().join("; ")
    }

    async fn contents(&mut self) -> String {
        let mut text = String::new();
        for space in spaces() {
            let names = self.driver.logs(&space).await.unwrap();
            text += &format!("{space} {names:?}\n");
            for name in LOGS {
                for range in [
                    Range::from(0, 1_000),
                    Range::from(3, 2),
                    Range::back_from(4, 2),
                ] {
                    let page = self.driver.read(&space.log(name), range).await.unwrap();
                    let entries: Vec<_> = page
                        .entries
                        .iter()
                        .map(|entry| (entry.seq, &entry.id, &entry.body))
                        .collect();
                    let line = format!("{entries:?}\n");
                    text += &format!("  {name} {} {line}", self.head(page.head));
                }
            }
            for (pattern, part) in [
                ("*", Part::Whole),
                ("a*", Part::Items(-2, 5)),
                ("*b*", Part::Nothing),
            ] {
                let scan = Scan {
                    pattern: Pattern::parse(pattern),
                    after: (part == Part::Nothing).then(|| "a".to_owned()),
                    limit: 3,
                    part,
                };
                for (name, entry) in self.driver.scan(&space, &scan).await.unwrap() {
                    text += &self.value(&name, &entry);
                }
            }
        }
        text
    }

    fn value(&mut self, name: &str, entry: &Entry) -> String {
        let value = if epoch_of(&entry.value.clone().into()).is_some() {
            "lease".to_owned()
        } else {
            entry.value.to_string()
        };
        let (kind, length) = (entry.kind, entry.length);
        let (version, ends) = (self.number(entry.version), entry.expires_at.is_some());
        format!("  {name:?} {kind} {length} {value} {version} {ends}\n")
    }

    async fn rows(&mut self, dice: &mut Dice) -> String {
        let filter = any_filter(dice);
        let order = dice.pick(&[Order::Oldest, Order::Newest, Order::Recent]);
        let mut page = PageRequest {
            order,
            after: None,
            limit: 2,
        };
        let mut text = format!(
            "{filter:?} {order:?} {}\n",
            self.driver.count(&filter).await.unwrap()
        );
        loop {
            let rows = self.driver.identities(&filter, &page).await.unwrap();
            for row in &rows {
                text += &self.row(row);
            }
            match rows.last() {
                Some(last) => page.after = Some(last.position()),
                None => return text,
            }
        }
    }

    fn row(&mut self, row: &Tracked) -> String {
        let touches: Vec<_> = row
            .touches
            .iter()
            .map(|touch| {
                (
                    &touch.agent,
                    &touch.base,
                    touch.last_at > touch.first_at + 900,
                )
            })
            .collect();
        let has_moved = row.last_activity_at > row.created_at + 900;
        let labels = &row.labels;
        let by = (&row.created_by, &row.team, &row.placement);
        let line = format!(
            "{labels:?} {by:?} {touches:?} {has_moved} {:?} {}\n",
            row.state, row.items
        );
        let ordinal = self.number(row.ordinal);
        let generation = if row.generation == 0 {
            "none".to_owned()
        } else {
            self.number(row.generation)
        };
        format!("{} {ordinal} {} {generation} {line}", row.id, row.identity)
    }

    /// A batch by the dice. What it quotes (heads, versions, epochs) is what this store has.
    async fn batch(&self, dice: &mut Dice) -> Batch {
        let mut batch = Batch::default();
        for _ in 0..dice.roll(3).saturating_sub(1) {
            batch.checks.push(self.any_check(dice).await);
        }
        for _ in 0..=dice.roll(4) {
            batch.writes.push(self.any_write(dice).await);
        }
        batch
    }

    async fn any_check(&self, dice: &mut Dice) -> Check {
        let space = dice.pick(&spaces());
        let is_right = dice.roll(4) > 0;
        let key = space.key(dice.pick(&NAMES));
        match dice.roll(3) {
            0 => {
                let log = space.log(dice.pick(&LOGS));
                let head = self.driver.read(&log, Range::head()).await.unwrap().head;
                Check::Head {
                    log,
                    head: head.filter(|_| is_right),
                }
            }
            1 => Check::Version {
                version: self.version(&key).await.filter(|_| is_right),
                key,
            },
            _ => Check::Lease {
                epoch: self.epoch(&key).await,
                key,
            },
        }
    }

    async fn version(&self, key: &Key) -> Option<u64> {
        let entry = self.driver.get(key, Part::Nothing).await.unwrap();
        entry.map(|entry| entry.version)
    }

    async fn epoch(&self, key: &Key) -> u64 {
        let entry = self.driver.get(key, Part::Whole).await.unwrap();
        entry
            .and_then(|entry| epoch_of(&entry.value.into()))
            .unwrap_or(999_999)
    }

    async fn any_write(&self, dice: &mut Dice) -> Write {
        let space = dice.pick(&spaces());
        let log = space.log(dice.pick(&LOGS));
        match dice.roll(24) {
            0..=6 => Write::Append {
                log,
                entries: (0..dice.roll(4)).map(|_| any_entry(dice)).collect(),
            },
            7 => Write::Redact {
                log,
                bodies: (0..dice.roll(3))
                    .map(|_| (dice.roll(6), any_json(dice)))
                    .collect(),
            },
            8..=16 => {
                let key = space.key(dice.pick(&NAMES));
                Write::Apply {
                    op: self.any_op(&key, dice).await,
                    life: (dice.roll(3) == 0).then_some(4_000),
                    key,
                }
            }
            17 => Write::Wipe {
                space,
                pattern: Pattern::parse(dice.pick(&["*", "a*", "*b", "a"])),
            },
            18 => Write::Clear { space },
            19 => Write::Remove { space },
            20 | 21 => Write::Track(Box::new(any_track(dice))),
            22 => Write::Untrack {
                tenant: dice.pick(&["t", "other"]).to_owned(),
                id: format!("row-{}", dice.roll(4)),
            },
            _ => self.any_mirror(log, dice).await,
        }
    }

    /// Copies a log or a value of this store to itself, or deletes a value.
    async fn any_mirror(&self, log: LogKey, dice: &mut Dice) -> Write {
        if dice.roll(2) == 0 {
            let page = self
                .driver
                .read(&log, Range::from(dice.roll(4), 10))
                .await
                .unwrap();
            let head = page.head.unwrap_or(Head {
                generation: 1,
                last: 0,
            });
            let log = dice.pick(&spaces()).log(log.name);
            return Write::Mirror(Mirror::Log {
                log,
                head,
                entries: page.entries,
            });
        }
        let key = log.space.key(dice.pick(&NAMES));
        let entry = self.driver.get(&key, Part::Whole).await.unwrap();
        let key = dice.pick(&spaces()).key(key.name);
        Write::Mirror(Mirror::Value { key, entry })
    }

    async fn any_op(&self, key: &Key, dice: &mut Dice) -> Op {
        let items = |dice: &mut Dice| {
            (0..dice.roll(4))
                .map(|_| any_json(dice))
                .collect::<Vec<_>>()
        };
        match dice.roll(15) {
            0 => Op::Set(any_json(dice).into()),
            1 => Op::Set(Value::List(items(dice))),
            2 => Op::Del,
            3 => Op::GetDel,
            4 => Op::Incr(dice.roll(10).into()),
            5 | 6 => Op::Push(items(dice)),
            7 => Op::Pop,
            8 => Op::Pull(dice.roll(3)),
            9 => Op::PullAll,
            10 => Op::AddToSet(items(dice)),
            11 => Op::ArraySet(dice.roll(7) as i64 - 3, any_json(dice)),
            12 => Op::Tally {
                labels: Json::parse("{\"m\":1}").unwrap(),
                add: BTreeMap::from([("tokens".to_owned(), dice.roll(9) as i64)]),
            },
            13 => Op::Acquire {
                holder: dice.pick(&AGENTS).to_owned(),
            },
            _ if dice.roll(2) == 0 => Op::Renew {
                epoch: self.epoch(key).await,
            },
            _ => Op::Release {
                epoch: self.epoch(key).await,
            },
        }
    }
}

fn any_entry(dice: &mut Dice) -> NewEntry {
    NewEntry {
        id: format!("e{}", dice.roll(40)),
        body: any_json(dice),
    }
}

fn any_json(dice: &mut Dice) -> Json {
    let texts = [
        "1",
        "2.5",
        "\"x\"",
        "{\"a\":1,\"b\":[2]}",
        "{\"b\":[2.0],\"a\":1}",
        "[1,2,[3]]",
        "null",
        "true",
        "\"\\u0000\u{1f600}\"",
    ];
    Json::parse(dice.pick(&texts)).unwrap()
}

fn any_track(dice: &mut Dice) -> Track {
    let which = dice.roll(4);
    let identity = identities()[usize::try_from(which).unwrap()].clone();
    Track {
        id: format!("row-{which}"),
        tenant: "t".to_owned(),
        agent: dice.pick(&AGENTS).to_owned(),
        base: identity.base(),
        identity,
        placement: vec!["sqlite".to_owned()],
        created_by: dice.pick(&[None, Some("u1".to_owned()), Some("u9".to_owned())]),
        team: dice.pick(&[None, Some("red".to_owned())]),
        labels: dice.pick(&[
            BTreeMap::new(),
            BTreeMap::from([("l'".to_owned(), "v".to_owned())]),
        ]),
    }
}

fn any_filter(dice: &mut Dice) -> Filter {
    let mut filter = Filter::default();
    let maybe = |dice: &mut Dice, values: &[&str]| {
        (dice.roll(4) == 0).then(|| dice.pick(values).to_owned())
    };
    filter.tenant = (dice.roll(5) > 0).then(|| "t".to_owned());
    filter.id = maybe(dice, &["row-0", "row-1"]);
    filter.storage_key = maybe(dice, &[&identities()[0].storage_key()]);
    filter.key = maybe(dice, &[&identities()[1].key()]);
    filter.agent = maybe(dice, &AGENTS);
    filter.user = maybe(dice, &["u1", "u2", "u%"]);
    filter.chat = maybe(dice, &["c1"]);
    filter.group = maybe(dice, &["g'1"]);
    filter.scope = maybe(dice, &["usage"]);
    filter.created_after = (dice.roll(6) == 0).then_some(5);
    filter.active_before = (dice.roll(6) == 0).then_some(i64::MAX);
    filter.active_after = (dice.roll(6) == 0).then_some(5);
    filter.created_before = (dice.roll(6) == 0).then_some(i64::MAX);
    if dice.roll(4) == 0 {
        filter.labels.insert("l'".to_owned(), "v".to_owned());
    }
    if dice.roll(4) == 0 {
        filter.visible_to = Some(Viewer {
            user: maybe(dice, &["u1", "u9"]),
            team: maybe(dice, &["red"]),
        });
    }
    filter
}

#[tokio::test]
async fn random_batches_mean_the_same_as_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        durability: Durability::Normal,
        ..Options::default()
    };
    let file = format!("sqlite:{}/model.db", folder.path().display());
    let mut stores = Vec::new();
    for url in ["memory:", file.as_str()] {
        stores.push(Store {
            driver: open(url, options.clone()).await.unwrap(),
            numbers: HashMap::new(),
        });
    }
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for round in 0..250 {
        if dice.roll(2) == 0 {
            options.clock.advance(Duration::from_millis(1_500));
        }
        let mut told = Vec::new();
        let mut rolled = Vec::new();
        for store in &mut stores {
            let mut dice = dice.clone();
            let batch = store.batch(&mut dice).await;
            let shown = format!("{batch:?}");
            let answer = store.driver.commit(batch).await;
            let mut text = store.answer(answer);
            if round % 7 == 0 {
                text += &format!("\nswept {}", store.driver.sweep(1_000).await.unwrap());
            }
            text += &format!("\n{}", store.contents().await);
            text += &store.rows(&mut dice).await;
            told.push((text, shown));
            rolled.push(dice);
        }
        let (memory, sqlite) = (&told[0].0, &told[1].0);
        assert_eq!(sqlite, memory, "round {round}: {}", told[1].1);
        dice = rolled.remove(0);
    }
    let findings = stores[1].driver.check().await.unwrap();
    assert_eq!(findings, Vec::<String>::new());
    stores[1].driver.close().await.unwrap();
}
