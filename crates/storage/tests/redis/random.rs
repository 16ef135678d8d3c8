//! Random batches on two stores: both must answer and hold the same.

use ambit_storage::address::{Key, LogKey, Space};
use ambit_storage::batch::{Batch, Check, Entry, Head, LogEntry, Mirror, NewEntry, Outcome, Write};
use ambit_storage::clock::Clock;
use ambit_storage::directory::{Filter, Order, PageRequest, Track, Tracked, Viewer};
use ambit_storage::driver::{Driver, Part, Range, Scan};
use ambit_storage::op::{Op, epoch_of};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, SessionIdentity, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A small generator, so that a seed always gives the same run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// One store and the numbers it gave.
pub struct Side {
    pub driver: Arc<dyn Driver>,
}

const NAMES: [&str; 6] = ["a", "ab", "a*b", "b\0c", "ключ", "zz"];
const BODIES: [&str; 9] = [
    "1",
    "1.5",
    "-3",
    "\"text\"",
    "{\"b\":1,\"a\":[]}",
    "[]",
    "[1,2,{\"x\":null}]",
    "null",
    "true",
];
const ITEMS: [&str; 7] = [
    "1",
    "1.0",
    "2",
    "\"i\"",
    "{\"a\":1,\"b\":2}",
    "{\"b\":2,\"a\":1}",
    "[]",
];
const HOUR: i64 = 3_600_000;

fn identities() -> Vec<SessionIdentity> {
    let build = |agent: &str, user: Option<&str>, chat: &str, group: Option<&str>| {
        let mut builder = SessionIdentity::builder(agent).chat_name(chat);
        if let Some(user) = user {
            builder = builder.user_id(user);
        }
        if let Some(group) = group {
            builder = builder.group(group);
        }
        builder.build().unwrap()
    };
    vec![
        build("A", Some("u%"), "c", None),
        build("A", Some("u1"), "c", None),
        build("B", None, "c_", None),
        build("B", Some("u1"), "d", Some("g")),
    ]
}

fn spaces() -> Vec<Space> {
    let mut spaces = Vec::new();
    for tenant in ["t1", "t2"] {
        spaces.extend(
            identities()
                .iter()
                .map(|identity| Space::of(tenant, identity)),
        );
    }
    spaces.push(Space::user_memory("t1", "u1"));
    spaces
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

/// A batch, of which each store fills in its own numbers.
struct Draft {
    checks: Vec<Hope>,
    writes: Vec<Write>,
}

#[derive(Clone)]
enum Hope {
    Head(LogKey, bool),
    Version(Key, bool),
    Lease(Key, bool),
}

fn items(dice: &mut Dice) -> Vec<Json> {
    (0..dice.below(4)).map(|_| json(dice.of(&ITEMS))).collect()
}

fn op(dice: &mut Dice) -> Op {
    match dice.below(16) {
        0 | 1 => Op::Set(Value::from(json(dice.of(&BODIES)))),
        2 => Op::Set(Value::List(items(dice))),
        3 => Op::Del,
        4 => Op::GetDel,
        5 => Op::Incr(dice.of(&[
            1.into(),
            2.into(),
            serde_json::Number::from_f64(0.5).unwrap(),
        ])),
        6 | 7 => Op::Push(items(dice)),
        8 => Op::Pop,
        9 => Op::Pull(dice.of(&[0, 1, 2, 9, u64::MAX])),
        10 => Op::PullAll,
        11 | 12 => Op::AddToSet(items(dice)),
        13 => Op::ArraySet(dice.of(&[0, 1, -1, -9, 5]), json(dice.of(&ITEMS))),
        14 => Op::Tally {
            labels: json("{\"m\":1}"),
            add: BTreeMap::from([("n".to_owned(), 3)]),
        },
        _ => match dice.below(4) {
            0 | 1 => Op::Acquire {
                holder: dice.of(&["h1", "h2"]).to_owned(),
            },
            2 => Op::Release { epoch: 0 },
            _ => Op::Renew { epoch: 0 },
        },
    }
}

fn track(dice: &mut Dice, id: String) -> Track {
    let identity = dice.of(&identities());
    let agent = dice.of(&["A", "B", "C"]).to_owned();
    Track {
        id,
        tenant: dice.of(&["t1", "t2"]).to_owned(),
        base: identity.base(),
        identity,
        agent,
        placement: vec!["p".to_owned()],
        created_by: Some(dice.of(&["u1", "u2"]).to_owned()),
        team: dice.of(&[None, Some("team".to_owned())]),
        labels: BTreeMap::from([("l".to_owned(), dice.of(&["x", "y"]).to_owned())]),
    }
}

fn mirror(dice: &mut Dice, number: u64) -> Mirror {
    let space = dice.of(&spaces());
    match dice.below(3) {
        0 => {
            let first = dice.of(&[1, 1, 1, 2]);
            let entry = |seq| LogEntry {
                seq,
                id: format!("m{number}-{seq}"),
                at: 77,
                body: json("[7]"),
            };
            Mirror::Log {
                log: space.log(dice.of(&["items", "overlays"])),
                head: Head {
                    generation: 1_000_000 * (number / 40 + 1) + 999_999,
                    last: 9,
                },
                entries: (first..first + dice.below(4) as u64).map(entry).collect(),
            }
        }
        1 => {
            let body = json(dice.of(&BODIES));
            let entry = Entry {
                kind: body.kind(),
                length: 1,
                value: body,
                version: 1_000_000 * (number + 1),
                expires_at: None,
                stale_possible: false,
            };
            Mirror::Value {
                key: space.key(dice.of(&NAMES)),
                entry: Some(entry).filter(|_| dice.below(3) > 0),
            }
        }
        _ => {
            let track = track(dice, format!("mirrored-{number}"));
            Mirror::Row(Box::new(Tracked {
                id: track.id,
                ordinal: 1_000_000 * (number + 1),
                tenant: track.tenant,
                identity: track.identity,
                state: ambit_storage::directory::State::Live,
                generation: 0,
                items: 0,
                created_at: 5,
                last_activity_at: 6,
                placement: track.placement,
                created_by: track.created_by,
                team: track.team,
                labels: track.labels,
                touches: Vec::new(),
            }))
        }
    }
}

fn write(dice: &mut Dice, number: u64) -> Write {
    let space = dice.of(&spaces());
    let log = space.log(dice.of(&["items", "items", "overlays", "b\u{1}"]));
    match dice.below(40) {
        0..8 => Write::Append {
            log,
            entries: (0..dice.below(4))
                .map(|_| NewEntry {
                    id: format!("e {}", dice.below(40)),
                    body: json(dice.of(&BODIES)),
                })
                .collect(),
        },
        8 => Write::Redact {
            log,
            bodies: (0..dice.below(3))
                .map(|_| (dice.below(5) as u64, json("\"gone\"")))
                .collect(),
        },
        9 => Write::Wipe {
            space,
            pattern: Pattern::parse(dice.of(&["*", "a*", "a", "*b", "a\\*b", "*\0*", "a*b*"])),
        },
        10 => Write::Clear { space },
        11 => Write::Remove { space },
        12 | 13 => Write::Track(Box::new(track(dice, format!("row-{number}")))),
        14 => Write::Untrack {
            tenant: dice.of(&["t1", "t2"]).to_owned(),
            id: format!("row-{}", number.saturating_sub(dice.below(30) as u64)),
        },
        15 => Write::Mirror(mirror(dice, number)),
        _ => Write::Apply {
            key: space.key(dice.of(&NAMES)),
            op: op(dice),
            life: dice.of(&[None, None, Some(HOUR)]),
        },
    }
}

fn draft(dice: &mut Dice, number: u64) -> Draft {
    let mut checks = Vec::new();
    if dice.below(5) == 0 {
        let (space, right) = (dice.of(&spaces()), dice.below(3) > 0);
        checks.push(match dice.below(3) {
            0 => Hope::Head(space.log("items"), right),
            1 => Hope::Version(space.key(dice.of(&NAMES)), right),
            _ => Hope::Lease(space.key(dice.of(&NAMES)), right),
        });
    }
    let mut writes: Vec<Write> = (0..1 + dice.below(4))
        .map(|_| write(dice, number))
        .collect();
    // Several operations on one value in one batch.
    if dice.below(3) == 0 {
        let key = dice.of(&spaces()).key(dice.of(&NAMES));
        writes.extend((0..4).map(|_| Write::Apply {
            key: key.clone(),
            op: op(dice),
            life: None,
        }));
    }
    // A mirrored number may be far ahead of those that a batch has reserved, and no two things have the same.
    let mirrors = writes
        .iter()
        .filter(|write| matches!(write, Write::Mirror(_)));
    if mirrors.count() > 1 {
        writes.retain(|write| !matches!(write, Write::Mirror(_)));
    }
    if writes.iter().any(|write| matches!(write, Write::Mirror(_))) {
        writes.retain(|write| !matches!(write, Write::Append { .. } | Write::Track(_)));
    }
    Draft { checks, writes }
}

impl Side {
    async fn epoch(&self, key: &Key) -> Result<u64, Failure> {
        let entry = self.driver.get(key, Part::Whole).await?;
        Ok(entry
            .and_then(|entry| epoch_of(&Value::from(entry.value)))
            .unwrap_or(1))
    }

    async fn batch(&self, draft: &Draft) -> Result<Batch, Failure> {
        let mut batch = Batch::of(draft.writes.clone());
        for write in &mut batch.writes {
            if let Write::Apply {
                key,
                op: Op::Renew { epoch } | Op::Release { epoch },
                ..
            } = write
            {
                *epoch = self.epoch(key).await?;
            }
        }
        for hope in &draft.checks {
            batch.checks.push(match hope.clone() {
                Hope::Head(log, right) => {
                    let head = self.driver.read(&log, Range::head()).await?.head;
                    let wrong = head.map_or(
                        Some(Head {
                            generation: 3,
                            last: 3,
                        }),
                        |_| None,
                    );
                    Check::Head {
                        log,
                        head: if right { head } else { wrong },
                    }
                }
                Hope::Version(key, right) => {
                    let entry = self.driver.get(&key, Part::Nothing).await?;
                    let version = entry.map(|entry| entry.version);
                    let wrong = version.map_or(Some(3), |_| None);
                    Check::Version {
                        key,
                        version: if right { version } else { wrong },
                    }
                }
                Hope::Lease(key, right) => {
                    let epoch = self.epoch(&key).await? + u64::from(!right);
                    Check::Lease { key, epoch }
                }
            });
        }
        Ok(batch)
    }

    async fn try_commit(&self, draft: &Draft) -> Result<String, Failure> {
        let outcome = self.driver.commit(self.batch(draft).await?).await;
        Ok(blur(&match outcome {
            Ok(outcomes) => outcomes.iter().map(spell).collect::<Vec<_>>().join("; "),
            Err(error) => format!("{error}"),
        }))
    }

    /// All that can be read, without the store's own numbers.
    async fn view(&self) -> Result<Vec<String>, Failure> {
        let mut view = Vec::new();
        for space in spaces() {
            for name in self.driver.logs(&space).await? {
                let log = space.log(name);
                let page = self.driver.read(&log, Range::from(1, usize::MAX)).await?;
                let mut back = self.driver.read(&log, Range::last(3)).await?.entries;
                back.reverse();
                assert!(page.entries.ends_with(&back), "{log} read backwards");
                let entries = page.entries.iter();
                let entries: Vec<_> = entries
                    .map(|entry| (entry.seq, &entry.id, &entry.body))
                    .collect();
                view.push(blur(&format!("{log} {:?} {entries:?}", page.head)));
            }
            for (pattern, after, limit, part) in [
                ("*", None, 100, Part::Whole),
                ("a*", Some("a"), 2, Part::Items(-2, -1)),
                ("*b*", None, 2, Part::Items(1, 5)),
                ("ab", None, 100, Part::Nothing),
            ] {
                let scan = Scan {
                    pattern: Pattern::parse(pattern),
                    after: after.map(str::to_owned),
                    limit,
                    part,
                };
                for (name, entry) in self.driver.scan(&space, &scan).await? {
                    let ends = entry.expires_at.is_some();
                    let (kind, value) = (entry.kind, &entry.value);
                    let text = format!("{kind} {} {value} {ends}", entry.length);
                    view.push(blur(&format!("{space} {pattern} {name:?} {text}")));
                }
            }
        }
        view.extend(self.rows().await?);
        Ok(view)
    }

    async fn rows(&self) -> Result<Vec<String>, Failure> {
        let some = |text: &str| Some(text.to_owned());
        let filters = [
            Filter::default(),
            Filter::tenant("t1"),
            Filter {
                agent: some("C"),
                ..Filter::tenant("t1")
            },
            Filter {
                user: some("u1"),
                agent: some("A"),
                ..Filter::tenant("t2")
            },
            Filter {
                group: some("g"),
                ..Filter::tenant("t2")
            },
            Filter {
                chat: some("c"),
                ..Filter::default()
            },
            Filter {
                user: some("u%"),
                labels: BTreeMap::from([("l".to_owned(), "x".to_owned())]),
                ..Filter::tenant("t1")
            },
            Filter {
                visible_to: Some(Viewer {
                    user: some("u1"),
                    team: some("team"),
                }),
                ..Filter::tenant("t1")
            },
            Filter {
                storage_key: Some(identities()[1].storage_key()),
                ..Filter::tenant("t1")
            },
            Filter {
                active_before: Some(7),
                ..Filter::tenant("t1")
            },
        ];
        let mut view = Vec::new();
        for (place, filter) in filters.iter().enumerate() {
            let count = self.driver.count(filter).await?;
            for order in [Order::Oldest, Order::Newest, Order::Recent] {
                let mut rows: Vec<Tracked> = Vec::new();
                loop {
                    let after = rows.last().map(Tracked::position);
                    let page = PageRequest {
                        order,
                        after,
                        limit: 2,
                    };
                    let page = self.driver.identities(filter, &page).await?;
                    let is_end = page.is_empty();
                    rows.extend(page);
                    if is_end {
                        break;
                    }
                }
                assert_eq!(
                    rows.len() as u64,
                    count,
                    "filter {place} in order {order:?}"
                );
                let mut sorted = rows.clone();
                order.sort(&mut sorted);
                assert_eq!(rows, sorted, "filter {place}");
                if order == Order::Recent {
                    rows.sort_by_key(|row| row.ordinal);
                }
                view.extend(
                    rows.into_iter()
                        .map(|row| format!("{place} {order:?} {}", spell_row(row))),
                );
            }
        }
        Ok(view)
    }
}

fn spell_row(mut row: Tracked) -> String {
    // Exact to the hours by which the clock is moved.
    let coarse = |time: i64| (time + 30_000) / 60_000;
    row.ordinal = 0;
    row.generation = row.generation.min(1);
    (row.created_at, row.last_activity_at) = (coarse(row.created_at), coarse(row.last_activity_at));
    for touch in &mut row.touches {
        (touch.first_at, touch.last_at) = (coarse(touch.first_at), coarse(touch.last_at));
    }
    format!("{row:?}")
}

fn spell(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Applied { output, version } => format!("{output:?} {}", version.is_some()),
        other => format!("{other:?}"),
    }
}

/// The text without the numbers that each store gives for itself.
fn blur(text: &str) -> String {
    let mut text = text.to_owned();
    for mark in [
        "\"epoch\":",
        "generation: ",
        "Epoch(",
        "expected ",
        "found ",
        "with epoch ",
    ] {
        let pieces: Vec<String> = text
            .split(mark)
            .enumerate()
            .map(|(place, piece)| match place {
                0 => piece.to_owned(),
                _ => piece
                    .trim_start_matches(|letter: char| letter.is_ascii_digit())
                    .to_owned(),
            })
            .collect();
        text = pieces.join(&format!("{mark}_"));
    }
    text
}

/// Runs as many batches on both sides; the first difference is the failure.
pub async fn compare(
    left: &Side,
    right: &Side,
    clock: &Clock,
    seed: u64,
    count: u64,
) -> Result<(), Failure> {
    let mut dice = Dice(seed);
    for number in 0..count {
        let draft = draft(&mut dice, number);
        let (a, b) = (
            left.try_commit(&draft).await?,
            right.try_commit(&draft).await?,
        );
        if a != b {
            let what = format!("{:?}", draft.writes);
            return Err(format!("seed {seed}, batch {number}: {what}\n  {a}\n  {b}").into());
        }
        if dice.below(12) == 0 {
            clock.advance(Duration::from_secs(40 * 60));
        }
        if dice.below(40) == 0 {
            let (a, b) = (
                left.driver.sweep(10_000).await?,
                right.driver.sweep(10_000).await?,
            );
            assert_eq!(a, b, "seed {seed}, swept after {number}");
        }
        if dice.below(8) == 0 {
            let (a, b) = (left.view().await?, right.view().await?);
            if let Some((a, b)) = a.iter().zip(&b).find(|(a, b)| a != b) {
                let what = format!("{:?}", draft.writes);
                return Err(format!("seed {seed}, after {number}: {what}\n  {a}\n  {b}").into());
            }
            if a.len() != b.len() {
                return Err(format!("seed {seed}, after {number}: {a:#?}\n{b:#?}").into());
            }
        }
    }
    let findings = right.driver.check().await?;
    if findings.is_empty() {
        Ok(())
    } else {
        Err(findings.join("\n").into())
    }
}
