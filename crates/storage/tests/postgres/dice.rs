//! Random batches from a seed.

use ambit_storage::address::{LogKey, Space, ValueKey};
use ambit_storage::batch::{
    Batch, BatchCheck, BatchWrite, Head, LogEntry, MirrorWrite, NewEntry, ValueEntry,
};
use ambit_storage::directory::{AgentTouch, IndexRow, RowFilter, RowState, TrackRequest, Viewer};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, SessionIdentity, StoredValue};
use std::collections::BTreeMap;

/// Xorshift; the same seed gives the same batches.
#[derive(Clone)]
pub struct Dice(u64);

/// What one store gave out, by which batches of both stores say the same in their own numbers.
#[derive(Default)]
pub struct Given {
    pub epochs: Vec<u64>,
    pub heads: Vec<Option<Head>>,
    pub versions: Vec<Option<u64>>,
}

const NAMES: &[&str] = &["a", "a\0b", "ab", "a*b", "b%", "é", "a_b", "zz"];
/// A number that no store gives out here, hence the same for both.
const NEVER: u64 = 900_000_000_000_001;
const ENTRY_IDS: u64 = 40;
const TEXTS: &[&str] = &[
    "1",
    "2.5",
    "\"x\"",
    "\"a\\u0000b\"",
    "null",
    "true",
    "{\"b\":1,\"a\":2}",
    "{ \"a\":2.0, \"b\":1 }",
    "[1,2]",
    "9007199254740991",
    "-3",
    "1.0",
    "\"é\"",
    "{\"holder\":\"me\",\"epoch\":900000000000001}",
];

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()].clone()
    }

    fn maybe<T>(&mut self, value: T) -> Option<T> {
        (self.below(2) == 0).then_some(value)
    }

    pub fn identity(&mut self) -> SessionIdentity {
        identities()[usize::try_from(self.below(4)).unwrap()].clone()
    }

    pub fn space(&mut self) -> Space {
        Space::of("default", &self.identity())
    }

    pub fn log(&mut self) -> LogKey {
        let name = self.pick(&["items", "items", "blobs"]);
        self.space().log(name)
    }

    pub fn key(&mut self) -> ValueKey {
        let name = self.pick(NAMES);
        self.space().key(name)
    }

    fn json(&mut self) -> Json {
        Json::parse(self.pick(TEXTS)).unwrap()
    }

    fn items(&mut self) -> Vec<Json> {
        (0..self.below(5)).map(|_| self.json()).collect()
    }

    pub fn pattern(&mut self) -> Pattern {
        Pattern::parse(self.pick(&["*", "a*", "a", "*b", "a\\*b", "b%", "é*", "a\0*", "x*"]))
    }

    fn op(&mut self) -> Operation {
        match self.below(13) {
            0 => Operation::Set(self.json().into()),
            1 => Operation::Set(StoredValue::List(self.items())),
            2 => Operation::Del,
            3 => Operation::GetDel,
            4 => Operation::Incr(
                serde_json::from_str(self.pick(&["1", "-2", "0.5", "9007199254740000"])).unwrap(),
            ),
            5 | 6 => Operation::Push(self.items()),
            7 => Operation::Pop,
            8 => Operation::Pull(self.below(4)),
            9 => Operation::PullAll,
            10 => Operation::AddToSet(self.items()),
            11 => Operation::ArraySet(i64::try_from(self.below(7)).unwrap() - 3, self.json()),
            _ => {
                let add = BTreeMap::from([(self.pick(&["x", "y"]).to_owned(), 3)]);
                Operation::Tally {
                    labels: Json::parse("{\"m\":\"gpt\"}").unwrap(),
                    add,
                }
            }
        }
    }

    fn lease(&mut self, given: &Given) -> (ValueKey, Operation) {
        let key = self.space().lease();
        let choice = self.below(4);
        let at = self.below(1_000);
        let holder = self.pick(&["me", "you"]).to_owned();
        let epoch = recent(&given.epochs, at).unwrap_or(NEVER);
        let op = match choice {
            0 | 1 => Operation::Acquire { holder },
            2 => Operation::Renew { epoch },
            _ => Operation::Release { epoch },
        };
        (key, op)
    }

    fn track(&mut self) -> BatchWrite {
        let id = format!("row-{}", self.below(u64::MAX >> 12));
        let identity = self.identity();
        let agent = self.pick(&["agent", "other", "third"]).to_owned();
        let base = SessionIdentity::builder(agent.as_str())
            .chat_name("c")
            .build()
            .unwrap();
        BatchWrite::Track(Box::new(TrackRequest {
            id,
            tenant: "default".to_owned(),
            identity,
            agent,
            base,
            placement: vec!["postgres".to_owned(), "redis".to_owned()],
            created_by: self.maybe("ann".to_owned()),
            team: self.maybe("red".to_owned()),
            labels: BTreeMap::from([("k".to_owned(), self.pick(&["v", "w\0"]).to_owned())]),
        }))
    }

    pub fn write_without_mirror(&mut self) -> BatchWrite {
        match self.below(31) {
            0..10 => {
                let log = self.log();
                let entries = (0..self.below(5)).map(|_| {
                    let id = format!("id-{}", self.below(ENTRY_IDS));
                    NewEntry::new(id, self.json())
                });
                BatchWrite::append(log, entries.collect())
            }
            10 => {
                let log = self.log();
                let bodies = (0..3).map(|_| (self.below(12), self.json())).collect();
                BatchWrite::Redact { log, bodies }
            }
            11..22 => {
                let (key, op) = (self.key(), self.op());
                let life = self.maybe(10_000_000);
                BatchWrite::Apply { key, op, life }
            }
            22 => BatchWrite::Wipe {
                space: self.space(),
                pattern: self.pattern(),
            },
            23 => BatchWrite::Clear {
                space: self.space(),
            },
            24 => BatchWrite::Remove {
                space: self.space(),
            },
            25..29 => self.track(),
            29 => BatchWrite::Drop { log: self.log() },
            _ => BatchWrite::untrack("default", format!("row-{}", self.below(9))),
        }
    }

    fn mirror(&mut self, number: u64) -> BatchWrite {
        let time = 1_800_000_000_000;
        BatchWrite::Mirror(match self.below(4) {
            0 | 1 => {
                let log = self.log();
                let first = self.below(3);
                let entries: Vec<LogEntry> = (first..first + self.below(4))
                    .map(|seq| LogEntry {
                        seq,
                        id: format!("m-{number}-{seq}"),
                        at: time,
                        body: self.json(),
                    })
                    .collect();
                let last = entries.last().map_or(0, |entry| entry.seq);
                MirrorWrite::Log {
                    log,
                    head: Head::new(number, last),
                    entries,
                }
            }
            2 => {
                let value = self.json();
                let (kind, key) = (value.kind(), self.key());
                let entry = self.maybe(ValueEntry {
                    kind,
                    length: 1,
                    value,
                    version: number,
                    expires_at: None,
                    stale_possible: false,
                });
                MirrorWrite::Value { key, entry }
            }
            _ => MirrorWrite::Row(Box::new(self.row(number))),
        })
    }

    fn row(&mut self, number: u64) -> IndexRow {
        let time = 1_800_000_000_000;
        let identity = self.identity();
        let touch = AgentTouch {
            agent: "agent".to_owned(),
            base: identity.base(),
            first_at: time,
            last_at: time,
        };
        IndexRow {
            id: format!("mirrored-{number}"),
            ordinal: number,
            tenant: "default".to_owned(),
            identity,
            state: RowState::Live,
            generation: 0,
            items: 0,
            created_at: time,
            last_activity_at: time,
            placement: Vec::new(),
            created_by: None,
            team: None,
            labels: BTreeMap::new(),
            touches: vec![touch],
        }
    }

    pub fn batch(&mut self, given: &Given, number: u64, rows: &[String]) -> Batch {
        let mut batch = Batch::default();
        if self.below(4) == 0 {
            let (choice, at, key, log) = (self.below(3), self.below(1_000), self.key(), self.log());
            let lease = self.space().lease();
            batch.checks.push(match choice {
                0 => BatchCheck::head(log, recent(&given.heads, at).flatten()),
                1 => BatchCheck::version(key, recent(&given.versions, at).flatten()),
                _ => BatchCheck::lease(lease, recent(&given.epochs, at).unwrap_or(NEVER)),
            });
        }
        for _ in 0..self.below(4) + 1 {
            let write = match self.below(40) {
                0..6 => {
                    let (key, op) = self.lease(given);
                    BatchWrite::apply(key, op, Some(10_000_000))
                }
                6 if !rows.is_empty() => BatchWrite::untrack("default", self.pick(rows)),
                7 if self.below(3) == 0 => self.mirror(number * 1_000_000),
                _ => self.write_without_mirror(),
            };
            batch.writes.push(write);
        }
        batch
    }

    pub fn filter(&mut self) -> RowFilter {
        let mut filter = RowFilter::tenant("default");
        let identity = self.identity();
        match self.below(12) {
            0 => filter.user = identity.user_id().map(str::to_owned),
            1 => filter.agent = Some(self.pick(&["agent", "other"]).to_owned()),
            2 => filter.chat = Some(self.pick(&["c%", "c_1", "none\0"]).to_owned()),
            3 => filter.group = Some("team".to_owned()),
            4 => filter.scope = Some("chatHistory".to_owned()),
            5 => filter.storage_key = Some(identity.storage_key()),
            6 => filter.key = Some(identity.key()),
            7 => {
                let value = self.pick(&["v", "w\0"]).to_owned();
                filter.labels = BTreeMap::from([("k".to_owned(), value)]);
            }
            8 => {
                let user = self.maybe("ann".to_owned());
                filter.visible_to = Some(Viewer {
                    user,
                    team: self.maybe("red".to_owned()),
                });
            }
            9 => filter.tenant = None,
            10 => filter.created_after = Some(0),
            _ => {}
        }
        filter
    }
}

/// The four owners: their fields hold what a pattern would take for its own.
pub fn identities() -> Vec<SessionIdentity> {
    let of = |agent: &str| SessionIdentity::builder(agent).scope("chatHistory");
    [
        of("agent").chat_name("c%"),
        of("agent").chat_name("c_1").user_id("ann"),
        of("other").user_id("bob").group("team"),
        of("other").chat_name("c%"),
    ]
    .into_iter()
    .map(|builder| builder.build().unwrap())
    .collect()
}

fn recent<T: Clone>(given: &[T], at: u64) -> Option<T> {
    let back = usize::try_from(at).unwrap() % given.len().clamp(1, 3);
    given.iter().rev().nth(back).cloned()
}
