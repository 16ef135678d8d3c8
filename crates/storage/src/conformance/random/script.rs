//! The script: operations drawn by a generator of fixed seed, the same for every driver.

use super::super::steps::{
    acquire, clear, drop_log, identity, jsons, remove, request, space, wipe,
};
use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{BatchWrite, NewEntry};
use crate::clock::Millis;
use crate::directory::{RowOrder, TrackRequest};
use crate::driver::{Direction, LogRange, ValuePart, ValueScan};
use crate::operation::Operation;
use crate::pattern::Pattern;
use crate::{Json, StoredValue};
use std::collections::BTreeMap;

/// One step of the script. What depends on earlier answers (versions, heads, places) is filled in when it runs.
#[derive(Clone, Debug)]
pub(super) enum ScriptStep {
    Commit {
        guard: Option<ScriptGuard>,
        actions: Vec<ScriptWrite>,
    },
    Read(LogKey, LogRange),
    Get(ValueKey, ValuePart),
    Scan(Space, ValueScan),
    Logs(Space),
    Rows(ScriptRows),
    Advance,
    Sweep,
}

#[derive(Clone, Debug)]
pub(super) struct ScriptRows {
    pub(super) who: ScriptFilter,
    pub(super) order: RowOrder,
    /// Behind the row seen last.
    pub(super) goes_on: bool,
    pub(super) limit: usize,
}

/// A condition on what was seen last.
#[derive(Clone, Debug)]
pub(super) enum ScriptGuard {
    Head(LogKey),
    Version(ValueKey),
    Lease(ValueKey),
    /// The row of the chat as it is, or one that is no longer there.
    Row(&'static str, bool),
    /// The same by the row's id alone.
    RowId(&'static str, bool),
}

#[derive(Clone, Debug)]
pub(super) enum ScriptWrite {
    /// What is the same whatever was answered before.
    Fixed(BatchWrite),
    /// An operation on a lease with the epoch seen last.
    Renew(ValueKey),
    Release(ValueKey),
    /// Deletes the row seen last.
    Untrack,
    /// Copies the entries read last to a log that nothing else writes to.
    CopyLog,
    /// Copies the value read last.
    CopyValue(ValueKey),
    /// Writes the row seen last back with another label.
    CopyRow(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ScriptFilter {
    All,
    Agent(&'static str),
    Chat(&'static str),
    Label(&'static str),
    /// Active since this many steps of the clock.
    ActiveSince(i64),
}

const HOUR: Millis = 3_600_000;
/// How far one step of the clock goes. Lives end between two steps, so that the time a driver takes does not matter.
pub(super) const STEP: Millis = 20 * HOUR;
const LIVES: &[Option<Millis>] = &[None, None, Some(50 * HOUR), Some(110 * HOUR)];

const CHATS: &[&str] = &["one", "t_o", "t%o", "three"];
const AGENTS: &[&str] = &["Agent", "Second"];
const KEYS: &[&str] = &["n", "n:2", "l", "l:2", "x", "x_2"];
const LOGS: &[&str] = &["items", "items", "usage", "o%"];
const PATTERNS: &[&str] = &["*", "n*", "l:*", "*2", "x_2", "n", "*:*", "%"];
const VALUES: &[&str] = &[
    "0",
    "41",
    "1.5",
    "9007199254740991",
    "\"text\"",
    "\"\\u0000\"",
    "true",
    "null",
    "{}",
    "{\"b\":1,\"a\":[2]}",
    "[]",
    "[1,2,3]",
    "[[1],{\"a\":1},null]",
];
const ITEMS: &[&str] = &[
    "1",
    "2",
    "3",
    "\"a\"",
    "{\"x\":1,\"y\":2}",
    "{\"y\":2,\"x\":1}",
    "[1]",
    "null",
    "1.0",
];

/// Draws numbers; xorshift is enough, and is the same everywhere.
pub(super) struct Xorshift(u64);

impl Xorshift {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below this one.
    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn count(&mut self, end: u64) -> usize {
        usize::try_from(self.below(end)).unwrap_or(0)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let at = self.count(from.len() as u64);
        from[at]
    }

    fn space(&mut self) -> Space {
        space(self.pick(CHATS))
    }

    fn log(&mut self) -> LogKey {
        self.space().log(self.pick(LOGS))
    }

    fn key(&mut self) -> ValueKey {
        self.space().key(self.pick(KEYS))
    }

    fn lease(&mut self) -> ValueKey {
        self.space().lease()
    }

    fn items(&mut self) -> Vec<Json> {
        let count = self.count(4);
        let items: Vec<&str> = (0..count).map(|_| self.pick(ITEMS)).collect();
        jsons(&items)
    }

    fn json(&mut self, from: &[&str]) -> Json {
        Json::stored(self.pick(from))
    }

    fn index(&mut self) -> i64 {
        self.pick(&[0, 1, 2, 5, 40, -1, -2, -7])
    }

    fn part(&mut self) -> ValuePart {
        match self.below(5) {
            0 => ValuePart::Nothing,
            2 => ValuePart::Dates,
            1 => ValuePart::Items(self.index(), self.index()),
            _ => ValuePart::Whole,
        }
    }

    fn op(&mut self) -> Operation {
        match self.below(14) {
            0 | 1 => Operation::Set(StoredValue::from(self.json(VALUES))),
            2 => Operation::Replace(StoredValue::from(self.json(VALUES))),
            3 => Operation::Del,
            4 => Operation::GetDel,
            5 | 6 => Operation::Incr(self.pick(&[1_i64, -1, 7, 1 << 40]).into()),
            7 | 8 => Operation::Push(self.items()),
            9 => Operation::Pop,
            10 => Operation::Pull(self.below(4)),
            11 => Operation::PullAll,
            12 => Operation::AddToSet(self.items()),
            _ => Operation::ArraySet(self.index(), self.json(ITEMS)),
        }
    }

    fn tally(&mut self) -> BatchWrite {
        let add = BTreeMap::from([(self.pick(&["a", "b"]).to_owned(), 3)]);
        let labels = self.json(VALUES);
        let key = self.space().key("sums");
        let tally = Operation::Tally { labels, add };
        BatchWrite::apply(key, tally, self.pick(LIVES))
    }

    /// Tracks an identity for an agent; sometimes with other drivers than most do.
    fn track(&mut self, number: usize) -> BatchWrite {
        let agent = self.pick(AGENTS).to_owned();
        let identity = identity(self.pick(CHATS));
        let drivers = self.pick(&["main", "main", "main", "other"]);
        BatchWrite::Track(Box::new(TrackRequest {
            placement: vec![drivers.to_owned()],
            agent,
            ..request(&format!("row{number}"), &identity)
        }))
    }

    fn action(&mut self, number: usize) -> ScriptWrite {
        ScriptWrite::Fixed(match self.below(100) {
            0..=24 => {
                let entries = (0..self.count(4)).map(|_| {
                    let id = format!("id{}", self.below(60));
                    NewEntry::new(id, self.json(VALUES))
                });
                let entries = entries.collect();
                BatchWrite::append(self.log(), entries)
            }
            25 => drop_log(&self.log()),
            26..=28 => BatchWrite::redact(self.log(), vec![(self.below(9), self.json(VALUES))]),
            29..=68 => BatchWrite::apply(self.key(), self.op(), self.pick(LIVES)),
            69..=71 => self.tally(),
            72..=75 => {
                let holder = self.pick(&["one", "two"]);
                BatchWrite::apply(self.lease(), acquire(holder), Some(50 * HOUR))
            }
            78..=79 => wipe(&self.space(), self.pick(PATTERNS)),
            80 => clear(&self.space()),
            81 => remove(&self.space()),
            82..=89 => self.track(number),
            rest => return self.depending(rest),
        })
    }

    /// A write that depends on earlier answers.
    fn depending(&mut self, drawn: u64) -> ScriptWrite {
        match drawn {
            76 => ScriptWrite::Renew(self.lease()),
            77 => ScriptWrite::Release(self.lease()),
            90 => ScriptWrite::Untrack,
            91..=93 => ScriptWrite::CopyLog,
            94..=97 => ScriptWrite::CopyValue(self.key()),
            _ => ScriptWrite::CopyRow(self.pick(&["red", "blue"])),
        }
    }

    fn guard(&mut self) -> ScriptGuard {
        match self.below(5) {
            0 => ScriptGuard::Head(self.log()),
            1 => ScriptGuard::Version(self.key()),
            2 => ScriptGuard::Row(self.pick(CHATS), self.chance(30)),
            3 => ScriptGuard::RowId(self.pick(CHATS), self.chance(30)),
            _ => ScriptGuard::Lease(self.lease()),
        }
    }

    fn who(&mut self) -> ScriptFilter {
        match self.below(5) {
            0 => ScriptFilter::All,
            1 => ScriptFilter::Agent(self.pick(AGENTS)),
            2 => ScriptFilter::Chat(self.pick(CHATS)),
            3 => ScriptFilter::Label(self.pick(&["red", "blue"])),
            _ => ScriptFilter::ActiveSince(i64::try_from(self.below(4)).unwrap_or(0)),
        }
    }

    fn step(&mut self, number: usize) -> ScriptStep {
        match self.below(100) {
            0..=49 => ScriptStep::Commit {
                guard: self.chance(15).then(|| self.guard()),
                actions: (0..=self.count(3))
                    .map(|at| self.action(number * 4 + at))
                    .collect(),
            },
            50..=61 => {
                let log = self.log();
                let from = self.pick(&[0, 1, 2, 5, 20, u64::MAX]);
                let limit = self.pick(&[0, 1, 3, 1_000]);
                let range = match self.chance(40) {
                    true => LogRange::back_from(from, limit),
                    false => LogRange::from(from, limit),
                };
                ScriptStep::Read(log, range)
            }
            62..=77 => ScriptStep::Get(self.key(), self.part()),
            78..=86 => {
                let space = self.space();
                let scan = ValueScan {
                    after: self
                        .pick(&[None, None, Some("l"), Some("n:"), Some("z")])
                        .map(str::to_owned),
                    direction: match self.chance(40) {
                        true => Direction::Backward,
                        false => Direction::Forward,
                    },
                    bytes: self.pick(&[1, 20, usize::MAX]),
                    ..ValueScan::first(
                        Pattern::parse(self.pick(PATTERNS)),
                        self.pick(&[0, 1, 2, 1_000]),
                        self.part(),
                    )
                };
                ScriptStep::Scan(space, scan)
            }
            87..=88 => ScriptStep::Logs(self.space()),
            89..=96 => ScriptStep::Rows(ScriptRows {
                who: self.who(),
                // `Recent` is left to its own case: within a second it depends on how fast the store is.
                order: match self.chance(50) {
                    true => RowOrder::Newest,
                    false => RowOrder::Oldest,
                },
                goes_on: self.chance(30),
                limit: self.pick(&[1, 2, 1_000]),
            }),
            97..=98 => ScriptStep::Sweep,
            _ => ScriptStep::Advance,
        }
    }
}

/// The script of about this many operations.
pub(super) fn script(seed: u64, operations: usize) -> Vec<ScriptStep> {
    let mut random = Xorshift::new(seed);
    let mut steps = Vec::new();
    let mut count = 0;
    while count < operations {
        let step = random.step(steps.len());
        count += match &step {
            ScriptStep::Commit { actions, .. } => actions.len(),
            _ => 1,
        };
        steps.push(step);
    }
    steps
}
