//! What a batch must see before it can be judged: loaded in one step, and guarded by the script that writes.

use super::log::{head_text, parse_head};
use super::rows;
use super::server::RedisServer;
use super::value::{LoadScope, RedisValue, ValueHeader};
use crate::Result;
use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite, Head, MirrorWrite};
use crate::clock::Millis;
use crate::directory::IndexRow;
use crate::operation::Operation;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// So many things are loaded in one step.
const STEP: usize = 1_000;

/// The answer of the load script: the time, the first number reserved, and texts for each thing.
type LoadReply = (Millis, u64, Vec<Vec<String>>);

#[derive(Debug, Default)]
pub struct LoadRequest {
    values: BTreeMap<ValueKey, LoadScope>,
    written: BTreeSet<ValueKey>,
    heads: BTreeSet<LogKey>,
    rows: BTreeSet<Space>,
    numbers: u64,
}

/// What was found, and later what the batch has made of it.
#[derive(Debug, Default)]
pub struct LoadedState {
    /// The server's time, moved by the clock's offset.
    pub now: Millis,
    /// The next number that was reserved.
    pub number: u64,
    pub values: HashMap<ValueKey, Option<RedisValue>>,
    pub heads: HashMap<LogKey, Option<Head>>,
    pub rows: HashMap<Space, Option<IndexRow>>,
    /// What must still be so when the batch is written.
    pub guards: Vec<String>,
}

impl LoadRequest {
    pub fn of(batch: &Batch) -> Self {
        let mut needs = Self::default();
        let mut ops: BTreeMap<&ValueKey, Vec<&Operation>> = BTreeMap::new();
        for write in &batch.writes {
            match write {
                BatchWrite::Apply { key, op, .. } => {
                    needs.numbers += 1;
                    ops.entry(key).or_default().push(op);
                }
                BatchWrite::Track(track) => {
                    needs.numbers += 1;
                    needs.rows.insert(track.space());
                }
                BatchWrite::Mirror(MirrorWrite::Log { log, .. }) => {
                    needs.heads.insert(log.clone());
                }
                BatchWrite::Mirror(_) => needs.numbers += 1,
                _ => {}
            }
        }
        let loads = ops
            .into_iter()
            .filter_map(|(key, ops)| Some((key.clone(), LoadScope::of(&ops)?)));
        needs.values = loads.collect();
        needs.written = needs.values.keys().cloned().collect();
        for check in &batch.checks {
            match check {
                BatchCheck::Head { log, .. } => {
                    needs.heads.insert(log.clone());
                }
                BatchCheck::Version { key, .. } => {
                    needs.values.entry(key.clone()).or_insert(LoadScope::Header);
                }
                BatchCheck::Lease { key, .. } => {
                    needs.values.insert(key.clone(), LoadScope::Whole);
                }
                BatchCheck::Row { space, .. } | BatchCheck::RowId { space, .. } => {
                    needs.rows.insert(space.clone());
                }
            }
        }
        needs
    }

    /// True where the script alone knows all it needs, as for appends.
    pub fn is_empty(&self) -> bool {
        let sees_nothing = self.values.is_empty() && self.heads.is_empty() && self.rows.is_empty();
        self.numbers == 0 && sees_nothing
    }

    /// A text for each thing that another writer could change in between.
    pub fn contended(&self) -> impl Iterator<Item = String> {
        let values = self.values.keys().map(ToString::to_string);
        let heads = self.heads.iter().map(ToString::to_string);
        let rows = self.rows.iter().map(ToString::to_string);
        values.chain(heads).chain(rows)
    }

    /// What is there; `None` where it changed while it was read.
    pub async fn load(&self, server: &RedisServer) -> Result<Option<LoadedState>> {
        let mut wants: Vec<Vec<String>> = Vec::new();
        for (key, load) in &self.values {
            let mut want = vec!["v".to_owned(), key.space.digest(), key.name.clone()];
            want.extend(load.words());
            wants.push(want);
        }
        for log in &self.heads {
            wants.push(vec!["h".to_owned(), log.space.digest(), log.name.clone()]);
        }
        for space in &self.rows {
            wants.push(vec!["r".to_owned(), space.digest()]);
        }
        let mut seen = LoadedState::default();
        let mut found = Vec::with_capacity(wants.len());
        let empty: [Vec<String>; 1] = [Vec::new()];
        let steps = if wants.is_empty() { &empty[..] } else { &wants };
        for (place, step) in steps.chunks(STEP).enumerate() {
            let reserved = if place == 0 { self.numbers } else { 0 };
            let words: Vec<String> = std::iter::once(reserved.to_string())
                .chain(step.iter().flatten().cloned())
                .collect();
            let (now, first, texts): LoadReply = server.read(&server.scripts.load, &words).await?;
            seen.now = now;
            if place == 0 {
                seen.number = first;
            }
            found.extend(texts);
        }
        if !self.load_long_lists(server, &mut found).await? {
            return Ok(None);
        }
        self.take(&mut seen, found)?;
        Ok(Some(seen))
    }

    /// Reads the items of long lists that are to be taken away. That they are still so is guarded by the version.
    async fn load_long_lists(
        &self,
        server: &RedisServer,
        found: &mut [Vec<String>],
    ) -> Result<bool> {
        for ((key, load), texts) in self.values.iter().zip(found) {
            let (LoadScope::Taken, [text]) = (load, texts.as_slice()) else {
                continue;
            };
            let header = ValueHeader::parse(text, key)?;
            if header.list == 0 || header.length == 0 {
                continue;
            }
            let list = format!("{}:{}", key.space.digest(), header.list);
            let mut command = redis::cmd("LRANGE");
            command.arg(server.key_of("l", &list)).arg(0).arg(-1);
            let items: Vec<String> = server.ask(&command).await?;
            if items.len() as u64 != header.length {
                return Ok(false);
            }
            texts.extend(items);
        }
        Ok(true)
    }

    fn take(&self, seen: &mut LoadedState, found: Vec<Vec<String>>) -> Result<()> {
        let mut found = found.into_iter();
        for (key, load) in &self.values {
            let texts = found.next().unwrap_or_default();
            seen.value(key, load, texts, self.written.contains(key))?;
        }
        for log in &self.heads {
            let text = found.next().unwrap_or_default().into_iter().next();
            let head = text.map(|text| parse_head(&text, log)).transpose()?;
            let guard = ["head?", &log.space.digest(), &log.name, &head_text(head)];
            seen.guard(&guard);
            seen.heads.insert(log.clone(), head);
        }
        for space in &self.rows {
            let texts = found.next().unwrap_or_default();
            let text = |place: usize| texts.get(place).map_or("", String::as_str);
            seen.guard(&["row?", &space.digest(), text(0), text(1)]);
            let row = texts.get(2).map(|body| rows::parse(text(0), body));
            let row = row.transpose()?;
            seen.rows.insert(space.clone(), row);
        }
        Ok(())
    }
}

impl LoadedState {
    pub fn take_number(&mut self) -> u64 {
        self.number += 1;
        self.number - 1
    }

    /// One more thing that must still be so.
    pub fn guard(&mut self, words: &[&str]) {
        self.guards
            .extend(words.iter().map(|word| (*word).to_owned()));
    }

    fn value(
        &mut self,
        key: &ValueKey,
        load: &LoadScope,
        texts: Vec<String>,
        is_written: bool,
    ) -> Result<()> {
        let digest = key.space.digest();
        let mut texts = texts.into_iter();
        let Some(text) = texts.next() else {
            self.guard(&["value?", &digest, &key.name, "", "0"]);
            self.values.insert(key.clone(), None);
            return Ok(());
        };
        let header = ValueHeader::parse(&text, key)?;
        let is_live = header.is_live(self.now);
        // A lease that is only checked may be renewed meanwhile: its check guards the version alone.
        if is_written || !is_live {
            let live = if is_live { "1" } else { "0" };
            self.guard(&["value?", &digest, &key.name, &text, live]);
        }
        let slot = if is_live {
            let content = load.content(&header, texts.collect(), key)?;
            Some(RedisValue { header, content })
        } else {
            None
        };
        self.values.insert(key.clone(), slot);
        Ok(())
    }
}
