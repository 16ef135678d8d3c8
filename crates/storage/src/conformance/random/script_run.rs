//! Runs the script on one driver and spells its answers so that they can be compared.

use super::super::steps::{MANY, identity, must, row_filter, space};
use super::script::{STEP, ScriptFilter, ScriptGuard, ScriptRows, ScriptStep, ScriptWrite};
use crate::Error;
use crate::address::{DEFAULT_TENANT, LogKey, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite, Head, ValueEntry, WriteOutcome};
use crate::clock::{Clock, Millis};
use crate::directory::{IndexRow, PageRequest, RowFilter, RowMark};
use crate::driver::{Direction, Driver, LogPage, LogRange, ValuePart, first_row};
use crate::operation::{LeaseGrant, Operation, OperationOutput};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// A run of the script: what it has seen so far of one store.
pub(super) struct ScriptRun {
    pub(super) driver: Arc<dyn Driver>,
    clock: Clock,
    start: Millis,
    /// True where no expired value is left behind, so that counts of erased things mean the same everywhere.
    is_swept: bool,
    /// The store's own integers, by first appearance: only their order of appearance is the same everywhere.
    numbers: HashMap<u64, usize>,
    heads: HashMap<LogKey, Option<Head>>,
    versions: HashMap<ValueKey, Option<u64>>,
    epochs: HashMap<ValueKey, u64>,
    page: Option<LogPage>,
    entry: Option<ValueEntry>,
    row: Option<IndexRow>,
}

impl ScriptRun {
    pub(super) fn new(clock: Clock, driver: Arc<dyn Driver>) -> Self {
        Self {
            driver,
            start: clock.now(),
            clock,
            is_swept: true,
            numbers: HashMap::new(),
            heads: HashMap::new(),
            versions: HashMap::new(),
            epochs: HashMap::new(),
            page: None,
            entry: None,
            row: None,
        }
    }

    /// Does one step; its answer.
    pub(super) async fn step(&mut self, step: &ScriptStep) -> String {
        match step {
            ScriptStep::Commit { guard, actions } => self.commit(guard.as_ref(), actions).await,
            ScriptStep::Read(log, range) => self.read(log, *range).await,
            ScriptStep::Get(key, part) => self.get(key, *part).await,
            ScriptStep::Scan(space, scan) => {
                let found = must(self.driver.scan(space, scan).await);
                let found = found.iter().map(|(name, entry)| self.entry(name, entry));
                found.collect::<Vec<String>>().join(" ")
            }
            ScriptStep::Logs(space) => {
                let mut names = must(self.driver.logs(space).await);
                names.sort();
                names.join(" ")
            }
            ScriptStep::Rows(wanted) => self.rows(wanted).await,
            ScriptStep::Advance => {
                self.is_swept = false;
                let step = Duration::from_millis(STEP.unsigned_abs());
                self.clock.advance(step);
                String::new()
            }
            ScriptStep::Sweep => {
                must(self.driver.sweep(MANY).await);
                self.is_swept = true;
                String::new()
            }
        }
    }

    async fn commit(&mut self, guard: Option<&ScriptGuard>, actions: &[ScriptWrite]) -> String {
        let writes: Vec<BatchWrite> = actions
            .iter()
            .filter_map(|action| self.write(action))
            .collect();
        let mut batch = Batch::of(writes.iter().cloned());
        if let Some(guard) = guard {
            batch.checks.push(self.check(guard).await);
        }
        match self.driver.commit(batch).await {
            Ok(outcomes) => {
                let outcomes = writes.iter().zip(outcomes);
                let each = outcomes.map(|(write, outcome)| self.outcome(write, outcome));
                each.collect::<Vec<String>>().join("; ")
            }
            Err(error) => self.error(&error),
        }
    }

    async fn check(&self, guard: &ScriptGuard) -> BatchCheck {
        match guard {
            ScriptGuard::Head(log) => {
                BatchCheck::head(log.clone(), self.heads.get(log).copied().flatten())
            }
            ScriptGuard::Version(key) => {
                BatchCheck::version(key.clone(), self.versions.get(key).copied().flatten())
            }
            ScriptGuard::Lease(key) => BatchCheck::lease(key.clone(), self.epoch(key)),
            ScriptGuard::Row(chat, is_gone) => {
                let gone = is_gone.then(|| RowMark {
                    id: "gone".to_owned(),
                    touched_at: self.start,
                    placement: Vec::new(),
                });
                let row = first_row(&*self.driver, &row_filter(&identity(chat))).await;
                let mark = gone.or(must(row).map(|row| row.mark()));
                let space = space(chat);
                BatchCheck::Row { space, mark }
            }
            ScriptGuard::RowId(chat, is_gone) => {
                let row = first_row(&*self.driver, &row_filter(&identity(chat))).await;
                let id = must(row).filter(|_| !is_gone).map(|row| row.id);
                BatchCheck::row_id(space(chat), id.unwrap_or_else(|| "gone".to_owned()))
            }
        }
    }

    fn epoch(&self, key: &ValueKey) -> u64 {
        self.epochs.get(key).copied().unwrap_or(0)
    }

    /// The write, unless it copies something that was not seen yet.
    fn write(&self, action: &ScriptWrite) -> Option<BatchWrite> {
        let lease = |key: &ValueKey, op| BatchWrite::apply(key.clone(), op, Some(STEP * 5 / 2));
        Some(match action.clone() {
            ScriptWrite::Fixed(write) => write,
            ScriptWrite::Renew(key) => {
                let epoch = self.epoch(&key);
                lease(&key, Operation::Renew { epoch })
            }
            ScriptWrite::Release(key) => {
                let epoch = self.epoch(&key);
                lease(&key, Operation::Release { epoch })
            }
            ScriptWrite::Untrack => BatchWrite::untrack(DEFAULT_TENANT, self.row.clone()?.id),
            ScriptWrite::CopyLog => {
                let page = self.page.clone()?;
                BatchWrite::mirror_log(space("copy").log("copy"), page.head?, page.entries)
            }
            ScriptWrite::CopyValue(key) => BatchWrite::mirror_value(key, Some(self.entry.clone()?)),
            ScriptWrite::CopyRow(label) => {
                let mut row = self.row.clone()?;
                row.labels = BTreeMap::from([("color".to_owned(), label.to_owned())]);
                BatchWrite::mirror_row(row)
            }
        })
    }

    async fn read(&mut self, log: &LogKey, range: LogRange) -> String {
        let page = must(self.driver.read(log, range).await);
        self.heads.insert(log.clone(), page.head);
        let head = self.head(page.head);
        let entries = page.entries.iter().map(|entry| {
            let at = self.time(entry.at);
            format!("{} {} {at} {}", entry.seq, entry.id, entry.body)
        });
        let text = format!("{head}: {}", entries.collect::<Vec<String>>().join(", "));
        if range.direction == Direction::Forward && page.head.is_some() {
            self.page = Some(page);
        }
        text
    }

    async fn get(&mut self, key: &ValueKey, part: ValuePart) -> String {
        let entry = must(self.driver.get(key, part).await);
        let version = entry.as_ref().map(|entry| entry.version);
        self.versions.insert(key.clone(), version);
        let Some(entry) = entry else {
            return "nothing".to_owned();
        };
        let text = self.entry(&key.name, &entry);
        if part == ValuePart::Whole {
            self.entry = Some(entry);
        }
        text
    }

    async fn rows(&mut self, wanted: &ScriptRows) -> String {
        let mut filter = RowFilter::tenant(DEFAULT_TENANT);
        match &wanted.who {
            ScriptFilter::All => {}
            ScriptFilter::Agent(agent) => filter.agent = Some((*agent).to_owned()),
            ScriptFilter::Chat(chat) => filter.chat = Some((*chat).to_owned()),
            ScriptFilter::Label(label) => {
                filter.labels = BTreeMap::from([("color".to_owned(), (*label).to_owned())]);
            }
            ScriptFilter::ActiveSince(steps) => {
                let passed = self.clock.offset() - steps * STEP;
                filter.active_after = Some(self.start + passed - STEP / 2);
            }
        }
        let after = self.row.as_ref().map(IndexRow::position);
        let page = PageRequest {
            order: wanted.order,
            after: after.filter(|_| wanted.goes_on),
            limit: wanted.limit,
        };
        let count = must(self.driver.count(&filter).await);
        let rows = must(self.driver.identities(&filter, &page).await);
        let each: Vec<String> = rows.iter().map(|row| self.row(row)).collect();
        self.row = rows.into_iter().next_back().or(self.row.take());
        format!("{count}: {}", each.join(", "))
    }

    fn outcome(&mut self, write: &BatchWrite, outcome: WriteOutcome) -> String {
        match (write, outcome) {
            (BatchWrite::Append { log, .. }, WriteOutcome::Appended { head, seqs }) => {
                self.heads.insert(log.clone(), Some(head));
                format!("{} {seqs:?}", self.head(Some(head)))
            }
            (BatchWrite::Apply { key, .. }, WriteOutcome::Applied { output, version }) => {
                self.versions.insert(key.clone(), version);
                let output = match output {
                    OperationOutput::Epoch(epoch) => {
                        self.epochs.insert(key.clone(), epoch);
                        self.number(epoch)
                    }
                    other => format!("{other:?}"),
                };
                let version = version.map(|version| self.number(version));
                format!("{output} {version:?}")
            }
            (BatchWrite::Clear { .. } | BatchWrite::Remove { .. }, WriteOutcome::Erased(_))
                if !self.is_swept =>
            {
                "erased".to_owned()
            }
            (_, outcome) => format!("{outcome:?}"),
        }
    }

    fn error(&mut self, error: &Error) -> String {
        match error {
            Error::Fenced { lease, epoch } => format!("{lease} fenced {}", self.number(*epoch)),
            Error::Conflict {
                what,
                expected,
                found,
            } => {
                let (expected, found) = (self.spelled(expected), self.spelled(found));
                format!("{what}: {expected} was {found}")
            }
            other => other.to_string(),
        }
    }

    /// A version or head as a conflict spells it, without the store's own integers.
    fn spelled(&mut self, text: &str) -> String {
        if let Some((before, after)) = text.split_once("touched_at: ") {
            let (time, rest) = after.split_once(',').unwrap_or((after, ""));
            let time = time.parse().map_or(0, |time| self.time(time));
            return format!("{before}touched_at: {time},{rest}");
        }
        let head = text.strip_prefix("Head { generation: ");
        let (number, rest) = head.and_then(|it| it.split_once(',')).unwrap_or((text, ""));
        match number.parse() {
            Ok(number) => format!("{}{rest}", self.number(number)),
            Err(_) => text.to_owned(),
        }
    }

    fn head(&mut self, head: Option<Head>) -> String {
        match head {
            Some(head) => format!("{} {}", self.number(head.generation), head.last),
            None => "absent".to_owned(),
        }
    }

    fn entry(&mut self, name: &str, entry: &ValueEntry) -> String {
        let value = match entry.value.to::<LeaseGrant>() {
            Ok(grant) => format!("{} {}", grant.holder, self.number(grant.epoch)),
            Err(_) => entry.value.to_string(),
        };
        let ends = entry.expires_at.map(|end| self.time(end));
        let version = self.number(entry.version);
        let (kind, length) = (entry.kind, entry.length);
        format!("{name}={value} {kind} {length} {version} {ends:?}")
    }

    fn row(&mut self, row: &IndexRow) -> String {
        let touches = row.touches.iter().map(|touch| {
            let (first, last) = (self.time(touch.first_at), self.time(touch.last_at));
            format!("{} {first} {last}", touch.agent)
        });
        let touches: Vec<String> = touches.collect();
        let (made, active) = (self.time(row.created_at), self.time(row.last_activity_at));
        let (ordinal, generation) = (self.number(row.ordinal), self.number(row.generation));
        format!(
            "{} {ordinal} {} {:?} {generation} {} {made} {active} {:?} {touches:?}",
            row.id,
            row.identity.storage_key(),
            row.state,
            row.items,
            row.labels
        )
    }

    fn number(&mut self, number: u64) -> String {
        let next = self.numbers.len();
        format!("#{}", self.numbers.entry(number).or_insert(next))
    }

    /// Steps of the clock since the start, to a quarter.
    fn time(&self, time: Millis) -> Millis {
        let quarter = STEP / 4;
        (time - self.start + quarter / 2).div_euclid(quarter)
    }
}
