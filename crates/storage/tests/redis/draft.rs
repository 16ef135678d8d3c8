//! Random batches: what a seed draws, before a store fills in its own numbers.

use ambit_storage::address::{LogKey, Space, ValueKey};
use ambit_storage::batch::{BatchWrite, Head, LogEntry, MirrorWrite, NewEntry, ValueEntry};
use ambit_storage::directory::{IndexRow, TrackRequest};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, SessionIdentity, StoredValue};
use std::collections::BTreeMap;

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

pub fn identities() -> Vec<SessionIdentity> {
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

pub fn spaces() -> Vec<Space> {
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
pub struct Draft {
    pub checks: Vec<Hope>,
    pub writes: Vec<BatchWrite>,
}

#[derive(Clone)]
pub enum Hope {
    Head(LogKey, bool),
    Version(ValueKey, bool),
    Lease(ValueKey, bool),
}

fn items(dice: &mut Dice) -> Vec<Json> {
    (0..dice.below(4)).map(|_| json(dice.of(&ITEMS))).collect()
}

fn op(dice: &mut Dice) -> Operation {
    match dice.below(16) {
        0 | 1 => Operation::Set(StoredValue::from(json(dice.of(&BODIES)))),
        2 => Operation::Set(StoredValue::List(items(dice))),
        3 => Operation::Del,
        4 => Operation::GetDel,
        5 => Operation::Incr(dice.of(&[
            1.into(),
            2.into(),
            serde_json::Number::from_f64(0.5).unwrap(),
        ])),
        6 | 7 => Operation::Push(items(dice)),
        8 => Operation::Pop,
        9 => Operation::Pull(dice.of(&[0, 1, 2, 9, u64::MAX])),
        10 => Operation::PullAll,
        11 | 12 => Operation::AddToSet(items(dice)),
        13 => Operation::ArraySet(dice.of(&[0, 1, -1, -9, 5]), json(dice.of(&ITEMS))),
        14 => Operation::Tally {
            labels: json("{\"m\":1}"),
            add: BTreeMap::from([("n".to_owned(), 3)]),
        },
        _ => match dice.below(4) {
            0 | 1 => Operation::Acquire {
                holder: dice.of(&["h1", "h2"]).to_owned(),
            },
            2 => Operation::Release { epoch: 0 },
            _ => Operation::Renew { epoch: 0 },
        },
    }
}

fn track(dice: &mut Dice, id: String) -> TrackRequest {
    let identity = dice.of(&identities());
    let agent = dice.of(&["A", "B", "C"]).to_owned();
    TrackRequest {
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

fn mirror(dice: &mut Dice, number: u64) -> MirrorWrite {
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
            MirrorWrite::Log {
                log: space.log(dice.of(&["items", "overlays"])),
                head: Head::new(1_000_000 * (number / 40 + 1) + 999_999, 9),
                entries: (first..first + dice.below(4) as u64).map(entry).collect(),
            }
        }
        1 => {
            let body = json(dice.of(&BODIES));
            let entry = ValueEntry {
                kind: body.kind(),
                length: 1,
                value: body,
                version: 1_000_000 * (number + 1),
                expires_at: None,
                stale_possible: false,
            };
            MirrorWrite::Value {
                key: space.key(dice.of(&NAMES)),
                entry: Some(entry).filter(|_| dice.below(3) > 0),
            }
        }
        _ => {
            let track = track(dice, format!("mirrored-{number}"));
            MirrorWrite::Row(Box::new(IndexRow {
                id: track.id,
                ordinal: 1_000_000 * (number + 1),
                tenant: track.tenant,
                identity: track.identity,
                state: ambit_storage::directory::RowState::Live,
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

fn write(dice: &mut Dice, number: u64) -> BatchWrite {
    let space = dice.of(&spaces());
    let log = space.log(dice.of(&["items", "items", "overlays", "b\u{1}"]));
    match dice.below(41) {
        0..8 => BatchWrite::append(
            log,
            (0..dice.below(4))
                .map(|_| NewEntry::new(format!("e {}", dice.below(40)), json(dice.of(&BODIES))))
                .collect(),
        ),
        8 => BatchWrite::redact(
            log,
            (0..dice.below(3))
                .map(|_| (dice.below(5) as u64, json("\"gone\"")))
                .collect(),
        ),
        9 => BatchWrite::Wipe {
            space,
            pattern: Pattern::parse(dice.of(&["*", "a*", "a", "*b", "a\\*b", "*\0*", "a*b*"])),
        },
        10 => BatchWrite::Clear { space },
        11 => BatchWrite::Remove { space },
        12 | 13 => BatchWrite::Track(Box::new(track(dice, format!("row-{number}")))),
        14 => BatchWrite::untrack(
            dice.of(&["t1", "t2"]).to_owned(),
            format!("row-{}", number.saturating_sub(dice.below(30) as u64)),
        ),
        15 => BatchWrite::Mirror(mirror(dice, number)),
        16 => BatchWrite::Drop { log },
        _ => BatchWrite::apply(
            space.key(dice.of(&NAMES)),
            op(dice),
            dice.of(&[None, None, Some(HOUR)]),
        ),
    }
}

pub fn draft(dice: &mut Dice, number: u64) -> Draft {
    let mut checks = Vec::new();
    if dice.below(5) == 0 {
        let (space, right) = (dice.of(&spaces()), dice.below(3) > 0);
        checks.push(match dice.below(3) {
            0 => Hope::Head(space.log("items"), right),
            1 => Hope::Version(space.key(dice.of(&NAMES)), right),
            _ => Hope::Lease(space.key(dice.of(&NAMES)), right),
        });
    }
    let mut writes: Vec<BatchWrite> = (0..1 + dice.below(4))
        .map(|_| write(dice, number))
        .collect();
    // Several operations on one value in one batch.
    if dice.below(3) == 0 {
        let key = dice.of(&spaces()).key(dice.of(&NAMES));
        writes.extend((0..4).map(|_| BatchWrite::apply(key.clone(), op(dice), None)));
    }
    // A mirrored number may be far ahead of those that a batch has reserved, and no two things have the same.
    let mirrors = writes
        .iter()
        .filter(|write| matches!(write, BatchWrite::Mirror(_)));
    if mirrors.count() > 1 {
        writes.retain(|write| !matches!(write, BatchWrite::Mirror(_)));
    }
    if writes
        .iter()
        .any(|write| matches!(write, BatchWrite::Mirror(_)))
    {
        writes.retain(|write| !matches!(write, BatchWrite::Append { .. } | BatchWrite::Track(_)));
    }
    Draft { checks, writes }
}
