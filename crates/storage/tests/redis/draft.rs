//! Random batches: what a seed draws, before a store fills in its own numbers.

use ambit_storage::address::{Key, LogKey, Space};
use ambit_storage::batch::{Entry, Head, LogEntry, Mirror, NewEntry, Write};
use ambit_storage::directory::{Track, Tracked};
use ambit_storage::op::Op;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, SessionIdentity, Value};
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
    pub writes: Vec<Write>,
}

#[derive(Clone)]
pub enum Hope {
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
    match dice.below(41) {
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
        16 => Write::Drop { log },
        _ => Write::Apply {
            key: space.key(dice.of(&NAMES)),
            op: op(dice),
            life: dice.of(&[None, None, Some(HOUR)]),
        },
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
