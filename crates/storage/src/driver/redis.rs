//! Redis: many nodes, short ways, durable as far as the server's own settings go.
//!
//! A batch is one script: what it must see is loaded first, judged by the same pure functions as elsewhere, and written
//! if none of it has changed; appends are judged by the script alone. Names of keys are made of digests, so that
//! nothing of an identity remains in them. Nothing here walks over the whole database but `check`.
//!
//! Clearing a space or wiping all its values is one short step, however many there are; what hangs on them is burnt in
//! pieces afterwards. A wipe by any other pattern is one step that grows with the number of names that match.
//!
//! The address is `redis://host:port/db?ambit_prefix=name`; the prefix separates stores that share a database.
//! Points of failure for tests: `redis.before_script`, `redis.after_script`.

mod apply;
mod check;
mod loaded_state;
mod log;
mod plan;
mod rows;
mod server;
mod sweep;
mod value;
mod watch;

use self::loaded_state::{LoadRequest, LoadedState};
use self::plan::CommitPlan;
use self::server::RedisServer;
use self::value::{LoadScope, ValueHeader};
use super::state::rows::ACTIVITY_STEP;
use super::striped_locks::StripedLocks;
use super::value_scan::ScanPage;
use super::{
    DataKind, DataSize, Direction, Driver, DriverOptions, LogPage, LogRange, LogWatch, ValuePart,
    ValueScan, WatchHub,
};
use crate::address::{LogKey, Space, ValueKey};
use crate::batch::{Batch, ValueEntry, WriteOutcome};
use crate::clock::{Millis, backoff};
use crate::directory::{IndexRow, PageRequest, RowFilter};
use crate::{Error, Result};
use async_trait::async_trait;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

/// How often a batch is judged anew because others changed what it had seen.
const ATTEMPTS: u32 = 200;
/// The longest pause between them, at first and in the end.
const PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(32);
/// So many values are looked at in one step of a scan.
const STEP: usize = 256;

/// Connects to a server; the address is what stands behind `redis:`.
pub fn open(
    address: String,
    options: DriverOptions,
) -> BoxFuture<'static, Result<Arc<dyn Driver>>> {
    Box::pin(async move {
        let server = RedisServer::open(&address, options.clock.clone()).await?;
        if !options.force {
            server.refuse_eviction().await?;
        }
        let driver: Arc<dyn Driver> = Arc::new(RedisDriver {
            server,
            options,
            hub: WatchHub::default(),
            subscription: watch::LogSubscription::default(),
            turns: StripedLocks::default(),
        });
        Ok(driver)
    })
}

struct RedisDriver {
    server: RedisServer,
    options: DriverOptions,
    hub: WatchHub,
    subscription: watch::LogSubscription,
    /// Writers here that touch the same things wait for each other, so that they need not try again and again.
    turns: StripedLocks,
}

impl RedisDriver {
    /// One attempt; `None` where something had changed meanwhile.
    async fn attempt(
        &self,
        batch: &Batch,
        needs: &LoadRequest,
    ) -> Result<Option<Vec<WriteOutcome>>> {
        let seen = if needs.is_empty() {
            LoadedState::default()
        } else {
            let Some(seen) = needs.load(&self.server).await? else {
                return Ok(None);
            };
            seen
        };
        let mut plan = CommitPlan::of(batch, seen)?;
        let mut words = vec![ACTIVITY_STEP.to_string()];
        words.append(&mut plan.seen.guards);
        words.append(&mut plan.words);
        self.options.fault_points.reach("redis.before_script");
        let script = &self.server.scripts.commit;
        let (state, trash, answers): (String, u64, Vec<Vec<u64>>) =
            self.server.write(script, &words).await?;
        if state == "retry" {
            return Ok(None);
        }
        self.options.fault_points.reach("redis.after_script");
        // The batch is written; what stays of the trash is erased by the next sweep.
        if trash > 0
            && let Err(error) = sweep::erase_trash(&self.server).await
        {
            tracing::warn!(store.name = %self.server.place, error.message = %error, "what was wiped is not erased yet");
        }
        plan.outcomes(answers).map(Some)
    }
}

#[async_trait]
impl Driver for RedisDriver {
    async fn commit(&self, batch: Batch) -> Result<Vec<WriteOutcome>> {
        batch.validate(&self.options.limits)?;
        let needs = LoadRequest::of(&batch);
        let _turn = self.turns.take(needs.contended()).await;
        for attempt in 1..=ATTEMPTS {
            if let Some(outcomes) = self.attempt(&batch, &needs).await? {
                super::memory::notify(&self.hub, &batch);
                return Ok(outcomes);
            }
            let most = backoff(PAUSE, LONGEST_PAUSE, attempt);
            tokio::time::sleep(most.mul_f64(rand::random())).await;
        }
        Err(Error::busy(
            format!("the redis store at {}", self.server.place),
            format!("others changed what the batch works on {ATTEMPTS} times; repeat it later"),
        ))
    }

    async fn read(&self, log: &LogKey, range: LogRange) -> Result<LogPage> {
        log::read(&self.server, log, range).await
    }

    async fn get(&self, key: &ValueKey, part: ValuePart) -> Result<Option<ValueEntry>> {
        let names = std::slice::from_ref(&key.name);
        let loaded = self.load(&key.space, names, part, usize::MAX).await?;
        Ok(loaded.live.into_iter().next().map(|(_, entry)| entry))
    }

    async fn scan(&self, space: &Space, scan: &ValueScan) -> Result<Vec<(String, ValueEntry)>> {
        let mut after = scan.after.clone();
        let mut page = ScanPage::of(scan);
        while !page.is_full() {
            let step = page.room().clamp(16, STEP);
            let mut names = names(&self.server, space, scan, after.as_deref(), step).await?;
            let is_end = names.len() < step;
            after = names.last().cloned();
            names.retain(|name| scan.pattern.matches(name));
            self.load_page(space, &names, scan.part, &mut page).await?;
            if is_end {
                break;
            }
        }
        Ok(page.found)
    }

    async fn logs(&self, space: &Space) -> Result<Vec<String>> {
        let key = self.server.key_of("g", &space.digest());
        let mut names: Vec<String> = self.server.ask(redis::cmd("HKEYS").arg(key)).await?;
        names.sort();
        Ok(names)
    }

    async fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Result<Vec<IndexRow>> {
        rows::page(&self.server, filter, page).await
    }

    async fn count(&self, filter: &RowFilter) -> Result<u64> {
        rows::count(&self.server, filter).await
    }

    async fn watch(&self, log: &LogKey) -> Result<LogWatch> {
        let watch = self.hub.watch(log);
        self.subscription
            .follow(&self.server, &self.hub, log)
            .await?;
        Ok(watch)
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        sweep::erase_trash(&self.server).await?;
        sweep::expired(&self.server, limit).await
    }

    async fn check(&self) -> Result<Vec<String>> {
        check::all(&self.server).await
    }

    fn kind(&self) -> &'static str {
        "redis"
    }

    async fn size(&self) -> Result<Option<u64>> {
        self.server.used_memory().await
    }

    async fn contents(&self, _: &[DataKind]) -> Result<Option<Vec<DataSize>>> {
        Ok(None)
    }

    async fn close(&self) -> Result<()> {
        self.server.close();
        self.subscription.close().await;
        self.hub.close();
        Ok(())
    }
}

/// Values that were loaded.
struct LoadedValues {
    /// The live ones.
    live: Vec<(String, ValueEntry)>,
    /// How many names were looked at.
    seen: usize,
}

impl RedisDriver {
    /// Adds the live ones among these values to the page, until it is full.
    async fn load_page(
        &self,
        space: &Space,
        names: &[String],
        part: ValuePart,
        page: &mut ScanPage<'_>,
    ) -> Result<()> {
        let mut rest = names;
        while !rest.is_empty() && !page.is_full() {
            let bytes = page.bytes_left();
            let loaded = self.load(space, rest, part, bytes).await?;
            rest = &rest[loaded.seen..];
            for (name, entry) in loaded.live {
                if page.is_full() {
                    break;
                }
                page.add(name, entry);
            }
        }
        Ok(())
    }

    /// The live ones among the first of these values, which are all or have so many bytes.
    async fn load(
        &self,
        space: &Space,
        names: &[String],
        part: ValuePart,
        bytes: usize,
    ) -> Result<LoadedValues> {
        let mut loaded = LoadedValues {
            live: Vec::new(),
            seen: 0,
        };
        if names.is_empty() {
            return Ok(loaded);
        }
        let server = &self.server;
        let digest = space.digest();
        let wanted = match part {
            ValuePart::Nothing => LoadScope::Header.words(),
            ValuePart::Whole => LoadScope::Whole.words(),
            ValuePart::Dates => vec!["d".to_owned()],
            ValuePart::Items(from, to) => vec!["i".to_owned(), from.to_string(), to.to_string()],
        };
        let mut words = vec!["0".to_owned()];
        if bytes < usize::MAX {
            words.extend(["m".to_owned(), bytes.to_string()]);
        }
        for name in names {
            words.extend(["v".to_owned(), digest.clone(), name.clone()]);
            words.extend(wanted.iter().cloned());
        }
        let (now, _, found): (Millis, u64, Vec<Vec<String>>) =
            server.read(&server.scripts.load, &words).await?;
        loaded.seen = found.len();
        for (name, texts) in names.iter().zip(found) {
            let mut texts = texts.into_iter();
            let Some(header) = texts.next() else {
                continue;
            };
            let place = space.key(name.as_str());
            let header = ValueHeader::parse(&header, &place)?;
            if header.is_live(now) {
                let entry = header.entry(part, texts.collect(), &place)?;
                loaded.live.push((name.clone(), entry));
            }
        }
        Ok(loaded)
    }
}

/// Some names of a space that start as the pattern does, in byte order.
async fn names(
    server: &RedisServer,
    space: &Space,
    scan: &ValueScan,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<String>> {
    let prefix = scan.pattern.prefix();
    let behind = |after: &str| format!("({after}").into_bytes();
    let mut first = format!("[{prefix}").into_bytes();
    let mut last = first.clone();
    // No name has the byte 255, so that this comes behind all that start with the prefix.
    last.push(u8::MAX);
    let key = server.key_of("n", &space.digest());
    let mut command = match scan.direction {
        Direction::Forward => {
            if let Some(after) = after.filter(|after| *after >= prefix) {
                first = behind(after);
            }
            let mut command = redis::cmd("ZRANGEBYLEX");
            command.arg(key).arg(first).arg(last);
            command
        }
        Direction::Backward => {
            if let Some(after) = after.filter(|after| after.as_bytes() < &last[1..]) {
                last = behind(after);
            }
            let mut command = redis::cmd("ZREVRANGEBYLEX");
            command.arg(key).arg(last).arg(first);
            command
        }
    };
    server.ask(command.arg("LIMIT").arg(0).arg(limit)).await
}
