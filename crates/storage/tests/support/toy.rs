//! A driver in one file, as a third party would write it: every write copies all there is, changes the copy and puts
//! it in the place of the old one. It uses nothing but the crate's public names.

use ambit_storage::address::{ITEMS, Key, LogKey, Space};
use ambit_storage::batch::*;
use ambit_storage::clock::Millis;
use ambit_storage::directory::{Filter, PageRequest, State, Touch, Tracked};
use ambit_storage::driver::{Direction, Driver, Hub, Options, Page, Part, Range, Scan, Watch};
use ambit_storage::json::{Json, Value};
use ambit_storage::op::{self, Op};
use ambit_storage::{Error, Result};
use async_trait::async_trait;
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub fn open(_address: String, options: Options) -> BoxFuture<'static, Result<Arc<dyn Driver>>> {
    let toy = Toy {
        all: Mutex::new(Some(All::default())),
        hub: Hub::default(),
        options,
    };
    Box::pin(async move { Ok(Arc::new(toy) as Arc<dyn Driver>) })
}

struct Toy {
    all: Mutex<Option<All>>,
    hub: Hub,
    options: Options,
}

#[derive(Clone, Default)]
struct All {
    last: u64,
    now: Millis,
    logs: BTreeMap<LogKey, (u64, Vec<LogEntry>)>,
    values: BTreeMap<Key, Entry>,
    rows: BTreeMap<u64, Tracked>,
}

impl Toy {
    /// Works on a copy, which is kept if the work succeeds.
    fn with<T>(&self, work: impl FnOnce(&mut All) -> Result<T>) -> Result<T> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = || Error::Unavailable {
            what: "the toy (it was closed)".to_owned(),
            source: None,
        };
        let mut copy = all.as_ref().ok_or_else(closed)?.clone();
        copy.now = self.options.clock.now();
        let result = work(&mut copy)?;
        *all = Some(copy);
        Ok(result)
    }
}

fn stored(value: Value, version: u64, expires_at: Option<Millis>) -> Entry {
    let length = if let Value::List(items) = &value {
        items.len() as u64
    } else {
        1
    };
    Entry {
        kind: value.kind(),
        length,
        value: value.json(),
        version,
        expires_at,
        stale_possible: false,
    }
}

fn part_of(entry: &Entry, part: Part) -> Entry {
    let value = match (Value::from(entry.value.clone()), part) {
        (_, Part::Nothing) => Json::stored("null"),
        (Value::List(items), part) if entry.kind == "list" => {
            let wanted = part.of(entry.length);
            Value::List(items[wanted.start as usize..wanted.end as usize].to_vec()).json()
        }
        _ => entry.value.clone(),
    };
    Entry {
        value,
        ..entry.clone()
    }
}

fn expect<T: std::fmt::Debug + PartialEq>(
    what: String,
    expected: &Option<T>,
    found: &Option<T>,
) -> Result<()> {
    let spell = |seen: &Option<T>| {
        seen.as_ref()
            .map_or("nothing".to_owned(), |seen| format!("{seen:?}"))
    };
    let (wanted, there) = (spell(expected), spell(found));
    if expected == found {
        Ok(())
    } else {
        Err(Error::Conflict {
            what,
            expected: wanted,
            found: there,
        })
    }
}

impl All {
    fn tick(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn head(&self, log: &LogKey) -> Option<Head> {
        self.logs.get(log).map(|(generation, entries)| Head {
            generation: *generation,
            last: entries.len() as u64,
        })
    }

    fn live(&self, key: &Key) -> Option<&Entry> {
        self.values
            .get(key)
            .filter(|entry| entry.expires_at.is_none_or(|end| end > self.now))
    }

    fn check(&self, check: &Check) -> Result<()> {
        match check {
            Check::Head { log, head } => expect(log.to_string(), head, &self.head(log)),
            Check::Version { key, version } => expect(
                key.to_string(),
                version,
                &self.live(key).map(|entry| entry.version),
            ),
            Check::Lease { key, epoch } => match self
                .live(key)
                .and_then(|entry| op::epoch_of(&entry.value.clone().into()))
            {
                Some(held) if held == *epoch => Ok(()),
                _ => Err(Error::Fenced {
                    lease: key.to_string(),
                    epoch: *epoch,
                }),
            },
        }
    }

    fn write(&mut self, write: &Write) -> Result<Outcome> {
        match write {
            Write::Append { log, entries } => Ok(self.append(log, entries)),
            Write::Redact { log, bodies } => {
                let mut erased = 0;
                for (seq, body) in bodies {
                    let entry = self.logs.get_mut(log).and_then(|(_, entries)| {
                        entries.iter_mut().find(|entry| entry.seq == *seq)
                    });
                    erased += u64::from(entry.is_some());
                    entry
                        .into_iter()
                        .for_each(|entry| entry.body = body.clone());
                }
                Ok(Outcome::Erased(erased))
            }
            Write::Apply { key, op, life } => self.apply(key, op, *life),
            Write::Wipe { space, pattern } => {
                let now = self.now;
                let gone = self.values.extract_if(.., |key, _| {
                    key.space == *space && pattern.matches(&key.name)
                });
                Ok(Outcome::Erased(
                    gone.filter(|(_, entry)| entry.expires_at.is_none_or(|end| end > now))
                        .count() as u64,
                ))
            }
            Write::Clear { space } => {
                let had_items = self.logs.contains_key(&space.log(ITEMS));
                let erased = self.remove(space);
                if had_items {
                    let generation = self.tick();
                    self.logs.insert(space.log(ITEMS), (generation, Vec::new()));
                }
                Ok(Outcome::Erased(erased))
            }
            Write::Remove { space } => Ok(Outcome::Erased(self.remove(space))),
            Write::Track(track) => Ok(self.track(track)),
            Write::Untrack { tenant, id } => {
                let gone = self
                    .rows
                    .extract_if(.., |_, row| row.tenant == *tenant && row.id == *id);
                Ok(Outcome::Erased(gone.count() as u64))
            }
            Write::Mirror(mirror) => self.mirror(mirror),
        }
    }

    fn append(&mut self, log: &LogKey, new: &[NewEntry]) -> Outcome {
        let begun = if self.logs.contains_key(log) {
            0
        } else {
            self.tick()
        };
        let (generation, entries) = self.logs.entry(log.clone()).or_insert((begun, Vec::new()));
        let mut seqs = Vec::new();
        for NewEntry { id, body } in new {
            let known = entries
                .iter()
                .find(|entry| entry.id == *id)
                .map(|entry| entry.seq);
            let seq = known.unwrap_or(entries.len() as u64 + 1);
            if known.is_none() {
                entries.push(LogEntry {
                    seq,
                    id: id.clone(),
                    at: self.now,
                    body: body.clone(),
                });
            }
            seqs.push(seq);
        }
        let head = Head {
            generation: *generation,
            last: entries.len() as u64,
        };
        for row in self
            .rows
            .values_mut()
            .filter(|row| log.name == ITEMS && Space::of(&row.tenant, &row.identity) == log.space)
        {
            if self.now - row.last_activity_at >= 1_000 {
                row.last_activity_at = self.now;
            }
        }
        Outcome::Appended { head, seqs }
    }

    fn apply(&mut self, key: &Key, op: &Op, life: Option<Millis>) -> Result<Outcome> {
        let before = self.live(key).cloned();
        let version = self.tick();
        let applied = op.apply(
            &key.name,
            before.clone().map(|entry| entry.value.into()),
            version,
        )?;
        let ends = op::end_of_life(
            op,
            before.as_ref().map(|entry| entry.expires_at),
            self.now,
            life,
        );
        let version = match (op, before) {
            (Op::Renew { .. }, Some(before)) => before.version,
            _ => version,
        };
        self.values.remove(key);
        let version = applied.value.map(|value| {
            self.values
                .insert(key.clone(), stored(value, version, ends));
            version
        });
        Ok(Outcome::Applied {
            output: applied.output,
            version,
        })
    }

    fn remove(&mut self, space: &Space) -> u64 {
        let entries: usize = self
            .logs
            .extract_if(.., |log, _| log.space == *space)
            .map(|(_, (_, entries))| entries.len())
            .sum();
        (entries
            + self
                .values
                .extract_if(.., |key, _| key.space == *space)
                .count()) as u64
    }

    fn track(&mut self, track: &ambit_storage::directory::Track) -> Outcome {
        let now = self.now;
        let touch = Touch {
            agent: track.agent.clone(),
            base: track.base.clone(),
            first_at: now,
            last_at: now,
        };
        let key = track.identity.storage_key();
        let known = self
            .rows
            .values_mut()
            .find(|row| row.tenant == track.tenant && row.identity.storage_key() == key);
        if let Some(row) = known {
            match row
                .touches
                .iter_mut()
                .find(|known| known.agent == touch.agent)
            {
                Some(known) if now - known.last_at >= 1_000 => known.last_at = now,
                Some(_) => {}
                None => row.touches.push(touch),
            }
            return Outcome::Tracked {
                id: row.id.clone(),
                is_new: false,
            };
        }
        let row = Tracked {
            id: track.id.clone(),
            ordinal: self.tick(),
            tenant: track.tenant.clone(),
            identity: track.identity.clone(),
            state: State::Live,
            generation: 0,
            items: 0,
            created_at: now,
            last_activity_at: now,
            placement: track.placement.clone(),
            created_by: track.created_by.clone(),
            team: track.team.clone(),
            labels: track.labels.clone(),
            touches: vec![touch],
        };
        self.rows.insert(row.ordinal, row);
        Outcome::Tracked {
            id: track.id.clone(),
            is_new: true,
        }
    }

    fn mirror(&mut self, mirror: &Mirror) -> Result<Outcome> {
        match mirror {
            Mirror::Log { log, head, entries } => {
                self.last = self.last.max(head.generation);
                let known = self
                    .logs
                    .remove(log)
                    .filter(|(generation, _)| *generation == head.generation);
                let mut all = known.map_or_else(Vec::new, |(_, entries)| entries);
                for entry in entries {
                    let next = all.len() as u64 + 1;
                    if entry.seq > next {
                        let (expected, found) =
                            (format!("entry {next}"), format!("entry {}", entry.seq));
                        return Err(Error::Conflict {
                            what: log.to_string(),
                            expected,
                            found,
                        });
                    }
                    if entry.seq == next {
                        all.push(entry.clone());
                    }
                }
                self.logs.insert(log.clone(), (head.generation, all));
            }
            Mirror::Value { key, entry } => {
                self.values.remove(key);
                if let Some(entry) = entry {
                    self.last = self.last.max(entry.version);
                    self.values.insert(key.clone(), entry.clone());
                }
            }
            Mirror::Row(row) => {
                self.last = self.last.max(row.ordinal);
                let space = Space::of(&row.tenant, &row.identity);
                self.rows
                    .retain(|_, known| Space::of(&known.tenant, &known.identity) != space);
                self.rows.insert(row.ordinal, row.as_ref().clone());
            }
        }
        Ok(Outcome::Done)
    }

    fn told(&self, row: &Tracked) -> Tracked {
        let head = self.head(&Space::of(&row.tenant, &row.identity).log(ITEMS));
        let is_cleared = head.is_some_and(|head| head.last == 0);
        let state = if is_cleared {
            State::Cleared
        } else {
            State::Live
        };
        let (generation, items) = head.map_or((0, 0), |head| (head.generation, head.last));
        Tracked {
            state,
            generation,
            items,
            ..row.clone()
        }
    }
}

#[async_trait]
impl Driver for Toy {
    async fn commit(&self, batch: Batch) -> Result<Vec<Outcome>> {
        batch.validate(&self.options.limits)?;
        self.options.fault_points.reach("toy.commit");
        let outcomes = self.with(|all| {
            batch.checks.iter().try_for_each(|check| all.check(check))?;
            batch.writes.iter().map(|write| all.write(write)).collect()
        })?;
        self.hub.notify_all();
        Ok(outcomes)
    }

    async fn read(&self, log: &LogKey, range: Range) -> Result<Page> {
        self.with(|all| {
            let Some((_, entries)) = all.logs.get(log) else {
                return Ok(Page::default());
            };
            let entries: Vec<LogEntry> = match range.direction {
                Direction::Forward => entries
                    .iter()
                    .filter(|entry| entry.seq >= range.from)
                    .take(range.limit)
                    .cloned()
                    .collect(),
                Direction::Backward => entries
                    .iter()
                    .rev()
                    .filter(|entry| entry.seq <= range.from)
                    .take(range.limit)
                    .cloned()
                    .collect(),
            };
            Ok(Page {
                head: all.head(log),
                entries,
                stale_possible: false,
            })
        })
    }

    async fn get(&self, key: &Key, part: Part) -> Result<Option<Entry>> {
        self.with(|all| Ok(all.live(key).map(|entry| part_of(entry, part))))
    }

    async fn scan(&self, space: &Space, scan: &Scan) -> Result<Vec<(String, Entry)>> {
        self.with(|all| {
            let behind = |name: &String| scan.after.as_ref().is_none_or(|after| name > after);
            let names = all.values.keys().filter(|key| {
                key.space == *space && scan.pattern.matches(&key.name) && behind(&key.name)
            });
            let live = names
                .filter_map(|key| Some((key.name.clone(), part_of(all.live(key)?, scan.part))));
            Ok(live.take(scan.limit).collect())
        })
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        self.with(|all| {
            Ok(all
                .logs
                .keys()
                .filter(|log| log.space == *space)
                .map(|log| log.name.clone())
                .collect())
        })
    }

    async fn identities(&self, filter: &Filter, page: &PageRequest) -> Result<Vec<Tracked>> {
        self.with(|all| {
            let behind = |row: &Tracked| {
                page.after
                    .is_none_or(|after| page.order.is_behind(row.position(), after))
            };
            let wanted = all
                .rows
                .values()
                .filter(|row| filter.matches(row) && behind(row));
            let mut rows: Vec<Tracked> = wanted.map(|row| all.told(row)).collect();
            page.order.sort(&mut rows);
            rows.truncate(page.limit);
            Ok(rows)
        })
    }

    async fn count(&self, filter: &Filter) -> Result<u64> {
        self.with(|all| Ok(all.rows.values().filter(|row| filter.matches(row)).count() as u64))
    }

    async fn watch(&self, log: &LogKey) -> Result<Watch> {
        Ok(self.hub.watch(log))
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        self.with(|all| {
            let now = all.now;
            let dead = all.values.extract_if(.., |_, entry| {
                entry.expires_at.is_some_and(|end| end <= now)
            });
            Ok(dead.take(limit).count() as u64)
        })
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.with(|_| Ok(Vec::new()))
    }

    async fn close(&self) -> Result<()> {
        self.hub.close();
        self.all
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        Ok(())
    }
}
