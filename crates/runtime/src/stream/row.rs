//! One stored step of a log: a JSON array of entries, whose id says the number of the first and whether the log ends here.

use super::{StreamEntry, tail};
use crate::error::{Error, ErrorCode, Result};
use ambit_storage::address::LogKey;
use ambit_storage::batch::{LogEntry, NewEntry};
use ambit_storage::driver::{Driver, LogPage, LogRange};
use ambit_storage::quotes::without_quotes;
use ambit_storage::{Json, ids};
use serde_json::value::RawValue;
use std::sync::Arc;

/// So many rows are read at once.
const PAGE: usize = 16;
/// What is read has so many bytes at most, or one row: a reader that waits for its client holds no more.
const PAGE_BYTES: usize = 256 << 10;
const LAST: &str = ".last";
/// How the id of an entry ends that lies beside the rows.
const BESIDE: &str = ".beside";
/// The letters that a row's number has.
const DIGITS: usize = 12;

/// When the turn of this log began, as the ids of its entries say it: those that begin alike are kept near to each other, and so to
/// what else is written then.
pub(crate) fn time_of(log: &LogKey) -> &str {
    ids::time_part(log.name.split('/').nth(1).unwrap_or_default())
}

/// The id of an entry of this log that is no row: who reads rows passes it over.
pub(crate) fn beside_id(log: &LogKey, name: &str) -> String {
    format!("{}{name}{BESIDE}", time_of(log))
}

/// The name in the id of an entry that `beside_id` has made; none in the id of a row.
pub(crate) fn beside_name<'a>(log: &LogKey, id: &'a str) -> Option<&'a str> {
    id.strip_suffix(BESIDE)?.strip_prefix(time_of(log))
}

/// A step on its way into the store. Its content is fixed, so that storing it again changes nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamRow {
    /// The number of its first entry.
    pub first: u64,
    /// Its entries.
    pub entries: Vec<Arc<str>>,
    /// Whether the log ends with it.
    pub is_last: bool,
}

impl StreamRow {
    /// The number of its last entry.
    pub fn last(&self) -> u64 {
        self.first + self.entries.len() as u64 - 1
    }

    /// As an entry of this log.
    pub fn entry(&self, log: &LogKey) -> NewEntry {
        let time = time_of(log);
        let mark = if self.is_last { LAST } else { "" };
        let body = format!("[{}]", self.entries.join(","));
        NewEntry {
            id: format!("{time}{:0DIGITS$}{mark}", self.first),
            body: Json::stored(body),
        }
    }
}

/// A log that is read to its end.
#[derive(Clone, Debug, Default)]
pub struct StoredStream {
    /// All that is stored of it.
    pub entries: Vec<StreamEntry>,
    /// Whether nothing will be added.
    pub is_ended: bool,
    /// The number of the last entry that is in a row; those behind it are in the tail.
    pub last_in_rows: u64,
    /// Whether there is a tail, be it that rows have all of it.
    pub has_tail: bool,
}

/// Everything that is stored of a log; `None` where it is absent.
pub async fn read_all(driver: &dyn Driver, log: &LogKey) -> Result<Option<StoredStream>> {
    let mut cursor = RowCursor::start();
    let mut stored = StoredStream::default();
    let mut is_read_again = false;
    loop {
        let Some(read) = cursor.read(driver, log, 0).await? else {
            return Ok(None);
        };
        stored.is_ended |= read.is_end;
        if let Some(last) = read.entries.last() {
            stored.last_in_rows = last.number;
            stored.entries.extend(read.entries);
            is_read_again = false;
            continue;
        }
        if stored.is_ended {
            return Ok(Some(stored));
        }
        let Some(tail) = tail::read(driver, log).await? else {
            return Ok(Some(stored));
        };
        stored.has_tail = true;
        if tail.first <= stored.last_in_rows + 1 {
            let entries = tail.entries.into_iter();
            let unread = entries.filter(|entry| entry.number > stored.last_in_rows);
            stored.entries.extend(unread);
            return Ok(Some(stored));
        }
        // There are rows that were not when they were looked for: the tail is written behind them.
        if is_read_again {
            return Err(tail::corrupt(log, "it begins behind a gap"));
        }
        is_read_again = true;
    }
}

/// A place among the rows of a log.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowCursor {
    /// The next row to read, once that is known.
    row: Option<u64>,
    /// Whether the log's last row has been read.
    is_end: bool,
    /// How many rows are read next: about as many as fit.
    rows: usize,
}

impl Default for RowCursor {
    fn default() -> Self {
        Self {
            row: None,
            is_end: false,
            rows: PAGE,
        }
    }
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct StreamPage {
    /// The entries behind the number that was asked for.
    pub entries: Vec<StreamEntry>,
    /// Whether the log ends with what has been read.
    pub is_end: bool,
}

impl RowCursor {
    pub fn start() -> Self {
        Self {
            row: Some(1),
            ..Self::default()
        }
    }

    /// The next entries behind this number, if there are any yet; `None` where the log is absent.
    pub async fn read(
        &mut self,
        driver: &dyn Driver,
        log: &LogKey,
        after: u64,
    ) -> Result<Option<StreamPage>> {
        let mut row = match self.row {
            Some(row) => row,
            None => find(driver, log, after).await?,
        };
        while !self.is_end {
            let mut page = driver.read(log, LogRange::from(row, self.rows)).await?;
            let fitting = fitting(&page);
            page.entries.truncate(fitting);
            self.rows = (2 * fitting).clamp(1, PAGE);
            let Some(head) = page.head else {
                return Ok(None);
            };
            if head.last + 1 < row {
                // Removed, and begun anew by somebody else.
                return Ok(None);
            }
            let (seen, read) = (page.entries.len() as u64, open(log, &page, after)?);
            row += seen;
            (self.row, self.is_end) = (Some(row), read.is_end);
            if seen == 0 || read.is_end || !read.entries.is_empty() {
                return Ok(Some(read));
            }
        }
        Ok(Some(StreamPage {
            entries: Vec::new(),
            is_end: true,
        }))
    }
}

/// How many rows of a page have so many bytes as are read at once; at least one.
fn fitting(page: &LogPage) -> usize {
    let mut bytes = 0;
    let fits = |row: &&LogEntry| {
        bytes += row.body.as_str().len();
        bytes <= PAGE_BYTES
    };
    page.entries.iter().take_while(fits).count().max(1)
}

/// The number of the last entry that is stored; `None` where the log is absent.
pub async fn last_number(driver: &dyn Driver, log: &LogKey) -> Result<Option<u64>> {
    // The tail first: once it is gone, rows have what it had.
    let tail = tail::read(driver, log).await?;
    let page = driver.read(log, LogRange::last(1)).await?;
    if page.head.is_none() {
        return Ok(None);
    }
    let read = open(log, &page, 0)?;
    let in_rows = read.entries.last().map_or(0, |entry| entry.number);
    if read.is_end {
        return Ok(Some(in_rows));
    }
    let in_tail = tail.and_then(|tail| tail.entries.last().map(|entry| entry.number));
    Ok(Some(in_rows.max(in_tail.unwrap_or(0))))
}

/// The row that has the entry behind this number, or the row that will have it. Each row has an entry at least, so that it is
/// never behind the entry's own number.
async fn find(driver: &dyn Driver, log: &LogKey, after: u64) -> Result<u64> {
    let head = driver.read(log, LogRange::head()).await?.head;
    let last = head.map_or(0, |head| head.last);
    let (mut low, mut high) = (1, last.min(after + 1).max(1));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let page = driver.read(log, LogRange::from(middle, 1)).await?;
        let first = page.entries.first().map(|row| number(log, row));
        match first.transpose()? {
            Some((first, _)) if first <= after + 1 => low = middle,
            _ => high = middle - 1,
        }
    }
    Ok(low)
}

fn open(log: &LogKey, page: &LogPage, after: u64) -> Result<StreamPage> {
    let mut read = StreamPage::default();
    let rows = page.entries.iter();
    for row in rows.filter(|row| !row.id.ends_with(BESIDE)) {
        let (first, is_last) = number(log, row)?;
        read.is_end |= is_last;
        let texts: Vec<&RawValue> = serde_json::from_str(row.body.as_str())
            .map_err(|error| corrupt(log, row, &without_quotes(&error.to_string())))?;
        let entries = (first..).zip(texts);
        let entries = entries.filter(|(number, _)| *number > after);
        read.entries
            .extend(entries.map(|(number, text)| StreamEntry {
                number,
                text: text.get().into(),
            }));
    }
    Ok(read)
}

/// The number of a row's first entry, and whether the log ends with the row.
fn number(log: &LogKey, row: &LogEntry) -> Result<(u64, bool)> {
    let (id, is_last) = match row.id.strip_suffix(LAST) {
        Some(id) => (id, true),
        None => (row.id.as_str(), false),
    };
    let digits = id.len().checked_sub(DIGITS).and_then(|at| id.get(at..));
    match digits.unwrap_or_default().parse() {
        Ok(first) => Ok((first, is_last)),
        Err(_) => Err(corrupt(log, row, "its id is not a number")),
    }
}

fn corrupt(log: &LogKey, row: &LogEntry, reason: &str) -> Error {
    let what = format!("row {} of the stream {log} is corrupt: {reason}", row.seq);
    Error::new(ErrorCode::Corrupt, what)
}
