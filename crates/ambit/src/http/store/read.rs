//! Reading keys. What one batch writes is seen whole by a batch that reads, or not at all: versions that are the same after all
//! values were read were all there at the moment between.

use super::BYTES;
use super::body::{StoreList, StoreRead};
use super::item::{StoreItem, StoreResult};
use super::pages::ItemPages;
use super::space::StoreSpace;
use ambit_runtime::{Error, ErrorCode, Result};
use ambit_storage::driver::{Direction, ValuePart, ValueScan};

/// So often keys are read again that were written meanwhile.
const TRIES: usize = 64;

/// Reads all of these as they were at one moment.
pub async fn together(space: &StoreSpace, reads: &[StoreRead]) -> Result<Vec<StoreResult>> {
    for _ in 0..TRIES {
        let mut reading = SnapshotRead {
            space,
            bytes: 0,
            seen: Vec::new(),
        };
        let mut results = Vec::with_capacity(reads.len());
        for read in reads {
            results.push(reading.one(read).await?);
        }
        let is_one_step = matches!(reads, [StoreRead::Key(_)]);
        if is_one_step || reading.is_unchanged(reads).await? {
            return Ok(results);
        }
    }
    let message = "the keys are written faster than they can be read together; read fewer at once";
    Err(Error::new(ErrorCode::Unavailable, message))
}

/// What has been read.
struct SnapshotRead<'a> {
    space: &'a StoreSpace,
    bytes: usize,
    seen: Vec<ReadVersions>,
}

/// What one operation saw.
struct ReadVersions {
    /// Names and versions.
    versions: Vec<(String, u64)>,
    /// So many would have been seen at most.
    limit: usize,
}

impl SnapshotRead<'_> {
    async fn one(&mut self, read: &StoreRead) -> Result<StoreResult> {
        match read {
            StoreRead::Key(key) => self.key(key).await,
            StoreRead::List(list) => self.list(list).await,
        }
    }

    async fn key(&mut self, key: &str) -> Result<StoreResult> {
        let place = self.space.place(key);
        let entry = self.space.driver.get(&place, ValuePart::Whole).await?;
        let version = entry.as_ref().map(|entry| (place.name, entry.version));
        self.seen.push(ReadVersions {
            versions: version.into_iter().collect(),
            limit: 1,
        });
        let item = entry.as_ref().map(StoreItem::of).transpose()?;
        self.bytes += item.as_ref().map_or(0, StoreItem::size);
        match self.bytes > BYTES {
            true => Err(too_much()),
            false => Ok(StoreResult::Item(item)),
        }
    }

    /// A list ends where the answer is full.
    async fn list(&mut self, list: &StoreList) -> Result<StoreResult> {
        let after = list.after.as_ref().map(|after| self.space.name(after));
        let pages = ItemPages::of(self.space, self.space.pattern(&list.prefix));
        let mut pages = pages.from(list.direction(), after).of_part(list.part());
        let (mut items, mut versions, mut limit) = (Vec::new(), Vec::new(), list.limit);
        while items.len() < limit
            && let Some(page) = pages.next(limit - items.len()).await?
        {
            for (name, entry) in page {
                let item = StoreItem::of(&entry)?.named(self.space.key(&name));
                if self.bytes + item.size() > BYTES {
                    limit = items.len();
                    break;
                }
                self.bytes += item.size();
                items.push(item);
                versions.push((name, entry.version));
            }
        }
        if limit == 0 {
            return Err(too_much());
        }
        self.seen.push(ReadVersions { versions, limit });
        let last = items.last().filter(|_| items.len() == limit);
        let next = last.and_then(|item| item.key.clone());
        Ok(StoreResult::List { items, next })
    }

    /// Whether all is still as it was read.
    async fn is_unchanged(&self, reads: &[StoreRead]) -> Result<bool> {
        for (read, seen) in reads.iter().zip(&self.seen) {
            let found = match read {
                StoreRead::Key(key) => self.version(key).await?,
                StoreRead::List(list) => self.versions(list, seen.limit).await?,
            };
            if found != seen.versions {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn version(&self, key: &str) -> Result<Vec<(String, u64)>> {
        let place = self.space.place(key);
        let entry = self.space.driver.get(&place, ValuePart::Nothing).await?;
        let version = entry.map(|entry| (place.name, entry.version));
        Ok(version.into_iter().collect())
    }

    /// What stands now where a list was read.
    async fn versions(&self, list: &StoreList, limit: usize) -> Result<Vec<(String, u64)>> {
        let pattern = self.space.pattern(&list.prefix);
        let scan = ValueScan {
            after: list.after.as_ref().map(|after| self.space.name(after)),
            direction: list.direction(),
            ..ValueScan::first(pattern, limit, ValuePart::Nothing)
        };
        let found = self.space.driver.scan(&self.space.owned, &scan).await?;
        let found = found.into_iter();
        Ok(found.map(|(name, entry)| (name, entry.version)).collect())
    }
}

impl StoreList {
    fn direction(&self) -> Direction {
        match self.is_reverse {
            true => Direction::Backward,
            false => Direction::Forward,
        }
    }

    fn part(&self) -> ValuePart {
        match self.has_values {
            true => ValuePart::Whole,
            false => ValuePart::Dates,
        }
    }
}

/// More is asked for than an answer holds.
pub fn too_much() -> Error {
    let message =
        format!("the values have more than {BYTES} bytes together; ask for fewer at once");
    Error::new(ErrorCode::LimitExceeded, message)
}
