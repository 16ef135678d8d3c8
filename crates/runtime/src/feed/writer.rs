//! Writing what has happened, in steps, for tenants whose events somebody follows.

use super::{EVENT_LIFE, MAX_WAITING_EVENTS, PendingEvent, PendingEvents, cursor, end_of};
use crate::error::Result;
use ambit_storage::Json;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, NewEntry, WriteOutcome};
use ambit_storage::clock::{Millis, to_millis};
use ambit_storage::driver::{Driver, ValuePart};
use ambit_storage::operation::Operation;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Bytes of a step, if not one event alone is larger.
const MAX_STEP_BYTES: usize = 1 << 20;
/// An event with more bytes is told without what its messages say.
const MAX_EVENT_BYTES: usize = 256 << 10;
/// The log that wakes followers is begun anew behind so many entries.
const WAKE_LOG_ENTRIES: u64 = 1_000;

/// What is stored of a step.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct FeedStep {
    pub events: Vec<Json>,
    /// Events that were not written, on all tenants' feeds of a node, because too many waited.
    #[serde(default)]
    pub lost: u64,
}

/// What one node writes.
#[derive(Default)]
pub(super) struct FeedWriter {
    waiting: BTreeMap<String, Vec<PendingEvent>>,
    lost: u64,
    /// Until when somebody follows, by tenant.
    followed: HashMap<String, Millis>,
}

impl FeedWriter {
    /// Takes over what has come, as far as there is room beside what could not be written yet.
    pub fn add(&mut self, new: PendingEvents) {
        let waiting: usize = self.waiting.values().map(Vec::len).sum();
        let room = MAX_WAITING_EVENTS.saturating_sub(waiting);
        self.lost += new.lost + new.events.len().saturating_sub(room) as u64;
        for event in new.events.into_iter().take(room) {
            let of_tenant = self.waiting.entry(event.tenant.clone()).or_default();
            of_tenant.push(event);
        }
    }

    /// Writes what waits; what nobody follows is forgotten. After a failure the rest still waits.
    pub async fn write(&mut self, driver: &dyn Driver, now: Millis) -> Result<()> {
        while let Some((tenant, events)) = self.waiting.pop_first() {
            let written = self.write_of(driver, &tenant, &events, now).await;
            if let Err((error, done)) = written {
                let unwritten = events.into_iter().skip(done).collect();
                self.waiting.insert(tenant, unwritten);
                return Err(error);
            }
        }
        Ok(())
    }

    /// An error says how many events were written before.
    async fn write_of(
        &mut self,
        driver: &dyn Driver,
        tenant: &str,
        events: &[PendingEvent],
        now: Millis,
    ) -> std::result::Result<(), (crate::error::Error, usize)> {
        let at = |done: usize| move |error| (error, done);
        if !self.is_followed(driver, tenant, now).await.map_err(at(0))? {
            return Ok(());
        }
        let mut done = 0;
        while done < events.len() {
            let (step, count) = self.step(&events[done..]);
            append(driver, tenant, &step).await.map_err(at(done))?;
            self.lost = 0;
            done += count;
        }
        Ok(())
    }

    /// As many of the first events as fit, and how many these are.
    fn step(&self, events: &[PendingEvent]) -> (FeedStep, usize) {
        let (mut written, mut bytes) = (Vec::new(), 0);
        for event in events {
            let mut value = (event.write)(event.has_content);
            let mut size = value.as_str().len();
            if size > MAX_EVENT_BYTES {
                value = (event.write)(false);
                size = value.as_str().len();
            }
            if bytes + size > MAX_STEP_BYTES && !written.is_empty() {
                break;
            }
            bytes += size;
            written.push(value);
        }
        let count = written.len();
        let step = FeedStep {
            events: written,
            lost: self.lost,
        };
        (step, count)
    }

    async fn is_followed(
        &mut self,
        driver: &dyn Driver,
        tenant: &str,
        now: Millis,
    ) -> Result<bool> {
        if self.followed.get(tenant).is_some_and(|end| *end > now) {
            return Ok(true);
        }
        // A tenant without followers is asked for each time: the first one must miss nothing.
        self.followed.retain(|_, end| *end > now);
        let end = end_of(driver, &cursor::follower(tenant)).await?;
        if end > now {
            self.followed.insert(tenant.to_owned(), end);
        }
        Ok(end > now)
    }
}

/// Writes a step behind the last one, whichever node that was of.
async fn append(driver: &dyn Driver, tenant: &str, step: &FeedStep) -> Result<()> {
    let mut drops_wake_log = false;
    loop {
        let last = driver
            .get(&cursor::last_step(tenant), ValuePart::Whole)
            .await?;
        let version = last.as_ref().map(|entry| entry.version);
        let number = last.map_or(Ok(0), |entry| entry.value.to::<u64>())? + 1;
        drops_wake_log |= number.is_multiple_of(WAKE_LOG_ENTRIES);
        let batch = batch(tenant, number, step, drops_wake_log)?;
        let check = BatchCheck::Version {
            key: cursor::last_step(tenant),
            version,
        };
        match driver.commit(batch.checking(check)).await {
            Err(ambit_storage::Error::Conflict { .. }) => {}
            written => return Ok(written.map(drop::<Vec<WriteOutcome>>)?),
        }
    }
}

fn batch(tenant: &str, number: u64, step: &FeedStep, drops_wake_log: bool) -> Result<Batch> {
    let wake_log = cursor::wake_log(tenant);
    let set = |key, value: Json, life| BatchWrite::Apply {
        key,
        op: Operation::Set(value.into()),
        life,
    };
    let mut batch = Batch::of([
        set(cursor::last_step(tenant), Json::of(&number)?, None),
        set(
            cursor::step(tenant, number),
            Json::of(step)?,
            Some(to_millis(EVENT_LIFE)),
        ),
    ]);
    if drops_wake_log {
        batch.writes.push(BatchWrite::Drop {
            log: wake_log.clone(),
        });
    }
    batch.writes.push(BatchWrite::Append {
        log: wake_log,
        entries: vec![NewEntry {
            id: format!("{number:020}"),
            body: Json::of(&())?,
        }],
    });
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ambit_storage::driver::DriverOptions;
    use ambit_storage::driver::memory::MemoryDriver;
    use serde_json::{Value, json};

    async fn followed() -> MemoryDriver {
        let driver = MemoryDriver::new(DriverOptions::default());
        let mark = BatchWrite::Apply {
            key: cursor::follower("t"),
            op: Operation::Set(Json::stored("true").into()),
            life: Some(60_000),
        };
        driver.commit(Batch::of([mark])).await.unwrap();
        driver
    }

    fn waiting(count: usize, lost: u64) -> PendingEvents {
        let event = |number: usize| PendingEvent {
            tenant: "t".to_owned(),
            write: Box::new(move |_| Json::of(&number).unwrap()),
            has_content: false,
        };
        PendingEvents {
            events: (0..count).map(event).collect(),
            lost,
        }
    }

    /// All that was written, and how many events were lost on the way.
    async fn stored(driver: &MemoryDriver) -> (Vec<Value>, u64) {
        let (mut events, mut lost) = (Vec::new(), 0);
        for number in 1.. {
            let key = cursor::step("t", number);
            let Some(entry) = driver.get(&key, ValuePart::Whole).await.unwrap() else {
                break;
            };
            let step: FeedStep = entry.value.to().unwrap();
            events.extend(step.events.iter().map(|event| event.to::<Value>().unwrap()));
            lost += step.lost;
        }
        (events, lost)
    }

    fn numbers(count: usize) -> Vec<Value> {
        (0..count).map(|number| json!(number)).collect()
    }

    #[tokio::test]
    async fn what_finds_no_room_is_counted_once() {
        let (driver, mut writer) = (followed().await, FeedWriter::default());
        writer.add(waiting(MAX_WAITING_EVENTS - 1, 2));
        writer.add(waiting(3, 0));
        writer.write(&driver, 1).await.unwrap();
        let mut expected = numbers(MAX_WAITING_EVENTS - 1);
        expected.push(json!(0));
        assert_eq!(stored(&driver).await, (expected, 4));
    }

    #[tokio::test]
    async fn what_cannot_be_written_waits_for_its_store() {
        let (away, driver, mut writer) =
            (followed().await, followed().await, FeedWriter::default());
        away.close().await.unwrap();
        writer.add(waiting(3, 0));
        writer.write(&away, 1).await.unwrap_err();
        writer.write(&driver, 1).await.unwrap();
        assert_eq!(stored(&driver).await, (numbers(3), 0));
    }

    #[tokio::test]
    async fn what_nobody_follows_is_not_written() {
        let (driver, mut writer) = (
            MemoryDriver::new(DriverOptions::default()),
            FeedWriter::default(),
        );
        writer.add(waiting(3, 0));
        writer.write(&driver, 1).await.unwrap();
        assert_eq!(stored(&driver).await, (Vec::new(), 0));
        assert_eq!(
            driver
                .get(&cursor::last_step("t"), ValuePart::Whole)
                .await
                .unwrap(),
            None
        );
    }

    #[tokio::test]
    async fn steps_are_bounded_and_a_huge_event_is_told_without_its_texts() {
        let (driver, mut writer) = (followed().await, FeedWriter::default());
        let sizes = [
            MAX_EVENT_BYTES / 2,
            MAX_EVENT_BYTES * 2,
            MAX_STEP_BYTES / 5,
            MAX_STEP_BYTES / 5,
            MAX_STEP_BYTES / 5,
            MAX_STEP_BYTES / 5,
            MAX_STEP_BYTES / 5,
        ];
        let event = |size: usize| PendingEvent {
            tenant: "t".to_owned(),
            write: Box::new(move |full| match full {
                true => Json::of(&"x".repeat(size)).unwrap(),
                false => Json::of(&size).unwrap(),
            }),
            has_content: true,
        };
        writer.add(PendingEvents {
            events: sizes.into_iter().map(event).collect(),
            lost: 0,
        });
        writer.write(&driver, 1).await.unwrap();
        let (events, _) = stored(&driver).await;
        let lengths: Vec<usize> = events
            .iter()
            .map(|event| event.as_str().map_or(0, str::len))
            .collect();
        assert_eq!(
            lengths,
            [
                MAX_EVENT_BYTES / 2,
                0,
                MAX_STEP_BYTES / 5,
                MAX_STEP_BYTES / 5,
                MAX_STEP_BYTES / 5,
                MAX_STEP_BYTES / 5,
                MAX_STEP_BYTES / 5
            ]
        );
        assert_eq!(events[1], json!(MAX_EVENT_BYTES * 2));
        let last = driver
            .get(&cursor::last_step("t"), ValuePart::Whole)
            .await
            .unwrap();
        assert_eq!(last.unwrap().value.to::<u64>().unwrap(), 2);
    }

    #[tokio::test]
    async fn the_log_that_wakes_followers_does_not_grow_for_ever() {
        let (driver, mut writer) = (followed().await, FeedWriter::default());
        for _ in 0..WAKE_LOG_ENTRIES + 1 {
            writer.add(waiting(1, 0));
            writer.write(&driver, 1).await.unwrap();
        }
        let wake_log = cursor::wake_log("t");
        let page = driver.read(&wake_log, ambit_storage::driver::LogRange::head());
        assert_eq!(page.await.unwrap().head.unwrap().last, 2);
    }
}
